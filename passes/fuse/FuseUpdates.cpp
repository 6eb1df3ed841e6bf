// Parts of a tensor that are read behind an update of it are read before it, and stored where they have to be: those
// that were simplified there (`y[1]`, where `y` is a part of the old value) are moved, others would be computed where
// they are used. So the old value is not wanted any more when the update runs, and need not be kept.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

bool isLittlePart(const Value& part, const Value& whole) { return part.type.bytes() <= whole.type.bytes() / 4; }

void readPartsFirst(ir::Region& region) {
  std::unordered_map<const Value*, Op*> updated;  // the first update of each
  for (auto next = region.ops.begin(); next != region.ops.end();) {
    Op& op = **next++;
    if (op.kind == OpKind::Slice) {
      const auto update = updated.find(op.operand(0));
      if (update != updated.end() && isLittlePart(*op.result(), *op.operand(0))) op.moveBefore(update->second);
    } else if (op.kind == OpKind::UpdateSlice || roleOf(op) == Role::Update) {
      updated.emplace(op.operand(0), &op);
    }
  }
}

Op* within(Op* op, const ir::Region& region) {
  while (op && op->parent != &region) op = op->parent ? op->parent->parentOp : nullptr;
  return op;
}

bool BehindUpdates::diesAt(const Value& v, const Op& op) const {
  return diesBehindBranches(v) && std::ranges::all_of(v.uses, [&](const Value::Use& use) {
           const Op* user = within(use.user, region_);
           return !user || user == &op || (nodes_.contains(user) && !isBehind(*user, op));
         });
}

/// Whether the region is that of the value or stands in branches there, behind which it has no use. What is in another
/// branch does not run.
bool BehindUpdates::diesBehindBranches(const Value& v) const {
  for (const ir::Region* at = &region_; at != v.home(); at = at->parentOp->parent) {
    const Op* branch = at->parentOp;
    if (!branch || branch->kind != OpKind::If) return false;
    const ir::Region& around = *branch->parent;
    std::unordered_set<const Op*> users;
    for (const Value::Use& use : v.uses) users.insert(within(use.user, around));
    const auto behind = std::find_if(around.ops.rbegin(), around.ops.rend(), [&](const auto& next) {
      return next.get() == branch || users.contains(next.get());
    });
    if (behind->get() != branch) return false;
  }
  return true;
}

bool BehindUpdates::isBehind(const Op& a, const Op& b) const {
  const auto at = nodes_.find(&a), other = nodes_.find(&b);
  return at == nodes_.end() || (other != nodes_.end() && at->second.position > other->second.position);
}

void BehindUpdates::keepParts(const Value& old, const Op& update) {
  if (!diesAt(old, update)) return;
  for (const Value::Use& use : old.uses) {
    const Op& part = *use.user;
    if (part.parent != &region_ || &part == &update || part.results.size() != 1) continue;
    const Node& n = nodes_.at(&part);
    const bool evaluated = n.role == Role::PassThrough || (n.role == Role::Pointwise && part.has(Trait::Gathers));
    if (!evaluated || !isLittlePart(*part.result(), old) || !isReadBehind(*part.result(), update)) continue;
    Node& last = nodes_.at(&lastView(part, update));
    last.kept = last.materialised = true;
  }
}

/// The last of the reshapes and the like that a part goes through before the update, and that nothing else reads.
const Op& BehindUpdates::lastView(const Op& part, const Op& update) const {
  const Op* last = &part;
  while (last->result()->uses.size() == 1) {
    const Op& by = *last->result()->uses[0].user;
    if (by.parent != &region_ || nodes_.at(&by).role != Role::PassThrough || isBehind(by, update) ||
        by.result()->type.bytes() > last->result()->type.bytes())
      break;
    last = &by;
  }
  return *last;
}

/// By way of what may be computed where it is read.
bool BehindUpdates::isReadBehind(const Value& v, const Op& update) const {
  constexpr size_t kMostSeen = 32;
  std::vector<const Value*> seen = {&v};
  for (size_t i = 0; i < seen.size(); ++i) {
    for (const Value::Use& use : seen[i]->uses) {
      const Op* by = within(use.user, region_);
      if (!by || isBehind(*by, update) || seen.size() > kMostSeen) return true;
      const Role role = by == use.user ? nodes_.at(by).role : Role::Barrier;
      if ((role == Role::PassThrough || role == Role::Pointwise) && by->results.size() == 1 &&
          std::ranges::find(seen, by->result()) == seen.end())
        seen.push_back(by->result());
    }
  }
  return false;
}

}  // namespace tenc::passes::fusion
