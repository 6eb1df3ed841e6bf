// How much one expression is more than another, as they are written.
#pragma once
#include <optional>
#include <string>

#include "syntax/Ast.h"

namespace tenc::frontend {

/// `4` for `(i + 1) * 4` and `i * 4`, `n` for `i * n + n` and `i * n`; nothing where names are left over that stand in
/// products with others, or where it is no positive sum.
std::optional<std::string> writtenDifference(const ast::Expr& more, const ast::Expr& less);

}  // namespace tenc::frontend
