// A class of Python as it is read: what ForeignClass.cpp reads, ForeignClassUses.cpp looks up in the rest of the
// script, and ForeignClassText.cpp writes as a struct. For these alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/Tokens.h"

namespace tenc::syntax {

struct PythonClass {
  /// A number that is a dim of the type.
  struct Size {
    std::string field, value;
  };
  enum class Kind : uint8_t {
    Layer,
    Size,
    Option,  ///< a number, a text or a bool that is known where the network is made: a function that gives it
    Tensor,  ///< not trained
    Unknown,
  };
  struct Field {
    std::string name, value;
    std::string type{};   ///< empty where a letter stands for it
    std::string notes{};  ///< comments, each a line
    Kind kind = Kind::Layer;
  };
  /// A line of a method, without the indentation that the class has.
  struct Line {
    std::string indent, statement, behind;  ///< behind: a comment
    bool goesOn = false;                    ///< is part of the statement before
    size_t begin = 0, end = 0;              ///< of the statement in the text
  };
  struct Method {
    std::string name, parameters, body, notes;
    std::vector<Line> lines{};
    bool changes = false;    ///< sets fields: it gives the changed object
    bool fills = false;      ///< gives fields a value that had none, and so another type to the object
    bool givesSelf = false;  ///< `return self`
    size_t values = 0;       ///< that it gives beside the object
  };
  /// What stands for something else in the rest of the script.
  struct Use {
    size_t begin = 0, end = 0;
    std::string text;
  };
  std::string_view name;
  size_t begin = 0, end = 0;  ///< in the text, with `@dataclass` before it
  bool network = false;       ///< a module of PyTorch: sizes are dims of its type
  bool sharesFields = false;  ///< two fields may be one array
  bool handsOnSelf = false;   ///< a method gives its object to something else
  std::string made;           ///< the parameters of what makes an object
  std::vector<Size> sizes;
  std::vector<Field> fields;
  std::vector<Method> methods;
  std::vector<std::string> before;      ///< what `__init__` asserts of its parameters and binds beside them
  std::vector<std::string> afterwards;  ///< statements that change what was made: `nn.init.zeros_(self.fc.bias)`
  std::vector<std::string> unfilled;    ///< fields that `__init__` leaves without a value
  std::vector<Use> uses;                ///< calls of methods that give the object and more

  const Method* changing(std::string_view method) const;  ///< null for one that changes nothing
  bool changes() const;                                   ///< whether a method does
};

/// Why a class is not rewritten.
struct ClassProblem {
  size_t begin = 0, end = 0;  ///< in the text
  std::string_view why;
};

/// Writes the methods, which give the changed object where they set fields. Fields that `__init__` leaves without a
/// value get one where a method first sets them.
std::optional<ClassProblem> writeMethods(PythonClass& c, std::string_view text);
/// Whether the rest of the script changes an object of the class where the written functions would lose the change: in
/// a function, through another name, or by setting a field. Notes what becomes of the calls that change one.
std::optional<ClassProblem> changedElsewhere(PythonClass& c, std::string_view text);
/// The struct, what makes one, with `notes` before its closing brace, and the methods.
std::string asStruct(const PythonClass& c, std::string_view text, const std::string& notes);

/// The default of a parameter of what makes an object; empty where it has none.
std::string_view defaultOf(const PythonClass& c, std::string_view parameter);
/// What the script passes for a parameter, as far as its text tells: a size in doubt.
PythonClass::Kind kindOfParameter(const PythonClass& c, std::string_view text, std::string_view parameter);
/// Whether the script gives a parameter numbers alone, as it writes them.
bool isNumberParameter(const PythonClass& c, std::string_view text, std::string_view parameter);
/// Whether the script leaves a parameter out, or gives it a number that is not 0: then `not p` asks for `None`.
bool isLeftOutOrNumber(const PythonClass& c, std::string_view text, std::string_view parameter);
/// What a field of a network is given.
PythonClass::Kind kindOfValue(const PythonClass& c, std::string_view text, std::string_view value);

/// `t` of `nn.Parameter(t, requires_grad=False)`; empty for another value, and where the script does more with the
/// parameters of networks than to train them, so that it sees this one, too.
std::string_view frozenPart(std::string_view value, std::string_view text);

/// Writes `F.dropout(x, 0.5, training=self.training)` in the methods as layers, which know whether they are trained.
void makeDropoutLayers(PythonClass& c);

std::string_view trimmed(std::string_view s);
/// The word that a text begins with.
std::string_view wordAt(std::string_view s);
bool mentions(std::string_view text, std::string_view word);
/// The parts between commas that stand in no brackets.
std::vector<std::string_view> listed(std::string_view list);
/// The line without a comment behind it.
std::string_view withoutComment(std::string_view line);
/// The statement of a line, that behind `if c:` too.
std::string_view statementOf(std::string_view line);
/// Where the `=` of an assignment stands, of `+=` too; npos for none.
size_t assignmentIn(std::string_view line);
/// How many brackets a text opens that it does not close.
int openBrackets(std::string_view text);
/// Whether functions of libraries are read through what a path begins with.
bool isOfLibrary(std::string_view path);
/// Whether a text is a number, as it is written.
bool isNumeral(std::string_view s);
/// Whether a line sets a field: `self.n += 1`, `self.x[i] = y`.
bool setsField(std::string_view line);
/// How often a line names something such that the result may be, or hold, the same array or layer: neither as an
/// operand of arithmetic nor as the argument of a function that makes an array of its own.
int holdersIn(std::string_view line, std::string_view name);
/// A line that updates elements of a field, `self.x[i] += y`, as `self.x[i] = self.x[i] + y`, where the last value of a
/// repeated index counts, as in Python; other lines as they are. Nothing where that is not known.
std::optional<std::string> withLastUpdate(std::string_view line);
/// Writes something else for whole words.
void replaceWord(std::string& text, const std::string& word, const std::string& by);

}  // namespace tenc::syntax
