// How attention is shared out: blocks of queries, steps of keys, and how its operands come into shared memory.
#pragma once
#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

struct AttentionPlan {
  bool onTensorCores = false;
  int rows = 0;     ///< queries of a block
  int step = 0;     ///< keys at a time
  int threads = 0;  ///< on tensor cores 32 for each 16 queries, else 8 for each run of `rows * 8 / threads` of them
  int q = 1, k = 1, v = 1;  ///< elements of each operand that one access takes
  int vector = 1;           ///< of a result's row that are stored together
  int64_t tiles = 1;        ///< blocks of queries of a head
  uint32_t blocks = 1;
};

AttentionPlan planAttention(const Kernel& kernel, const Features& features);
/// The same as far as every kernel has it.
Schedule attentionSchedule(const Kernel& kernel, const Features& features);

}  // namespace tenc::codegen::cuda
