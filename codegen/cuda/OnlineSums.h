// Sums of exp(x - max x) along rows in one pass, as in softmax and cross entropy: the greatest element so far and the
// sum of what the others weigh beside it, which is scaled when a greater one comes.
#pragma once
#include <optional>

#include "codegen/Kernel.h"

namespace tenc::codegen::cuda {

/// Stage `stage` takes the maximum of `value`, and the next one sums exp(value - maximum) over the same points.
struct OnlineSum {
  size_t stage = 0;
  uint32_t maximum = 0, sum = 0;  ///< reductions
  ExprId value = kNoExpr;         ///< of the stage
  bool finite = false;            ///< an infinite maximum counts as 0, as in logsumexp
  bool alone = false;             ///< no other stage goes along rows
};

std::optional<OnlineSum> onlineSum(const Kernel& kernel);

}  // namespace tenc::codegen::cuda
