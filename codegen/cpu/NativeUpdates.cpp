// Ifs of native loops whose sides write the same places.
#include <algorithm>

#include "codegen/ScalarBodies.h"
#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen::cpu {
using ir::OpKind;

namespace {

bool isUpdate(const ir::Op& op) {
  return (op.kind == OpKind::Scatter || op.kind == OpKind::DynamicUpdate) && op.operand(1)->type.size() == 1;
}

/// Whether two values, each of its side of an `if`, are one number, computed in the same few steps.
bool isSame(const ir::Value* a, const ir::Value* b, int steps = 4) {
  if (a == b) return true;
  if (a->op == nullptr || b->op == nullptr || a->op->kind != b->op->kind || steps == 0) return false;
  if (a->type.dtype != b->type.dtype || a->type.rank() != 0 || b->type.rank() != 0) return false;
  if (a->op->kind == OpKind::Constant) {
    const auto first = ir::constantScalar(a), second = ir::constantScalar(b);
    return first && second && ir::bitsOf(*first) == ir::bitsOf(*second);
  }
  if (a->op->kind != OpKind::Add && a->op->kind != OpKind::Sub && a->op->kind != OpKind::Mul) return false;
  return isSame(a->op->operand(0), b->op->operand(0), steps - 1) &&
         isSame(a->op->operand(1), b->op->operand(1), steps - 1);
}

/// The number of an update among those before it, or of none.
template <typename Found>
size_t numberOf(const Found& found, const ir::Value* v, bool otherwise) {
  const auto makes = [&](const auto& pair) { return (otherwise ? pair.second : pair.first)->result() == v; };
  return static_cast<size_t>(std::ranges::find_if(found, makes) - found.begin());
}

/// What a side does beside its updates, which may always run: arithmetic.
bool onlyComputes(const ir::Region& region, int& budget) {
  return std::ranges::all_of(region.ops, [&](const auto& op) {
    if (op->has(ir::Trait::Terminator) || op->kind == OpKind::Constant || isUpdate(*op)) return true;
    return --budget >= 0 && op->has(ir::Trait::Elementwise) && !op->has(ir::Trait::CanFault) &&
           op->result()->type.size() == 1 && elementwiseCost(op->kind, op->result()->type.dtype) <= 4;
  });
}

std::vector<const ir::Op*> updatesOf(const ir::Region& region) {
  std::vector<const ir::Op*> found;
  for (const auto& op : region.ops)
    if (isUpdate(*op)) found.push_back(op.get());
  return found;
}

}  // namespace

/// The updates of an `if` both of whose sides make the same ones, one after the other, of other values, and else only
/// compute: what is written can be chosen. Nothing, if they do not.
NativeEmitter::Updates NativeEmitter::sharedUpdates(const ir::Op& op, int budget) {
  if (mayLeave(op) || !onlyComputes(*op.regions[0], budget) || !onlyComputes(*op.regions[1], budget)) return {};
  const auto updates = updatesOf(*op.regions[0]), others = updatesOf(*op.regions[1]);
  if (updates.size() != others.size()) return {};
  Updates found;
  // The same tensor: from outside, or as the same update has left it.
  const auto isSameTensor = [&](const ir::Value* a, const ir::Value* b) {
    const size_t at = numberOf(found, a, false);
    return at == numberOf(found, b, true) && (at < found.size() || a == b);
  };
  for (size_t k = 0; k < updates.size(); ++k) {
    const ir::Op &a = *updates[k], &b = *others[k];
    if (a.kind != b.kind || a.intsAttr("axes") != b.intsAttr("axes") || a.operandCount() != b.operandCount() ||
        (a.kind == OpKind::Scatter && a.stringAttr("mode") != b.stringAttr("mode")))
      return {};
    if (!isSameTensor(a.operand(0), b.operand(0))) return {};
    for (size_t i = 2; i < a.operandCount(); ++i)
      if (!isSame(a.operand(i), b.operand(i))) return {};
    found.emplace_back(&a, &b);
  }
  const ir::Op *end = op.regions[0]->terminator(), *otherEnd = op.regions[1]->terminator();
  for (size_t i = 0; i < end->operandCount(); ++i)
    if (end->operand(i)->type.rank() != 0 && !isSameTensor(end->operand(i), otherEnd->operand(i))) return {};
  return found;
}

/// Both sides, and each update once, of the value that is chosen: a jump that data decide would be guessed wrong.
void NativeEmitter::updateOnce(const ir::Op& op, Scalar condition, const Updates& updates) {
  for (const auto& side : op.regions)
    for (const auto& part : side->ops)
      if (!part->has(ir::Trait::Terminator) && !isUpdate(*part) && !hoisted_.contains(part.get())) emitOp(*part);
  for (const auto& [update, other] : updates)
    if (error_.empty()) updateEither(*update, *other, condition);
  if (!error_.empty()) return;
  chooseResults(op, condition, {slotsOf(*op.regions[0]->terminator(), 0), slotsOf(*op.regions[1]->terminator(), 0)});
}

}  // namespace tenc::codegen::cpu
