// Words of options: what an assertion of the library asks one of them to be.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// Of a failed `assert mode == "linear" or mode == "cubic"` in the library: the edit of the literal in the script's
/// call that was meant for one of these words. Nullopt where none is near, or more than one.
std::optional<Help> wordMeant(const Context& context, const ast::Expr& condition);

}  // namespace tenc::frontend
