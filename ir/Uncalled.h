// Functions that nobody calls.
#pragma once
#include <string_view>
#include <vector>

#include "ir/Ir.h"

namespace tenc::ir {

/// Drops the functions that `entries` do not come to. `rules`: what a `custom_vjp` names is needed, too.
void dropUncalled(Module& m, const std::vector<std::string_view>& entries, bool rules);

}  // namespace tenc::ir
