// Accumulators of reductions: their start, one step, merging, and the end.
#pragma once
#include "codegen/Kernel.h"
#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {

/// Accumulators are one LLVM value, two (value, position) for argmax and argmin. All orders of combination are fixed.
class Reducer {
 public:
  Reducer(LlvmScalars& s, const Reduction& r, ir::DType valueType) : s_(s), r_(r), valueType_(valueType) {}
  size_t parts() const { return isArg() ? 2 : 1; }
  /// The identity, as a vector or an element.
  Values identity(bool vector);
  /// One step; lanes that are off keep their state.
  Values step(const Values& acc, Scalar value, Scalar position, llvm::Value* mask);
  Values merge(const Values& a, const Values& b);
  /// From lanes to one, by halves.
  Values acrossLanes(Values acc);
  Scalar result(const Values& acc);

 private:
  bool isArg() const { return r_.kind == Reduction::Kind::ArgMax || r_.kind == Reduction::Kind::ArgMin; }
  ir::DType accumulator() const { return isArg() ? valueType_ : r_.accumulator; }
  Scalar combine(Scalar a, Scalar b);
  LlvmScalars& s_;
  const Reduction& r_;
  ir::DType valueType_;
};

}  // namespace tenc::codegen::cpu
