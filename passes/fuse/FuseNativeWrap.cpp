// A loop that is to be one kernel, as a fused op.
#include <unordered_set>

#include "ir/Loops.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

namespace {

/// Values from outside that the loop's regions read.
void captures(const Op& op, const Op& loop, std::vector<Value*>& list, std::unordered_set<const Value*>& seen) {
  for (Value* v : op.operands()) {
    if (!v->home()->isInside(loop) && seen.insert(v).second) list.push_back(v);
  }
  for (const auto& r : op.regions) {
    for (const auto& inner : r->ops) captures(*inner, loop, list, seen);
  }
}

}  // namespace

Op& wrapLoop(Op& loop, const std::string& kind) {
  std::vector<Value*> inputs;
  std::unordered_set<const Value*> seen;
  // Carried tensors come first, one operand each, also when two begin as one value.
  size_t lead = ir::firstCarriedOperand(loop);
  // Results are the tensors, whether used or not, and the single elements that are used.
  std::vector<size_t> slots;
  std::vector<int64_t> carried;
  std::vector<Value*> operands;
  std::vector<ir::Type> types;
  for (size_t i = 0; i < loop.results.size(); ++i) {
    const bool tensor = loop.result(i)->type.rank() > 0;
    if (!tensor && loop.result(i)->unused()) continue;
    slots.push_back(i);
    types.push_back(loop.result(i)->type);
    carried.push_back(tensor ? static_cast<int64_t>(operands.size()) : -1);
    if (tensor) operands.push_back(loop.operand(lead + i));
  }
  ir::Builder b(&loop);
  b.setLoc(loop.loc);
  captures(loop, loop, inputs, seen);
  Op* fused = b.makeTyped(OpKind::Fused, operands, types, {{"kind", kind}, {"carried", carried}});
  Region* inner = b.addRegion(fused);
  std::vector<Value*> first;
  for (Value* v : operands) first.push_back(inner->addArg(v->type, v->name));
  ir::ValueMap map;
  ir::Builder in(inner);
  in.setLoc(loop.loc);
  for (Value* v : inputs) {
    bool initOnly = true;
    for (const Value::Use& u : v->uses) initOnly = initOnly && u.user == &loop && u.operand >= lead;
    if (v->type.rank() > 0 && initOnly) continue;
    if (v->op && v->op->kind == OpKind::Constant && v->type.rank() == 0) {
      ir::clone(*v->op, in, map);
      continue;
    }
    // Only an initial value of the loop, though others use it too: nothing inside reads it.
    fused->addOperand(v);
    map[v] = inner->addArg(v->type, v->name);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!map.contains(operands[i])) map[operands[i]] = first[i];
  }
  Op* copy = ir::clone(loop, in, map);
  size_t next = 0;
  std::vector<Value*> yields;
  for (size_t r = 0; r < slots.size(); ++r) {
    if (carried[r] >= 0) copy->setOperand(lead + slots[r], first[next++]);
    yields.push_back(copy->result(slots[r]));
  }
  in.makeTyped(OpKind::Yield, yields, {});
  // Arguments that nothing reads (initial values that are carried) go.
  for (size_t i = inner->args.size(); i-- > operands.size();) {
    if (!inner->args[i]->unused()) continue;
    inner->removeArg(static_cast<uint32_t>(i));
    fused->removeOperand(i);
  }
  for (size_t r = 0; r < slots.size(); ++r) {
    fused->result(r)->name = loop.result(slots[r])->name;
    loop.result(slots[r])->replaceAllUsesWith(fused->result(r));
  }
  loop.erase();
  return *fused;
}

}  // namespace tenc::passes::fusion
