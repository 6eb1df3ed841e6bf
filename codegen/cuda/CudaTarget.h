// NVIDIA's GPUs as a target: kernels as CUDA C++, which NVRTC compiles.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/Target.h"
#include "codegen/cache/ObjectCache.h"

namespace tenc::codegen::cuda {

struct CudaOptions {
  /// Of the devices, as in architectureProblem; asked when there is a kernel for them.
  std::function<std::string()> architecture = [] { return std::string("sm_90"); };
  bool contract = false;  ///< --fp=contract: mul and add may be fused across operators
  bool fast = false;      ///< --fp=fast: besides, products may be of TF32 and round once, after their epilogue, and
                          ///< weights of attention are halves
  /// Multiplications of the smallest product that cuBLASLt is used for, where it is found; none: a number with a
  /// reason.
  std::optional<int64_t> leastProduct{};
  /// Elements of the smallest matrix that cuSOLVER is used for, where it is found; none: a number with a reason.
  std::optional<int64_t> leastSolved{};
  /// Multiplications of the smallest convolution of halves whose operands are copied, channels last; none: as in
  /// TargetTraits.
  std::optional<int64_t> leastChannelsLast{};
  int compileThreads = 2;
  bool malformed = false;  ///< plants an error that NVRTC finds, for tests
  CacheOptions cache{};    ///< for what NVRTC makes; its key has the file of NVRTC, which is not loaded on a hit
};

/// Why no code can be made for `architecture`, as a sentence; empty when it can.
std::string architectureProblem(std::string_view architecture);

/// Why CUDA C++ cannot be compiled here, as a sentence; empty when it can. Printing it needs no compiler. Loads
/// nothing.
std::string compilerProblem();
/// The same for one architecture, which the compiler is loaded for.
std::string compilerProblem(std::string_view architecture);

/// The version of NVRTC and its file, for people: "13.0, /usr/local/cuda/lib64/libnvrtc.so.13". Loads it; where it
/// cannot be, says why.
std::string compilerText();

/// `options.architecture` gives one without a problem.
std::unique_ptr<Target> makeCudaTarget(const CudaOptions& options);

}  // namespace tenc::codegen::cuda
