#include "codegen/cpu/Reduce.h"

#include <limits>

#include "codegen/cpu/SharedFunction.h"

namespace tenc::codegen::cpu {
using llvm::Value;
using Kind = Reduction::Kind;

Accumulated Reducer::wrap(const Values& acc) {
  Accumulated a{s_.wrap(acc[0], valueRepr()), {}};
  if (steps_.isArg()) a.position = s_.wrap(acc[1], steps_.positions());
  return a;
}

Values Reducer::unwrap(const Accumulated& a) const {
  Values v = {LlvmScalars::value(a.value)};
  if (steps_.isArg()) v.push_back(LlvmScalars::value(a.position));
  return v;
}

Values Reducer::identity(bool vector, Value* first) {
  Values v = unwrap(steps_.identity());
  if (growing_) v[1] = first;
  if (vector)
    for (Value*& x : v) x = s_.splat(x);
  return v;
}

Values Reducer::merge(const Values& a, const Values& b) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(s_.contract && r_.kind == Kind::Sum && !r_.running);
  s_.irBuilder().setFastMathFlags(flags);
  const Accumulated merged = steps_.merge(wrap(a), wrap(b));
  s_.irBuilder().setFastMathFlags({});
  return unwrap(merged);
}

Values Reducer::step(const Values& acc, Scalar value, Scalar position, Value* mask) {
  if (steps_.isArg() && growing_) {
    Scalar better = steps_.isBetter(value, s_.wrap(acc[0], valueRepr()));
    if (mask != nullptr) better = better & s_.wrap(mask, Repr::I1);
    return {LlvmScalars::value(select(better, value, s_.wrap(acc[0], valueRepr()))),
            LlvmScalars::value(select(better, position, s_.wrap(acc[1], Repr::I32)))};
  }
  Values next = merge(acc, unwrap(steps_.term(value, position)));
  if (mask == nullptr) return next;
  Scalar on = s_.wrap(mask, Repr::I1);
  for (size_t i = 0; i < next.size(); ++i) {
    Repr r = i == 1 ? Repr::I64 : valueRepr();
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
  const Repr r = valueRepr();
  Scalar values = s_.wrap(acc[0], r);
  auto halve = [&](Scalar v, auto combine) {
    for (int width = s_.lanes(); width > 1; width /= 2)
      v = combine(v, s_.wrap(moveDown(LlvmScalars::value(v), width / 2), v.repr));
    return s_.wrap(b.CreateExtractElement(LlvmScalars::value(v), uint64_t{0}), v.repr);
  };
  // With a NaN anywhere the order of the others does not matter.
  Scalar best = halve(values, [&](Scalar x, Scalar y) {
    if (isFloat(r)) return r_.kind == Kind::ArgMax ? greater(x, y) : lesser(x, y);
    return select(steps_.isBetter(y, x), y, x);
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

Values Reducer::acrossLanes(Values acc, int64_t used) {
  // The upper half is moved down and merged until one lane is left; the vectors keep their width, whose upper lanes no
  // longer matter.
  auto& b = s_.irBuilder();
  if (s_.shortCode && s_.lanes() > 1) return acrossLanesShared(acc);
  if (growing_ && s_.lanes() > 1) return positionAcrossLanes(acc);
  // Merging with the identity changes nothing: sums start from +0, and then are never -0.
  const bool leavesOut = !steps_.isArg() && !r_.running;
  for (int width = s_.lanes(); width > 1; width /= 2) {
    if (leavesOut && used <= width / 2) continue;
    Values upper;
    for (Value* v : acc) upper.push_back(moveDown(v, width / 2));
    acc = merge(acc, upper);
  }
  for (Value*& v : acc) v = b.CreateExtractElement(v, uint64_t{0});
  return acc;
}

Values Reducer::acrossLanesShared(const Values& acc) {
  std::string name =
      "across." + std::to_string(static_cast<int>(r_.kind)) + "." + std::string(ir::name(steps_.accumulator()));
  if (growing_) name += ".growing";
  std::vector<llvm::Type*> elements;
  for (Value* v : acc) elements.push_back(v->getType()->getScalarType());
  llvm::Type* type = elements.size() == 1 ? elements[0] : llvm::StructType::get(elements[0]->getContext(), elements);
  Value* all = callShared(s_, name, acc, type, [&](LlvmScalars& own, const Values& parameters) {
    const Values one = Reducer(own, r_, valueType_, growing_).acrossLanes(parameters, own.lanes());
    if (one.size() == 1) return one[0];
    Value* pair = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < one.size(); ++i) pair = own.irBuilder().CreateInsertValue(pair, one[i], i);
    return pair;
  });
  if (acc.size() == 1) return {all};
  return {s_.irBuilder().CreateExtractValue(all, 0), s_.irBuilder().CreateExtractValue(all, 1)};
}

Scalar Reducer::result(const Values& acc) { return steps_.result(wrap(acc)); }

}  // namespace tenc::codegen::cpu
