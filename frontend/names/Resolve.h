// Which declaration each use of a name means, found from the tree alone, before any type is known.
//
// A use is known by its span, so that whoever holds a node of the tree, or a place in the text, can ask. Bodies are
// resolved when they are first asked about: of an imported module only the functions that a script comes to.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Kept.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Resolution;
struct BuiltinRow;
struct Unit;

/// What a name may stand for.
struct Declaration {
  enum class Kind : uint8_t {
    Local,      ///< of a `let`, a `for`, or a lambda's parameter
    Variable,   ///< of a `var`
    Parameter,  ///< of a function
    Generic,    ///< listed in brackets: of a function, struct or alias
    Dim,        ///< bound by the shape in which it stands, in a signature or the type of a `let`
    Constant,
    Param,
    Device,
    Functions,  ///< all functions of one name
    Struct,
    Alias,
    Module,
    Builtin,
    Language,  ///< a dtype, a kind of devices, `pi`, `str`, ...
    Lost,      ///< of a statement or an import that had an error: its absence is no error of its own
  } kind = Kind::Lost;
  std::string name;
  Span span{};                                ///< of the declared name; invalid for what no file declares
  const ast::Stmt* statement = nullptr;       ///< that declares it; of functions the first
  std::vector<const ast::Stmt*> functions{};  ///< Functions
  const Resolution* home = nullptr;           ///< where it is declared; Module: its names. Null for what is built in
  const BuiltinRow* builtin = nullptr;

  /// Bound in a body or signature, not in the scope of a file.
  bool isLocal() const { return kind <= Kind::Dim; }
};
/// Declarations in the order of their names, of which each is there once.
using Declarations = std::vector<const Declaration*>;

/// One place where a name is used.
struct Use {
  Span span;
  std::string_view name;                     ///< as the tree has it
  const Declaration* declaration = nullptr;  ///< null: nothing of that name is in scope
  bool assigned = false;                     ///< the root of an assignment's target
  /// Called behind a value, `x.f(a)`: what it means if neither a field of `x` nor the module that declares the type of
  /// `x` has one of that name.
  bool method = false;
  bool inShape = false;  ///< a dim of a written type
};

/// The names of one file.
class Resolution {
 public:
  /// The names of the module at a path such as "nn"; null when there is none, which is reported elsewhere.
  using Imports = std::function<const Resolution*(const std::string& path)>;
  /// `bound`: names that earlier entries of a session have bound; `kept`: the statements that they brought.
  explicit Resolution(const ast::File& file, const Imports& imports = {}, std::span<const SessionValue> bound = {},
                      const KeptStatements& kept = {});
  Resolution(const Resolution&) = delete;
  /// Takes in the statements that the file was given since.
  void extend(const Imports& imports);

  const Unit* unit = nullptr;  ///< what the file was read for; null where nothing is compiled

  /// A const, param, device, struct, alias, import or the functions of that name; null for none.
  const Declaration* global(std::string_view name) const;
  /// The use at a place in the text; null where no name is used.
  const Use* at(uint32_t offset) const;
  /// What the name written at `use` means, in this file or in one that it imports; null for what is unknown or no use.
  const Declaration* definition(Span use) const;
  /// The uses inside a function, test, bench, declaration or the script's own statements, in the order of the text.
  std::span<const Use> within(Span node) const;
  /// Everywhere in this file.
  std::vector<Use> usesOf(const Declaration& declaration) const;

  // ---- what the compiler asks of a piece of code
  /// Locals that it uses and does not bind itself: what a lambda captures.
  Declarations captured(Span node) const;
  /// Variables from outside that it assigns.
  Declarations assigned(Span node) const;
  /// The dims that the types in it bind, in the order of the text.
  std::vector<const Declaration*> dimsIn(Span node) const;
  /// What the signature of a function declares: its parameters, then what is listed and the dims in its types.
  std::span<const Declaration* const> signatureOf(const ast::Stmt& fn) const;
  /// The `var` from around a loop that the `let` at `declared`, in its body, or the name of its trips hides, or the
  /// `let` of which it is made; null for none.
  const Declaration* hiddenBy(Span declared) const;
  /// Whether a use in it means `declared`, a declaration's own name.
  bool mentions(Span node, Span declared) const;

 private:
  friend class NameWalk;
  /// The uses in one declaration, or in all statements of a script; found when they are asked for.
  struct Part {
    std::vector<const ast::Stmt*> statements;
    bool done = false;
    std::vector<Use> uses{};
    std::vector<const Declaration*> dims{};
    std::vector<std::pair<Span, const Declaration*>>
        hidden{};                                 ///< by a `let` in a loop or its trips: the name, what is outside
    std::vector<const Declaration*> signature{};  ///< of a function: parameters, what is listed, and dims
    size_t next = 0;  ///< the use behind the one that was asked for last: most are asked for in order
  };
  /// Where a statement stands, and the part that it belongs to.
  struct Place {
    uint32_t file, begin, end;
    Part* part;
  };
  const Declaration* declare(Declaration d) const;
  void declareGlobals(const Imports& imports);
  /// What the language has of that name; `called`: also what stands only where something is called.
  const Declaration* builtIn(std::string_view name, bool called) const;
  Part* partAt(Span place) const;
  /// Finds the uses in a part; in NameWalk.cpp.
  void walk(Part& part) const;
  const Resolution* home(Span place) const;
  template <class Wanted>
  Declarations outer(Span node, const Wanted& wanted) const;

  const ast::File& file_;
  size_t known_ = 0;  ///< statements of the file that are taken in
  struct Bound {
    const Declaration* declaration;
    size_t kept;
    bool isOld;
  };
  std::vector<Bound> bound_;  ///< what SessionValue says of them
  const KeptStatements kept_;
  std::map<std::string, const Declaration*, std::less<>> globals_;
  // Filled as parts are asked for; what has been handed out stays where it is.
  mutable std::deque<Declaration> declarations_;
  mutable std::deque<Part> parts_;
  mutable size_t last_ = 0;                  ///< of `places_`: where the last place was
  std::vector<Place> places_;                ///< of all statements, in the order of the text
  std::vector<const Resolution*> imported_;  ///< modules
  mutable std::map<std::string, const Declaration*, std::less<>> builtIns_;
};

}  // namespace tenc::frontend
