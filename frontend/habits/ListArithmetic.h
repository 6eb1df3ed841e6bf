// Arithmetic of lists. In Python `[0] * 3` repeats, `[1, 2] + [3]` joins and `a == b` compares lists as wholes;
// brackets make tensors here, whose elements are computed with.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "support/Diagnostics.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Whether it is a product or a sum of lists in brackets.
bool isListArithmetic(const ast::Expr& e);
/// `[0] * 3` and `[[0] * 3] * 2`, with the counts from outside in, and `[1] + [2]`, without any.
struct ListForm {
  std::vector<const ast::Expr*> counts;
  const ast::Expr* first;             ///< the element, or the first list
  const ast::Expr* second = nullptr;  ///< the second list
};
std::optional<ListForm> listForm(const ast::Expr& e);
/// `full([3], 0)` for `[0] * 3`, `concat(([1, 2], [3]))` for `[1, 2] + [3]`; nothing for other expressions.
std::optional<std::string> listsWritten(const SourceManager& sources, const ast::Expr& e);

}  // namespace tenc::frontend
