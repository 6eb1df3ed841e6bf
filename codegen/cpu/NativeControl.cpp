#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "codegen/ScalarBodies.h"
#include "codegen/cpu/NativeBody.h"
#include "ir/Scalar.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

/// So many trips of a loop without others in it take no time that anyone has to wait for.
constexpr int64_t kFewTrips = int64_t{1} << 22;

bool hasLoop(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::For || op->kind == OpKind::While) return true;
    for (const auto& inner : op->regions) {
      if (hasLoop(*inner)) return true;
    }
  }
  return false;
}

}  // namespace

NativeEmitter::Slots NativeEmitter::slotsOf(const ir::Op& op, size_t from) {
  Slots all;
  for (size_t i = from; i < op.operandCount(); ++i) all.push_back(slots_[op.operand(i)]);
  return all;
}

/// Phi nodes at the head of a loop for what `start` carries.
NativeEmitter::Slots NativeEmitter::carriedPhis(const Slots& start, llvm::BasicBlock* from) {
  Slots carried = start;
  for (NativeValue& s : carried) {
    if (s.element == nullptr) continue;
    auto* phi = b_.CreatePHI(s.element->getType(), 2);
    phi->addIncoming(s.element, from);
    s.element = phi;
  }
  return carried;
}

void NativeEmitter::closePhis(const Slots& carried, const Slots& next, llvm::BasicBlock* latch) {
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i].element != nullptr) {
      if (next[i].element == nullptr) return fail("a carried value that changes its form");
      llvm::cast<llvm::PHINode>(carried[i].element)->addIncoming(next[i].element, latch);
    } else if (next[i].base != carried[i].base) {
      return fail("a carried tensor that is not updated in place");
    }
  }
}

void NativeEmitter::bindArgs(const ir::Region& region, const Slots& values, size_t skip) {
  for (size_t i = 0; i < values.size(); ++i) slots_[region.args[i + skip].get()] = values[i];
}

/// A `while` of unknown length, and a loop around others, looks at the fault word in every trip, so that Ctrl-C ends
/// it, and an index out of range: what is read instead could keep a loop running for ever.
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

/// Whether a loop surely has so few trips that nobody has to wait for it.
bool NativeEmitter::isShort(const ir::Op& op) {
  Range lo = ranges_.of(op.operand(0)), hi = ranges_.of(op.operand(1)), at = ranges_.of(op.regions[0]->args[0].get());
  constexpr int64_t few = kFewTrips;
  if (at.least >= 0 && at.most < few) return true;
  return lo.least > -few && lo.most < few && hi.least > -few && hi.most < few;
}

/// What both ways that meet here have left; tensors are the same in both.
NativeEmitter::Slots NativeEmitter::mergedSlots(const Slots& a, llvm::BasicBlock* fromA, const Slots& b,
                                                llvm::BasicBlock* fromB) {
  Slots merged = a;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].element != nullptr && b[k].element != nullptr) {
      auto* phi = b_.CreatePHI(a[k].element->getType(), 2);
      phi->addIncoming(a[k].element, fromA);
      phi->addIncoming(b[k].element, fromB);
      merged[k].element = phi;
    } else if (a[k].base != b[k].base) {
      fail("branches that yield different tensors");
    }
  }
  return merged;
}

/// A loop whose indices follow from its variable, and which are known only when it starts, stands twice: all of them
/// may be in range, and then are not checked. So does one whose step is known only then: it goes forward, as nearly all
/// do.
void NativeEmitter::forLoop(const ir::Op& op) {
  const ir::Region& region = *op.regions[0];
  Scalar lo = index(op.operand(0)), hi = index(op.operand(1)), step = index(op.operand(2));
  Slots start = slotsOf(op, 3), last;
  if (!error_.empty()) return;
  const Range by = ranges_.of(op.operand(2));
  if (by.least <= 0 && by.most >= 0) s_->setFault(compare(Predicate::Eq, step, like(step, 0.0)), fault(op));
  if (by.least == 0 && by.most == 0) {  // no trips: a loop without end would be no loop for LLVM
    for (size_t k = 0; k < start.size(); ++k) slots_[op.result(k)] = start[k];
    return;
  }
  ranges_.bindLoop(op);
  const Range range = ranges_.of(region.args[0].get()), steps = ranges_.of(op.operand(2));
  std::vector<Linear> indices;
  if (!hasLoop(region)) {
    const IndexRanges::Scope scope(ranges_);
    indices = linearIndices(op, region);
  }
  const bool forward = steps.least > 0, known = steps.least == steps.most && std::abs(steps.least) < (1 << 20);
  if (indices.empty() || (!known && steps.most <= 0)) {
    last = trips(op, start, lo, hi, step, forward);
  } else {
    auto *inside = block("inside"), *anywhere = block("anywhere"), *after = block("after");
    Scalar sure = areInRange(op, indices, lo, lastTrip(lo, hi, steps), forward || !known);
    if (!known) sure = sure & (step > 0.0) & (step <= 0x1p62);
    b_.CreateCondBr(LlvmScalars::value(sure), inside, anywhere);
    b_.SetInsertPoint(inside);
    ranges_.assume(region, range);
    for (const Linear& l : indices) ranges_.assume(l.index, {0, l.extent - 1});
    last = trips(op, start, lo, hi, step, forward || !known);
    auto* endInside = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(anywhere);
    ranges_.assume(region, range);
    Slots other = trips(op, start, lo, hi, step, forward);
    auto* endAnywhere = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    if (error_.empty()) last = mergedSlots(last, endInside, other, endAnywhere);
  }
  ranges_.leaveLoop(op);
  for (size_t k = 0; k < last.size(); ++k) slots_[op.result(k)] = last[k];
}

/// The loop itself. The test stands at the end of the trip, after one before the first. The fault word is looked at in
/// every trip around other loops, and else, in a long loop, between runs of 2^16 trips, which costs the trips nothing.
/// Returns what entered the loop if it did not run, or what its last trip left. `forward`: the step is surely positive.
NativeEmitter::Slots NativeEmitter::trips(const ir::Op& op, const Slots& start, Scalar lo, Scalar hi, Scalar step,
                                          bool forward) {
  const ir::Region& region = *op.regions[0];
  Range steps = ranges_.of(op.operand(2));
  const bool known = steps.least == steps.most && std::abs(steps.least) < (1 << 20);
  const bool inRuns = known && !hasLoop(region) && !isShort(op);
  const bool mayStand = !forward && steps.least <= 0 && steps.most >= 0;  // its step of 0 is a fault
  const bool polls = hasLoop(region) || mayStand || (!known && !isShort(op));
  const bool told = loops_ == 0 && (inRuns || polls);
  if (told) {
    tell(offsetof(abi::KernelState, first), lo);
    tell(offsetof(abi::KernelState, at), lo);
    tell(offsetof(abi::KernelState, end), hi);
    tell(offsetof(abi::KernelState, step), step);
  }
  auto more = [&](Scalar at, Scalar end) {
    return LlvmScalars::value(forward ? at < end : select(step<0.0, at> end, at < end));
  };
  // Near the ends of i64 the next index may be beyond them: then what is left is compared with the step.
  const Range ends = ranges_.of(op.operand(1));
  const bool one = steps.least == steps.most && std::abs(steps.least) == 1;
  const bool mayWrap = !one && (ends.most > std::numeric_limits<int64_t>::max() - std::max<int64_t>(steps.most, 0) ||
                                ends.least < std::numeric_limits<int64_t>::min() - std::min<int64_t>(steps.least, 0));
  auto another = [&](Scalar at, Scalar end) {
    if (!mayWrap) return more(at + step, end);
    auto past = [&](Scalar left, Scalar stride) { return compare(Predicate::Ugt, left, stride); };
    const Scalar up = past(end - at, step);
    return LlvmScalars::value(forward ? up : select(step < 0.0, past(at - end, like(step, 0.0) - step), up));
  };
  Value* first = more(lo, hi);
  auto *from = b_.GetInsertBlock(), *done = block("done");
  auto* outer = inRuns ? block("run") : nullptr;
  auto* trip = block("trip");
  b_.CreateCondBr(first, inRuns ? outer : trip, done);
  llvm::PHINode* runFirst = nullptr;
  Slots runStart = start;
  Scalar runEnd = hi;
  auto* before = from;
  if (inRuns) {
    b_.SetInsertPoint(outer);
    runFirst = b_.CreatePHI(b_.getInt64Ty(), 2);
    runFirst->addIncoming(LlvmScalars::value(lo), from);
    runStart = carriedPhis(start, from);
    Value* far = b_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, runFirst,
                                          b_.getInt64(static_cast<uint64_t>(steps.least * (1 << 16))));
    auto lesser = steps.least > 0 ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
    runEnd = s_->wrap(b_.CreateBinaryIntrinsic(lesser, far, LlvmScalars::value(hi)), Repr::I64);
    before = outer;
    b_.CreateBr(trip);
  }
  b_.SetInsertPoint(trip);
  auto* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(inRuns ? runFirst : LlvmScalars::value(lo), before);
  Slots carried = carriedPhis(runStart, before);
  Scalar at = s_->wrap(i, Repr::I64);
  slots_[region.args[0].get()] = element(at);
  bindArgs(region, carried, 1);
  ++loops_;
  {
    const Part part(*this);
    body(region);
  }
  --loops_;
  if (!error_.empty()) return {};
  Slots last = slotsOf(*region.terminator(), 0);
  Scalar following = at + step;
  if (told && !inRuns) tell(offsetof(abi::KernelState, at), following);
  Value* again = another(at, runEnd);
  if (polls) again = unlessStopped(again);
  auto* latch = b_.GetInsertBlock();
  closePhis(carried, last, latch);
  i->addIncoming(LlvmScalars::value(following), latch);
  if (inRuns) {
    auto* look = block("look");
    b_.CreateCondBr(again, trip, look);
    b_.SetInsertPoint(look);
    if (told) tell(offsetof(abi::KernelState, at), following);
    closePhis(runStart, last, look);
    runFirst->addIncoming(LlvmScalars::value(following), look);
    b_.CreateCondBr(unlessStopped(another(at, hi)), outer, done);
    latch = look;
  } else {
    b_.CreateCondBr(again, trip, done);
  }
  b_.SetInsertPoint(done);
  return error_.empty() ? mergedSlots(start, from, last, latch) : Slots{};
}

void NativeEmitter::whileLoop(const ir::Op& op) {
  const ir::Region &condition = *op.regions[0], &region = *op.regions[1];
  Slots start = slotsOf(op, 0);
  auto *from = b_.GetInsertBlock(), *head = block("while"), *run = block("trip"), *done = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  Slots carried = carriedPhis(start, from);
  bindArgs(condition, carried, 0);
  ranges_.bindLoop(op);
  body(condition);
  if (!error_.empty()) return;
  Scalar more = scalar(condition.terminator()->operand(0));
  if (!hasLoop(region) && ranges_.mostTrips(op).value_or(kFewTrips) < kFewTrips) {
    b_.CreateCondBr(LlvmScalars::value(more), run, done);
  } else {
    auto* look = block("look");
    b_.CreateCondBr(LlvmScalars::value(more), look, done);
    b_.SetInsertPoint(look);
    b_.CreateCondBr(unlessStopped(b_.getTrue()), run, exit_);
  }
  b_.SetInsertPoint(run);
  bindArgs(region, carried, 0);
  ++loops_;
  {
    const Part part(*this);
    ranges_.enterBody(op);
    body(region);
  }
  --loops_;
  ranges_.leaveLoop(op);
  if (!error_.empty()) return;
  closePhis(carried, slotsOf(*region.terminator(), 0), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(done);
  for (size_t k = 0; k < carried.size(); ++k) slots_[op.result(k)] = carried[k];
}

/// Whether every axis is indexed, by a value that is surely in range.
bool NativeEmitter::isSafeRead(const ir::Op& op) {
  if (op.kind != OpKind::Gather || op.result()->type.rank() != 0 || slots_[op.operand(0)].base == nullptr) return false;
  const auto& axes = op.intsAttr("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const ir::Value* v = op.operand(1 + i);
    if (v->type.rank() != 0) return false;
    Range r = ranges_.of(v);
    if (r.least < 0 || r.most >= op.operand(0)->type.shape[static_cast<size_t>(axes[i])]) return false;
  }
  return true;
}

/// Whether the condition of a `while` reads what a region yields as number `i`, directly or by ifs around it.
bool NativeEmitter::decidesExit(const ir::Region& region, size_t i) {
  const ir::Op* around = region.parentOp;
  if (around == nullptr) return false;
  if (around->kind == OpKind::While) return !around->regions[0]->args[i]->unused();
  if (around->kind != OpKind::If) return false;
  const ir::Region& outer = *around->parent;
  const ir::Op* end = outer.terminator();
  for (size_t k = 0; k < end->operandCount(); ++k)
    if (end->operand(k) == around->result(i) && decidesExit(outer, k)) return true;
  return false;
}

/// Whether an `if` sets a flag that a loop is left by (`break`): a jump, which the trips before it need not wait for.
bool NativeEmitter::mayLeave(const ir::Op& op) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (op.result(i)->type.dtype != ir::DType::Bool || op.result(i)->type.rank() != 0) continue;
    const auto known = [&](size_t side) {
      return ir::constantScalar(op.regions[side]->terminator()->operand(i)).has_value();
    };
    if ((known(0) || known(1)) && decidesExit(*op.regions[0], i)) return true;
  }
  return false;
}

/// Whether a side of an `if` is so little, and does so surely nothing but compute, that it may always run.
bool NativeEmitter::mayAlwaysRun(const ir::Region& region, int& budget) {
  for (const auto& op : region.ops) {
    if (op->has(ir::Trait::Terminator) || op->kind == OpKind::Constant) continue;
    if (op->kind == OpKind::If) {
      if (mayLeave(*op) || --budget < 0) return false;
      if (!mayAlwaysRun(*op->regions[0], budget) || !mayAlwaysRun(*op->regions[1], budget)) return false;
      continue;
    }
    bool cheap = op->has(ir::Trait::Elementwise) && !op->has(ir::Trait::CanFault) && op->result()->type.size() == 1 &&
                 elementwiseCost(op->kind, op->result()->type.dtype) <= 4;
    if (!cheap && !isSafeRead(*op)) return false;
    if (--budget < 0) return false;
  }
  return true;
}

/// Both sides of an `if`, and a choice: cheaper than a jump that is guessed wrong.
void NativeEmitter::choose(const ir::Op& op, Scalar condition) {
  Slots results[2];
  for (size_t side = 0; side < 2; ++side) {
    body(*op.regions[side]);
    if (!error_.empty()) return;
    results[side] = slotsOf(*op.regions[side]->terminator(), 0);
  }
  for (size_t k = 0; k < results[0].size(); ++k) {
    NativeValue slot = results[0][k];
    const NativeValue& other = results[1][k];
    if (slot.element != nullptr && other.element != nullptr) {
      Repr r = reprOf(op.result(k)->type.dtype);
      slot.element = LlvmScalars::value(select(condition, s_->wrap(slot.element, r), s_->wrap(other.element, r)));
    } else if (slot.base != other.base) {
      return fail("branches that yield different tensors");
    }
    slots_[op.result(k)] = slot;
  }
}

void NativeEmitter::branch(const ir::Op& op) {
  Scalar condition = scalar(op.operand(0));
  constexpr int kFewOps = 10;
  int budget = kFewOps;
  auto always = [&] {
    const IndexRanges::Scope scope(ranges_);
    return !mayLeave(op) && mayAlwaysRun(*op.regions[0], budget) && mayAlwaysRun(*op.regions[1], budget);
  };
  if (always()) return choose(op, condition);
  auto *then = block("then"), *otherwise = block("else"), *done = block("done");
  b_.CreateCondBr(LlvmScalars::value(condition), then, otherwise);
  Slots results[2];
  llvm::BasicBlock* ends[2];
  for (int side = 0; side < 2; ++side) {
    b_.SetInsertPoint(side == 0 ? then : otherwise);
    const ir::Region& region = *op.regions[static_cast<size_t>(side)];
    {
      const Part part(*this);
      ranges_.assumeCondition(op.operand(0), side == 0);
      body(region);
    }
    if (!error_.empty()) return;
    results[side] = slotsOf(*region.terminator(), 0);
    ends[side] = b_.GetInsertBlock();
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  Slots merged = mergedSlots(results[0], ends[0], results[1], ends[1]);
  for (size_t k = 0; k < merged.size(); ++k) slots_[op.result(k)] = merged[k];
}

}  // namespace tenc::codegen::cpu
