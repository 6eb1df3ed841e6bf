// When native loops look at the fault word, so that Ctrl-C ends them: seldom enough that it costs nothing, and often
// enough that nobody has to wait.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

/// So many trips, those of all loops in them counted, take no time that anyone has to wait for.
constexpr int64_t kFewTrips = int64_t{1} << 22;
constexpr int64_t kRun = int64_t{1} << 16;
constexpr int64_t kShortestRun = 64;
constexpr int64_t kMany = std::numeric_limits<int64_t>::max();

int64_t distance(int64_t from, int64_t to) {
  if (from >= to) return 0;
  const uint64_t d = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  return d > static_cast<uint64_t>(kMany) ? kMany : static_cast<int64_t>(d);
}

bool holdsFor(const ir::Region& region) {
  return std::any_of(region.ops.begin(), region.ops.end(), [](const auto& op) {
    return op->kind == ir::OpKind::For ||
           std::any_of(op->regions.begin(), op->regions.end(), [](const auto& inner) { return holdsFor(*inner); });
  });
}

}  // namespace

/// How many values the variable of a `for` has at most because each trip takes it, or it and what the loop does not
/// change, for an index: from one end of the dim to the other, and counted from the end.
std::optional<int64_t> NativeEmitter::mostIndexed(const ir::Op& loop) {
  std::optional<int64_t> most;
  for (const auto& op : loop.regions[0]->ops) {
    if (op->kind != ir::OpKind::Gather && op->kind != ir::OpKind::Scatter) continue;
    const size_t first = op->kind == ir::OpKind::Scatter ? 2 : 1;
    const auto& axes = op->intsAttr("axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t extent = op->operand(0)->type.shape[static_cast<size_t>(axes[i])];
      const auto slope = slopeIn(loop, op->operand(first + i));
      if (extent < kFewTrips && slope && (slope->least > 0 || slope->most < 0))
        most = std::min(most.value_or(kMany), 2 * extent);
    }
  }
  return most;
}

/// How many trips a loop that is bound has at most. The variable has another value in each: a step of 0 is a fault, and
/// such a loop looks in every trip.
int64_t NativeEmitter::mostTrips(const ir::Op& loop) {
  if (loop.kind == ir::OpKind::While) return ranges_.mostTrips(loop).value_or(kMany);
  const Range lo = ranges_.of(loop.operand(0)), hi = ranges_.of(loop.operand(1)), steps = ranges_.of(loop.operand(2));
  const Range at = ranges_.of(loop.regions[0]->args[0].get());
  const int64_t by =
      std::max<int64_t>({1, steps.least, steps.most == std::numeric_limits<int64_t>::min() ? kMany : -steps.most});
  int64_t between = std::max(distance(lo.least, hi.most), distance(hi.least, lo.most));
  if (const auto d = ranges_.difference(loop.operand(1), loop.operand(0)))  // i - 1..i + 2
    between = std::min(between, std::max(distance(0, d->most), distance(d->least, 0)));
  const int64_t within = between / by + (between % by != 0 ? 1 : 0);
  if (const auto indexed = mostIndexed(loop)) return std::min(*indexed / by + 1, within);
  // Of a variable of which nothing is known there is one value more than a number can say.
  return std::min(std::min(distance(at.least, at.most), kMany - 1) / by + 1, within);
}

/// Decided once: what the loops around it count on must hold where more is known of it.
NativeEmitter::Looks NativeEmitter::looksOf(const ir::Op& loop, int64_t body) {
  const auto [place, isNew] = looks_.try_emplace(&loop);
  if (isNew) place->second = looksFor(loop, body);
  return place->second;
}

/// Those of a loop that is bound, and whose body may let `body` trips pass by itself.
NativeEmitter::Looks NativeEmitter::looksFor(const ir::Op& loop, int64_t body) {
  const int64_t trips = mostTrips(loop), each = std::max<int64_t>(body, 1);
  if (trips <= kFewTrips / each) return {0, trips * each};
  // A look in every trip costs nothing beside what is in a long one. Around a `for`, runs would also stand between LLVM
  // and what it finds out of both loops.
  const bool isRun = loop.kind == ir::OpKind::For && (each <= kFewTrips / kRun || !holdsFor(*loop.regions[0]));
  int64_t run = isRun ? std::min(kFewTrips / each, kRun) : 1;
  if (run < kShortestRun) run = 1;
  return {run, run * std::min(each, kFewTrips)};
}

/// How many trips of the loops in a region may pass, at most, without a look.
int64_t NativeEmitter::quietTrips(const ir::Region& region) {
  int64_t all = 0;
  for (const auto& op : region.ops) {
    int64_t here = 0;
    const IndexRanges::Scope scope(ranges_);
    if (ir::isLoop(*op)) {
      ranges_.bindLoop(*op);
      ranges_.enterBody(*op);
    }
    for (const auto& inner : op->regions) here += quietTrips(*inner);
    if (ir::isLoop(*op)) here = looksOf(*op, here).quiet;
    all = std::min(all + here, kFewTrips);
  }
  return all;
}

/// `more`, and no one wants the loop to end.
Value* NativeEmitter::unlessStopped(Value* more) {
  auto* word = b_.CreateLoad(b_.getInt32Ty(), fault_);
  word->setVolatile(true);
  tag(word, state_);
  return b_.CreateAnd(more, b_.CreateICmpEQ(word, b_.getInt32(0)));
}

/// Writes a word of the KernelState, for those who look on.
void NativeEmitter::tell(size_t offset, Scalar value) {
  auto* word = b_.CreateConstGEP1_64(b_.getInt8Ty(), fault_, offset);
  auto* store = b_.CreateStore(LlvmScalars::value(value), word);
  store->setVolatile(true);
  tag(store, state_);
}

/// How far a loop goes, before its first trip.
void NativeEmitter::tellStart(const Counting& c) {
  tell(offsetof(abi::KernelState, first), c.lo);
  tell(offsetof(abi::KernelState, at), c.lo);
  tell(offsetof(abi::KernelState, end), c.hi);
  tell(offsetof(abi::KernelState, step), c.step);
}

}  // namespace tenc::codegen::cpu
