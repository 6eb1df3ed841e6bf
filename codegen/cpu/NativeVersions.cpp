// Innermost loops whose indices are in range if they are so in the first trip and in the last: such a loop stands
// twice, and only one version checks them. The other one is what can be vectorised.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <span>

#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

constexpr int kDeepest = 6;
constexpr int64_t kMostSlope = 1 << 20;

/// Nothing for one with which sums and products might overflow.
std::optional<Range> limited(__int128 a, __int128 b) {
  constexpr __int128 kMost = __int128{1} << 40;
  const auto [least, most] = std::minmax(a, b);
  if (least <= -kMost || most >= kMost) return std::nullopt;
  return Range{static_cast<int64_t>(least), static_cast<int64_t>(most)};
}

/// What a loop by steps of 1 carries as number `number` and makes greater by the same in each trip.
struct Counted {
  size_t number;
  int64_t by;
};

std::optional<Counted> countedBy(const ir::Op& loop, const ir::Value* v) {
  const ir::Region& body = *loop.regions[0];
  if (ir::constantInt(loop.operand(2)) != 1) return std::nullopt;
  for (size_t k = 0; k < loop.results.size(); ++k) {
    if (body.args[ir::firstCarriedArg(loop) + k].get() != v) continue;
    int64_t sum = 0;
    const ir::Value* at = body.terminator()->operand(k);
    for (int depth = 0; at != v; ++depth) {
      const ir::Op* op = at->op;
      if (depth == kDeepest || op == nullptr || (op->kind != OpKind::Add && op->kind != OpKind::Sub))
        return std::nullopt;
      const size_t constant = op->kind == OpKind::Add && ir::constantInt(op->operand(0)) ? 0 : 1;
      const auto by = ir::constantInt(op->operand(constant));
      if (!by || *by <= -kMostSlope || *by >= kMostSlope) return std::nullopt;
      sum += op->kind == OpKind::Add ? *by : -*by;
      at = op->operand(1 - constant);
    }
    return Counted{k, sum};
  }
  return std::nullopt;
}

/// How many times an index grows by 1 while the variable of a loop does, if it is made of that, of what the loop counts
/// beside it, and of what it does not change, by sums and products.
class Slopes {
 public:
  Slopes(IndexRanges& ranges, std::function<bool(const ir::Value*)> isOutside, const ir::Op& loop)
      : ranges_(ranges), isOutside_(std::move(isOutside)), loop_(loop), variable_(loop.regions[0]->args[0].get()) {}

  std::optional<Range> of(const ir::Value* v, int depth = kDeepest) {
    if (v == variable_) return Range{1, 1};
    if (v->type.dtype != ir::DType::I64 || v->type.rank() != 0 || depth == 0) return std::nullopt;
    if (isUnchanged(v)) return Range{0, 0};
    if (const auto counted = countedBy(loop_, v)) return Range{counted->by, counted->by};
    if (v->op == nullptr) return std::nullopt;
    switch (v->op->kind) {
      case OpKind::Add:
      case OpKind::Sub: {
        const auto a = of(v->op->operand(0), depth - 1), b = of(v->op->operand(1), depth - 1);
        if (!a || !b) return std::nullopt;
        if (v->op->kind == OpKind::Add) return limited(__int128{a->least} + b->least, __int128{a->most} + b->most);
        return limited(__int128{a->least} - b->most, __int128{a->most} - b->least);
      }
      case OpKind::Mul:
        for (size_t i : {0, 1})
          if (isUnchanged(v->op->operand(i))) return times(v->op->operand(i), of(v->op->operand(1 - i), depth - 1));
        return std::nullopt;
      default: return std::nullopt;
    }
  }

 private:
  bool isUnchanged(const ir::Value* v) const { return isOutside_(v) || ir::constantScalar(v).has_value(); }

  std::optional<Range> times(const ir::Value* factor, std::optional<Range> slope) {
    const Range by = ranges_.of(factor);
    if (!slope || by.least <= -kMostSlope || by.most >= kMostSlope) return std::nullopt;
    const auto low = limited(__int128{slope->least} * by.least, __int128{slope->least} * by.most);
    const auto high = limited(__int128{slope->most} * by.least, __int128{slope->most} * by.most);
    if (!low || !high) return std::nullopt;
    return limited(std::min(low->least, high->least), std::max(low->most, high->most));
  }

  IndexRanges& ranges_;
  std::function<bool(const ir::Value*)> isOutside_;
  const ir::Op& loop_;
  const ir::Value* variable_;
};

}  // namespace

/// What a loop without others in it reads at places that do not change while it runs, if they are surely in range, and
/// what follows from that, stands in front of it.
void NativeEmitter::hoistReads(const ir::Op& loop, const ir::Region& region) {
  for (const auto& op : region.ops) {
    // `and` whose second part may not always be computed.
    if (loop.kind == OpKind::While && op->kind == OpKind::If)
      for (const auto& side : op->regions) hoistReads(loop, *side);
    const auto& operands = op->operands();
    if (!std::all_of(operands.begin(), operands.end(), [&](const ir::Value* v) { return isOutside(v, loop); }))
      continue;
    const bool computes =
        op->has(ir::Trait::Elementwise) && !op->has(ir::Trait::CanFault) && op->result()->type.rank() == 0;
    const bool constant = op->kind == OpKind::Constant && op->result()->type.rank() == 0;
    if (!computes && !constant && !isSafeRead(*op)) continue;
    emitOp(*op);
    hoisted_.insert(op.get());
  }
}

/// How many times a value grows by 1 while the variable of a loop does, if that is known.
std::optional<Range> NativeEmitter::slopeIn(const ir::Op& loop, const ir::Value* v) {
  return Slopes(ranges_, [&](const ir::Value* x) { return isOutside(x, loop); }, loop).of(v);
}

/// The indices of a loop's body that are not known to be in range, and would be if they were so in both end trips. What
/// follows from those found so far is assumed.
std::vector<NativeEmitter::Linear> NativeEmitter::linearIndices(const ir::Op& loop, const ir::Region& region) {
  std::vector<Linear> found;
  for (const auto& op : region.ops) {
    const bool writes = op->kind == OpKind::Scatter;
    const size_t first = writes ? 2 : 1;
    for (size_t i = first; (writes || op->kind == OpKind::Gather) && i < op->operandCount(); ++i) {
      const ir::Value* v = op->operand(i);
      const int64_t extent = op->operand(0)->type.shape[static_cast<size_t>(op->intsAttr("axes")[i - first])];
      const Range range = ranges_.of(v);
      if (extent == 0 || (range.least >= 0 && range.most < extent) || range.most < 0) continue;
      const auto slope = slopeIn(loop, v);
      if (!slope || slope->least <= -kMostSlope || slope->most >= kMostSlope) continue;
      auto same = std::find_if(found.begin(), found.end(), [&](const Linear& l) { return l.index == v; });
      if (same != found.end())
        same->extent = std::min(same->extent, extent);
      else
        found.push_back({v, extent, slope->least != 0 || slope->most != 0});
      ranges_.assume(v, {0, extent - 1});
    }
    for (size_t side = 0; side < op->regions.size(); ++side) {
      const IndexRanges::Scope scope(ranges_);
      if (op->kind == OpKind::If) ranges_.assumeCondition(op->operand(0), side == 0);
      for (const Linear& l : linearIndices(loop, *op->regions[side]))
        if (std::none_of(found.begin(), found.end(), [&](const Linear& f) { return f.index == l.index; }))
          found.push_back(l);
    }
  }
  return found;
}

/// Whether an op checks an index.
bool NativeEmitter::checksIndex(const ir::Op& op) {
  if (op.kind != OpKind::Gather && op.kind != OpKind::Scatter && op.kind != OpKind::DynamicSlice) return false;
  const size_t first = op.kind == OpKind::Scatter ? 2 : 1;
  const auto& axes = op.intsAttr("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = op.operand(0)->type.shape[static_cast<size_t>(axes[i])];
    const Range range = ranges_.ofIndex(op.operand(first + i));
    const int64_t most = extent - (op.kind == OpKind::DynamicSlice ? op.intsAttr("sizes")[i] : 1);
    if ((range.least < 0 || range.most > most) && (range.least < -extent || range.most >= 0)) return true;
  }
  return false;
}

/// Whether something else may end a trip early: an index that must be checked, or a division. Such a loop is no
/// vectors, and the checks that a version without them would save cost it less than the tests in front of it.
bool NativeEmitter::mayLeaveTrip(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (checksIndex(*op)) return true;
    for (size_t side = 0; side < op->regions.size(); ++side) {
      const IndexRanges::Scope scope(ranges_);
      if (op->kind == OpKind::If) ranges_.assumeCondition(op->operand(0), side == 0);
      if (mayLeaveTrip(*op->regions[side])) return true;
    }
  }
  return false;
}

namespace {

/// What a loop carries into its body that a tensor is a version of, by updates and ifs.
const ir::Value* carriedTensor(const ir::Value* v) {
  while (v->op != nullptr) {
    if (v->op->kind == OpKind::Scatter) {
      v = v->op->operand(0);
    } else if (v->op->kind == OpKind::If) {
      const auto& results = v->op->results;
      const auto k = std::find_if(results.begin(), results.end(), [&](const auto& r) { return r.get() == v; });
      v = v->op->regions[0]->terminator()->operand(static_cast<size_t>(k - results.begin()));
    } else {
      break;
    }
  }
  return v;
}

/// How much more an index is than a variable, where that is a constant.
std::optional<int64_t> aheadOf(const ir::Value* index, const ir::Value* variable) {
  if (index == variable) return 0;
  const ir::Op* op = index->op;
  if (op == nullptr || (op->kind != OpKind::Add && op->kind != OpKind::Sub)) return std::nullopt;
  const size_t constant = op->kind == OpKind::Add && op->operand(1) == variable ? 0 : 1;
  const auto by = ir::constantInt(op->operand(constant));
  if (!by || *by == std::numeric_limits<int64_t>::min() || op->operand(1 - constant) != variable) return std::nullopt;
  return op->kind == OpKind::Add ? *by : -*by;
}

/// All in a region and the ifs in it.
void findAll(const ir::Region& region, std::vector<const ir::Op*>& found) {
  for (const auto& op : region.ops) {
    found.push_back(op.get());
    for (const auto& inner : op->regions) findAll(*inner, found);
  }
}

}  // namespace

/// Whether no trip of a loop without others in it reads or writes what another one writes: of each tensor that it
/// writes, all accesses have the variable, or as much more than it, as their index along the last dim, and are in one
/// row each. LLVM cannot tell from places of memory (`a[i, j] -= a[k, j]`), and would test whether they overlap. Where
/// other dims change, it would take accesses of one trip at places some elements apart together, past others of that
/// trip.
bool NativeEmitter::areTripsApart(const ir::Op& loop) {
  struct Accesses {
    std::optional<int64_t> ahead;  // how much more than the variable the index of the last dim is
    bool writes = false;
  };
  const IndexRanges::Scope scope(ranges_);  // more is known of what is behind conditions when they are emitted
  const ir::Value* variable = loop.regions[0]->args[0].get();
  std::unordered_map<const ir::Value*, Accesses> tensors;
  std::vector<const ir::Op*> ops;
  findAll(*loop.regions[0], ops);
  for (const ir::Op* op : ops) {
    if (op->kind == OpKind::If || op->has(ir::Trait::Terminator) || hoisted_.contains(op)) continue;
    const bool writes = op->kind == OpKind::Scatter;
    if (!writes && op->kind != OpKind::Gather) {
      if (!op->has(ir::Trait::Elementwise) && op->kind != OpKind::Constant) return false;
      if (op->result()->type.rank() != 0) return false;
      continue;
    }
    if ((writes ? op->operand(1) : op->result())->type.rank() != 0) return false;
    std::optional<int64_t> ahead;
    bool inOneRow = true;
    const auto& axes = op->intsAttr("axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i]);
      const ir::Value* index = op->operand((writes ? 2 : 1) + i);
      const Range range = ranges_.of(index);
      if (axis + 1 < op->operand(0)->type.shape.size())
        inOneRow = inOneRow && (isOutside(index, loop) || ir::constantScalar(index));
      else if (index->type.dtype == ir::DType::I64 && range.least >= 0 &&
               range.most < op->operand(0)->type.shape[axis])  // else it may count from the end
        ahead = aheadOf(index, variable);
    }
    if (!inOneRow) ahead.reset();
    const auto [place, isNew] = tensors.try_emplace(carriedTensor(op->operand(0)), Accesses{ahead});
    place->second.writes = place->second.writes || writes;
    if (place->second.ahead != ahead) place->second.ahead.reset();
  }
  return std::ranges::all_of(
      tensors, [](const auto& tensor) { return !tensor.second.writes || tensor.second.ahead.has_value(); });
}

/// Whether a place that is read in all trips is written where the loop's variable is the index `axis` of the read, and
/// in no other trip.
bool NativeEmitter::isChangedAt(const ir::Op& loop, const ir::Op& read, size_t axis) {
  const ir::Value *variable = loop.regions[0]->args[0].get(), *tensor = read.operand(0);
  std::vector<const ir::Op*> ops;
  findAll(*loop.regions[0], ops);
  bool changes = false;
  for (const ir::Op* op : ops) {
    if (op->operandCount() == 0 || op->kind == OpKind::Gather || carriedTensor(op->operand(0)) != tensor) continue;
    if (op->has(ir::Trait::Terminator)) continue;
    if (op->kind != OpKind::Scatter || op->intsAttr("axes") != read.intsAttr("axes")) return false;
    if (op->operand(2 + axis) != variable) return false;
    bool same = true;  // what is elsewhere along other dims does not change it at all
    for (size_t i = 0; i < op->operandCount() - 2; ++i)
      same = same && (i == axis || op->operand(2 + i) == read.operand(1 + i));
    changes = changes || same;
  }
  return changes;
}

/// What a loop that updates `d[i, j]` at each `j` reads at `d[i, k]` in all trips: only the trip at `k` changes it.
/// Before it and after it are no trips that depend on each other.
NativeEmitter::ApartReads NativeEmitter::apartReads(const ir::Op& loop) {
  const ir::Value* variable = loop.regions[0]->args[0].get();
  const Range steps = ranges_.of(loop.operand(2));
  ApartReads found;
  std::vector<const ir::Op*> ops;
  if (steps.least != steps.most || (steps.least != 1 && steps.least != -1) || ranges_.of(variable).least < 0)
    return found;
  findAll(*loop.regions[0], ops);
  for (const ir::Op* read : ops) {
    // The part of one trip begins with what that trip reads before it writes.
    if (!isSafeRead(*read) || read->operand(0)->op != nullptr || isOutside(read->operand(0), loop)) continue;
    const auto indices = std::span(read->operands()).subspan(1);
    if (!std::ranges::all_of(indices, [&](const ir::Value* v) { return isOutside(v, loop); })) continue;
    for (size_t i = 0; i < indices.size(); ++i) {
      const ir::Value* at = indices[i];
      if (found.at != nullptr && at != found.at) continue;
      const auto distance = at->type.dtype == ir::DType::I64 ? ranges_.difference(at, variable) : std::nullopt;
      if (distance && (distance->least > 0 || distance->most < 0)) continue;
      if (!isChangedAt(loop, *read, i)) continue;
      found.at = at;
      found.reads.push_back(read);
      break;
    }
  }
  return found;
}

/// An index of the loop as it is while the variable is `at`, in front of the loop.
Scalar NativeEmitter::indexAt(const ir::Value* v, const ir::Op& loop, Scalar at) {
  if (v == loop.regions[0]->args[0].get()) return at;
  if (const auto c = ir::constantScalar(v)) return s_->intConstant(Repr::I64, static_cast<uint64_t>(c->i));
  if (isOutside(v, loop)) return index(v);
  if (const auto counted = countedBy(loop, v)) {
    const Scalar trips = at - index(loop.operand(0));
    return index(loop.operand(ir::firstCarriedOperand(loop) + counted->number)) +
           trips * s_->intConstant(Repr::I64, static_cast<uint64_t>(counted->by));
  }
  const Scalar a = indexAt(v->op->operand(0), loop, at), b = indexAt(v->op->operand(1), loop, at);
  return v->op->kind == OpKind::Add ? a + b : v->op->kind == OpKind::Sub ? a - b : a * b;
}

/// Goes on where all of them are in range in every trip of a loop that has one. `last`: the variable in the last trip,
/// or beyond it. Between two values in range lie others in range, as long as the distance does not wrap.
void NativeEmitter::unlessInRange(const ir::Op& loop, const std::vector<Linear>& indices, const Counting& c,
                                  Scalar last, llvm::BasicBlock* otherwise) {
  constexpr double kFarthest = 0x1p40;  // times a slope, below 2^63
  auto unless = [&](Scalar holds) {
    auto* next = block("inside");
    b_.CreateCondBr(LlvmScalars::value(holds), next, otherwise,
                    llvm::MDBuilder(b_.getContext()).createBranchWeights(4000, 1));
    b_.SetInsertPoint(next);
  };
  const Range steps = ranges_.of(loop.operand(2));
  if (steps.least != steps.most) unless((c.step > 0.0) & (c.step <= 0x1p62));
  // Where the variable itself is an index that is in range, its distance is.
  const ir::Value* variable = loop.regions[0]->args[0].get();
  if (std::none_of(indices.begin(), indices.end(), [&](const Linear& l) { return l.index == variable; })) {
    const Scalar distance = c.forward ? last - c.lo : c.lo - last;
    unless(compare(Predicate::Ult, distance, like(distance, kFarthest)));
  }
  for (const Linear& l : indices) {
    auto inside = [&](Scalar at) {
      const Scalar i = indexAt(l.index, loop, at);
      return compare(Predicate::Ult, i, like(i, static_cast<double>(l.extent)));
    };
    unless(inside(c.lo));
    if (l.moves) unless(inside(last));
  }
}

/// The variable's value in the last trip, for a step that is known; else one beyond which no trip comes.
Scalar NativeEmitter::lastTrip(Scalar lo, Scalar hi, Range steps) {
  if (steps.least != steps.most) return hi - 1.0;
  const int64_t step = steps.least;
  if (step == 1) return hi - 1.0;
  if (step == -1) return hi + 1.0;
  const auto by = like(lo, static_cast<double>(std::abs(step)));
  const Scalar left = step > 0 ? hi - 1.0 - lo : lo - 1.0 - hi;
  const Scalar whole = s_->binary(BinaryInst::UDiv, left, by) * by;
  return step > 0 ? lo + whole : lo - whole;
}

}  // namespace tenc::codegen::cpu
