// The names of what is built in.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

/// What takes functions and stands only where something is called: grad, vmap, checkpoint, ..., and `rev`.
bool isTransform(std::string_view name);
bool isBuiltin(std::string_view name);
/// Names of all built-ins, for "did you mean".
const std::vector<std::string_view>& builtinNames();
/// Constants of ops.md that are no functions: pi, inf, nan; poison for others.
std::optional<Val> builtinConstant(std::string_view name, Span span);

}  // namespace tenc::frontend
