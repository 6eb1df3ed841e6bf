// Which kernels NVRTC compiles together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

/// The code of all points that a thread has, in units of elementwiseCost.
int64_t unrolledCode(const Kernel& kernel, const Schedule& schedule);

/// How long NVRTC takes for a kernel, roughly, in units of elementwiseCost: how much code it is when it is unrolled.
int64_t compileEffort(const Kernel& kernel, const Schedule& schedule);

/// Kernels, by number.
using Part = std::vector<size_t>;
/// Parts of about the same effort, for so many threads.
std::vector<Part> partsOf(const std::vector<int64_t>& efforts, size_t threads);

}  // namespace tenc::codegen::cuda
