// Accumulators of reductions in terms of ScalarBuilder: their start, how two become one, and the result. Which elements
// meet in what order is the target's to say.
#pragma once
#include "codegen/Kernel.h"
#include "codegen/ScalarBuilder.h"

namespace tenc::codegen {

/// What some elements have come to. `position` counts for argmax and argmin alone.
struct Accumulated {
  Scalar value, position;
};

class ScalarReducer {
 public:
  /// `valueType`: the dtype of the elements. `positions`: how positions are held.
  ScalarReducer(ScalarBuilder& b, const Reduction& r, ir::DType valueType, Repr positions = Repr::I64)
      : b_(b), r_(r), valueType_(valueType), positions_(positions) {}

  bool isArg() const { return r_.kind == Reduction::Kind::ArgMax || r_.kind == Reduction::Kind::ArgMin; }
  /// The dtype of Accumulated::value.
  ir::DType accumulator() const { return isArg() ? valueType_ : r_.accumulator; }
  Repr positions() const { return positions_; }
  /// What no elements come to. Its position comes after all others.
  Accumulated identity() const;
  /// What one element comes to.
  Accumulated term(Scalar value, Scalar position) const;
  /// What both come to, the elements of `x` before those of `y`. Equal elements: the lesser position.
  Accumulated merge(const Accumulated& x, const Accumulated& y) const;
  /// Whether `y` comes before `x` whatever the positions; NaN is the largest and the smallest.
  Scalar isBetter(Scalar y, Scalar x) const;
  Scalar result(const Accumulated& a) const;

 private:
  Scalar combine(Scalar a, Scalar b) const;
  ScalarBuilder& b_;
  const Reduction& r_;
  ir::DType valueType_;
  Repr positions_;
};

}  // namespace tenc::codegen
