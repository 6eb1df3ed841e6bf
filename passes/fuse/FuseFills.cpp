// Last part of fusion: a tensor of one number, or of its indices, that several ops update in place. Equal ones are one
// since `cse`, and all updates but the last would need a copy. Making it again reads no memory, and leaves out what the
// update overwrites.
#include <algorithm>
#include <vector>

#include "ir/Loops.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

/// A kernel that reads nothing and computes next to nothing.
bool isFill(const Op& op) {
  return op.kind == OpKind::Fused && op.operandCount() == 0 && op.results.size() == 1 &&
         std::ranges::all_of(op.regions[0]->ops, [](const auto& inner) {
           return inner->has(Trait::Cheap) || inner->kind == OpKind::Constant || inner->has(Trait::Terminator);
         });
}

/// Whether a use wants memory of its own, to change what is there.
bool isUpdate(const Value::Use& use) {
  const Op& op = *use.user;
  if (ir::isLoop(op)) return use.operand >= ir::firstCarriedOperand(op);
  if (op.kind != OpKind::Fused) return false;
  for (size_t r = 0; r < op.results.size(); ++r)
    if (updatedOperand(op, r) == static_cast<int>(use.operand)) return true;
  return false;
}

/// The op of the region of `made` that uses it last.
const Op* lastUser(const Op& made) {
  std::vector<const Op*> users;
  for (const Value::Use& use : made.result()->uses) users.push_back(within(use.user, *made.parent));
  const auto& ops = made.parent->ops;
  return std::find_if(ops.rbegin(), ops.rend(),
                      [&](const auto& op) { return std::ranges::find(users, op.get()) != users.end(); })
      ->get();
}

void separate(Op& made) {
  std::vector<Value::Use> updates;
  std::ranges::copy_if(made.result()->uses, std::back_inserter(updates), isUpdate);
  if (updates.empty()) return;
  const Op* last = lastUser(made);
  const auto isLast = [&](const Value::Use& use) { return use.user == last; };
  const bool mayKeep = std::ranges::count_if(made.result()->uses, isLast) == 1;
  for (const Value::Use& use : updates) {
    if (mayKeep && isLast(use)) continue;
    ir::Builder b(use.user);
    ir::ValueMap map;
    use.user->setOperand(use.operand, ir::clone(made, b, map)->result());
  }
  if (made.result()->unused())
    made.erase();
  else if (mayKeep && made.result()->uses.size() == 1)
    made.moveBefore(made.result()->uses[0].user);
}

}  // namespace

int updatedOperand(const Op& fused, size_t r) {
  if (const auto& carried = fused.intsAttr("carried"); r < carried.size()) return static_cast<int>(carried[r]);
  if (r != 0 || !fused.boolAttr("inplace")) return -1;
  const Op* update = fused.regions[0]->terminator()->operand(0)->op;
  return update == nullptr ? -1 : static_cast<int>(update->operand(0)->index);
}

void separateFills(Region& region) {
  std::vector<Op*> fills;
  for (const auto& op : region.ops)
    if (isFill(*op)) fills.push_back(op.get());
  for (Op* fill : fills)
    if (fill->result()->uses.size() > 1) separate(*fill);
  for (const auto& op : region.ops)
    if (op->kind != OpKind::Fused)
      for (const auto& inner : op->regions) separateFills(*inner);
}

}  // namespace tenc::passes::fusion
