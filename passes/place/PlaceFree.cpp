// `place-free`: the last part of placement. A rank-0 free value in the shape that an op wants (a literal broadcast to
// the shape of the other operand) is free, too, as long as it is made: whoever inserts it need not know where it is
// wanted. Here each is made where it is used, once for each device. Later passes insert such values again, so it runs
// again before fusion. It works on placed IR and leaves no free type of rank 1 or more, which `verify-placed` holds it
// to.
#include <algorithm>

#include "ir/Loops.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

bool isFreeTensor(const Value& v) { return v.type.place.isFree() && !v.type.shape.empty(); }

class FreePlacer {
 public:
  /// Users come after what they use, so ops are visited last to first: what a copy reads is visited after it.
  void visit(Region& r) {
    std::vector<Op*> ops;
    for (const auto& op : r.ops) ops.push_back(op.get());
    std::reverse(ops.begin(), ops.end());
    for (Op* op : ops) {
      for (auto& inner : op->regions) visit(*inner);
      const bool any =
          std::any_of(op->results.begin(), op->results.end(), [](const auto& v) { return isFreeTensor(*v); });
      if (op->regions.empty() && any) place(*op);
    }
  }

 private:
  /// The device on which `user` reads its operand; empty where nothing says so.
  static std::string deviceOf(const Value::Use& use) {
    const Op& user = *use.user;
    const auto placeOf = [](const Value* v) {
      const bool anywhere = v->type.shape.empty() && v->type.place.device == ir::DeviceTable::kHost;
      return anywhere ? std::string() : v->type.place.device;
    };
    if (user.has(ir::Trait::HostEffect) || user.kind == OpKind::Load || user.kind == OpKind::Transfer)
      return std::string(ir::DeviceTable::kHost);
    if (user.kind == OpKind::Yield && user.parent->parentOp) {
      const Op& outer = *user.parent->parentOp;
      return use.operand < outer.results.size() ? placeOf(outer.result(use.operand)) : std::string();
    }
    if (ir::isLoop(user)) {
      const size_t lead = ir::firstCarriedOperand(user);
      return use.operand >= lead ? placeOf(user.result(use.operand - lead)) : std::string();
    }
    for (const auto& r : user.results)
      if (std::string d = placeOf(r.get()); !d.empty()) return d;
    for (const Value* v : user.operands())
      if (std::string d = placeOf(v); !d.empty()) return d;
    return {};
  }

  static void setPlaces(Op& op, const std::string& device) {
    for (const auto& r : op.results)
      if (isFreeTensor(*r)) r->type.place.device = device;
  }

  /// The op itself makes what the first device wants, copies of it the others.
  static void place(Op& op) {
    std::vector<std::pair<std::string, Op*>> made;
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!isFreeTensor(*op.result(i))) continue;
      const std::vector<Value::Use> uses = op.result(i)->uses;
      for (const Value::Use& use : uses) {
        const std::string device = deviceOf(use);
        if (device.empty()) continue;
        auto known = std::find_if(made.begin(), made.end(), [&](const auto& p) { return p.first == device; });
        if (known == made.end()) {
          ir::Builder at(&op);
          ir::ValueMap map;
          known = made.insert(made.end(), {device, made.empty() ? &op : ir::clone(op, at, map)});
        }
        use.user->setOperand(use.operand, known->second->result(i));
      }
    }
    if (made.empty()) made.emplace_back(ir::DeviceTable::kHost, &op);
    for (const auto& [device, copy] : made) {
      setPlaces(*copy, device);
      if (copy->kind == OpKind::Reshape && device != ir::DeviceTable::kHost) fill(*copy);
    }
  }

  /// A number in another shape is no view of the number elsewhere: it is made there.
  static void fill(Op& reshape) {
    Value* number = reshape.operand(0);
    while (!number->type.shape.empty() && number->op &&
           (number->op->kind == OpKind::Reshape || number->op->kind == OpKind::Broadcast))
      number = number->op->operand(0);
    if (!number->type.shape.empty()) return;
    ir::Builder at(&reshape);
    at.setLoc(reshape.loc);
    const ir::Type type = reshape.result()->type;
    Value* made = at.makeTyped(OpKind::Fill, {number}, {type}, {{"shape", type.shape}})->result();
    made->name = reshape.result()->name;
    reshape.result()->replaceAllUsesWith(made);
    reshape.erase();
  }
};

}  // namespace

bool placeFree(ir::Module& m, Context&) {
  for (auto& f : m.funcs)
    if (f->body) FreePlacer().visit(*f->body);
  return true;
}

}  // namespace tenc::passes
