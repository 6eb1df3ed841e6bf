// Loops of native loops, and where control flow meets.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "codegen/cpu/NativeBody.h"
#include "codegen/cpu/NativePasses.h"
#include "ir/Loops.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

bool hasLoop(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (ir::isLoop(*op)) return true;
    for (const auto& inner : op->regions) {
      if (hasLoop(*inner)) return true;
    }
  }
  return false;
}

/// What LLVM is told of a loop at its end. One that is hardly ever run is not worth vectors, nor unrolling. `group`:
/// the accesses in it, where no trip makes one that depends on another trip's.
void latchOf(llvm::BranchInst* branch, bool rare, llvm::MDNode* group) {
  if (!rare && group == nullptr) return;
  llvm::LLVMContext& c = branch->getContext();
  llvm::SmallVector<llvm::Metadata*> told = {nullptr};
  if (rare) {
    told.push_back(llvm::MDNode::get(c, {llvm::MDString::get(c, "llvm.loop.vectorize.enable"),
                                         llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(c))}));
    told.push_back(llvm::MDNode::get(c, {llvm::MDString::get(c, "llvm.loop.unroll.disable")}));
    told.push_back(llvm::MDNode::get(c, {llvm::MDString::get(c, kRarelyRun)}));
  } else {
    told.push_back(llvm::MDNode::get(c, {llvm::MDString::get(c, "llvm.loop.parallel_accesses"), group}));
  }
  auto* id = llvm::MDNode::getDistinct(c, told);
  id->replaceOperandWith(0, id);
  branch->setMetadata(llvm::LLVMContext::MD_loop, id);
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
  if (shared_ && loops_ == 0) {  // the trips that are this call's work items
    hi = lo + s_->wrap(function_->getArg(3), Repr::I64) * step;
    lo = lo + s_->wrap(function_->getArg(2), Repr::I64) * step;
  }
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
  const bool forward = steps.least > 0,
             known = steps.least == steps.most && steps.least > -(1 << 20) && steps.least < (1 << 20);
  Counting count = {lo, hi, step, forward, looksOf(op, quietTrips(region))};
  std::vector<Linear> indices;
  if (!hasLoop(region)) hoistReads(op, region);
  if (!hasLoop(region) && (known || steps.most > 0)) {
    const IndexRanges::Scope scope(ranges_);
    indices = linearIndices(op, region);
    for (const Linear& l : indices) ranges_.assume(l.index, {0, l.extent - 1});
    bindArgs(region, start, 1);  // where its tensors are
    if (mayLeaveTrip(region)) {
      indices.clear();
    } else if (const ApartReads apart = apartReads(op); apart.at != nullptr) {
      count.apart = index(apart.at), count.unchanged = apart.reads;
    }
  }
  if (indices.empty()) {
    last = trips(op, start, count);
  } else {
    auto *anywhere = block("anywhere"), *after = block("after");
    count.forward = forward || !known;
    unlessInRange(op, indices, count, lastTrip(lo, hi, steps), anywhere);
    {  // What is known inside of the first version holds nowhere else: an index may stand outside of the loop.
      const IndexRanges::Scope inside(ranges_);
      ranges_.assume(region, range);
      for (const Linear& l : indices) ranges_.assume(l.index, {0, l.extent - 1});
      last = trips(op, start, count);
    }
    auto* endInside = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(anywhere);
    ranges_.assume(region, range);
    count.forward = forward;
    count.rare = known;
    count.apart.reset(), count.unchanged.clear();
    Slots other = trips(op, start, count);
    auto* endAnywhere = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    if (error_.empty()) last = mergedSlots(last, endInside, other, endAnywhere);
  }
  ranges_.leaveLoop(op);
  for (size_t k = 0; k < last.size(); ++k) slots_[op.result(k)] = last[k];
}

/// Where the part of a loop ends that begins with the value `first`: after a run of trips, or before and after the trip
/// that stands apart.
Scalar NativeEmitter::endOfPart(const Counting& c, Range steps, Scalar first) {
  const bool up = steps.least > 0;
  auto nearer = [&](Scalar a, Scalar b) {
    return s_->wrap(b_.CreateBinaryIntrinsic(up ? llvm::Intrinsic::smin : llvm::Intrinsic::smax, LlvmScalars::value(a),
                                             LlvmScalars::value(b)),
                    Repr::I64);
  };
  Scalar end = c.hi;
  if (c.looks.run > 1) {
    Value* run = b_.getInt64(static_cast<uint64_t>(steps.least * c.looks.run));
    end = nearer(
        end, s_->wrap(b_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, LlvmScalars::value(first), run), Repr::I64));
  }
  if (c.apart) {
    const Scalar before = nearer(end, *c.apart), after = select(equal(first, *c.apart), first + c.step, end);
    end = select(up ? first < *c.apart : first > *c.apart, before, after);
  }
  return end;
}

/// The loop itself. The test stands at the end of the trip, after one before the first. Where it looks at the fault
/// word after a run of trips, the run is a loop of its own, and its trips cost nothing; the same with other parts.
/// Returns what entered the loop if it did not run, or what its last trip left.
NativeEmitter::Slots NativeEmitter::trips(const ir::Op& op, const Slots& start, const Counting& c) {
  const ir::Region& region = *op.regions[0];
  const auto& [lo, hi, step, forward, looks, rare, apart, unchanged] = c;
  Range steps = ranges_.of(op.operand(2));
  const bool known = steps.least == steps.most && steps.least > -(1 << 20) && steps.least < (1 << 20);
  const bool inRuns = known && looks.run > 1, inParts = inRuns || apart;
  const bool mayStand = !forward && steps.least <= 0 && steps.most >= 0;  // its step of 0 is a fault
  const bool polls = mayStand || (looks.run != 0 && !inRuns);
  const bool told = loops_ == 0 && !shared_ && (inRuns || polls);  // one thread has come so far
  if (told) tellStart(c);
  auto more = [&](Scalar at, Scalar end) {
    return LlvmScalars::value(forward ? at < end : select(step<0.0, at> end, at < end));
  };
  // Near the ends of i64 the next index may be beyond them: then what is left is compared with the step.
  const Range ends = ranges_.of(op.operand(1));
  const bool one = steps.least == steps.most && (steps.least == 1 || steps.least == -1);
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
  auto* outer = inParts ? block("part") : nullptr;
  auto* trip = block("trip");
  b_.CreateCondBr(first, inParts ? outer : trip, done);
  llvm::PHINode* partFirst = nullptr;
  Slots partStart = start;
  Scalar partEnd = hi;
  auto* before = from;
  if (inParts) {
    b_.SetInsertPoint(outer);
    partFirst = b_.CreatePHI(b_.getInt64Ty(), 2);
    partFirst->addIncoming(LlvmScalars::value(lo), from);
    partStart = carriedPhis(start, from);
    partEnd = endOfPart(c, steps, s_->wrap(partFirst, Repr::I64));
    bindArgs(region, partStart, 1);
    for (const ir::Op* read : unchanged) emitOp(*read);
    hoisted_.insert(unchanged.begin(), unchanged.end());
    before = outer;
    b_.CreateBr(trip);
  }
  b_.SetInsertPoint(trip);
  auto* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(inParts ? partFirst : LlvmScalars::value(lo), before);
  Slots carried = carriedPhis(partStart, before);
  Scalar at = s_->wrap(i, Repr::I64);
  slots_[region.args[0].get()] = element(at);
  bindArgs(region, carried, 1);
  llvm::MDNode* group =
      !rare && !hasLoop(region) && areTripsApart(op) ? llvm::MDNode::getDistinct(b_.getContext(), {}) : nullptr;
  ++loops_;
  {
    const Part part(*this);
    group_ = group;
    body(region);
    group_ = nullptr;
  }
  --loops_;
  for (const ir::Op* read : unchanged) hoisted_.erase(read);
  if (!error_.empty()) return {};
  Slots last = slotsOf(*region.terminator(), 0);
  Scalar following = at + step;
  if (told && !inRuns) tell(offsetof(abi::KernelState, at), following);
  Value* again = another(at, partEnd);
  if (polls) again = unlessStopped(again);
  auto* latch = b_.GetInsertBlock();
  closePhis(carried, last, latch);
  i->addIncoming(LlvmScalars::value(following), latch);
  if (inParts) {
    auto* next = block("next");
    latchOf(b_.CreateCondBr(again, trip, next), rare, group);
    b_.SetInsertPoint(next);
    // By steps of 1 it ends where it should: nothing outside asks for the variable.
    const Scalar nextFirst = one ? partEnd : following;
    if (told) tell(offsetof(abi::KernelState, at), nextFirst);
    closePhis(partStart, last, next);
    partFirst->addIncoming(LlvmScalars::value(nextFirst), next);
    Value* left = one ? more(partEnd, hi) : another(at, hi);
    b_.CreateCondBr(inRuns ? unlessStopped(left) : left, outer, done);
    latch = next;
  } else {
    latchOf(b_.CreateCondBr(again, trip, done), rare, group);
  }
  b_.SetInsertPoint(done);
  return error_.empty() ? mergedSlots(start, from, last, latch) : Slots{};
}

/// What is known on both ways that meet here of the indices checked there.
std::vector<NativeElements::Checks> NativeEmitter::mergedChecks(const std::vector<Checks>& a, llvm::BasicBlock* fromA,
                                                                const std::vector<Checks>& b, llvm::BasicBlock* fromB) {
  std::vector<Checks> merged(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    for (const auto& [most, at] : a[i]) {
      const auto other = b[i].find(most);
      if (other == b[i].end()) continue;
      auto* phi = b_.CreatePHI(at->getType(), 2);
      phi->addIncoming(at, fromA);
      phi->addIncoming(other->second, fromB);
      merged[i][most] = phi;
    }
  return merged;
}

/// A `while` that checks an index before it may end. What is out of range is handled aside and comes back, so LLVM
/// would leave the test at the head of the loop, and a jump to it at the end: it is written twice, in front of the loop
/// and at the end.
void NativeEmitter::turnedWhile(const ir::Op& op, const Slots& start, bool looks) {
  const ir::Region &condition = *op.regions[0], &region = *op.regions[1];
  auto *trip = block("trip"), *done = block("done");
  const auto test = [&](const Slots& values) {  // and the checks of what the loop carries
    const Part part(*this);
    bindArgs(condition, values, 0);
    body(condition);
    std::vector<Checks> checks;
    for (const auto& arg : condition.args) checks.push_back(checksOf(arg.get()));
    if (error_.empty()) b_.CreateCondBr(LlvmScalars::value(scalar(condition.terminator()->operand(0))), trip, done);
    return checks;
  };
  const std::vector<Checks> before = test(start);
  auto* from = b_.GetInsertBlock();
  b_.SetInsertPoint(trip);
  const Slots carried = carriedPhis(start, from);
  std::vector<Checks> here = before;
  for (Checks& checks : here)
    for (auto& [most, at] : checks) {
      auto* phi = b_.CreatePHI(at->getType(), 2);
      phi->addIncoming(at, from);
      at = phi;
    }
  if (looks) {
    auto* run = block("run");
    b_.CreateCondBr(unlessStopped(b_.getTrue()), run, exit_);
    b_.SetInsertPoint(run);
  }
  bindArgs(region, carried, 0);
  ++loops_;
  {
    const Part part(*this);
    ranges_.enterBody(op);
    for (size_t i = 0; i < carried.size(); ++i) knowChecked(region.args[i].get(), here[i]);
    body(region);
  }
  if (!error_.empty()) return;
  const Slots next = slotsOf(*region.terminator(), 0);
  const std::vector<Checks> after = test(next);
  --loops_;
  ranges_.leaveLoop(op);
  if (!error_.empty()) return;
  auto* latch = b_.GetInsertBlock();
  closePhis(carried, next, latch);
  for (size_t i = 0; i < here.size(); ++i)
    for (const auto& [most, phi] : here[i]) {
      const auto same = after[i].find(most);
      if (same == after[i].end()) return fail("an index that is not checked in each trip");
      llvm::cast<llvm::PHINode>(phi)->addIncoming(same->second, latch);
    }
  b_.SetInsertPoint(done);
  const Slots last = mergedSlots(start, from, next, latch);
  const std::vector<Checks> known = mergedChecks(before, from, after, latch);
  for (size_t k = 0; k < last.size(); ++k) {
    slots_[op.result(k)] = last[k];
    knowChecked(op.result(k), known[k]);
  }
}

void NativeEmitter::whileLoop(const ir::Op& op) {
  const ir::Region &condition = *op.regions[0], &region = *op.regions[1];
  Slots start = slotsOf(op, 0);
  if (!hasLoop(region)) hoistReads(op, condition);
  ranges_.bindLoop(op);
  const bool looks = looksOf(op, quietTrips(condition) + quietTrips(region)).run != 0;
  const auto checks = [&](const auto& part) { return !hoisted_.contains(part.get()) && checksIndex(*part); };
  if (std::ranges::any_of(condition.ops, checks)) return turnedWhile(op, start, looks);
  const Limit limit = hasLoop(region) ? Limit{} : limitOf(op);
  auto *from = b_.GetInsertBlock(), *head = block("while"), *run = block("trip"), *done = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  Slots carried = carriedPhis(start, from);
  bindArgs(condition, carried, 0);
  if (limit.arg != nullptr) {
    auto* within = block("within");
    b_.CreateCondBr(b_.CreateICmpSLT(LlvmScalars::value(scalar(limit.arg)), limit.value), within, done);
    b_.SetInsertPoint(within);
    for (const ir::Op* test : limit.tests) slots_[test->result()] = element(s_->intConstant(Repr::I1, 1));
    hoisted_.insert(limit.tests.begin(), limit.tests.end());
  }
  body(condition);
  for (const ir::Op* test : limit.tests) hoisted_.erase(test);
  if (!error_.empty()) return;
  Scalar more = scalar(condition.terminator()->operand(0));
  auto* look = looks ? block("look") : run;
  b_.CreateCondBr(LlvmScalars::value(more), look, done);
  if (looks) {
    b_.SetInsertPoint(look);
    b_.CreateCondBr(unlessStopped(b_.getTrue()), run, exit_);
  }
  b_.SetInsertPoint(run);
  bindArgs(region, carried, 0);
  ++loops_;
  {
    const Part part(*this);
    ranges_.enterBody(op);
    for (size_t i = 0; i < carried.size(); ++i) knowChecked(region.args[i].get(), checksOf(condition.args[i].get()));
    body(region);
  }
  --loops_;
  ranges_.leaveLoop(op);
  if (!error_.empty()) return;
  closePhis(carried, slotsOf(*region.terminator(), 0), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(done);
  for (size_t k = 0; k < carried.size(); ++k) {
    slots_[op.result(k)] = carried[k];
    knowChecked(op.result(k), checksOf(condition.args[k].get()));
  }
}

}  // namespace tenc::codegen::cpu
