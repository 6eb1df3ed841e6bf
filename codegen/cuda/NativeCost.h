// What native loops cost on a GPU.
#pragma once
#include "codegen/Kernel.h"

namespace tenc::codegen::cuda {

/// Seconds that one thread takes for a run of a native loop, roughly: its instructions one after the other. A loop
/// whose bounds are not known counts as one trip, a branch as its longer side.
double secondsAlone(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
