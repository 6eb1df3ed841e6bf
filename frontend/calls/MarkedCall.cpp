#include "frontend/calls/MarkedCall.h"

#include <algorithm>
#include <utility>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/values/Trees.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

bool MarkedCall::take(const CallArgs& args, const std::function<Val(const Val&, size_t)>& asParameter) {
  for (const CallArg& a : args.args) {
    if (a.value.poison()) return false;
    Val v = asParameter(a.value, arguments.size());
    if (v.poison()) return false;
    names.push_back(a.name);
    arguments.push_back(std::move(v));
  }
  return true;
}

Val MarkedCall::finish(const Val& like, Values results) {
  return like.is(Val::Kind::Unit) ? like : rebuild(like, results);
}

std::unique_ptr<ir::Func> MarkedCall::function(
    const std::string& name, const Values& like,
    const std::function<Values(ir::Builder& at, const Values& own)>& body) const {
  auto made = transforms::freeFunc(tools_.context.module, name);
  Values own;
  for (const ir::Value* v : like) own.push_back(made->body->addArg(transforms::withoutPlace(v->type), v->name));
  ir::Builder at(made->body.get());
  at.setLoc(tools_.context.b().loc());
  const Values results = body(at, own);
  at.makeTyped(ir::OpKind::Return, results, {});
  return made;
}

ir::Op* MarkedCall::call(ir::Builder& at, const ir::Func& callee, const Values& operands) {
  return at.makeTyped(ir::OpKind::Call, operands, callee.resultTypes, {{"callee", callee.name}});
}

bool MarkedCall::makesTensors(const ir::Func& f) {
  return !transforms::everyOp(
      *f.body, [](const ir::Op& op) { return !op.has(ir::Trait::Creation) || op.result()->type.shape.empty(); });
}

ir::Value* MarkedCall::here(ir::Builder& at) {
  const ir::Type none{ir::DType::I64, {0}, {}};
  ir::Value* zero = at.scalarInt(none.dtype, 0);
  return at.makeTyped(ir::OpKind::Fill, {zero}, {none}, {{"shape", none.shape}})->result();
}

}  // namespace tenc::frontend
