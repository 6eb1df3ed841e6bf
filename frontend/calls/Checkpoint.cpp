#include "frontend/calls/Checkpoint.h"

#include <string>
#include <utility>

#include "frontend/Context.h"
#include "frontend/calls/MarkedCall.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

namespace {

class Recomputed final : public MarkedCall {
 public:
  explicit Recomputed(const TransformTools& tools) : MarkedCall(tools) {}

  std::optional<ir::Type> parameter(size_t, const ir::Value& leaf, bool) const override {
    return transforms::withoutPlace(leaf.type);
  }

  std::unique_ptr<ir::Func> apply(Traced& traced) override {
    const bool draws = !transforms::canRepeat(*traced.func);
    // Effects happen once: what has some is kept as ever. Draws are made of the state that there is at first.
    if (draws && !transforms::takeDraws(*traced.func)) return std::move(traced.func);
    const bool makes = makesTensors(*traced.func);
    if (makes) traced.func->body->addArg(ir::Type{ir::DType::I64, {0}, {}});
    const std::string name = "checkpoint" + std::to_string(tools_.context.freshId());
    ir::Func& f = transforms::addToModule(std::move(traced.func), name);
    f.source.clear();  // no name of the program's
    if (makes) f.paramPlaces.back().clear();
    return function(f.name, traced.operands, [&](ir::Builder& at, const Values& own) {
      Values operands = own;
      ir::Value* seed = nullptr;
      if (draws) {
        const ir::Type u64{ir::DType::U64, {}, {}};
        const ir::Op* state = at.makeTyped(ir::OpKind::RngNext, {}, {u64, u64}, {{"peek", true}});
        seed = state->result(0);
        operands.insert(operands.end(), {seed, state->result(1)});
      }
      if (makes) operands.push_back(here(at));
      ir::Op* again = call(at, f, operands);
      again->set(transforms::kRecomputed, true);
      Values results;
      for (const auto& v : again->results) results.push_back(v.get());
      if (draws) {
        at.make(ir::OpKind::Seed, {seed, results.back()});
        results.pop_back();
      }
      return results;
    });
  }
};

}  // namespace

std::unique_ptr<Application> prepareCheckpoint(const TransformTools& tools, const FnValue&, const CallArgs& args) {
  auto made = std::make_unique<Recomputed>(tools);
  if (!made->take(args, [](const Val& v, size_t) { return v; })) return nullptr;
  return made;
}

}  // namespace tenc::frontend
