// Loops of PyTorch over the parameters of models, which change those of one: `map_leaves` makes the changed model.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// `for p, q in zip(a.parameters(), b.parameters()): q.data.copy_(t * p.data + (1 - t) * q.data)` as
/// `b = map_leaves(|p, q| t * p + (1 - t) * q, a, b)`. None where the call stands in another loop, or in none.
std::optional<Help> parameterLoop(Context& context, const ast::Expr& call);

}  // namespace tenc::frontend
