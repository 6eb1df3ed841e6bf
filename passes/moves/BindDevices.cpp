// From names of devices to the devices of this machine: after the checks by name and the list of moves, two names of
// one device are the same place, and a move between them is the value itself.
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

class Binder {
 public:
  explicit Binder(const ir::Module& m) : module_(m) {}

  void region(ir::Region& r) {
    for (const auto& arg : r.args) bind(arg->type);
    for (auto it = r.ops.begin(); it != r.ops.end();) {
      ir::Op& op = **it++;
      for (const auto& result : op.results) bind(result->type);
      for (const auto& inner : op.regions) region(*inner);
      if (op.kind != ir::OpKind::Transfer) continue;
      ir::Value* source = op.operand(0);
      if (source->type != op.result()->type) continue;
      if (source->name.empty()) source->name = op.result()->name;
      op.result()->replaceAllUsesWith(source);
      op.erase();
    }
  }

  void bind(ir::Type& t) const {
    if (!t.place.isFree()) t.place.device = module_.actual(t.place.device);
  }

 private:
  const ir::Module& module_;
};

}  // namespace

bool bindDevices(ir::Module& m, Context&) {
  Binder binder(m);
  for (const auto& f : m.funcs) {
    binder.region(*f->body);
    for (ir::Type& t : f->resultTypes) binder.bind(t);
  }
  return true;
}

}  // namespace tenc::passes
