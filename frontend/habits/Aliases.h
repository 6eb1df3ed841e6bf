// Names of one array. In NumPy and PyTorch `b = a` and `row = a[0]` are names of the same memory, and what changes one
// in place changes the other; a value of TL is never shared. An edit that lets one name change would lose that.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/habits/StatementNames.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Whose elements are taken out of arrays: PyTorch's are views of them, also where they are numbers, while NumPy's
/// numbers are copies. `Script`: those of PyTorch where the script names it.
enum class ElementsOf : uint8_t { Script, PyTorch, NumPy };

/// Another name of the array that `name` has where it is changed in place at `change`, if that name is read afterwards;
/// as the text tells, in doubt there is one. Arguments of a function count where its callers read them again.
/// Empty where a copy is changed, and no name shows that: `x[[0, 1]][0] = 5`. `variablesShare`: what a `var` starts
/// from is no copy, as in Python.
std::optional<std::string> aliasRead(const ast::File& file, const std::string& name, Span change,
                                     bool variablesShare = false, ElementsOf elements = ElementsOf::Script);
/// The same for all changes in place of the variable that the pattern or parameter at `binding` binds.
std::optional<std::string> aliasRead(const ast::File& file, const ast::Name& binding);
/// Whether the function at hand, or the script, assigns or changes the name, or a part of it, behind `at`.
bool isAssignedBehind(const ast::File& file, Span at, const std::string& name);
/// Whether a part of the function around a place, or of the script, changes the name's array in place.
bool isChangedInPlace(const ast::File& file, const std::string& name, Span place);
/// Whether a part of a part of what the name holds is changed, `g[1][0] = 2`, or a part in place, `g[1] += 2`.
bool isPartChanged(const ast::File& file, const ast::Name& name);
/// Whether statements could not be read, so that loops and functions are not known.
bool hasUnread(const ast::File& file);
/// Whether a function of PyTorch of that name changes its operand: `relu_`.
bool isInPlaceName(std::string_view name);
/// What a call of PyTorch changes: `x` of `x.exp_()`, `torch.exp_(x)` and `F.relu(x, inplace=True)`; null for another
/// expression.
const ast::Expr* changedByCall(const ast::Expr& call);
/// The name that shows what a call changes in the value of `name`, its operand: one that is read behind the call,
/// beside it or in the next trip of a loop; in doubt there is one.
std::optional<std::string> readAfterChange(const ast::File& file, const std::string& name, const ast::Expr& call);
/// The names whose array an expression may give.
NameSet namesShared(const ast::File& file, const ast::Expr& value);
/// What is said of the two names.
std::string aliasHelp(const std::string& name, const std::string& other);

}  // namespace tenc::frontend
