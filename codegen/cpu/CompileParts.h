// How kernels are shared out between the threads that compile them.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {

/// A kernel whose schedule is chosen.
struct ScheduledKernel {
  const Kernel* kernel;
  const Schedule* schedule;
};

/// The kernels of each part, at most `most` parts, about equally long to compile at their levels; in a part in rising
/// order. Kernels that share functions (random numbers) come together where that is shorter. A function of the
/// arguments alone.
std::vector<std::vector<size_t>> compileParts(std::span<const ScheduledKernel> kernels, int most);

}  // namespace tenc::codegen::cpu
