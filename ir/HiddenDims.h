// What a message says of the axis that is indexed.
#pragma once
#include <cstdint>

#include "ir/Module.h"
#include "support/ClassIndex.h"

namespace tenc::ir {

/// Of an op that indexes: how many leading dims `vmap` has given operand 0. No source counts them.
inline constexpr const char* kHiddenDims = "vmap.hidden";

/// Of an op that indexes by class numbers, as support/ClassIndex.h has them.
inline constexpr const char* kOfClasses = "index.classes";

/// An axis of operand 0 as the source counts it, or kClassAxis.
inline int64_t writtenAxis(const Op& op, int64_t axis) {
  if (op.boolAttr(kOfClasses)) return kClassAxis;
  const int64_t hidden = op.intAttr(kHiddenDims);
  return axis < hidden ? axis : axis - hidden;
}

/// What is said of the indices of one op holds for one made of it, which indexes the same dims.
inline void keepWritten(const Op& from, Op& to) {
  if (const int64_t hidden = from.intAttr(kHiddenDims)) to.set(kHiddenDims, hidden);
  if (from.boolAttr(kOfClasses)) to.set(kOfClasses, true);
}

}  // namespace tenc::ir
