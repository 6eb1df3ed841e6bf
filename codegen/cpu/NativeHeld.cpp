// Innermost loops that take what arrays hold for indices (`d[from[e]]`): some trips ahead, all of these are looked
// through in vectors, and where they are in range the trips need not check them one by one.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>

#include "codegen/ScalarBodies.h"
#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

constexpr int64_t kPart = 512;  // trips, whose indices stay in the first cache
constexpr size_t kLongestChain = 12, kLongestBody = 48;

size_t lengthOf(const ir::Region& region) {
  size_t length = 0;
  for (const auto& op : region.ops) {
    ++length;
    for (const auto& inner : op->regions) length += lengthOf(*inner);
  }
  return length;
}

}  // namespace

/// Whether a value follows from the variable of a loop, what the loop does not change and what it reads of that, by
/// cheap ops that cannot fault; those that are in the loop are added to `chain`.
bool NativeEmitter::follows(const ir::Op& loop, const ir::Value* v, std::vector<const ir::Op*>& chain) {
  if (v == loop.regions[0]->args[0].get() || isOutside(v, loop)) return true;
  const ir::Op* op = v->op;
  if (op == nullptr || v->type.rank() != 0 || chain.size() >= kLongestChain) return false;
  if (std::find(chain.begin(), chain.end(), op) != chain.end()) return true;
  const bool computes =
      op->has(ir::Trait::Elementwise) && !op->has(ir::Trait::CanFault) && elementwiseCost(op->kind, v->type.dtype) <= 4;
  const bool reads = isSafeRead(*op) && isOutside(op->operand(0), loop);
  if (!computes && !reads && op->kind != OpKind::Constant) return false;
  for (const ir::Value* operand : op->operands())
    if (operand->type.rank() == 0 && !follows(loop, operand, chain)) return false;
  chain.push_back(op);
  return true;
}

void NativeEmitter::findHeld(const ir::Op& loop, const ir::Region& region, HeldIndices& found) {
  for (const auto& op : region.ops) {
    const bool writes = op->kind == OpKind::Scatter;
    const size_t first = writes ? 2 : 1;
    for (size_t i = first; (writes || op->kind == OpKind::Gather) && i < op->operandCount(); ++i) {
      const ir::Value* v = op->operand(i);
      const int64_t extent = op->operand(0)->type.shape[static_cast<size_t>(op->intsAttr("axes")[i - first])];
      const Range range = ranges_.ofIndex(v);
      if (v->type.rank() != 0 || extent == 0 || (range.least >= 0 && range.most < extent) || range.most < 0) continue;
      const auto same =
          std::find_if(found.indices.begin(), found.indices.end(), [&](const auto& held) { return held.first == v; });
      if (same != found.indices.end()) {
        same->second = std::min(same->second, extent);
        continue;
      }
      std::vector<const ir::Op*> chain = found.chain;
      if (!follows(loop, v, chain)) continue;
      found.indices.emplace_back(v, extent);
      found.chain = std::move(chain);
    }
    for (const auto& inner : op->regions) findHeld(loop, *inner, found);
  }
}

/// None for a loop that is short, or so long that checks cost it little.
NativeEmitter::HeldIndices NativeEmitter::heldIndices(const ir::Op& loop) {
  HeldIndices found;
  if (ir::tripCount(loop).value_or(0) >= kPart && lengthOf(*loop.regions[0]) <= kLongestBody)
    findHeld(loop, *loop.regions[0], found);
  return found;
}

/// Whether one of the indices is out of range in one of the trips of the part that begins with `first`. The last part
/// is shorter than others: there, trips before it are looked through once more, so that it is always the same number.
/// All that it takes to compute the indices is computed twice.
Scalar NativeEmitter::anyOutside(const ir::Op& loop, const HeldIndices& held, const Counting& c, Scalar first) {
  const int64_t left = ir::tripCount(loop).value() - kPart;
  const Scalar lastPart = c.lo + c.step * static_cast<double>(left);
  Value* from =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, LlvmScalars::value(first), LlvmScalars::value(lastPart));
  auto *before = b_.GetInsertBlock(), *trip = block("foresee"), *done = block("foreseen");
  b_.CreateBr(trip);
  b_.SetInsertPoint(trip);
  auto *i = b_.CreatePHI(b_.getInt64Ty(), 2), *any = b_.CreatePHI(b_.getInt1Ty(), 2);
  const Scalar at = s_->wrap(from, Repr::I64) + s_->wrap(i, Repr::I64) * c.step;
  slots_[loop.regions[0]->args[0].get()] = element(at);
  for (const ir::Op* op : held.chain) emitOp(*op);
  Scalar outside = s_->wrap(any, Repr::I1);
  for (const auto& [v, extent] : held.indices) {
    const Scalar found = index(v);
    outside = outside | compare(Predicate::Uge, found, like(found, static_cast<double>(extent)));
  }
  Value* next = b_.CreateAdd(i, b_.getInt64(1), "", true, true);
  i->addIncoming(b_.getInt64(0), before);
  i->addIncoming(next, trip);
  any->addIncoming(b_.getFalse(), before);
  any->addIncoming(LlvmScalars::value(outside), trip);
  b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt64(kPart)), trip, done);
  b_.SetInsertPoint(done);
  return outside;
}

/// A loop that goes forward by a step that is known, some trips at a time, each time with or without checks.
NativeEmitter::Slots NativeEmitter::tripsInParts(const ir::Op& op, const Slots& start, const Counting& c,
                                                 const HeldIndices& held, const std::vector<Linear>& known) {
  const ir::Region& region = *op.regions[0];
  const Range variable = ranges_.of(region.args[0].get());
  const bool told = loops_ == 0 && !shared_ && c.looks.run != 0;
  if (told) tellStart(c);
  auto *from = b_.GetInsertBlock(), *part = block("part"), *done = block("done");
  b_.CreateCondBr(LlvmScalars::value(c.lo < c.hi), part, done);
  b_.SetInsertPoint(part);
  auto* first = b_.CreatePHI(b_.getInt64Ty(), 2);
  first->addIncoming(LlvmScalars::value(c.lo), from);
  const Slots carried = carriedPhis(start, from);
  Counting inner = c;
  inner.lo = s_->wrap(first, Repr::I64);
  inner.looks = {0, c.looks.quiet};
  inner.hi = endOfPart({c.lo, c.hi, c.step, true, {kPart, 0}}, ranges_.of(op.operand(2)), inner.lo);
  const Scalar outside = anyOutside(op, held, c, inner.lo);
  auto *inside = block("inside"), *anywhere = block("anywhere"), *joined = block("joined");
  b_.CreateCondBr(LlvmScalars::value(outside), anywhere, inside,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 4000));
  Slots results[2];
  llvm::BasicBlock* ends[2];
  for (const bool rare : {false, true}) {
    b_.SetInsertPoint(rare ? anywhere : inside);
    const IndexRanges::Scope scope(ranges_);
    ranges_.assume(region, variable);
    for (const Linear& l : known) ranges_.assume(l.index, {0, l.extent - 1});
    for (const auto& [v, extent] : held.indices)
      if (!rare) ranges_.assume(v, {0, extent - 1});
    inner.rare = rare;
    if (rare) inner.apart.reset(), inner.unchanged.clear();
    results[rare] = trips(op, carried, inner);
    if (!error_.empty()) return {};
    ends[rare] = b_.GetInsertBlock();
    b_.CreateBr(joined);
  }
  b_.SetInsertPoint(joined);
  const Slots last = mergedSlots(results[0], ends[0], results[1], ends[1]);
  if (told) tell(offsetof(abi::KernelState, at), inner.hi);
  Value* more = LlvmScalars::value(inner.hi < c.hi);
  closePhis(carried, last, joined);
  first->addIncoming(LlvmScalars::value(inner.hi), joined);
  b_.CreateCondBr(c.looks.run == 0 ? more : unlessStopped(more), part, done);
  b_.SetInsertPoint(done);
  return error_.empty() ? mergedSlots(start, from, last, joined) : Slots{};
}

}  // namespace tenc::codegen::cpu
