// A step of training as PyTorch writes it, `loss.backward()` and `opt.step()`, written with a gradient that is a value.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// `loss.backward()` with the statements that `loss` is made by and the `opt.step()` behind it; nothing where the
/// optimiser, its model or the loss are not told by statements of the same block.
std::optional<Help> trainingStep(Context& context, const ast::Expr& backward);
/// `((w - 3) ** 2).sum().backward()`, a statement, with a name for what it starts from, which a step is made of.
std::optional<Help> namedLoss(Context& context, const ast::Expr& backward);

}  // namespace tenc::frontend
