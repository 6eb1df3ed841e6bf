// Statements that TL accepts and that mean something else in Python: an edit that declares their names would end in a
// program that runs and gives other values.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class PythonFlow;

struct OtherMeaning {
  Span span;
  std::string_view text;
};
/// What is said of operations on whole lists.
inline constexpr std::string_view kWholeLists =
    "brackets make a tensor, and this works on its elements; Python repeats, joins and compares whole lists";

/// Of what the assignment around `name`, which nothing declares, binds the name to, and of what is done with it.
std::optional<OtherMeaning> otherMeaning(const ast::File& file, const ast::Name& name, const PythonFlow& flow);
/// The name of the loop over `range` where a loop in it, or around it, has the same one and it is read in the outer
/// loop behind the inner one; empty for others.
std::string nameOfLoops(const ast::File& file, Span range);
/// Of an update of the variable that is bound at `name`, which may add several values to one element. `isNumber`: what
/// is known to be one number, and no array.
using IsNumber = std::function<bool(const ast::Expr&)>;
std::optional<OtherMeaning> repeatedUpdate(const ast::File& file, const ast::Name& name,
                                           const IsNumber& isNumber = nullptr);
/// Of a change of the variable bound at `name` behind a lambda that reads it and has a name itself.
std::optional<OtherMeaning> seenByLambda(const ast::File& file, const ast::Name& name);
/// Of `a[0], a[1] = a[1], a[0]` where these are arrays: the first assignment changes what the second reads. `rank`: of
/// the variable bound at `name`, less than 0 where it is not known.
std::optional<OtherMeaning> swappedViews(const ast::File& file, const ast::Name& name, int64_t rank);
/// Of a change of the variable bound at `name` in a loop over its elements: those that the loop has yet to reach change
/// with it in Python.
std::optional<OtherMeaning> changedWhileWalked(const ast::File& file, const ast::Name& name);
/// Whether the variable bound at `name`, if it is an array, would be changed in another way than in Python.
bool changesOtherwise(const ast::File& file, const ast::Name& name, int64_t rank = -1);

}  // namespace tenc::frontend
