#include "frontend/calls/Checkpoint.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

namespace {

class Recomputed final : public Application {
 public:
  explicit Recomputed(const TransformTools& tools) : tools_(tools) {}

  std::optional<ir::Type> parameter(size_t, const ir::Value& leaf, bool) const override {
    return transforms::withoutPlace(leaf.type);
  }

  bool keepsState() const override { return true; }

  std::unique_ptr<ir::Func> apply(Traced& traced) override {
    const bool draws = !transforms::canRepeat(*traced.func);
    // Effects happen once: what has some is kept as ever. Draws are made of the state that there is at first.
    if (draws && !transforms::takeDraws(*traced.func)) return std::move(traced.func);
    Context& context = tools_.context;
    ir::Module& module = context.module;
    const ir::Func& f =
        transforms::addToModule(std::move(traced.func), "checkpoint" + std::to_string(context.freshId()));
    auto made = transforms::freeFunc(module, f.name);
    const size_t own = f.body->args.size() - (draws ? 2 : 0);
    std::vector<ir::Value*> operands;
    for (size_t i = 0; i < own; ++i) {
      const ir::Value& v = *f.body->args[i];
      operands.push_back(made->body->addArg(v.type, v.name));
    }
    ir::Builder at(made->body.get());
    at.setLoc(context.b().loc());
    ir::Value* seed = nullptr;
    if (draws) {
      const ir::Type u64{ir::DType::U64, {}, {}};
      ir::Op* state = at.makeTyped(ir::OpKind::RngNext, {}, {u64, u64}, {{"peek", true}});
      seed = state->result(0);
      operands.insert(operands.end(), {seed, state->result(1)});
    }
    ir::Op* call = at.makeTyped(ir::OpKind::Call, operands, f.resultTypes, {{"callee", f.name}});
    call->set(transforms::kRecomputed, true);
    std::vector<ir::Value*> results;
    for (const auto& v : call->results) results.push_back(v.get());
    if (draws) {
      at.make(ir::OpKind::Seed, {seed, results.back()});
      results.pop_back();
    }
    at.makeTyped(ir::OpKind::Return, results, {});
    return made;
  }

  Val finish(const Val& like, std::vector<ir::Value*> results) override {
    return like.is(Val::Kind::Unit) ? like : rebuild(like, results);
  }

 private:
  const TransformTools& tools_;
};

}  // namespace

std::unique_ptr<Application> prepareCheckpoint(const TransformTools& tools, const FnValue&, const CallArgs& args) {
  auto made = std::make_unique<Recomputed>(tools);
  for (const CallArg& a : args.args) {
    if (a.value.poison()) return nullptr;
    made->names.push_back(a.name);
    made->arguments.push_back(a.value);
  }
  return made;
}

}  // namespace tenc::frontend
