// Indices of bools as Python has them, and what TL writes instead.
#pragma once
#include <optional>

#include "ir/Type.h"
#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;

/// `x[mask] = v`, `x[mask].sum()`, `x[mask].mean(axis: 0)` with `where`, for a mask at `subscript` that has the
/// tensor's dims, or its first alone. None where elements or rows are picked otherwise: how many there are is known
/// only later.
std::optional<Help> withoutMask(Context& context, Span subscript, const ir::Type& indexed, const ir::Type& mask);

}  // namespace tenc::frontend
