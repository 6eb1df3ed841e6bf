// A tensor made from free values alone (a literal broadcast to a shape, a padded constant) is free until it is used.
// Where it is used on a device other than the host it is made there, once for each device: kernels read no memory but
// their own.
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
  explicit FreePlacer(ir::Module& m) : m_(m) {}

  /// Users come after what they use, so ops are visited last to first.
  void visit(Region& r) {
    std::vector<Op*> ops;
    for (const auto& op : r.ops) ops.push_back(op.get());
    std::reverse(ops.begin(), ops.end());
    for (Op* op : ops) {
      for (auto& inner : op->regions) visit(*inner);
      if (op->regions.empty() && op->results.size() == 1 && isFreeTensor(*op->result())) place(*op);
    }
  }

 private:
  bool onHost(const std::string& device) const { return m_.actual(device) == ir::DeviceTable::kHost; }

  /// The device on which `user` reads its operand; empty: on the host, or nowhere yet.
  std::string deviceOf(const Value::Use& use) const {
    const Op& user = *use.user;
    const auto deviceIs = [&](const Value* v) {
      return v->type.place.isFree() || onHost(v->type.place.device) ? std::string() : v->type.place.device;
    };
    if (user.has(ir::Trait::HostEffect) || user.kind == OpKind::Load || user.kind == OpKind::Transfer) return {};
    if (user.kind == OpKind::Yield && user.parent->parentOp) {
      const Op& outer = *user.parent->parentOp;
      return use.operand < outer.results.size() ? deviceIs(outer.result(use.operand)) : std::string();
    }
    if (ir::isLoop(user)) {
      const size_t lead = ir::firstCarriedOperand(user);
      return use.operand >= lead ? deviceIs(user.result(use.operand - lead)) : std::string();
    }
    for (const auto& r : user.results)
      if (std::string d = deviceIs(r.get()); !d.empty()) return d;
    for (const Value* v : user.operands())
      if (std::string d = deviceIs(v); !d.empty()) return d;
    return {};
  }

  void place(Op& op) {
    std::vector<std::pair<std::string, Value*>> made;
    bool hostToo = false;
    const std::vector<Value::Use> uses = op.result()->uses;
    for (const Value::Use& use : uses) {
      const std::string device = deviceOf(use);
      if (device.empty()) {
        hostToo = true;
        continue;
      }
      auto known = std::find_if(made.begin(), made.end(), [&](const auto& p) { return p.first == device; });
      if (known == made.end()) {
        ir::Builder at(&op);
        ir::ValueMap map;
        Value* copy = ir::clone(op, at, map)->result();
        copy->type.place.device = device;
        known = made.insert(made.end(), {device, copy});
      }
      use.user->setOperand(use.operand, known->second);
    }
    if (!made.empty() && !hostToo) op.erase();
    // What the copies read is visited later: it stands before them.
  }

  const ir::Module& m_;
};

}  // namespace

bool placeFree(ir::Module& m, Context&) {
  for (auto& f : m.funcs)
    if (f->body) FreePlacer(m).visit(*f->body);
  return true;
}

}  // namespace tenc::passes
