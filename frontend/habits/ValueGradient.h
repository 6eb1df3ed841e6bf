// PyTorch's derivatives of values, `torch.autograd.grad(y, x)` and `y.backward()` with `x.grad`, as those of the
// function that makes the value.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;

/// `torch.autograd.grad(y, x)`, which gives a tuple; without an edit where `y` cannot be made a function. None where
/// the call is of something else.
std::optional<Help> tupleOfGradient(Context& context, Scopes& scopes, const ast::Expr& call);
/// `grad(y, x)` with the statements by which `y` is made of `x`, or of the sum of `y`; nothing where those do not stand
/// in one block.
std::optional<Help> valueGradient(Context& context, Span call, Span y, Span x, bool summed = false);
/// `loss.backward()` with the `w.grad` behind it, where no optimiser makes the step; nothing as above.
std::optional<Help> backwardStep(Context& context, const ast::Expr& backward);

}  // namespace tenc::frontend
