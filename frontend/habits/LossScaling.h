// Training with PyTorch's `GradScaler`, without it.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// `scaler = GradScaler()` with all that is done with it: the loss is differentiated as it is, and the optimiser steps.
/// Without an edit where halves are of f16, whose gradients may need scaling, or something else is done with it; none
/// where the call is of something else.
std::optional<Help> unscaledTraining(Context& context, const ast::Expr& call);

}  // namespace tenc::frontend
