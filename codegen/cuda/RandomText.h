// Random numbers as CUDA C++: the elements of ScalarRandom.h, from unsigned words.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cuda/CudaScalars.h"

namespace tenc::codegen::cuda {

/// Points of a thread that lie side by side along a loop variable: `first` plus `v`, which is below `width`. The first
/// is a multiple of that.
struct Lanes {
  size_t variable = 0;
  std::string first;
  int width = 1;
  /// Where they are side by side in row-major order of all variables: the extents of these.
  const std::vector<int64_t>* extents = nullptr;
  /// In front of the loop over them.
  std::optional<CudaText::Place> before;
};

/// The number of an element of a draw at one of them: `base` plus `v`. Base is a multiple of the width.
/// nullopt: it does not move with them one by one.
std::optional<std::string> baseOfLanes(const Stage& stage, ExprId number, const Lanes& lanes,
                                       std::span<const std::string> variables);

/// The element of an expression of kind Random, of its arguments' values. Elements that follow each other share a block
/// of Philox, which is computed once for those of one thread, where their `base` is known: in front of their loop, as
/// NVRTC would unroll it with a copy for each, and take its time to find out. `lanes.before`: the draw is known there.
Scalar randomElement(CudaText& out, CudaScalars& scalars, const Expr& random, std::span<const Scalar> args,
                     const std::optional<std::string>& base, const Lanes& lanes);

}  // namespace tenc::codegen::cuda
