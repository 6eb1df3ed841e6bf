// The part of IndexRanges that follows control flow: conditions, and what loops carry from trip to trip.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "codegen/IndexRanges.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen {
using ir::OpKind;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

bool isNumber(const ir::Value* v) { return v->type.rank() == 0 && !ir::isFloat(v->type.dtype); }
/// A u64 beyond i64 looks negative: comparisons say nothing of its range.
bool isOrdered(const ir::Value* v) {
  return isNumber(v) && (ir::isSigned(v->type.dtype) || ir::byteSize(v->type.dtype) < 8);
}

Range joined(Range a, Range b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }
/// Of ranges that belong to one value.
Range common(Range a, Range b) {
  const Range both = {std::max(a.least, b.least), std::min(a.most, b.most)};
  return both.least > both.most ? a : both;
}

}  // namespace

IndexRanges::Scope::~Scope() {
  while (r_.changes_.size() > start_) {
    const auto& [v, before] = r_.changes_.back();
    if (before)
      r_.known_[v] = *before;
    else
      r_.known_.erase(v);
    r_.changes_.pop_back();
  }
  r_.orders_.resize(orders_);
  --r_.scopes_;
}

void IndexRanges::set(const ir::Value* v, std::optional<Range> r) {
  const auto it = known_.find(v);
  if (scopes_ > 0) changes_.emplace_back(v, it == known_.end() ? std::nullopt : std::optional(it->second));
  if (r)
    known_[v] = *r;
  else if (it != known_.end())
    known_.erase(it);
}

void IndexRanges::assume(const ir::Value* v, Range range) {
  const Range before = of(v), both = {std::max(before.least, range.least), std::min(before.most, range.most)};
  if (both.least > both.most) neverRuns_ = true;
  if (both.least > both.most || both == before) return;
  set(v, both);
  const ir::Op* op = v->op;
  if (op != nullptr && op->kind == OpKind::Mul && op->operand(0) == op->operand(1)) return assumeSquare(*op, both);
  // What is known of x + 1 is known of x, if that cannot wrap.
  if (op == nullptr || (op->kind != OpKind::Add && op->kind != OpKind::Sub)) return;
  const auto c = ir::constantScalar(op->operand(1));
  if (!c || !isOrdered(v) || !ir::isSigned(c->dtype) || std::abs(c->i) > (int64_t{1} << 40)) return;
  const int64_t shift = op->kind == OpKind::Add ? -c->i : c->i;
  const Range inner = of(op->operand(0));
  if (v->type.dtype != ir::DType::I64) return;
  const bool wraps = shift < 0 ? inner.most > kMost + shift : inner.least < kLeast + shift;
  if (wraps) return;
  auto moved = [&](int64_t end) {
    if (shift < 0 ? end < kLeast - shift : end > kMost - shift) return end;  // so far away that it says nothing
    return end + shift;
  };
  assume(op->operand(0),
         {both.least == kLeast ? kLeast : moved(both.least), both.most == kMost ? kMost : moved(both.most)});
}

/// Of what is positive and so small that its square does not wrap.
void IndexRanges::assumeSquare(const ir::Op& op, Range square) {
  constexpr int64_t kMostRoot = 3037000499;  // of what is below 2^63
  const Range x = of(op.operand(0));
  if (op.result()->type.dtype != ir::DType::I64 || x.least < 0 || x.most > kMostRoot || square.most < 0) return;
  auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(square.most)));
  while (root * root > square.most) --root;
  while (root < kMostRoot && (root + 1) * (root + 1) <= square.most) ++root;
  assume(op.operand(0), {0, root});
}

namespace {

/// Whether a number that is `positive`, or only not 0, is halved at least until it is 0: n // 10, n >> 1, n & (n - 1),
/// which loses a bit, and b in (a, b) = (b, a % b), which loses one in two trips.
bool vanishes(const ir::Region& body, size_t i, bool positive) {
  const ir::Value *v = body.args[i].get(), *next = body.terminator()->operand(i);
  if (next->op == nullptr || next->op->operandCount() != 2) return false;
  const ir::Value *a = next->op->operand(0), *b = next->op->operand(1);
  const bool isSigned = ir::isSigned(v->type.dtype), shrinks = positive || !isSigned;
  const auto constant = ir::constantScalar(b);
  const int64_t by = !constant ? 0 : isSigned ? constant->i : static_cast<int64_t>(constant->u);
  switch (next->op->kind) {
    case OpKind::FloorDiv:
    case OpKind::TruncDiv: return shrinks && a == v && by >= 2;
    case OpKind::Shr: return shrinks && a == v && by >= 1 && by < 8 * ir::byteSize(v->type.dtype);
    case OpKind::BitAnd: {
      const ir::Op* less = a == v ? b->op : b == v ? a->op : nullptr;
      if (less == nullptr || less->kind != OpKind::Sub || less->operand(0) != v) return false;
      const auto one = ir::constantScalar(less->operand(1));
      return one && ir::bitsOf(*one) == 1;
    }
    case OpKind::Mod:
      for (size_t k = 0; b == v && k < body.args.size(); ++k)
        if (a == body.args[k].get() && body.terminator()->operand(k) == v) return true;
      return false;
    default: return false;
  }
}

/// Whether a condition surely fails where a number is 0.
bool needsNonZero(const ir::Value* condition, const ir::Value* v) {
  const ir::Op* op = condition->op;
  if (op == nullptr || op->operandCount() != 2) return false;
  if (op->kind == OpKind::And) return needsNonZero(op->operand(0), v) || needsNonZero(op->operand(1), v);
  const auto c = ir::constantScalar(op->operand(1));
  if (!c || ir::isFloat(c->dtype)) return false;
  const bool isZero = ir::bitsOf(*c) == 0;
  if (op->operand(0) == v) return op->kind == OpKind::Ne ? isZero : op->kind == OpKind::Gt && !ir::isSigned(c->dtype);
  const ir::Op* masked = op->operand(0)->op;  // some of its bits, which are not all 0
  return masked != nullptr && masked->kind == OpKind::BitAnd && (masked->operand(0) == v || masked->operand(1) == v) &&
         (op->kind == OpKind::Eq ? !isZero : op->kind == OpKind::Ne && isZero);
}

}  // namespace

/// A `while` that counts up to what its condition names, or down, or halves a number until it is 0.
std::optional<int64_t> IndexRanges::mostTrips(const ir::Op& loop) {
  const auto it = carried_.find(&loop);
  if (loop.kind != OpKind::While || it == carried_.end()) return std::nullopt;
  std::optional<int64_t> least;
  const Scope scope(*this);
  enterBody(loop);
  const ir::Region& body = *loop.regions[1];
  assumeChecked(body);
  for (size_t i = 0; i < body.args.size(); ++i) {
    const ir::Value *v = body.args[i].get(), *next = body.terminator()->operand(i);
    if (isNumber(v)) {
      const ir::Region& head = *loop.regions[0];
      const bool positive = isOrdered(v) && of(v).least > 0;
      constexpr int64_t kHalvings = 130;  // of 64 bits, one in two trips, and the first ones
      if ((positive || needsNonZero(head.terminator()->operand(0), head.args[i].get())) && vanishes(body, i, positive))
        least = std::min(least.value_or(kHalvings), kHalvings);
    }
    if (!isOrdered(v) || next->op == nullptr) continue;
    const bool adds = next->op->kind == OpKind::Add, first = next->op->operandCount() == 2 && next->op->operand(0) == v;
    if (!adds && (next->op->kind != OpKind::Sub || !first)) continue;
    if (!first && next->op->operand(1) != v) continue;
    Range by = of(next->op->operand(first ? 1 : 0));
    const Range inside = of(v);
    if (!adds && by.least == kLeast) continue;
    if (!adds) by = {-by.most, -by.least};
    if (by.least <= 0 && by.most >= 0) continue;
    // Within its range as long as the body runs, and further in each trip; what is left does not wrap on the way.
    const auto distance = static_cast<uint64_t>(inside.most) - static_cast<uint64_t>(inside.least);
    const auto step = static_cast<uint64_t>(by.least > 0 ? by.least : -by.most);
    const Range after = of(next);
    const bool isExact = v->type.dtype == ir::DType::I64 &&
                         (by.least > 0 ? inside.most <= kMost - by.most : inside.least >= kLeast - by.least);
    if (!isExact && (by.least > 0 ? after.least <= inside.least : after.most >= inside.most)) continue;
    const uint64_t trips = std::min(distance / step, static_cast<uint64_t>(kMost) - 1) + 1;
    if (trips < static_cast<uint64_t>(kMost) && (!least || static_cast<int64_t>(trips) < *least))
      least = static_cast<int64_t>(trips);
  }
  return least;
}

/// What is known of distances that have been computed already is brought up to date.
void IndexRanges::assumeOrder(const ir::Value* less, const ir::Value* more, bool isStrict) {
  if (scopes_ == 0 || less->type.dtype != ir::DType::I64 || more->type.dtype != ir::DType::I64) return;
  if (ir::constantScalar(less) || ir::constantScalar(more)) return;  // then ranges say as much
  orders_.push_back({less, more, isStrict});
  for (const auto& use : less->uses) {
    const ir::Op& op = *use.user;
    if (op.kind != OpKind::Sub || op.operandCount() != 2) continue;
    const bool holdsBoth = op.operand(0) == more || op.operand(1) == more;
    const auto known = known_.find(op.result());
    if (holdsBoth && known != known_.end()) set(op.result(), computeDistance(op, known->second));
  }
}

void IndexRanges::assumeComparison(const ir::Op& op, bool holds) {
  const ir::Value *a = op.operand(0), *b = op.operand(1);
  if (!isOrdered(a) || !isOrdered(b)) return;
  OpKind kind = op.kind;
  if (!holds) {
    switch (kind) {
      case OpKind::Lt: kind = OpKind::Ge; break;
      case OpKind::Le: kind = OpKind::Gt; break;
      case OpKind::Gt: kind = OpKind::Le; break;
      case OpKind::Ge: kind = OpKind::Lt; break;
      case OpKind::Eq: kind = OpKind::Ne; break;
      default: kind = OpKind::Eq; break;
    }
  }
  if (kind == OpKind::Gt || kind == OpKind::Ge) {
    std::swap(a, b);
    kind = kind == OpKind::Gt ? OpKind::Lt : OpKind::Le;
  }
  const Range x = of(a), y = of(b);
  if (kind == OpKind::Lt || kind == OpKind::Le) assumeOrder(a, b, kind == OpKind::Lt);
  switch (kind) {
    case OpKind::Lt:
      if (y.most > kLeast) assume(a, {kLeast, y.most - 1});
      if (x.least < kMost) assume(b, {x.least + 1, kMost});
      return;
    case OpKind::Le:
      assume(a, {kLeast, y.most});
      assume(b, {x.least, kMost});
      return;
    case OpKind::Eq:
      assume(a, y);
      assume(b, x);
      return;
    default:
      // A number that is not the last of its range is in the rest.
      if (y.least == y.most && x.least == y.least && x.least < kMost) assume(a, {x.least + 1, kMost});
      if (y.least == y.most && x.most == y.least && x.most > kLeast) assume(a, {kLeast, x.most - 1});
      return;
  }
}

void IndexRanges::assumeCondition(const ir::Value* condition, bool holds) {
  const ir::Op* op = condition->op;
  if (op == nullptr || condition->type.rank() != 0) return;
  switch (op->kind) {
    case OpKind::Not: return assumeCondition(op->operand(0), !holds);
    case OpKind::And:
    case OpKind::Or:
      if (holds != (op->kind == OpKind::And)) return;
      assumeCondition(op->operand(0), holds);
      return assumeCondition(op->operand(1), holds);
    case OpKind::Eq:
    case OpKind::Ne:
    case OpKind::Lt:
    case OpKind::Le:
    case OpKind::Gt:
    case OpKind::Ge: return assumeComparison(*op, holds);
    case OpKind::If:  // `a and b` whose second part may not always be computed: one side is known
      for (size_t k = 0; k < op->results.size(); ++k) {
        if (op->result(k) != condition) continue;
        for (size_t side = 0; side < 2; ++side) {
          const auto known = ir::constantScalar(op->regions[side]->terminator()->operand(k));
          if (!known || (known->u != 0) == holds) continue;
          assumeCondition(op->operand(0), side != 0);
          assumeChecked(*op->regions[1 - side]);
          return assumeCondition(op->regions[1 - side]->terminator()->operand(k), holds);
        }
      }
      return;
    default: return;
  }
}

void IndexRanges::bindCarried(const ir::Op& loop, const std::vector<Range>& ranges) {
  const size_t first = ir::firstCarriedArg(loop);
  const auto limits = limits_.find(&loop);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Range r = limits == limits_.end() ? ranges[i] : common(ranges[i], limits->second[i]);
    for (const auto& region : loop.regions) set(region->args[first + i].get(), r);
  }
}

/// Where all ops of a region have run, the indices among them were in range, or counted from the end.
void IndexRanges::assumeChecked(const ir::Region& region) {
  for (const auto& op : region.ops) {
    const bool writes = op->kind == OpKind::Scatter;
    if (!writes && op->kind != OpKind::Gather) continue;
    const size_t first = writes ? 2 : 1;
    for (size_t i = first; i < op->operandCount(); ++i) {
      const ir::Value* v = op->operand(i);
      if (!isOrdered(v)) continue;
      const int64_t extent = op->operand(0)->type.shape[static_cast<size_t>(op->intsAttr("axes")[i - first])];
      assume(v, {-extent, extent - 1});
    }
  }
}

void IndexRanges::enterBody(const ir::Op& loop) {
  if (loop.kind != OpKind::While) return;
  const ir::Region &head = *loop.regions[0], &body = *loop.regions[1];
  assumeChecked(head);
  assumeCondition(head.terminator()->operand(0), true);
  for (size_t i = 0; i < head.args.size(); ++i) set(body.args[i].get(), of(head.args[i].get()));
  const auto inBody = [&](const ir::Value* v) {
    const auto arg = std::ranges::find_if(head.args, [&](const auto& a) { return a.get() == v; });
    return arg == head.args.end() ? v : body.args[static_cast<size_t>(arg - head.args.begin())].get();
  };
  for (size_t i = 0, n = orders_.size(); i < n; ++i) {
    const Order order = orders_[i];
    if (inBody(order.less) != order.less || inBody(order.more) != order.more)
      assumeOrder(inBody(order.less), inBody(order.more), order.isStrict);
  }
}

/// What a trip leaves that finds what it is given in these ranges.
std::vector<Range> IndexRanges::afterTrip(const ir::Op& loop, const std::vector<Range>& before) {
  const Scope scope(*this);
  const bool around = std::exchange(neverRuns_, false);
  for (const auto& region : loop.regions) {
    if (loop.kind == OpKind::While) {
      forget(*region);
    } else {
      const Range variable = of(region->args[0].get());
      forget(*region);
      set(region->args[0].get(), variable);
    }
  }
  bindCarried(loop, before);
  enterBody(loop);
  assumeChecked(*loop.regions.back());
  std::vector<Range> after;
  for (const ir::Value* v : loop.regions.back()->terminator()->operands()) after.push_back(of(v));
  return std::exchange(neverRuns_, around) ? before : after;
}

namespace {

/// The extents of the dims that a region indexes: what counts places ends there, and what holds places before.
void findExtents(const ir::Region& region, std::set<int64_t>& extents) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Gather || op->kind == OpKind::Scatter)
      for (const int64_t axis : op->intsAttr("axes"))
        for (const int64_t before : {0, 1})
          extents.insert(op->operand(0)->type.shape[static_cast<size_t>(axis)] - before);
    for (const auto& inner : op->regions) findExtents(*inner, extents);
  }
}

}  // namespace

/// What each trip begins with is what the loop begins with or what a trip leaves that began so: ranges grow until no
/// trip leaves them. Ends that go on growing go to the next extent, to what may still be squared, then as far as the
/// dtype; what no trip needs of that is left out again.
void IndexRanges::bindLoop(const ir::Op& loop) {
  constexpr int kPatience = 2, kMostRounds = 10, kDeepest = 3;
  constexpr int64_t kFar = int64_t{1} << 31;
  if (loop.kind == OpKind::For) bindLoopVariable(loop);
  const size_t lead = ir::firstCarriedOperand(loop);
  std::vector<Range> start, all;
  for (size_t i = 0; i < loop.results.size(); ++i) {
    const ir::Value* v = loop.operand(lead + i);
    all.push_back(ofDtype(v->type.dtype));
    start.push_back(ir::isFloat(v->type.dtype) ? all.back() : of(v));
  }
  if (loop.kind == OpKind::For) all = boundsOfCounts(loop, start);
  std::set<int64_t> extents;
  for (const auto& region : loop.regions) findExtents(*region, extents);
  const auto further = [&](int64_t most, int round) {
    const auto extent = extents.lower_bound(most);
    return extent != extents.end() && round < kMostRounds - 4 ? *extent : kFar;
  };
  std::vector<Range> now = start;
  ++loops_;
  for (int round = 0; round <= kMostRounds; ++round) {
    if (round == kMostRounds || loops_ > kDeepest) now = all;
    const std::vector<Range> after = afterTrip(loop, now);
    bool same = true;
    for (size_t i = 0; i < now.size(); ++i) {
      Range next = common(joined(now[i], after[i]), all[i]);
      if (next == now[i]) continue;
      same = false;
      if (round >= kPatience && next.least < now[i].least)
        next.least = next.least > -kFar && round < kMostRounds - 2 ? std::max(-kFar, all[i].least) : all[i].least;
      if (round >= kPatience && next.most > now[i].most)
        next.most = next.most < kFar && round < kMostRounds - 2 ? std::min(further(next.most, round), all[i].most)
                                                                : all[i].most;
      now[i] = next;
    }
    if (same) break;
  }
  for (int round = 0; round < 2 && loops_ <= kDeepest; ++round) {
    const std::vector<Range> after = afterTrip(loop, now);
    for (size_t i = 0; i < now.size(); ++i) now[i] = common(joined(start[i], after[i]), all[i]);
  }
  --loops_;
  carried_[&loop] = now;
  bindCarried(loop, now);
}

void IndexRanges::leaveLoop(const ir::Op& loop) {
  const auto it = carried_.find(&loop);
  if (it == carried_.end()) return;
  std::vector<Range> left = it->second;
  if (loop.kind == OpKind::While) {
    const Scope scope(*this);
    const ir::Region& head = *loop.regions[0];
    bindCarried(loop, left);
    assumeChecked(head);
    assumeCondition(head.terminator()->operand(0), false);
    for (size_t i = 0; i < left.size(); ++i) left[i] = of(head.args[i].get());
  }
  for (size_t i = 0; i < left.size(); ++i) set(loop.result(i), left[i]);
}

/// Those of an `if` or a loop that lies ahead.
void IndexRanges::results(const ir::Op& op) {
  if (ir::isLoop(op)) {
    std::vector<Range> left;
    {
      const Scope scope(*this);
      bindLoop(op);
      leaveLoop(op);
      for (const auto& r : op.results) left.push_back(of(r.get()));
    }
    carried_.erase(&op);
    for (size_t i = 0; i < left.size(); ++i) set(op.result(i), left[i]);
    return;
  }
  std::vector<Range> sides[2];
  bool never[2];
  const bool around = neverRuns_;
  for (size_t side = 0; side < 2; ++side) {
    const Scope scope(*this);
    neverRuns_ = false;
    assumeCondition(op.operand(0), side == 0);
    assumeChecked(*op.regions[side]);
    for (const ir::Value* v : op.regions[side]->terminator()->operands()) sides[side].push_back(of(v));
    never[side] = neverRuns_;
  }
  neverRuns_ = around || (never[0] && never[1]);
  if (never[0] != never[1]) sides[never[0] ? 0 : 1] = sides[never[0] ? 1 : 0];
  for (size_t i = 0; i < op.results.size(); ++i) set(op.result(i), joined(sides[0][i], sides[1][i]));
}

}  // namespace tenc::codegen
