#include "passes/files/Trips.h"

#include <algorithm>
#include <unordered_set>

#include "ir/Loops.h"

namespace tenc::passes {

using namespace ir;

namespace {

constexpr int64_t kSmall = 1 << 16;  // bytes of a value that is computed twice

bool isOnHost(const Value& v) { return v.type.place.isFree() || v.type.place.device == DeviceTable::kHost; }

/// Whether an index beyond the end can be kept inside, so that an index of a trip that never comes does no harm.
bool canStayInside(const Op& op) {
  const auto& axes = op.intsAttr("axes");
  if (op.operandCount() != axes.size() + 1 || op.operand(0)->type.size() == 0) return false;
  return std::all_of(op.operands().begin() + 1, op.operands().end(),
                     [](const Value* v) { return v->type.shape.empty() && v->type.dtype == DType::I64; });
}

bool cannotFault(const Op& op) {
  if (!op.has(Trait::CanFault)) return true;
  if (op.has(Trait::Gathers)) return canStayInside(op);
  const bool divides = op.kind == OpKind::FloorDiv || op.kind == OpKind::Mod || op.kind == OpKind::TruncDiv;
  return divides && constantInt(op.operand(1)).value_or(0) != 0;
}

/// Whether copies of it may run when it would not, and cost next to nothing.
bool isCheap(const Op& op) {
  const bool moves = op.has(Trait::Structural) || op.has(Trait::Gathers) || op.kind == OpKind::Constant;
  return (op.has(Trait::Elementwise) || moves) && op.results.size() == 1 && op.regions.empty() &&
         op.result()->type.bytes() <= kSmall && isOnHost(*op.result()) && cannotFault(op);
}

}  // namespace

Trips::Trips(Op& loop, Op& at) : loop_(loop), before_(&loop), within_(&at) {
  before_.setLoc(at.loc);
  within_.setLoc(at.loc);
  for (const auto& op : at.parent->ops) {
    if (op.get() == &at) break;
    done_.insert(op.get());
  }
}

bool Trips::isOutside(const Value* v) const { return !v->home()->isInside(loop_); }

std::optional<size_t> Trips::carried(const Value* arg) const {
  const size_t lead = firstCarriedArg(loop_);
  return arg->index < lead ? std::nullopt : std::optional(arg->index - lead);
}

bool Trips::isKnown(const Value* v, Trip trip) const {
  std::unordered_set<const Value*> seen;
  return isKnown(v, trip, seen);
}

bool Trips::isKnown(const Value* v, Trip trip, std::unordered_set<const Value*>& seen) const {
  if (isOutside(v)) return true;
  if (v->region) {
    if (v->region->parentOp != &loop_) return false;
    const auto slot = carried(v);
    if (trip != Trip::Next) return true;
    if (!slot) return constantInt(loop_.operand(2)).value_or(0) != 0;
    return isKnown(loop_.regions.back()->terminator()->operand(*slot), Trip::This);
  }
  if (trip == Trip::This && done_.contains(v->op)) return true;
  if (!seen.insert(v).second) return true;  // what it follows from is asked for elsewhere
  return v->op->parent->parentOp == &loop_ && isCheap(*v->op) &&
         std::all_of(v->op->operands().begin(), v->op->operands().end(),
                     [&](const Value* o) { return isKnown(o, trip, seen); });
}

bool Trips::areKnown(const std::vector<Value*>& values) const {
  return std::all_of(values.begin(), values.end(), [&](const Value* v) { return isKnown(v, Trip::Next); });
}

Value* Trips::inTrip(Value* v, Trip trip) {
  if (isOutside(v) || (trip == Trip::This && v->op && done_.contains(v->op))) return v;
  Value*& copy = copies_[static_cast<size_t>(trip)][v];
  if (copy) return copy;
  if (v->op) {
    Value* made = copyOf(*v->op, trip);
    return copies_[static_cast<size_t>(trip)][v] = made;
  }
  const auto slot = carried(v);
  if (trip == Trip::This) return copy = v;
  if (trip == Trip::First) return copy = loop_.operand(slot ? firstCarriedOperand(loop_) + *slot : 0);
  if (!slot) return copy = within_.value(OpKind::Add, {v, loop_.operand(2)});
  Value* made = inTrip(loop_.regions.back()->terminator()->operand(*slot), Trip::This);
  return copies_[static_cast<size_t>(trip)][v] = made;
}

Value* Trips::copyOf(const Op& op, Trip trip) {
  ValueMap map;
  for (Value* o : op.operands()) map[o] = inTrip(o, trip);
  Builder& b = builder(trip);
  Op* copy = clone(op, b, map);
  copy->origin = op.func()->module->pass;
  if (copy->has(Trait::Gathers)) keepInside(*copy, b);
  return copy->result();
}

/// A trip that never comes may have an index beyond the end.
void Trips::keepInside(Op& copy, Builder& b) {
  const auto& axes = copy.intsAttr("axes");
  const auto& sizes = copy.intsAttr("sizes");
  Builder before(&copy);
  before.setLoc(b.loc());
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t count = copy.operand(0)->type.shape[static_cast<size_t>(axes[i])];
    const int64_t last = count - (sizes.empty() ? 1 : sizes[i]), least = sizes.empty() ? -count : 0;
    Value* low = before.value(OpKind::Max, {copy.operand(i + 1), before.scalarInt(DType::I64, least)});
    copy.setOperand(i + 1, before.value(OpKind::Min, {low, before.scalarInt(DType::I64, last)}));
  }
}

Value* Trips::exists(Trip trip) {
  if (trip == Trip::First && tripCount(loop_).value_or(0) > 0) return before_.scalarInt(DType::Bool, 1);
  if (loop_.kind == OpKind::For) {
    const bool up = constantInt(loop_.operand(2)).value_or(1) > 0;
    return builder(trip).value(up ? OpKind::Lt : OpKind::Gt,
                               {inTrip(loop_.regions[0]->args[0].get(), trip), loop_.operand(1)});
  }
  Value* known = both(loop_.regions[0]->terminator()->operand(0), trip);
  return known ? known : builder(trip).scalarInt(DType::Bool, 1);
}

/// What is known of a condition whose parts all have to hold; null for nothing.
Value* Trips::both(Value* condition, Trip trip) {
  if (isKnown(condition, trip)) return inTrip(condition, trip);
  if (!condition->op || condition->op->kind != OpKind::And || isOutside(condition)) return nullptr;
  Value *a = both(condition->op->operand(0), trip), *c = both(condition->op->operand(1), trip);
  return a && c ? builder(trip).value(OpKind::And, {a, c}) : a ? a : c;
}

}  // namespace tenc::passes
