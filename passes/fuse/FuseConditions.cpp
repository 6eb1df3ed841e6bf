// `device-loops`: a loop over single numbers that branches on values of a device would move each condition to the host,
// once a trip. Where the whole loop may be a native kernel of that device it is made one here, before moves are listed:
// no condition leaves the device, and what the host reads of the loop's numbers comes back once, behind it.
#include <algorithm>

#include "ir/Loops.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

/// Whether all that a copy is made for is to decide how control goes on: an `if`, a `while`, the bounds of a `for`.
bool isForControl(const Op& move) {
  const Value* v = move.result();
  return v->type.rank() == 0 && !v->unused() && std::all_of(v->uses.begin(), v->uses.end(), [](const Value::Use& use) {
           const Op& user = *use.user;
           return user.kind == OpKind::If || user.kind == OpKind::Condition ||
                  (user.kind == OpKind::For && use.operand < ir::firstCarriedOperand(user));
         });
}

/// The moves in a loop; false where one is for something else.
bool collect(const Region& region, std::vector<Op*>& moves) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Transfer) {
      if (!isForControl(*op)) return false;
      moves.push_back(op.get());
    }
    for (const auto& inner : op->regions)
      if (!collect(*inner, moves)) return false;
  }
  return true;
}

/// Numbers of a kernel that the host reads are made on the device and come back behind it.
void bringBack(Op& kernel, const std::string& device, const ir::Loc& loc, const std::string& cause) {
  ir::Builder b(&kernel);
  b.setLoc(loc);
  Op* first = nullptr;
  for (size_t i = 0; i < kernel.results.size(); ++i) {
    Value* made = kernel.result(i);
    if (!made->type.place.isFree()) continue;
    ir::Type back = made->type;
    back.place.device = ir::DeviceTable::kHost;
    Op* move = b.makeTyped(OpKind::Transfer, {made}, {back}, {{"cause", cause}});
    move->result()->name = made->name;
    made->replaceAllUsesWith(move->result());
    move->setOperand(0, made);
    made->type.place.device = device;
    if (first == nullptr) first = move;
  }
  if (first != nullptr) kernel.moveBefore(first);
}

bool form(Op& loop, const Context& c) {
  std::vector<Op*> moves;
  for (const auto& r : loop.regions)
    if (!collect(*r, moves)) return false;
  if (moves.empty()) return false;
  const std::string device = moves[0]->operand(0)->type.place.device;
  if (loop.func()->module->actual(device) == ir::DeviceTable::kHost) return false;
  std::vector<std::pair<Op*, std::vector<Value::Use>>> uses;
  for (Op* move : moves) {
    uses.emplace_back(move, move->result()->uses);
    move->result()->replaceAllUsesWith(move->operand(0));
  }
  if (!fusion::isNativeLoop(loop, c, &device)) {
    for (const auto& [move, list] : uses)
      for (const Value::Use& use : list) use.user->setOperand(use.operand, move->result());
    return false;
  }
  const ir::Loc loc = moves[0]->loc;
  const std::string cause = moves[0]->stringAttr("cause");
  for (Op* move : moves) move->erase();
  Op& kernel = fusion::formNativeLoop(loop);
  bringBack(kernel, device, loc, cause);
  return true;
}

void visit(Region& region, const Context& c) {
  std::vector<Op*> ops;
  for (const auto& op : region.ops)
    if (op->kind != OpKind::Fused && !op->regions.empty()) ops.push_back(op.get());
  for (Op* op : ops) {
    if (ir::isLoop(*op) && !op->results.empty() && form(*op, c)) continue;
    for (const auto& inner : op->regions) visit(*inner, c);
  }
}

}  // namespace

bool deviceLoops(ir::Module& m, Context& c) {
  if (!c.fuse) return true;
  for (const auto& f : m.funcs)
    if (f->body) visit(*f->body, c);
  return true;
}

}  // namespace tenc::passes
