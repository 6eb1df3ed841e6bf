// What tells two instances of a function apart.
#pragma once
#include <string>

#include "frontend/values/Values.h"

namespace tenc::frontend {

std::string keyOf(const Val& v);
/// The first part of `after` that is known while compiling and is another in `before`; null for none. Tensors, which
/// may differ while running, are no such parts.
const Val* changedConstant(const Val& before, const Val& after);

}  // namespace tenc::frontend
