// What writes kernels as CUDA C++, one function for each form of Kernel.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cuda/CudaText.h"
#include "codegen/cuda/Schedule.h"
#include "codegen/cuda/StageWriter.h"

namespace tenc::codegen::cuda {

/// The text of some kernels, which one run of NVRTC compiles.
struct Module {
  CudaText text;
  std::string tables;                       ///< declarations that stand before the kernels
  std::vector<std::string_view> functions;  ///< texts of functions that kernels call, in order

  void need(std::string_view functionText) {
    if (std::find(functions.begin(), functions.end(), functionText) == functions.end())
      functions.push_back(functionText);
  }
};

/// The body of a function for the kernel. Returns what of it has no CUDA form, empty when all has.
std::string writeLoopKernel(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names);
/// Points of FlatPlan.h.
std::string writeFlat(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names);
/// Points whose schedule turns something.
std::string writeTurned(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names);
/// Running reductions whose schedule is that of a scan.
std::string writeScan(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names);
std::string writeProduct(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names);
std::string writeAttention(const Kernel& kernel, const Features& features, Module& module, const KernelNames& names);
std::string writeAttentionGradient(const Kernel& kernel, const Features& features, Module& module,
                                   const KernelNames& names);
/// The same for a native loop, which one thread runs.
std::string writeNativeLoop(const Kernel& kernel, Module& module, const KernelNames& names);

}  // namespace tenc::codegen::cuda
