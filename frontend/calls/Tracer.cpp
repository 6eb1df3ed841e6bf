#include "frontend/calls/Tracer.h"

#include <string>
#include <utility>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Training.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Trees.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

std::optional<Traced> Tracer::trace(const TracedFn& f, const std::vector<Val>& args, const ParameterType& type,
                                    Span span, Trial::Reports reports) {
  Trial trial(context_, instances_, reports);
  Traced traced;
  traced.func = transforms::freeFunc(context_.module, "traced");
  ir::Region& body = *traced.func->body;
  std::vector<Val> own;
  for (size_t i = 0; i < args.size(); ++i) {
    bool changed = false;
    Val v = mapLeaves(args[i], [&](const Val& leaf, const std::string&, bool state) {
      std::optional<ir::Type> as;
      if (leaf.is(Val::Kind::Tensor)) as = type(i, *leaf.tensor, state);
      if (!as) return leaf;
      changed = true;
      traced.operands.push_back(leaf.tensor);
      return Val::ofTensor(body.addArg(*as, leaf.tensor->name), leaf.span);
    });
    own.push_back(changed ? structs_.refit(std::move(v)) : args[i]);
  }
  traced.arguments = traced.operands.size();
  bool ok = false;
  Training* training = context_.body.training;
  const auto before = training ? training->kept : decltype(Training::kept)();
  {
    // Annotations around the code hold for it: until it is done, the body is a region inside of theirs.
    const Scoped inside(body.parentOp, context_.b().region()->parentOp);
    context_.inRegion(&body, [&] {
      traced.result = f(std::move(own));
      std::vector<ir::Value*> leaves;
      ok = leavesOf(traced.result, leaves);
      if (!ok) return;
      context_.at(span);
      context_.b().makeTyped(ir::OpKind::Return, leaves, {});
    });
  }
  if (training &&
      std::exchange(training->kept, before) != before) {  // values of this function, which nobody sees outside
    context_.notYet(span, "a layer with state in what is transformed, in a network that is trained");
    ok = false;
  }
  if (!ok) return std::nullopt;
  trial.keep();
  const std::vector<ir::Value*> captures = transforms::closeOver(*traced.func);
  traced.operands.insert(traced.operands.end(), captures.begin(), captures.end());
  const std::vector<ir::Value*>& returned = body.terminator()->operands();
  for (const ir::Value* v : returned) traced.func->resultTypes.push_back(v->type);
  if (!returned.empty()) traced.result = rebuild(traced.result, returned);
  return traced;
}

}  // namespace tenc::frontend
