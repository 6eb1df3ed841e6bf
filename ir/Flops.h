// How much arithmetic ops are, as people count it: for messages, not for schedules.
#pragma once
#include "ir/Module.h"

namespace tenc::ir {

/// Floating-point operations of one run of the op without its regions: two for each product that is summed, one for
/// each element of another result or of what is reduced. Of library routines the order of magnitude.
double flopsOf(const Op& op);

}  // namespace tenc::ir
