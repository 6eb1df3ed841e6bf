#include "codegen/ScalarReduce.h"

#include <cmath>

#include "codegen/ScalarBodies.h"
#include "codegen/ScalarConvert.h"

namespace tenc::codegen {
using ir::DType;
using ir::OpKind;
using Kind = Reduction::Kind;

Accumulated ScalarReducer::identity() const {
  const DType t = accumulator();
  const Repr r = reprOf(t);
  auto extreme = [&](bool wantLeast) -> Scalar {
    if (isFloat(r)) return b_.floatConstant(r, wantLeast ? -INFINITY : INFINITY);
    if (r == Repr::I1) return b_.intConstant(r, wantLeast ? 0 : 1);
    const uint64_t top = uint64_t{1} << (bitWidth(r) - 1);
    if (ir::isSigned(t)) return b_.intConstant(r, wantLeast ? top : top - 1);
    return b_.intConstant(r, wantLeast ? 0 : (top - 1) + top);
  };
  auto start = [&]() -> Scalar {
    switch (r_.kind) {
      case Kind::Sum: return isFloat(r) && r_.running ? b_.floatConstant(r, -0.0) : b_.constant(r, 0);
      case Kind::Prod: return b_.constant(r, 1);
      case Kind::Max:
      case Kind::ArgMax: return extreme(true);
      case Kind::Min:
      case Kind::ArgMin: return extreme(false);
      case Kind::Any: return b_.intConstant(Repr::I1, 0);
      case Kind::All: return b_.intConstant(Repr::I1, 1);
    }
    return b_.constant(r, 0);
  };
  const uint64_t last = ~uint64_t{0} >> (65 - bitWidth(positions_));
  return {start(), isArg() ? b_.intConstant(positions_, last) : Scalar{}};
}

Accumulated ScalarReducer::term(Scalar value, Scalar position) const {
  if (isArg()) return {value, position};
  return {emitCast(b_, value, valueType_, r_.accumulator), {}};
}

Scalar ScalarReducer::combine(Scalar a, Scalar b) const {
  Scalar args[] = {a, b};
  auto elementwise = [&](OpKind op) { return emitElementwise(b_, op, accumulator(), accumulator(), args, 0); };
  switch (r_.kind) {
    case Kind::Sum: return r_.accumulator == DType::Bool ? a | b : r_.running ? a + b : elementwise(OpKind::Add);
    case Kind::Prod: return a * b;
    case Kind::Any: return a | b;
    case Kind::All: return a & b;
    default: return elementwise(r_.kind == Kind::Max ? OpKind::Max : OpKind::Min);
  }
}

Scalar ScalarReducer::isBetter(Scalar y, Scalar x) const {
  Scalar args[] = {y, x};
  const OpKind op = r_.kind == Kind::ArgMax ? OpKind::Gt : OpKind::Lt;
  if (!isFloat(y.repr)) return emitElementwise(b_, op, accumulator(), DType::Bool, args, 0);
  // Not "x is as good", which NaN makes true, unless x is NaN itself.
  const Scalar asGood = r_.kind == Kind::ArgMax ? x >= y : x <= y;
  return logicalNot(asGood | isNan(x));
}

Accumulated ScalarReducer::merge(const Accumulated& x, const Accumulated& y) const {
  if (!isArg()) return {combine(x.value, y.value), {}};
  Scalar same = equal(x.value, y.value);
  if (isFloat(x.value.repr)) same = same | (isNan(x.value) & isNan(y.value));
  const Scalar better = isBetter(y.value, x.value) | (same & (y.position < x.position));
  return {select(better, y.value, x.value), select(better, y.position, x.position)};
}

Scalar ScalarReducer::result(const Accumulated& a) const {
  if (isArg()) return positions_ == Repr::I32 ? convert(ConvertInst::SExt, a.position, Repr::I64) : a.position;
  return emitCast(b_, a.value, r_.accumulator, r_.result);
}

}  // namespace tenc::codegen
