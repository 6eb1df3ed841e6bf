// From names of devices to the devices of this machine: after the checks by name and the list of moves, two names of
// one device are the same place, and a move between them is the value itself.
#include <set>

#include "passes/Passes.h"

namespace tenc::passes {
namespace {

class Binder {
 public:
  Binder(const ir::Module& m, Context& c) : module_(m), context_(c) {}

  /// False when a type names a device that this machine does not have. Placement lets no script come so far; a module
  /// in text form may be made for another machine.
  bool run() {
    for (const auto& f : module_.funcs) {
      region(*f->body, f->span);
      for (ir::Type& t : f->resultTypes) bind(t, f->span);
    }
    return missing_.empty();
  }

 private:
  void region(ir::Region& r, Span owner) {
    for (const auto& arg : r.args) bind(arg->type, owner);
    for (auto it = r.ops.begin(); it != r.ops.end();) {
      ir::Op& op = **it++;
      const Span span = module_.span(op.loc);
      for (const auto& result : op.results) bind(result->type, span);
      for (const auto& inner : op.regions) region(*inner, span);
      if (op.kind != ir::OpKind::Transfer) continue;
      ir::Value* source = op.operand(0);
      if (source->type != op.result()->type) continue;
      if (source->name.empty()) source->name = op.result()->name;
      op.result()->replaceAllUsesWith(source);
      op.erase();
    }
  }

  void bind(ir::Type& t, Span at) {
    if (t.place.isFree()) return;
    t.place.device = ir::DeviceTable::normal(module_.actual(t.place.device));
    if (context_.machine.has(t.place.device) || !missing_.insert(t.place.device).second) return;
    context_.diags->report(Code::E0304, at, "there is no device `" + t.place.device + "`")
        .note(context_.machine.text());
  }

  const ir::Module& module_;
  Context& context_;
  std::set<std::string, std::less<>> missing_;  ///< reported, each once
};

}  // namespace

bool bindDevices(ir::Module& m, Context& c) { return Binder(m, c).run(); }

}  // namespace tenc::passes
