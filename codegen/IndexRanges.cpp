#include "codegen/IndexRanges.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include "codegen/Kernel.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen {
namespace {
using ir::DType;
using ir::OpKind;

constexpr Range kAll = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};

}  // namespace

/// u64 may be negative as i64.
Range ofDtype(DType t) {
  if (t == DType::Bool) return {0, 1};
  if (ir::isFloat(t) || ir::byteSize(t) == 8) return kAll;
  auto bits = static_cast<int>(8 * ir::byteSize(t));
  if (!ir::isSigned(t)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

namespace {

/// The range [least, most] if the dtype holds all of it: arithmetic wraps otherwise.
Range within(DType t, __int128 least, __int128 most) {
  Range r = ofDtype(t);
  if (least < r.least || most > r.most) return r;
  return {static_cast<int64_t>(least), static_cast<int64_t>(most)};
}

bool isScalar(const ir::Value* v) { return v->type.rank() == 0; }

std::optional<int64_t> constant(const ir::Value* v) {
  auto c = ir::constantScalar(v);
  if (!c || ir::isFloat(c->dtype)) return std::nullopt;
  if (ir::isSigned(c->dtype)) return c->i;
  if (c->u > static_cast<uint64_t>(kAll.most)) return std::nullopt;
  return static_cast<int64_t>(c->u);
}

}  // namespace

void IndexRanges::assumeHeld(const Kernel& native) {
  const ir::Region& region = *native.native->regions[0];
  for (size_t i = 0; i < native.held.size(); ++i)
    if (!ir::isFloat(region.args[i]->type.dtype))
      assume(region.args[i].get(), {native.held[i].first, native.held[i].second});
}

Range IndexRanges::ofIndex(const ir::Value* v) {
  const Range range = of(v);
  return v->type.dtype == DType::U64 && range.least < 0 ? Range{0, kAll.most} : range;
}

void IndexRanges::bindLoopVariable(const ir::Op& loop) {
  Range lo = of(loop.operand(0)), hi = of(loop.operand(1));
  auto step = constant(loop.operand(2));
  Range r = kAll;
  // Inside the body the variable is short of the end.
  if (step && *step > 0 && hi.most > kAll.least) r = {lo.least, hi.most - 1};
  if (step && *step < 0 && hi.least < kAll.most) r = {hi.least + 1, lo.most};
  // The last value, where steps do not end just before the end.
  if (const auto trips = ir::tripCount(loop); step && trips && *trips > 0 && lo.least == lo.most) {
    const int64_t last = lo.least + (*trips - 1) * *step;
    r = {std::min(lo.least, last), std::max(lo.least, last)};
  }
  if (r.least > r.most) r = kAll;  // the body never runs
  set(loop.regions[0]->args[0].get(), r);
}

void IndexRanges::assume(const ir::Region& region, Range variable) {
  forget(region);
  if (const auto it = carried_.find(region.parentOp); it != carried_.end()) bindCarried(*it->first, it->second);
  set(region.args[0].get(), variable);
}

void IndexRanges::forget(const ir::Region& region) {
  for (const auto& a : region.args) set(a.get(), std::nullopt);
  for (const auto& op : region.ops) {
    for (const auto& r : op->results) set(r.get(), std::nullopt);
    for (const auto& inner : op->regions) forget(*inner);
  }
}

Range IndexRanges::of(const ir::Value* v) {
  if (auto it = known_.find(v); it != known_.end()) return it->second;
  const ir::Op* op = v->op;
  if (op != nullptr && --left_ > 0 && (op->kind == OpKind::If || ir::isLoop(*op))) {
    results(*op);
    return known_.at(v);
  }
  Range r = left_ > 0 ? compute(v) : ofDtype(v->type.dtype);
  set(v, r);
  return r;
}

/// Of `//`, `%` and their like by a positive number, where the signs matter.
Range IndexRanges::computeDivision(const ir::Op& op, Range all) {
  const Range a = of(op.operand(0)), b = of(op.operand(1));
  const bool isUnsigned64 = op.result()->type.dtype == DType::U64;  // large ones look negative
  if (b.least < 0 || (isUnsigned64 && a.least < 0)) return all;
  const int64_t least = std::max<int64_t>(b.least, 1);  // a divisor of 0 is a fault
  switch (op.kind) {
    case OpKind::Mod:
      if (a.least >= 0) return {0, std::min(a.most, std::max<int64_t>(b.most - 1, 0))};
      return {0, std::max<int64_t>(b.most - 1, 0)};
    case OpKind::Fmod:
      if (a.least < 0) return all;
      return {0, std::min(a.most, std::max<int64_t>(b.most - 1, 0))};
    default: {
      if (a.least >= 0) return {a.least / std::max<int64_t>(b.most, 1), a.most / least};
      const int64_t low = a.least / least - (a.least % least != 0 ? 1 : 0);
      return {low, a.most < 0 ? 0 : a.most / least};
    }
  }
}

/// Of an element that grows: what is known of it where it was read, also by a condition around, is known here.
Range IndexRanges::computeIncreased(const ir::Op& op) {
  const ir::Value* tensor = op.operand(0);
  const Range before = of(tensor), by = of(op.operand(1));
  Range there = before;
  for (const auto& use : tensor->uses) {
    const ir::Op& read = *use.user;
    if (read.kind != OpKind::Gather || read.intsAttr("axes") != op.intsAttr("axes")) continue;
    if (use.operand != 0 ||
        !std::ranges::equal(std::span(read.operands()).subspan(1), std::span(op.operands()).subspan(2)))
      continue;
    const auto known = known_.find(read.result());
    if (known == known_.end()) continue;
    there = {std::max(there.least, known->second.least), std::min(there.most, known->second.most)};
  }
  if (there.least > there.most) there = before;
  const Range after = within(tensor->type.dtype, __int128{there.least} + by.least, __int128{there.most} + by.most);
  return {std::min(before.least, after.least), std::max(before.most, after.most)};
}

/// Of ops that move elements or put some into a tensor: what it holds is what they are given.
std::optional<Range> IndexRanges::computeElements(const ir::Op& op) {
  const auto both = [&] {
    const Range a = of(op.operand(0)), b = of(op.operand(1));
    return Range{std::min(a.least, b.least), std::max(a.most, b.most)};
  };
  switch (op.kind) {
    case OpKind::Fill:
    case OpKind::Broadcast:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Slice:
    case OpKind::Flip:
    case OpKind::Gather:
    case OpKind::DynamicSlice: return of(op.operand(0));
    case OpKind::UpdateSlice:
    case OpKind::DynamicUpdate: return both();
    case OpKind::Scatter:
      if (op.stringAttr("mode") == "set") return both();
      // One element: several might be added to the same place.
      if (op.stringAttr("mode") == "add" && std::ranges::all_of(std::span(op.operands()).subspan(1), isScalar) &&
          op.operandCount() == 2 + op.operand(0)->type.shape.size())
        return computeIncreased(op);
      return std::nullopt;
    case OpKind::Iota: {
      const int64_t extent = op.result()->type.shape[static_cast<size_t>(op.intAttr("axis"))];
      return within(op.result()->type.dtype, 0, std::max<int64_t>(extent - 1, 0));
    }
    default: return std::nullopt;
  }
}

/// Of `a - b` where a condition around has compared the two.
Range IndexRanges::computeDistance(const ir::Op& op, Range known) {
  const Range a = of(op.operand(0)), b = of(op.operand(1));
  const bool mayWrap = __int128{a.least} - b.most < kAll.least || __int128{a.most} - b.least > kAll.most;
  if (mayWrap) return known;
  for (const Order& order : orders_) {
    const int64_t least = order.isStrict ? 1 : 0;
    if (op.operand(0) == order.more && op.operand(1) == order.less && known.most >= least)
      known.least = std::max(known.least, least);
    if (op.operand(0) == order.less && op.operand(1) == order.more && known.least <= -least)
      known.most = std::min(known.most, -least);
  }
  return known;
}

Range IndexRanges::compute(const ir::Value* v) {
  const DType t = v->type.dtype;
  if (ir::isFloat(t)) return ofDtype(t);
  if (auto c = constant(v)) return {*c, *c};
  const ir::Op* op = v->op;
  if (op != nullptr) {
    if (const auto held = computeElements(*op)) return *held;
    if (v->type.rank() != 0 && !op->has(ir::Trait::Elementwise)) return ofDtype(t);
  }
  if (op == nullptr || op->operandCount() == 0 || ir::isFloat(op->operand(0)->type.dtype)) return ofDtype(t);
  auto operand = [&](size_t i) { return of(op->operand(i)); };
  auto second = op->operandCount() > 1 ? constant(op->operand(1)) : std::nullopt;
  switch (op->kind) {
    case OpKind::Cast: {
      Range a = operand(0);
      return within(t, a.least, a.most);
    }
    case OpKind::Add: {
      Range a = operand(0), b = operand(1);
      const Range r = within(t, __int128{a.least} + b.least, __int128{a.most} + b.most);
      return t == DType::I64 && v->type.rank() == 0 ? computeSum(v, r) : r;
    }
    case OpKind::Sub: {
      Range a = operand(0), b = operand(1);
      const Range r = within(t, __int128{a.least} - b.most, __int128{a.most} - b.least);
      return t == DType::I64 && v->type.rank() == 0 ? computeDistance(*op, computeSum(v, r)) : r;
    }
    case OpKind::Mul: {
      Range a = operand(0), b = operand(1);
      __int128 ends[] = {__int128{a.least} * b.least, __int128{a.least} * b.most, __int128{a.most} * b.least,
                         __int128{a.most} * b.most};
      auto [least, most] = std::minmax_element(std::begin(ends), std::end(ends));
      return within(t, *least, *most);
    }
    case OpKind::Min:
    case OpKind::Max: {
      if (!ir::isSigned(t) && ir::byteSize(t) == 8) return kAll;
      Range a = operand(0), b = operand(1);
      if (op->kind == OpKind::Min) return {std::min(a.least, b.least), std::min(a.most, b.most)};
      return {std::max(a.least, b.least), std::max(a.most, b.most)};
    }
    case OpKind::Mod:
    case OpKind::Fmod:
    case OpKind::FloorDiv:
    case OpKind::TruncDiv: return computeDivision(*op, ofDtype(t));
    case OpKind::Where: {
      Range a = operand(1), b = operand(2);
      return {std::min(a.least, b.least), std::max(a.most, b.most)};
    }
    case OpKind::Abs:
      if (Range a = operand(0); a.least > kAll.least)
        return within(t, std::max<int64_t>(0, std::max(a.least, -a.most)), std::max(-a.least, a.most));
      break;
    case OpKind::BitAnd: {
      Range a = operand(0), b = operand(1);
      int64_t most = kAll.most;
      if (a.least >= 0) most = a.most;
      if (b.least >= 0) most = std::min(most, b.most);
      if (a.least >= 0 || b.least >= 0) return {0, most};
      break;
    }
    case OpKind::Shr:
      if (Range a = operand(0); a.least >= 0 && second && *second >= 0 && *second < 63)
        return {a.least >> *second, a.most >> *second};
      break;
    default: break;
  }
  return ofDtype(t);
}

Range heldBy(const ir::Value* v) {
  const std::function<Range(const ir::Value*, int)> find = [&](const ir::Value* of, int depth) {
    IndexRanges ranges;
    if (ir::isFloat(of->type.dtype) || of->op == nullptr || depth == 0) return ofDtype(of->type.dtype);
    if (of->op->kind != OpKind::Fused) return ranges.of(of);
    if (of->op->stringAttr("kind") == "tensor_loop") return ofDtype(of->type.dtype);
    const ir::Region& region = *of->op->regions[0];
    for (size_t i = 0; i < region.args.size(); ++i)
      ranges.assume(region.args[i].get(), find(of->op->operand(i), depth - 1));
    for (size_t k = 0; k < of->op->results.size(); ++k)
      if (of->op->result(k) == of) return ranges.of(region.terminator()->operand(k));
    return ofDtype(of->type.dtype);
  };
  constexpr int kDeepest = 3;
  return find(v, kDeepest);
}

}  // namespace tenc::codegen
