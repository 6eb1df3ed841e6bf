// The CPU as a target: kernels as LLVM IR, compiled in this process.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/Target.h"
#include "codegen/cache/ObjectCache.h"
#include "codegen/cpu/CompileLevel.h"

namespace tenc::codegen::cpu {

struct CpuOptions {
  std::string target;            ///< the processor that code is for, as in targetProblem
  bool contract = false;         ///< --fp=contract: mul and add may be fused across operators
  std::optional<Level> level{};  ///< of all kernels; none: as their expected work says
  int compileThreads = 2;        ///< threads that compile, when there are kernels enough
  int runThreads = 2;            ///< threads that will run kernels (for the division of products into tasks)
  CacheOptions cache{};          ///< of compiled code
  bool malformed = false;        ///< LLVM IR is made wrong, to see what becomes of that
};

/// Why no code can be made for the processor `name` (--target-cpu) and run here, as a sentence; empty when it can.
std::string targetProblem(std::string_view name);

/// `options.target` has no problem.
std::unique_ptr<Target> makeCpuTarget(const CpuOptions& options);

}  // namespace tenc::codegen::cpu
