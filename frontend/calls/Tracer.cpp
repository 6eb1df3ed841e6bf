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

namespace {

/// Leaves that `training` has found to change in the body of `traced.func`: what becomes of them joins `results`.
void keepChanges(const Training& training, const KeptLeaves& before, const std::vector<ir::Value*>& arguments,
                 Traced& traced, std::vector<ir::Value*>& results) {
  const ir::Region& body = *traced.func->body;
  for (ir::Value* leaf : training.kept.changedSince(before)) {
    if (leaf->op != nullptr && leaf->op->parent == &body) continue;  // of a layer that is made here
    traced.changed.push_back(leaf->region == &body ? arguments[leaf->index] : leaf);
    results.push_back(training.kept.now(leaf));
  }
}

}  // namespace

std::optional<Traced> Tracer::trace(const TracedFn& f, const std::vector<Val>& args, const ParameterType& type,
                                    Span span, StateIn state) {
  Trial trial(context_, instances_, Trial::Reports::Stay);
  Traced traced;
  traced.func = transforms::freeFunc(context_.module, "traced");
  ir::Region& body = *traced.func->body;
  Training* training = context_.body.training;
  std::vector<Val> own;
  std::vector<ir::Value*> given;  // the tensors of the arguments
  for (size_t i = 0; i < args.size(); ++i) {
    bool changed = false;
    Val v = mapLeaves(args[i], [&](const Val& leaf, const std::string&, bool ofState) {
      std::optional<ir::Type> as;
      if (leaf.is(Val::Kind::Tensor)) as = type(i, *leaf.tensor, ofState);
      if (!as) return leaf;
      changed = true;
      given.push_back(leaf.tensor);
      ir::Value* operand = leaf.tensor;
      if (training) operand = training->kept.now(operand);
      traced.operands.push_back(operand);
      return Val::ofTensor(body.addArg(*as, leaf.tensor->name), leaf.span);
    });
    own.push_back(changed ? structs_.refit(std::move(v)) : args[i]);
  }
  traced.arguments = traced.operands.size();
  bool ok = false;
  const KeptLeaves before = training ? training->kept : KeptLeaves();
  {
    // Annotations around the code hold for it: until it is done, the body is a region inside of theirs.
    const Scoped inside(body.parentOp, context_.b().region()->parentOp);
    context_.inRegion(&body, [&] {
      traced.result = f(std::move(own));
      std::vector<ir::Value*> leaves;
      ok = leavesOf(traced.result, leaves);
      if (!ok) return;
      if (training && state == StateIn::Kept) keepChanges(*training, before, given, traced, leaves);
      context_.at(span);
      context_.b().makeTyped(ir::OpKind::Return, leaves, {});
    });
  }
  if (training) {
    const bool changed = !training->kept.changedSince(before).empty();
    training->kept = before;  // values of this function, which nobody sees outside
    if (changed && state == StateIn::Refused) {
      context_.error(Code::E0405, span, "a layer with state is called for training in a function of a `custom_vjp`")
          .note(
              "a gradient calls `forward` in place of the function: which of them changes the layer would depend on it")
          .help("call the layer outside, and give the functions what it gives");
      ok = false;
    }
  }
  if (!ok) return std::nullopt;
  trial.keep();
  const std::vector<ir::Value*> captures = transforms::closeOver(*traced.func);
  traced.operands.insert(traced.operands.end(), captures.begin(), captures.end());
  const std::vector<ir::Value*>& returned = body.terminator()->operands();
  for (const ir::Value* v : returned) traced.func->resultTypes.push_back(v->type);
  const std::vector<ir::Value*> results(returned.begin(),
                                        returned.end() - static_cast<std::ptrdiff_t>(traced.changed.size()));
  if (!results.empty()) traced.result = rebuild(traced.result, results);
  return traced;
}

}  // namespace tenc::frontend
