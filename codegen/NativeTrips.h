// Native loops whose trips do not depend on each other.
#pragma once
#include "codegen/Kernel.h"

namespace tenc::codegen {

/// The outermost loop of a native kernel, if each trip may be a thread's: what it hands from trip to trip are tensors,
/// and each trip has elements of its own of each, which alone it reads and writes. Null otherwise.
const ir::Op* loopOfApartTrips(const Kernel& kernel);

}  // namespace tenc::codegen
