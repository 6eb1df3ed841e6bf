#include "transforms/Functions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Value;

ir::Type withoutPlace(ir::Type t) {
  t.place = {};
  return t;
}

Value* scalarBehind(Value* v) {
  Value* scalar = v;
  while (!scalar->type.shape.empty() && scalar->op != nullptr &&
         (scalar->op->kind == OpKind::Broadcast || scalar->op->kind == OpKind::Reshape))
    scalar = scalar->op->operand(0);
  return scalar->type.shape.empty() ? scalar : v;
}

std::unique_ptr<ir::Func> freeFunc(ir::Module& module, std::string name) {
  auto func = std::make_unique<ir::Func>();
  func->name = func->source = std::move(name);
  func->module = &module;
  func->body = std::make_unique<ir::Region>(nullptr, func.get());
  return func;
}

ir::Func& addToModule(std::unique_ptr<ir::Func> f, std::string name, std::vector<size_t> order) {
  ir::Func& made = *f->module->addFunc(std::move(name));
  if (order.empty()) {
    for (size_t i = 0; i < f->body->args.size(); ++i) order.push_back(i);
  }
  std::vector<Value*> operands(f->body->args.size());
  for (size_t i : order) {
    const Value* v = f->body->args[i].get();
    operands[i] = made.body->addArg(withoutPlace(v->type), v->name);
  }
  ir::Builder at(made.body.get());
  at.setLoc(f->body->terminator()->loc);
  const std::vector<Value*> results = splice(*f, operands, at);
  at.makeTyped(OpKind::Return, results, {});
  for (const Value* v : results) made.resultTypes.push_back(withoutPlace(v->type));
  made.paramPlaces.assign(made.body->args.size(), kAnywhere);
  made.resultPlaces.assign(made.resultTypes.size(), kAnywhere);
  return made;
}

void setResults(ir::Func& f, const std::vector<Value*>& results) {
  ir::Op* end = f.body->terminator();
  ir::Builder at(end);
  at.setLoc(end->loc);
  at.makeTyped(OpKind::Return, results, {});
  end->erase();
  f.resultTypes.clear();
  for (const Value* v : results) f.resultTypes.push_back(withoutPlace(v->type));
}

void setHalf(ir::Region& region, ir::Half half) {
  for (const auto& op : region.ops) {
    op->loc.half = half;
    for (const auto& inner : op->regions) setHalf(*inner, half);
  }
}

void copyRule(const Op& from, Op& to) {
  for (const char* name : {kRuleForward, kRuleBackward, kRuleArguments}) to.set(name, *from.find(name));
}

namespace {

bool everyOpOnce(const ir::Region& r, const std::function<bool(const Op&)>& holds,
                 std::unordered_set<const ir::Func*>& seen) {
  return std::all_of(r.ops.begin(), r.ops.end(), [&](const auto& op) {
    if (!holds(*op)) return false;
    const ir::Func* callee = op->kind == OpKind::Call ? calleeOf(*op) : nullptr;
    if (callee != nullptr && seen.insert(callee).second && !everyOpOnce(*callee->body, holds, seen)) return false;
    return std::all_of(op->regions.begin(), op->regions.end(),
                       [&](const auto& inner) { return everyOpOnce(*inner, holds, seen); });
  });
}

}  // namespace

const ir::Func* calleeOf(const Op& call) { return call.func()->module->find(call.stringAttr("callee")); }

bool everyOp(const ir::Region& region, const std::function<bool(const Op&)>& holds) {
  std::unordered_set<const ir::Func*> seen;
  return everyOpOnce(region, holds, seen);
}

bool canRepeat(const ir::Func& f) {
  return everyOp(*f.body, [](const Op& op) {
    return !op.has(ir::Trait::HasSideEffect) && (op.kind != OpKind::Call || calleeOf(op) != nullptr);
  });
}

void removeFunc(const ir::Func& f) {
  std::erase_if(f.module->funcs, [&](const auto& known) { return known.get() == &f; });
}

namespace {

class Closure {
 public:
  explicit Closure(ir::Func& f) : f_(f) {}

  void region(const ir::Region& r) {
    for (const auto& op : r.ops) {
      for (size_t i = 0; i < op->operandCount(); ++i) {
        if (op->operand(i)->home()->func != &f_) op->setOperand(i, parameter(op->operand(i)));
      }
      for (const auto& inner : op->regions) region(*inner);
    }
  }

  std::vector<Value*> captures;

 private:
  Value* parameter(Value* outside) {
    auto [it, fresh] = parameters_.try_emplace(outside);
    if (fresh) {
      it->second = f_.body->addArg(outside->type, outside->name);
      captures.push_back(outside);
    }
    return it->second;
  }

  ir::Func& f_;
  std::unordered_map<const Value*, Value*> parameters_;
};

}  // namespace

std::vector<Value*> closeOver(ir::Func& f) {
  Closure closure(f);
  closure.region(*f.body);
  return std::move(closure.captures);
}

std::vector<Value*> splice(ir::Func& f, const std::vector<Value*>& operands, ir::Builder& at) {
  ir::Region& body = *f.body;
  for (size_t i = 0; i < operands.size(); ++i) body.args[i]->replaceAllUsesWith(operands[i]);
  Op* end = at.makeTyped(OpKind::Yield, {}, {});  // holds the place
  while (body.ops.size() > 1) body.ops.front()->moveBefore(end);
  std::vector<Value*> results = body.terminator()->operands();
  body.terminator()->erase();
  end->erase();
  return results;
}

}  // namespace tenc::transforms
