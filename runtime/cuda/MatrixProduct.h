// A product of matrices by cuBLASLt, as it was planned when the program was loaded.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/abi/Kernels.h"
#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/Outcome.h"

namespace tenc::rt::cuda {

class MatrixProduct {
 public:
  /// Chooses the algorithm: the heuristic's first one of those that need no more memory than the kernel has and add up
  /// terms in one order, so that results repeat. Nothing is measured. `kernel` has a ProductCode. Null, with a sentence
  /// in `why`, when the library has none.
  static std::unique_ptr<MatrixProduct> plan(std::shared_ptr<const CublasLt> library, const abi::Kernel& kernel,
                                             std::string& why);
  ~MatrixProduct();
  MatrixProduct(const MatrixProduct&) = delete;
  MatrixProduct& operator=(const MatrixProduct&) = delete;

  /// Puts it into the queue, with the addresses of the launch's arguments; may be captured. Not from two threads at a
  /// time.
  Outcome run(std::span<const uint64_t> arguments, StreamHandle stream);

 private:
  LibraryStatus multiply(std::span<const uint64_t> arguments, StreamHandle stream);
  class Plan;
  MatrixProduct(std::shared_ptr<const CublasLt> library, const abi::Kernel& kernel);
  static void* address(std::span<const uint64_t> arguments, const abi::MatrixRef& m);
  /// What is left of it when its start is aligned.
  static uint64_t workspaceBytes(const abi::Kernel& kernel);

  using Owned = std::unique_ptr<void, LibraryStatus (*)(void*)>;
  const std::shared_ptr<const CublasLt> library_;
  const abi::Kernel& kernel_;
  const abi::ProductCode& code_;
  Owned product_, a_, b_, c_, d_;  ///< descriptors
  ProductAlgorithm algorithm_{};
  const void* bias_ = nullptr;  ///< that product_ has
};

}  // namespace tenc::rt::cuda
