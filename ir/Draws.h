// Draws of random numbers as values: the count of draws goes through regions like anything that they compute.
#pragma once
#include "ir/Module.h"

namespace tenc::ir {

/// Makes ops take the state of the random numbers from two values (u64), the seed and the count of draws, and gives the
/// count behind them. What has regions that draw carries the count, or yields it. A draw in the condition of a loop
/// would not be counted, so there must be none.
class DrawThreading {
 public:
  virtual ~DrawThreading() = default;
  /// A draw is erased.
  Value* through(Op& op, Value* seed, Value* count);
  /// All ops of a region; its terminator is left as it is.
  Value* through(Region& r, Value* seed, Value* count);

  /// Whether an op of the region, or of one inside it, draws.
  bool draws(const Region& r) const;
  bool draws(const Op& op) const;

 protected:
  virtual bool callDraws(const Op& /*call*/) const { return false; }
  /// Of a call that draws: the count behind it.
  virtual Value* throughCall(Op& /*call*/, Value* /*seed*/, Value* count) { return count; }
};

}  // namespace tenc::ir
