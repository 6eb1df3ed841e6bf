// How kernels are shared out between the threads that compile them.
#pragma once
#include <cstddef>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/CompileLevel.h"

namespace tenc::codegen::cpu {

/// The kernels of each part, at most `most` parts, about equally long to compile at their levels; in a part in rising
/// order. Kernels that share functions (random numbers) come together where that is shorter. A function of the
/// arguments alone.
std::vector<std::vector<size_t>> compileParts(const std::vector<const Kernel*>& kernels,
                                              const std::vector<Level>& levels, int most);

}  // namespace tenc::codegen::cpu
