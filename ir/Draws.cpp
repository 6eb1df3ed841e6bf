#include "ir/Draws.h"

#include <algorithm>
#include <vector>

#include "ir/Loops.h"

namespace tenc::ir {

bool DrawThreading::draws(const Op& op) const {
  if (op.kind == OpKind::Call) return callDraws(op);
  return op.kind == OpKind::RngNext ||
         std::any_of(op.regions.begin(), op.regions.end(), [this](const auto& r) { return draws(*r); });
}

bool DrawThreading::draws(const Region& r) const {
  return std::any_of(r.ops.begin(), r.ops.end(), [this](const auto& op) { return draws(*op); });
}

Value* DrawThreading::through(Op& op, Value* seed, Value* count) {
  if (!draws(op)) return count;
  if (op.kind == OpKind::Call) return throughCall(op, seed, count);
  if (op.kind == OpKind::RngNext) {
    op.result(0)->replaceAllUsesWith(seed);
    op.result(1)->replaceAllUsesWith(count);
    Builder at(&op);
    at.setLoc(op.loc);
    if (!op.boolAttr("peek")) count = at.value(OpKind::Add, {count, at.scalarInt(DType::U64, 1)});
    op.erase();
    return count;
  }
  const Type type = count->type;
  if (isLoop(op)) op.addOperand(count);
  for (const auto& r : op.regions) {
    Value* last = through(*r, seed, isLoop(op) ? r->addArg(type) : count);
    if (r->terminator()->kind != OpKind::Condition) r->terminator()->addOperand(last);
  }
  return op.addResult(type);
}

Value* DrawThreading::through(Region& r, Value* seed, Value* count) {
  std::vector<Op*> ops;
  for (const auto& op : r.ops) ops.push_back(op.get());
  for (Op* op : ops) count = through(*op, seed, count);
  return count;
}

}  // namespace tenc::ir
