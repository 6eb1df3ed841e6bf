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

  std::unique_ptr<ir::Func> apply(Traced& traced) override {
    // Draws and effects happen once: what has some is kept as ever.
    if (!transforms::canRepeat(*traced.func)) return std::move(traced.func);
    Context& context = tools_.context;
    ir::Module& module = context.module;
    const ir::Func& f =
        transforms::addToModule(std::move(traced.func), "checkpoint" + std::to_string(context.freshId()));
    auto made = transforms::freeFunc(module, f.name);
    std::vector<ir::Value*> operands;
    for (const auto& v : f.body->args) operands.push_back(made->body->addArg(v->type, v->name));
    ir::Builder at(made->body.get());
    at.setLoc(context.b().loc());
    ir::Op* call = at.makeTyped(ir::OpKind::Call, operands, f.resultTypes, {{"callee", f.name}});
    call->set(transforms::kRecomputed, true);
    std::vector<ir::Value*> results;
    for (const auto& v : call->results) results.push_back(v.get());
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
