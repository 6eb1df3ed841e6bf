// The CPU target: kernels as LLVM IR, compiled in this process.
#pragma once
#include <memory>

#include "codegen/Codegen.h"

namespace tenc::codegen::cpu {

struct CpuOptions {
  bool contract = false;   ///< --fp=contract: mul and add may be fused across operators
  int compileThreads = 2;  ///< threads that compile, when there are kernels enough
  int runThreads = 2;      ///< threads that will run kernels (for the division of products into tasks)
};

std::unique_ptr<Backend> makeCpuBackend(const CpuOptions& options);

}  // namespace tenc::codegen::cpu
