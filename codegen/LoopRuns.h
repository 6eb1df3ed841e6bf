// How often the regions of control flow run.
#pragma once
#include <limits>

#include "ir/Loops.h"
#include "ir/Module.h"

namespace tenc::codegen {

/// Upper bound of the number of times that the regions of a control op run for each run of the op; infinite where it
/// depends on run-time values (`while`) or on the clock (`bench`). At least 1.
inline double regionRuns(const ir::Op& op) {
  if (op.kind == ir::OpKind::If) return 1;
  const auto trips = ir::tripCount(op);
  if (!trips) return std::numeric_limits<double>::infinity();
  return *trips < 1 ? 1 : static_cast<double>(*trips);
}

}  // namespace tenc::codegen
