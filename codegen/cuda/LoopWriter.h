// A loop kernel as a CUDA C++ function.
#pragma once
#include <cstdint>
#include <string>

#include "codegen/Kernel.h"

namespace tenc::codegen::cuda {

/// How the outer points of a kernel are shared out.
struct LaunchShape {
  /// Points: a thread for each outer point. Rows: a block for each, whose threads share the inner points.
  enum class Family : uint8_t { Points, Rows } family = Family::Points;
  uint32_t blocks = 1, threads = 1;
  uint32_t sharedBytes = 0;  ///< static, for scratch rows and partial results of a block
};

LaunchShape launchShape(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
