// Functions in CUDA C++ that kernels become.
#pragma once
#include <span>
#include <string>

#include "codegen/cuda/ImageParts.h"
#include "codegen/cuda/Schedule.h"
#include "codegen/cuda/SolverRoutine.h"

namespace tenc::codegen::cuda {

/// All of a kernel, or what stands around a library's calls.
struct Function {
  const Kernel* kernel = nullptr;
  std::string key{};  ///< functions with the same one have the same code
  const SolverRoutine* solver = nullptr;
  SolverPart part = SolverPart::Before;
  size_t step = 0;       ///< which one of the kernel's functions
  std::string source{};  ///< for a comment that people read

  Schedule schedule(const Features& features) const;
  /// Whether memory to work in is one more parameter.
  bool hasWorkspace(const Features& features) const;
};

/// Of a kernel without a library.
LaunchPlan planLaunches(const Kernel& kernel, const Features& features);

/// The name of a text's function.
std::string symbolOf(size_t i);

struct Source {
  std::string text, error;
};
/// Some functions of a list, as one text.
Source sourceOf(std::span<const Function> functions, const Features& features, const Part& part);

}  // namespace tenc::codegen::cuda
