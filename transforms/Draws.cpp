// Functions that take the state of the random numbers as parameters.
#include "ir/Draws.h"

#include <string>
#include <unordered_map>

#include "transforms/Functions.h"

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

const ir::Type kU64{ir::DType::U64, {}, {}};

class Threading : public ir::DrawThreading {
 public:
  /// Of the body of `f`.
  void function(ir::Func& f) {
    Value* seed = f.body->addArg(kU64);
    Value* count = f.body->addArg(kU64);
    f.body->terminator()->addOperand(through(*f.body, seed, count));
    f.resultTypes.push_back(kU64);
  }

 protected:
  bool callDraws(const Op& call) const override {
    const ir::Func* callee = calleeOf(call);
    return callee != nullptr && !everyOp(*callee->body, [](const Op& op) { return op.kind != OpKind::RngNext; });
  }
  Value* throughCall(Op& call, Value* seed, Value* count) override {
    call.set("callee", variantOf(*calleeOf(call)).name);
    call.addOperands({seed, count});
    return call.addResult(kU64);
  }

 private:
  /// The function of the module that takes the state.
  const ir::Func& variantOf(const ir::Func& f) {
    ir::Func*& made = variants_[&f];
    if (made != nullptr) return *made;
    made = f.module->addFuncLike(f.name + ".drawing" + std::to_string(f.module->funcs.size()), f);
    ir::ValueMap map;
    for (const auto& v : f.body->args) map[v.get()] = made->body->addArg(v->type, v->name);
    ir::cloneInto(*f.body, *made->body, map);
    function(*made);
    made->paramPlaces.resize(made->body->args.size(), kAnywhere);
    made->resultPlaces.resize(made->resultTypes.size(), kAnywhere);
    return *made;
  }

  std::unordered_map<const ir::Func*, ir::Func*> variants_;
};

/// Whether draws are the only effects, and none is in a condition of a loop or in a rule of its own.
bool drawsAlone(const Region& r) {
  const Threading threading;
  return everyOp(r, [&](const Op& op) {
    if (op.kind == OpKind::RngNext) return true;
    if (op.has(Trait::HasSideEffect)) return false;
    if (op.kind == OpKind::While) return !threading.draws(*op.regions[0]);
    if (op.kind != OpKind::Call) return true;
    return calleeOf(op) != nullptr && !(op.hasAttr(kRuleForward) && threading.draws(op));
  });
}

}  // namespace

bool takeDraws(ir::Func& f) {
  if (!drawsAlone(*f.body)) return false;
  Threading().function(f);
  return true;
}

}  // namespace tenc::transforms
