// The part of IndexRanges that knows how far loops come with what they count beside their variables: by so much in each
// trip, in so many trips.
#include <algorithm>

#include "codegen/IndexRanges.h"
#include "ir/Loops.h"

namespace tenc::codegen {
using ir::OpKind;

namespace {

/// Nothing for what is so far away that sums might wrap.
std::optional<Range> limited(__int128 least, __int128 most) {
  constexpr __int128 kFarthest = __int128{1} << 40;
  if (least < -kFarthest || most > kFarthest) return std::nullopt;
  return Range{static_cast<int64_t>(least), static_cast<int64_t>(most)};
}

std::optional<Range> sum(std::optional<Range> a, std::optional<Range> b) {
  if (!a || !b) return std::nullopt;
  return limited(__int128{a->least} + b->least, __int128{a->most} + b->most);
}

/// In up to so many trips.
std::optional<Range> times(std::optional<Range> a, __int128 trips) {
  if (!a) return std::nullopt;
  return limited(std::min<__int128>(a->least * trips, 0), std::max<__int128>(a->most * trips, 0));
}

std::optional<Range> either(std::optional<Range> a, std::optional<Range> b) {
  if (!a || !b) return std::nullopt;
  return Range{std::min(a->least, b->least), std::max(a->most, b->most)};
}

/// By how much more than `from` a value is, whichever way it comes from there, if only constants are added.
std::optional<Range> growth(const ir::Value* v, const ir::Value* from, int depth = 12) {
  if (v == from) return Range{0, 0};
  const ir::Op* op = v->op;
  if (op == nullptr || depth == 0) return std::nullopt;
  const auto of = [&](const ir::Value* x, const ir::Value* start) { return growth(x, start, depth - 1); };
  const auto result = [&] {
    const auto& all = op->results;
    return static_cast<size_t>(std::ranges::find_if(all, [&](const auto& r) { return r.get() == v; }) - all.begin());
  };
  switch (op->kind) {
    case OpKind::Add:
    case OpKind::Sub: {
      const size_t constant = op->kind == OpKind::Add && ir::constantInt(op->operand(0)) ? 0 : 1;
      const auto by = ir::constantInt(op->operand(constant));
      if (!by) return std::nullopt;
      const __int128 more = op->kind == OpKind::Add ? __int128{*by} : -__int128{*by};
      return sum(of(op->operand(1 - constant), from), limited(more, more));
    }
    case OpKind::Where: return either(of(op->operand(1), from), of(op->operand(2), from));
    case OpKind::If: {
      const size_t k = result();
      return either(of(op->regions[0]->terminator()->operand(k), from),
                    of(op->regions[1]->terminator()->operand(k), from));
    }
    case OpKind::For: {
      const size_t k = result();
      const auto trips = ir::tripCount(*op);
      if (!trips) return std::nullopt;
      const ir::Region& body = *op->regions[0];
      const auto each = of(body.terminator()->operand(k), body.args[ir::firstCarriedArg(*op) + k].get());
      return sum(of(op->operand(ir::firstCarriedOperand(*op) + k), from), times(each, *trips));
    }
    default: return std::nullopt;
  }
}

Range moved(Range start, std::optional<Range> by, Range otherwise) {
  const auto far = sum(limited(start.least, start.most), by);
  return far.value_or(otherwise);
}

}  // namespace

/// Bounds of what a `for` whose variable is bound carries, which begins in `start`: of the results, and in `limits_` of
/// what trips begin with, the last of which has added to it one time less.
std::vector<Range> IndexRanges::boundsOfCounts(const ir::Op& loop, const std::vector<Range>& start) {
  std::vector<Range> ends, inTrips;
  const auto step = ir::constantInt(loop.operand(2));
  const Range variable = of(loop.regions[0]->args[0].get());
  const ir::Region& body = *loop.regions[0];
  for (size_t i = 0; i < start.size(); ++i) {
    const ir::Value* v = body.args[ir::firstCarriedArg(loop) + i].get();
    const Range all = ofDtype(v->type.dtype);
    ends.push_back(all), inTrips.push_back(all);
    if (!step || *step == 0 || v->type.dtype != ir::DType::I64 || v->type.rank() != 0) continue;
    const __int128 more = (__int128{variable.most} - variable.least) / (*step < 0 ? -__int128{*step} : __int128{*step});
    const auto each = growth(body.terminator()->operand(i), v);
    ends.back() = moved(start[i], times(each, more + 1), all);
    inTrips.back() = moved(start[i], times(each, more), all);
  }
  limits_[&loop] = std::move(inTrips);
  return ends;
}

}  // namespace tenc::codegen
