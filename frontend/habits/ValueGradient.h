// PyTorch's derivative of a value, `torch.autograd.grad(y, x)`, as that of the function that makes the value.
#pragma once
#include <optional>

#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;

/// `grad(y, x)` with the statements by which `y` is made of `x`; nothing where those do not stand in one block.
std::optional<Help> valueGradient(Context& context, Span call, Span y, Span x);

}  // namespace tenc::frontend
