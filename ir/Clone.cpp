#include <cassert>

#include "ir/Ir.h"

namespace tenc::ir {
namespace {

Value* mapped(Value* v, const ValueMap& map) {
  auto it = map.find(v);
  return it == map.end() ? v : it->second;
}

}  // namespace

Op* clone(const Op& op, Builder& at, ValueMap& map) {
  std::vector<Value*> operands;
  operands.reserve(op.operandCount());
  for (Value* v : op.operands()) operands.push_back(mapped(v, map));
  Op* copy = at.makeTyped(op.kind, std::move(operands), {});
  copy->loc = op.loc;
  copy->origin = op.origin;
  for (const auto& [name, value] : op.attrs()) copy->set(name, value);
  for (const auto& r : op.results) map[r.get()] = copy->addResult(r->type, r->name);
  for (const auto& region : op.regions) {
    Region* to = at.addRegion(copy);
    // Always new arguments, also when `map` knows those of an earlier copy.
    for (const auto& arg : region->args) map[arg.get()] = to->addArg(arg->type, arg->name);
    cloneInto(*region, *to, map);
  }
  return copy;
}

void cloneInto(const Region& from, Region& to, ValueMap& map) {
  for (const auto& arg : from.args) {
    if (!map.contains(arg.get())) map[arg.get()] = to.addArg(arg->type, arg->name);
  }
  Builder at(&to);
  for (const auto& op : from.ops) clone(*op, at, map);
}

std::unique_ptr<Module> clone(const Module& m, const std::function<bool(const Func&)>& wanted) {
  auto copy = std::make_unique<Module>();
  copy->devices = m.devices;
  copy->locs = m.locs;
  copy->texts = m.texts;  // searching them is not for several threads: neither are modules that share them
  copy->defaultDevice = m.defaultDevice;
  for (const auto& f : m.funcs) {
    if (wanted && !wanted(*f)) continue;
    Func* to = copy->addFuncLike(f->name, *f);
    ValueMap map;
    cloneInto(*f->body, *to->body, map);
  }
  return copy;
}

}  // namespace tenc::ir
