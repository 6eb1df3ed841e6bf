// Ifs of native loops: jumps, or choices that run both sides.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "codegen/ScalarBodies.h"
#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen::cpu {
using ir::OpKind;

namespace {

/// What a loop carries the result of an `if` as.
const ir::Value* carriedAs(const ir::Op& op, size_t k) {
  const ir::Op *around = op.parent->parentOp, *end = op.parent->terminator();
  if (around == nullptr) return nullptr;
  for (size_t i = 0; i < end->operandCount(); ++i) {
    if (end->operand(i) != op.result(k)) continue;
    if (ir::isLoop(*around)) return op.parent->args[ir::firstCarriedArg(*around) + i].get();
    if (around->kind == OpKind::If) return carriedAs(*around, i);
  }
  return nullptr;
}

/// How a value waits for another, in few steps.
enum class Waits : uint8_t { Not, ForValue, ForAddress };

/// ForAddress: for what memory holds at a place that follows from it.
Waits waitsFor(const ir::Value* v, const ir::Value* of, int steps = 6) {
  if (v == of) return Waits::ForValue;
  if (v->op == nullptr || steps == 0) return Waits::Not;
  Waits all = Waits::Not;
  const bool reads = v->op->kind == OpKind::Gather;
  if (v->op->kind == OpKind::If) {
    for (size_t k = 0; k < v->op->results.size(); ++k) {
      if (v->op->result(k) != v) continue;
      for (const auto& side : v->op->regions)
        all = std::max(all, waitsFor(side->terminator()->operand(k), of, steps - 1));
    }
  } else if (!reads && !v->op->has(ir::Trait::Elementwise)) {
    return Waits::Not;
  }
  for (size_t i = reads ? 1 : 0; i < v->op->operandCount(); ++i) {
    const Waits here = waitsFor(v->op->operand(i), of, steps - 1);
    all = std::max(all, reads && here != Waits::Not ? Waits::ForAddress : here);
  }
  return all;
}

}  // namespace

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
  if (around->kind == OpKind::While)
    return &region == around->regions[1].get() && !around->regions[0]->args[i]->unused();
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

/// Whether an `if` keeps the place of a record (the greatest so far): either it stays, or it becomes the variable of
/// the loop, and the condition asks for the record. A choice would make each trip wait for the one before; records are
/// rare, and a jump that is guessed right costs nothing. Not so in a loop of few trips, where they are not.
bool NativeEmitter::keepsRecord(const ir::Op& op) {
  constexpr int64_t kFewTrips = 32;
  bool place = false, asks = false;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ir::Value* v = op.result(i)->type.rank() == 0 ? carriedAs(op, i) : nullptr;
    if (v == nullptr) continue;
    const ir::Value *a = op.regions[0]->terminator()->operand(i), *b = op.regions[1]->terminator()->operand(i);
    asks = asks || waitsFor(op.operand(0), v) != Waits::Not;
    const ir::Value* other = a == v ? b : a;
    const ir::Region* home = other->op == nullptr ? other->home() : nullptr;
    place = place || ((a == v || b == v) && home != nullptr && home->parentOp != nullptr &&
                      home->parentOp->kind == OpKind::For && home->args[0].get() == other &&
                      ir::tripCount(*home->parentOp).value_or(kFewTrips + 1) > kFewTrips);
  }
  return place && asks;
}

/// Whether the condition of an `if` reads memory where the trip before has chosen: one more choice in each trip is what
/// all wait for.
bool NativeEmitter::choosesAddress(const ir::Op& op) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ir::Value* v = op.result(i)->type.rank() == 0 ? carriedAs(op, i) : nullptr;
    if (v != nullptr && waitsFor(op.operand(0), v) == Waits::ForAddress) return true;
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
  chooseResults(op, condition, results);
}

void NativeEmitter::chooseResults(const ir::Op& op, Scalar condition, const Slots (&results)[2]) {
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
  constexpr int kFewOps = 10, kFewInAddress = 8;
  int budget = choosesAddress(op) ? kFewInAddress : kFewOps;
  auto always = [&] {
    const IndexRanges::Scope scope(ranges_);
    return !mayLeave(op) && mayAlwaysRun(*op.regions[0], budget) && mayAlwaysRun(*op.regions[1], budget);
  };
  const bool ofRecord = keepsRecord(op);
  if (!ofRecord && always()) return choose(op, condition);
  if (const Updates updates = ofRecord ? Updates{} : sharedUpdates(op, kFewOps); !updates.empty())
    return updateOnce(op, condition, updates);
  auto *then = block("then"), *otherwise = block("else"), *done = block("done");
  b_.CreateCondBr(LlvmScalars::value(condition), then, otherwise,
                  ofRecord ? llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 4000) : nullptr);
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
