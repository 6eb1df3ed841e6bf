#include "codegen/Overwrites.h"

#include <algorithm>

#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen {
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// The variable of a loop that counts from `lo` to before `hi` by 1, or the other way round.
struct Counter {
  const Value* variable;
  int64_t lo, hi;
  bool up;
};

std::optional<Counter> counterOf(const Op& loop) {
  if (loop.kind != OpKind::For) return std::nullopt;
  const auto lo = ir::constantInt(loop.operand(0)), hi = ir::constantInt(loop.operand(1)),
             step = ir::constantInt(loop.operand(2));
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!lo || !hi || !step || *lo < -kMost || *lo > kMost || *hi < -kMost || *hi > kMost) return std::nullopt;
  const Value* variable = loop.regions[0]->args[0].get();
  if (*step == 1 && *lo < *hi) return Counter{variable, *lo, *hi, true};
  if (*step == -1 && *hi < *lo) return Counter{variable, *hi + 1, *lo + 1, false};
  return std::nullopt;
}

/// `variable + shift`.
struct Place {
  const Value* variable;
  int64_t shift;
};

Place placeOf(const Value* v) {
  const Op* op = v->op;
  if (op == nullptr || (op->kind != OpKind::Add && op->kind != OpKind::Sub)) return {v, 0};
  for (size_t i : {0, 1}) {
    const auto by = ir::constantInt(op->operand(1 - i));
    if (by && *by > -(int64_t{1} << 40) && *by < (int64_t{1} << 40) && (op->kind == OpKind::Add || i == 0))
      return {op->operand(i), op->kind == OpKind::Add ? *by : -*by};
  }
  return {v, 0};
}

/// Loops one in the other of which the innermost writes one element in each trip: `d[i, j] = ...`.
class Nest {
 public:
  /// The part that they write of what the outermost carries as number `i`, if they read only what was written in trips
  /// before, and what is beyond that part.
  std::optional<Box> writtenBy(const Op& outermost, size_t i) {
    const Op* loop = &outermost;
    while (true) {
      const auto counter = counterOf(*loop);
      if (!counter) return std::nullopt;
      loops_.push_back(*counter);
      const ir::Region& region = *loop->regions[0];
      const Value* before = region.args[ir::firstCarriedArg(*loop) + i].get();
      const Value::Use* next = onlyUpdate(*before);
      if (next == nullptr || next->user->parent != &region) return std::nullopt;
      const Op& user = *next->user;
      const bool isLoop = user.kind == OpKind::For && next->operand >= ir::firstCarriedOperand(user);
      if (!isLoop && user.kind != OpKind::Scatter) return std::nullopt;
      const size_t inner = isLoop ? next->operand - ir::firstCarriedOperand(user) : 0;
      const Value* after = user.result(inner);
      const Value::Use* end = onlyUpdate(*after);
      if (end == nullptr || end->user != region.terminator() || end->operand != i) return std::nullopt;
      if (!isLoop) return next->operand == 0 ? written(user, *before) : std::nullopt;
      // What an outer loop reads itself has no place among the trips of the inner one.
      if (before->uses.size() != 1 || after->uses.size() != 1) return std::nullopt;
      loop = &user;
      i = inner;
    }
  }

 private:
  /// The use of a version of a tensor that makes the next one; null if there are others than reads beside it.
  static const Value::Use* onlyUpdate(const Value& version) {
    const Value::Use* update = nullptr;
    for (const Value::Use& use : version.uses) {
      if (use.user->kind == OpKind::Gather && use.operand == 0) continue;
      if (update != nullptr) return nullptr;
      update = &use;
    }
    return update;
  }

  std::optional<Box> written(const Op& write, const Value& before) {
    const ir::Type& t = write.operand(0)->type;
    const auto& axes = write.intsAttr("axes");
    if (write.stringAttr("mode") != "set" || write.operand(1)->type.rank() != 0) return std::nullopt;
    if (static_cast<int64_t>(axes.size()) != t.rank() || axes.size() != loops_.size()) return std::nullopt;
    Box box{std::vector<int64_t>(axes.size()), std::vector<int64_t>(axes.size())};
    std::vector<size_t> loopOf;
    for (size_t k = 0; k < axes.size(); ++k) {
      const Place at = placeOf(write.operand(2 + k));
      const auto loop = std::ranges::find_if(loops_, [&](const Counter& c) { return c.variable == at.variable; });
      const auto number = static_cast<size_t>(loop - loops_.begin()), axis = static_cast<size_t>(axes[k]);
      if (loop == loops_.end() || std::ranges::find(loopOf, number) != loopOf.end()) return std::nullopt;
      box.lo[axis] = loop->lo + at.shift;
      box.hi[axis] = loop->hi + at.shift;
      if (box.lo[axis] < 0 || box.hi[axis] > t.shape[axis]) return std::nullopt;
      loopOf.push_back(number);
    }
    for (const Value* version : {&before, static_cast<const Value*>(write.result())})
      for (const Value::Use& use : version->uses)
        if (use.user->kind == OpKind::Gather && !readsEarlier(write, *use.user, loopOf, version != &before))
          return std::nullopt;
    return box;
  }

  /// Whether a read gives what an earlier trip has written, or what none writes.
  bool readsEarlier(const Op& write, const Op& read, const std::vector<size_t>& loopOf, bool afterWrite) const {
    const auto& axes = write.intsAttr("axes");
    if (read.intsAttr("axes") != axes) return false;
    std::vector<int64_t> ahead(loops_.size());  // by loop: how many trips
    for (size_t k = 0; k < axes.size(); ++k) {
      const Place from = placeOf(read.operand(1 + k)), to = placeOf(write.operand(2 + k));
      const Counter& loop = loops_[loopOf[k]];
      if (from.variable != to.variable) return false;
      // One that counts from the end would be elsewhere.
      if (loop.lo + from.shift < 0) return false;
      ahead[loopOf[k]] = loop.up ? from.shift - to.shift : to.shift - from.shift;
    }
    const auto first = std::ranges::find_if(ahead, [](int64_t trips) { return trips != 0; });
    return first == ahead.end() ? afterWrite : *first < 0;
  }

  std::vector<Counter> loops_;  ///< the outermost first
};

/// Whether a region may stop the program, or not come to an end.
bool mayStop(const ir::Region& region) {
  return std::ranges::any_of(region.ops, [](const auto& op) {
    const bool mayStand = op->kind == OpKind::For && ir::constantInt(op->operand(2)).value_or(0) == 0;
    return op->has(ir::Trait::CanFault) || op->kind == OpKind::While || mayStand ||
           std::ranges::any_of(op->regions, [](const auto& inner) { return mayStop(*inner); });
  });
}

bool isAll(const Box& box, const ir::Type& t) {
  return std::ranges::all_of(box.lo, [](int64_t lo) { return lo == 0; }) && std::ranges::equal(box.hi, t.shape);
}

}  // namespace

std::optional<Box> overwrittenPart(const Op& fused, size_t operand) {
  if (fused.kind != OpKind::Fused || fused.stringAttr("kind") != "native") return std::nullopt;
  const ir::Region& region = *fused.regions[0];
  const Value* version = region.args[operand].get();
  while (version->uses.size() == 1) {
    const Value::Use& use = version->uses[0];
    const Op& user = *use.user;
    if (user.parent != &region) return std::nullopt;
    if (user.kind == OpKind::Scatter && use.operand == 0 && user.stringAttr("mode") == "set") {
      version = user.result();  // elements that are set before the loop
      continue;
    }
    if (user.kind != OpKind::For || use.operand < ir::firstCarriedOperand(user)) return std::nullopt;
    return Nest().writtenBy(user, use.operand - ir::firstCarriedOperand(user));
  }
  return std::nullopt;
}

std::optional<Box> overwrittenPart(const Op& fused) {
  if (fused.kind != OpKind::Fused || fused.results.empty()) return std::nullopt;
  if (mayStop(*fused.regions[0])) return std::nullopt;
  std::optional<Box> all;
  for (const auto& result : fused.results) {
    if (result->uses.size() != 1 || result->type.shape != fused.result()->type.shape) return std::nullopt;
    const auto part = overwrittenPart(*result->uses[0].user, result->uses[0].operand);
    if (!part) return std::nullopt;
    if (!all) all = part;
    for (size_t d = 0; d < part->lo.size(); ++d) {
      all->lo[d] = std::max(all->lo[d], part->lo[d]);
      all->hi[d] = std::max(all->lo[d], std::min(all->hi[d], part->hi[d]));
    }
  }
  return all;
}

bool overwritesAll(const Op& fused, size_t operand) {
  const auto part = overwrittenPart(fused, operand);
  return part && isAll(*part, fused.operand(operand)->type);
}

bool isOverwritten(const Op& fused) {
  const auto part = overwrittenPart(fused);
  return part && isAll(*part, fused.result()->type);
}

}  // namespace tenc::codegen
