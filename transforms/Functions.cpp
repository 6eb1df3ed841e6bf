#include "transforms/Functions.h"

#include <unordered_map>
#include <utility>

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Value;

ir::Type withoutPlace(ir::Type t) {
  t.place = {};
  return t;
}

std::unique_ptr<ir::Func> freeFunc(ir::Module& module, std::string name) {
  auto func = std::make_unique<ir::Func>();
  func->name = func->source = std::move(name);
  func->module = &module;
  func->body = std::make_unique<ir::Region>(nullptr, func.get());
  return func;
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
