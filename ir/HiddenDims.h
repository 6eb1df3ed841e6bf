// What a message says of the axis that is indexed.
#pragma once
#include <cstdint>

#include "ir/Module.h"

namespace tenc::ir {

/// Of an op that indexes: how many leading dims `vmap` has given operand 0. No source counts them.
inline constexpr const char* kHiddenDims = "vmap.hidden";

/// An axis of operand 0 as the source counts it.
inline int64_t writtenAxis(const Op& op, int64_t axis) {
  const int64_t hidden = op.intAttr(kHiddenDims);
  return axis < hidden ? axis : axis - hidden;
}

}  // namespace tenc::ir
