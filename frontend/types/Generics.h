// The variables of written types, and who is matched with a type.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

/// Variables of a signature, struct or `let` type, and what they are bound to.
struct Generics {
  const Unit* unit = nullptr;
  const std::vector<ast::Generic>* listed = nullptr;
  std::map<std::string, Val, std::less<>> bound;
  std::map<std::string, Span, std::less<>> origin;  ///< where each was bound, for notes
  bool locals = false;                              ///< also see local names (types of `let`)
  bool open = true;                                 ///< unknown names in shapes are variables
  struct Pending {
    const ast::TypeExpr* dim;
    int64_t value;
  };
  std::vector<Pending> pending;  ///< dims with more than one unknown, solved at the end
};
/// Who is being unified, for messages: "argument `x` of `affine`".
struct Target {
  std::string what;
  Span span;
  Span declared;
  bool isDeclaration = false;          ///< let, result, field: E0207 instead of E0201, E0202
  bool inRegion = false;               ///< an assignment in a loop or branch of its variable: E0209
  const ast::TypeExpr* dim = nullptr;  ///< inside of a dim: all of it, and its size
  int64_t size = 0;
  const Val* whole = nullptr;  ///< the tensor that a dim is of
  std::string help{};          ///< what is said besides

  /// The subject of a sentence about one of its dims.
  std::string ofDim() const;
  /// Adds where it is declared, and what is said besides.
  void explain(Diagnostics::Builder& d) const;
};

/// What a name in a type means: bound variable, dtype, struct or other type, integer; nullopt for an unbound
/// variable.
struct TypeName {
  bool variable = false;
  std::optional<Val> value;
};

/// A name in a written dim that has a value: a variable that is bound, or a constant (then without an origin).
struct NamedDim {
  std::string name;
  int64_t value;
  Span written;
  Span origin;
};

/// A type that the language names by a word and that is no dtype: `str`, `device`, `fn`; Unknown for any other word.
Ty::Kind builtInType(std::string_view name);
const ast::Generic* listedGeneric(const Generics& g, std::string_view name);
Generics structGenerics(const StructDecl& decl);
/// Which struct, without arguments and fields.
std::shared_ptr<const Ty> structType(const StructDecl& decl);
/// The generics of a function before a call binds them.
Generics genericsOf(const FnDecl& decl);

}  // namespace tenc::frontend
