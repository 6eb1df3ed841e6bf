// What became of a command.
#pragma once
#include <string>

#include "runtime/cuda/CudaDriver.h"

namespace tenc::rt::cuda {

/// What a driver's call came to, and its name.
struct Outcome {
  Result status = 0;
  const char* call = "";
  std::string library{};  ///< what a library says of its call that was to come before, and failed
  bool isWell() const { return status == 0 && library.empty(); }
};

}  // namespace tenc::rt::cuda
