// NVIDIA's GPUs as a target: kernels as CUDA C++, which NVRTC compiles.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "codegen/Target.h"

namespace tenc::codegen::cuda {

struct CudaOptions {
  std::string architecture = "sm_90";  ///< of the device, as in architectureProblem
  bool contract = false;               ///< --fp=contract: mul and add may be fused across operators
  int compileThreads = 2;
};

/// Why no code can be made for `architecture`, as a sentence; empty when it can.
std::string architectureProblem(std::string_view architecture);

/// Why CUDA C++ cannot be compiled here, as a sentence; empty when it can. Printing it needs no compiler.
std::string compilerProblem();

/// `options.architecture` has no problem.
std::unique_ptr<Target> makeCudaTarget(const CudaOptions& options);

}  // namespace tenc::codegen::cuda
