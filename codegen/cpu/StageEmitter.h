// One stage of a loop kernel: its expressions, its loops over inner variables, and the accumulators of its reductions.
#pragma once
#include <functional>
#include <optional>

#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/LoopSchedule.h"
#include "codegen/cpu/Reduce.h"

namespace tenc::codegen::cpu {

class ShortRows;

/// Accumulators stand one after the other: for each copy (vector side by side) those of each reduction of the stage.
class StageEmitter {
 public:
  /// `vectorVar` runs over lanes; with none the stage is scalar. Outer variables that are bound, and results of
  /// reductions that are known, are known to the stage.
  StageEmitter(LoopFunction& f, const Stage& stage, std::optional<size_t> vectorVar, int lanes = kLanes);

  ExprEmitter& exprs() { return exprs_; }
  const Stage& stage() const { return stage_; }
  Reducer reducer(uint32_t reduction);
  /// Accumulators of so many copies before the first element.
  Values identities(int copies);
  /// One evaluation of the stage at the current values of variables, for so many copies; lanes that the mask of
  /// `exprs` leaves out keep their accumulators.
  Values body(int copies, const Values& accumulators);
  /// The accumulator of the stage's reduction number `index`.
  Values accumulator(const Values& all, int copies, int copy, size_t index);

  /// Loops over inner variables but `skip`, then `innermost`.
  Values innerLoops(std::optional<size_t> skip, const Values& carried,
                    const std::function<Values(const Values&)>& innermost);
  /// Whether the current outer point is in the stage's box, but for variable `except`.
  llvm::Value* inBox(std::optional<size_t> except);

 private:
  bool isVector() const { return vectorVar_.has_value(); }
  bool hasGrowingPosition(const Reduction& r) const;
  llvm::Value* firstPositions(int copy);
  size_t runningStep(int copy, Values& accumulators, size_t at);
  Values innerLoops(size_t i, std::optional<size_t> skip, const Values& carried,
                    const std::function<Values(const Values&)>& innermost);

  LoopFunction& f_;
  const Stage& stage_;
  std::optional<size_t> vectorVar_;
  ExprEmitter exprs_;
};

/// Whether the stage's box or loops have no point.
bool isEmpty(const Stage& stage);

/// One stage for `copies` vectors, from `base` on, of an outer variable: each lane has accumulators of its own, and
/// results are set for each copy. `rows`, if not null, holds rows that are transposed.
void emitColumnStage(LoopFunction& f, const Stage& stage, size_t var, llvm::Value* base, int copies, llvm::Value* mask,
                     ShortRows* rows = nullptr);

}  // namespace tenc::codegen::cpu
