// Arrays that are taken apart by a pattern, `x, y = s` in Python: TL takes tuples and lists apart.
#pragma once
#include <optional>
#include <span>

#include "frontend/values/Values.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// How a tensor of as many rows as there are names is taken apart; nothing for other values. `written`: where it
/// stands, null where it has no place of its own. Edits it where the text tells that it is one array in Python, too,
/// not the first of several values that a function gives there.
std::optional<Help> takenApart(Context& context, const ast::Expr* written, const Val& value, size_t names);
/// What is said where the pattern takes a state too, `out, (h, c) = lstm(x)`: layers give their outputs alone. `state`:
/// whether its second part is several names.
std::optional<Help> stateTaken(const ast::Expr* written, const Val& value, bool state);

}  // namespace tenc::frontend
