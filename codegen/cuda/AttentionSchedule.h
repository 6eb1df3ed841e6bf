// How attention is shared out: blocks of queries, steps of keys, and how its operands come into shared memory.
#pragma once
#include <utility>

#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

/// What warpgroups add to a plan.
struct GroupPlan {
  int groups = 0;       ///< of a block, each with 64 rows; 0: warps multiply for themselves
  int resident = 1;     ///< blocks that a multiprocessor has registers for
  int stages = 2;       ///< of what is in shared memory, or on its way to it
  uint32_t shared = 0;  ///< bytes of dynamic shared memory
};

struct AttentionPlan : GroupPlan {
  bool onTensorCores = false;
  int held = 0;     ///< of groups: keys that are brought together
  int rows = 0;     ///< queries of a block
  int step = 0;     ///< keys at a time
  int threads = 0;  ///< on tensor cores 32 for each 16 queries, else 8 for each run of `rows * 8 / threads` of them
  int q = 1, k = 1, v = 1;  ///< elements of each operand that one access takes
  int vector = 1;           ///< of a result's row that are stored together
  int64_t tiles = 1;        ///< blocks of queries of a head
  uint32_t blocks = 1;
};

/// Of its gradient: blocks of keys, and behind them blocks of queries.
struct GradientPlan : GroupPlan {
  bool onTensorCores = false;
  int rows = 0;     ///< keys or queries of a block
  int step = 0;     ///< of the others, at a time
  int threads = 0;  ///< on tensor cores 32 for each 16 rows, else 8 for each run of `rows * 8 / threads` of them
  int bytes = 0;    ///< of shared memory
  int q = 1, k = 1, v = 1, c = 1;  ///< elements of each operand, and of the cotangent, that one access takes
  int vector = 1;                  ///< of a result's row that are stored together
  int64_t heads = 1;
  int64_t keyTiles = 0, queryTiles = 0;  ///< blocks of a head; none where their results are not wanted
};

AttentionPlan planAttention(const Kernel& kernel, const Features& features);
GradientPlan planGradient(const Kernel& kernel, const Features& features);
/// Buffers of operands, and elements that one access takes.
std::vector<std::pair<uint32_t, int>> attentionWidths(const Kernel& kernel, const Features& features);
/// The same as far as every kernel has it.
Schedule attentionSchedule(const Kernel& kernel, const Features& features);

}  // namespace tenc::codegen::cuda
