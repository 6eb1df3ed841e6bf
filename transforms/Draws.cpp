// Draws of random numbers as values: the count of draws goes through a function like anything that it computes.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/Loops.h"
#include "transforms/Functions.h"

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

const ir::Type kU64{ir::DType::U64, {}, {}};

bool draws(const Region& r) {
  return !everyOp(r, [](const Op& op) { return op.kind != OpKind::RngNext; });
}

/// Whether draws are the only effects, and none is in a condition of a loop or in a rule of its own.
bool drawsAlone(const Region& r) {
  return everyOp(r, [](const Op& op) {
    if (op.kind == OpKind::RngNext) return true;
    if (op.has(Trait::HasSideEffect)) return false;
    if (op.kind == OpKind::While) return !draws(*op.regions[0]);
    if (op.kind != OpKind::Call) return true;
    const ir::Func* callee = calleeOf(op);
    return callee != nullptr && !(op.hasAttr(kRuleForward) && draws(*callee->body));
  });
}

class Threading {
 public:
  /// Of the body of `f`.
  void function(ir::Func& f) {
    Value* seed = f.body->addArg(kU64);
    Value* count = f.body->addArg(kU64);
    count = region(*f.body, seed, count);
    f.body->terminator()->addOperand(count);
    f.resultTypes.push_back(kU64);
  }

 private:
  /// The count behind the ops of a region.
  Value* region(Region& r, Value* seed, Value* count) {
    std::vector<Op*> ops;
    for (const auto& op : r.ops) ops.push_back(op.get());
    for (Op* op : ops) {
      if (op->kind == OpKind::RngNext) {
        op->result(0)->replaceAllUsesWith(seed);
        op->result(1)->replaceAllUsesWith(count);
        ir::Builder at(op);
        at.setLoc(op->loc);
        if (!op->boolAttr("peek")) count = at.value(OpKind::Add, {count, at.scalarInt(ir::DType::U64, 1)});
        op->erase();
      } else if (op->kind == OpKind::Call && draws(*calleeOf(*op)->body)) {
        op->set("callee", variantOf(*calleeOf(*op)).name);
        op->addOperands({seed, count});
        count = op->addResult(kU64);
      } else if (std::any_of(op->regions.begin(), op->regions.end(), [](const auto& inner) { return draws(*inner); })) {
        if (ir::isLoop(*op)) op->addOperand(count);
        for (const auto& inner : op->regions) {
          Value* first = ir::isLoop(*op) ? inner->addArg(kU64) : count;
          Value* last = region(*inner, seed, first);
          if (inner->terminator()->kind != OpKind::Condition) inner->terminator()->addOperand(last);
        }
        count = op->addResult(kU64);
      }
    }
    return count;
  }

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

}  // namespace

bool takeDraws(ir::Func& f) {
  if (!drawsAlone(*f.body)) return false;
  Threading().function(f);
  return true;
}

}  // namespace tenc::transforms
