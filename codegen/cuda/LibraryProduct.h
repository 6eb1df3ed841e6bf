// Which products cuBLASLt computes, and what it is told of them.
#pragma once
#include <optional>
#include <string>

#include "codegen/Kernel.h"
#include "codegen/Target.h"
#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

struct ProductChoice {
  /// Multiplications of the smallest product that goes to the library.
  int64_t least = kLeast;
  bool fast = false;               ///< --fp=fast
  uint64_t workspaceBytes = kMiB;  ///< the most that the library is given, for an algorithm

  /// 1 us of an H100's arithmetic in f32 (67 TFLOP/s), 5 us in tiles of our own that do not fill it (the model in
  /// bench/gpu_model.py). A launch takes about as long, and tiles have the epilogue in them, so that for less they are
  /// no worse. Not measured.
  static constexpr int64_t kLeast = int64_t{1} << 25;
  static constexpr uint64_t kMiB = uint64_t{1} << 20;
};

/// A kernel as a call of the library, and what it does not do as a kernel that follows.
struct LibraryProduct {
  abi::ProductCode code;  ///< `then` is not set
  /// Takes the same buffers, and the workspace as one more.
  std::optional<Kernel> rest;
  KernelNeeds needs;
  std::string text() const;  ///< for people
};

/// Nothing where the kernel is none, or is better off with our own code: small, or matrices that leading dims do not
/// describe.
std::optional<LibraryProduct> libraryProduct(const Kernel& kernel, const ProductChoice& choice,
                                             const Features& features);

}  // namespace tenc::codegen::cuda
