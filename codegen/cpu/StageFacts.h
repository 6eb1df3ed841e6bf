// What the expressions of a stage depend on and which of them are used: facts of the kernel alone, found once, that
// decide what is a vector and what can be emitted before a loop.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/Kernel.h"

namespace tenc::codegen::cpu {

class StageFacts {
 public:
  static constexpr size_t kNoVar = ~size_t{0};

  /// `vectorVar`: the loop variable that runs over lanes, or kNoVar.
  StageFacts(const Kernel& kernel, const Stage& stage, size_t vectorVar);
  /// Says that results of reductions change with the vector variable.
  void reducedVaries();

  size_t vectorVar() const { return vectorVar_; }
  /// Loop variables on which the expression depends, as a bit set.
  uint64_t dependencies(ExprId e) const { return facts_[e].vars; }
  bool isVector(ExprId e) const { return vectorVar_ != kNoVar && (facts_[e].vars >> vectorVar_ & 1) != 0; }
  /// Whether a store, a reduction or the index of an access uses it.
  bool isNeeded(ExprId e) const { return facts_[e].needed; }
  /// Whether it is i64 arithmetic on loop variables alone.
  bool isPosition(ExprId e) const { return facts_[e].position; }
  /// Whether it depends on a reduction's result.
  bool isFromReduced(ExprId e) const { return facts_[e].fromReduced; }
  /// Whether it depends on a running value, which the loop sets.
  bool isFromRunning(ExprId e) const { return facts_[e].fromRunning; }
  /// Whether the stage reads the result of reduction `number`.
  bool readsReduced(uint32_t number) const;
  /// By how much lane i of a position is i times further than the first lane, where that is known.
  std::optional<int64_t> laneStride(ExprId position) const;
  /// Whether the stage stores into the buffer.
  bool isStored(uint32_t buffer) const;

 private:
  struct Fact {
    uint64_t vars = 0;
    bool needed = false, position = false, fromReduced = false, fromRunning = false;
  };
  Fact factOf(const Kernel& kernel, const Expr& e) const;
  void collectNeeded(ExprId e);

  const Stage& stage_;
  const size_t vectorVar_;
  std::vector<Fact> facts_;  ///< by expression
};

}  // namespace tenc::codegen::cpu
