// Expressions of numbers and of tensors made from nothing, which can be made in a wider dtype.
#pragma once
#include <optional>
#include <vector>

#include "ir/Type.h"
#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;

/// The edits that give each creation in `0.1 * ones([2])` a dtype, so that no number is rounded to a narrower one
/// before; nothing where the expression has other parts, whose dtype is decided elsewhere, or random numbers, which are
/// others in another dtype.
std::optional<std::vector<Edit>> madeWider(Context& context, Span expression, ir::DType dtype);

}  // namespace tenc::frontend
