// What native loops cost on a GPU.
#pragma once
#include "codegen/Target.h"

namespace tenc::codegen::cuda {

/// How long the threads of a native loop take, roughly: their instructions one after the other. A loop whose bounds are
/// not known counts as one trip, a branch as its longer side. None where there is a thread for each of many trips.
FewThreads nativeThreads(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
