// Accumulators of reductions: their start, one step, merging, and the end.
#pragma once
#include "codegen/Kernel.h"
#include "codegen/ScalarReduce.h"
#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {

/// Accumulators are one LLVM value, two (value, position) for argmax and argmin. All orders of combination are fixed.
class Reducer {
 public:
  /// `growing`, for argmax and argmin: the positions that one accumulator sees grow from step to step, and fit in 32
  /// bits, in which they are then given and kept.
  Reducer(LlvmScalars& s, const Reduction& r, ir::DType valueType, bool growing = false)
      : s_(s),
        r_(r),
        valueType_(valueType),
        growing_(growing),
        steps_(s, r, valueType, growing ? Repr::I32 : Repr::I64) {}
  size_t parts() const { return steps_.isArg() ? 2 : 1; }
  /// The identity, as a vector or an element. With growing positions `first` are those of the first step: nothing may
  /// be better than the identity's value.
  Values identity(bool vector, llvm::Value* first = nullptr);
  /// One step; lanes that are off keep their state.
  Values step(const Values& acc, Scalar value, Scalar position, llvm::Value* mask);
  Values merge(const Values& a, const Values& b);
  /// From lanes to one, by halves; lanes from `used` on have seen no element.
  Values acrossLanes(Values acc, int64_t used);
  Scalar result(const Values& acc);

 private:
  Repr valueRepr() const { return reprOf(steps_.accumulator()); }
  Accumulated wrap(const Values& acc);
  Values unwrap(const Accumulated& a) const;
  /// One position from the lanes of the best value.
  Values positionAcrossLanes(const Values& acc);
  /// By a function of the module.
  Values acrossLanesShared(const Values& acc);
  llvm::Value* moveDown(llvm::Value* v, int by);
  LlvmScalars& s_;
  const Reduction& r_;
  ir::DType valueType_;
  bool growing_;
  ScalarReducer steps_;
};

}  // namespace tenc::codegen::cpu
