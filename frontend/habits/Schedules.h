// PyTorch's schedulers of learning rates, as rates that follow from the step.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// `scheduler = StepLR(opt, 10, 0.5)` with its `scheduler.step()` in a loop that counts from 0: the rate is an option
/// of `opt.step`. None where the call is of something else, or where they stand in another way.
std::optional<Help> scheduledRate(Context& context, const ast::Expr& call);

}  // namespace tenc::frontend
