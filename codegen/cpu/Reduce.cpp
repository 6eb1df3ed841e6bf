#include "codegen/cpu/Reduce.h"

#include <cmath>
#include <limits>

namespace tenc::codegen::cpu {
using ir::DType;
using ir::OpKind;
using llvm::Value;
using Kind = Reduction::Kind;

Values Reducer::identity(bool vector) {
  DType t = accumulator();
  Repr r = reprOf(t);
  auto least = [&](bool wantLeast) -> Scalar {
    if (isFloat(r)) return s_.floatConstant(r, wantLeast ? -INFINITY : INFINITY);
    if (r == Repr::I1) return s_.intConstant(r, wantLeast ? 0 : 1);
    uint64_t top = uint64_t{1} << (bitWidth(r) - 1);
    if (ir::isSigned(t)) return s_.intConstant(r, wantLeast ? top : top - 1);
    return s_.intConstant(r, wantLeast ? 0 : (top - 1) + top);
  };
  auto start = [&]() -> Scalar {
    switch (r_.kind) {
      case Kind::Sum: return s_.constant(r, 0);
      case Kind::Prod: return s_.constant(r, 1);
      case Kind::Max:
      case Kind::ArgMax: return least(true);
      case Kind::Min:
      case Kind::ArgMin: return least(false);
      case Kind::Any: return s_.intConstant(Repr::I1, 0);
      case Kind::All: return s_.intConstant(Repr::I1, 1);
    }
    return s_.constant(r, 0);
  };
  Values v = {LlvmScalars::value(start())};
  if (isArg()) v.push_back(LlvmScalars::value(s_.intConstant(Repr::I64, std::numeric_limits<int64_t>::max())));
  if (vector)
    for (Value*& x : v) x = s_.splat(x);
  return v;
}

Scalar Reducer::combine(Scalar a, Scalar b) {
  switch (r_.kind) {
    case Kind::Sum: {
      if (r_.accumulator == DType::Bool) return a | b;
      Scalar args[] = {a, b};
      return s_.elementwise(OpKind::Add, accumulator(), accumulator(), args, 0);  // contracted when that is allowed
    }
    case Kind::Prod: return a * b;
    case Kind::Any: return a | b;
    case Kind::All: return a & b;
    default: {
      Scalar args[] = {a, b};
      return emitElementwise(s_, r_.kind == Kind::Max ? OpKind::Max : OpKind::Min, accumulator(), accumulator(), args,
                             0);
    }
  }
}

Values Reducer::merge(const Values& a, const Values& b) {
  Repr r = reprOf(accumulator());
  Scalar x = s_.wrap(a[0], r), y = s_.wrap(b[0], r);
  if (!isArg()) return {LlvmScalars::value(combine(x, y))};
  Scalar px = s_.wrap(a[1], Repr::I64), py = s_.wrap(b[1], Repr::I64);
  Scalar args[] = {y, x};
  Scalar better =
      emitElementwise(s_, r_.kind == Kind::ArgMax ? OpKind::Gt : OpKind::Lt, accumulator(), DType::Bool, args, 0);
  Scalar same = equal(x, y);
  if (isFloat(r)) {
    // NaN is the largest and the smallest.
    better = better | (isNan(y) & logicalNot(isNan(x)));
    better = better & logicalNot(isNan(x) & logicalNot(isNan(y)));
    same = same | (isNan(x) & isNan(y));
  }
  better = better | (same & (py < px));
  return {LlvmScalars::value(select(better, y, x)), LlvmScalars::value(select(better, py, px))};
}

Values Reducer::step(const Values& acc, Scalar value, Scalar position, Value* mask) {
  Values term;
  if (isArg()) {
    term = {LlvmScalars::value(value), LlvmScalars::value(position)};
  } else {
    term = {LlvmScalars::value(emitCast(s_, value, valueType_, r_.accumulator))};
  }
  Values next = merge(acc, term);
  if (mask == nullptr) return next;
  Scalar on = s_.wrap(mask, Repr::I1);
  for (size_t i = 0; i < next.size(); ++i) {
    Repr r = i == 1 ? Repr::I64 : reprOf(accumulator());
    next[i] = LlvmScalars::value(select(on, s_.wrap(next[i], r), s_.wrap(acc[i], r)));
  }
  return next;
}

Values Reducer::acrossLanes(Values acc) {
  // The upper half is moved down and merged until one lane is left; the vectors keep their width, whose upper lanes no
  // longer matter.
  auto& b = s_.irBuilder();
  for (int width = s_.lanes(); width > 1; width /= 2) {
    llvm::SmallVector<int, 64> down(static_cast<size_t>(s_.lanes()), -1);
    for (int i = 0; i < width / 2; ++i) down[static_cast<size_t>(i)] = i + width / 2;
    Values upper;
    for (Value* v : acc) upper.push_back(b.CreateShuffleVector(v, down));
    acc = merge(acc, upper);
  }
  for (Value*& v : acc) v = b.CreateExtractElement(v, uint64_t{0});
  return acc;
}

Scalar Reducer::result(const Values& acc) {
  if (isArg()) return s_.wrap(acc[1], Repr::I64);
  return emitCast(s_, s_.wrap(acc[0], reprOf(r_.accumulator)), r_.accumulator, r_.result);
}

}  // namespace tenc::codegen::cpu
