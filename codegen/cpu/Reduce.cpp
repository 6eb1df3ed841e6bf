#include "codegen/cpu/Reduce.h"

#include <cmath>
#include <limits>

namespace tenc::codegen::cpu {
using ir::DType;
using ir::OpKind;
using llvm::Value;
using Kind = Reduction::Kind;

Values Reducer::identity(bool vector, Value* first) {
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
      case Kind::Sum: return isFloat(r) && r_.running ? s_.floatConstant(r, -0.0) : s_.constant(r, 0);
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
  if (growing_) {
    v.push_back(first);
  } else if (isArg()) {
    v.push_back(LlvmScalars::value(s_.intConstant(Repr::I64, std::numeric_limits<int64_t>::max())));
  }
  if (vector)
    for (Value*& x : v) x = s_.splat(x);
  return v;
}

Scalar Reducer::combine(Scalar a, Scalar b) {
  switch (r_.kind) {
    case Kind::Sum: {
      if (r_.accumulator == DType::Bool) return a | b;
      if (r_.running) return a + b;
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

Scalar Reducer::isBetter(Scalar y, Scalar x) {
  Scalar args[] = {y, x};
  OpKind op = r_.kind == Kind::ArgMax ? OpKind::Gt : OpKind::Lt;
  if (!isFloat(y.repr)) return emitElementwise(s_, op, accumulator(), DType::Bool, args, 0);
  // Not "x is as good", which NaN makes true, unless x is NaN itself.
  Scalar asGood = r_.kind == Kind::ArgMax ? x >= y : x <= y;
  return logicalNot(asGood | isNan(x));
}

Values Reducer::merge(const Values& a, const Values& b) {
  Repr r = reprOf(accumulator());
  Scalar x = s_.wrap(a[0], r), y = s_.wrap(b[0], r);
  if (!isArg()) return {LlvmScalars::value(combine(x, y))};
  Scalar px = s_.wrap(a[1], positionRepr()), py = s_.wrap(b[1], positionRepr());
  Scalar same = equal(x, y);
  if (isFloat(r)) same = same | (isNan(x) & isNan(y));
  Scalar better = isBetter(y, x) | (same & (py < px));
  return {LlvmScalars::value(select(better, y, x)), LlvmScalars::value(select(better, py, px))};
}

Values Reducer::step(const Values& acc, Scalar value, Scalar position, Value* mask) {
  if (isArg() && growing_) {
    Repr r = reprOf(accumulator());
    Scalar x = s_.wrap(acc[0], r);
    Scalar better = isBetter(value, x);
    if (mask != nullptr) better = better & s_.wrap(mask, Repr::I1);
    return {LlvmScalars::value(select(better, value, x)),
            LlvmScalars::value(select(better, position, s_.wrap(acc[1], Repr::I32)))};
  }
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

Value* Reducer::moveDown(Value* v, int by) {
  llvm::SmallVector<int, 64> from(static_cast<size_t>(s_.lanes()), -1);
  for (int i = 0; i < by; ++i) from[static_cast<size_t>(i)] = i + by;
  return s_.irBuilder().CreateShuffleVector(v, from);
}

Values Reducer::positionAcrossLanes(const Values& acc) {
  auto& b = s_.irBuilder();
  Repr r = reprOf(accumulator());
  Scalar values = s_.wrap(acc[0], r);
  auto halve = [&](Scalar v, auto combine) {
    for (int width = s_.lanes(); width > 1; width /= 2)
      v = combine(v, s_.wrap(moveDown(LlvmScalars::value(v), width / 2), v.repr));
    return s_.wrap(b.CreateExtractElement(LlvmScalars::value(v), uint64_t{0}), v.repr);
  };
  // With a NaN anywhere the order of the others does not matter.
  Scalar best = halve(values, [&](Scalar x, Scalar y) {
    if (isFloat(r)) return r_.kind == Kind::ArgMax ? greater(x, y) : lesser(x, y);
    return select(isBetter(y, x), y, x);
  });
  Scalar among = equal(values, best);
  if (isFloat(r)) {
    Value* nans = LlvmScalars::value(isNan(values));
    among = s_.wrap(b.CreateSelect(b.CreateOrReduce(nans), nans, LlvmScalars::value(among)), Repr::I1);
  }
  Scalar positions = s_.wrap(acc[1], Repr::I32);
  positions = select(among, positions, s_.intConstant(Repr::I32, std::numeric_limits<int32_t>::max()));
  Scalar least = halve(positions, [&](Scalar x, Scalar y) { return x.builder->binary(BinaryInst::SMin, x, y); });
  return {LlvmScalars::value(best), LlvmScalars::value(least)};
}

Values Reducer::acrossLanes(Values acc) {
  // The upper half is moved down and merged until one lane is left; the vectors keep their width, whose upper lanes no
  // longer matter.
  auto& b = s_.irBuilder();
  if (isArg() && growing_ && s_.lanes() > 1) return positionAcrossLanes(acc);
  for (int width = s_.lanes(); width > 1; width /= 2) {
    Values upper;
    for (Value* v : acc) upper.push_back(moveDown(v, width / 2));
    acc = merge(acc, upper);
  }
  for (Value*& v : acc) v = b.CreateExtractElement(v, uint64_t{0});
  return acc;
}

Scalar Reducer::result(const Values& acc) {
  if (isArg() && growing_) return convert(ConvertInst::SExt, s_.wrap(acc[1], Repr::I32), Repr::I64);
  if (isArg()) return s_.wrap(acc[1], Repr::I64);
  return emitCast(s_, s_.wrap(acc[0], reprOf(r_.accumulator)), r_.accumulator, r_.result);
}

}  // namespace tenc::codegen::cpu
