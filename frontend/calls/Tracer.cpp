#include "frontend/calls/Tracer.h"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Training.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Trees.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

namespace {

/// Leaves that `training` has found to change in the body of `traced.func`, in its order: what becomes of them joins
/// `results`, and the changes are forgotten.
void keepChanges(Training& training, const std::map<ir::Value*, ir::Value*>& before,
                 const std::vector<ir::Value*>& arguments, Traced& traced, std::vector<ir::Value*>& results) {
  std::unordered_map<const ir::Value*, std::vector<ir::Value*>> leavesBy;  // by what becomes of them
  for (const auto& [leaf, now] : training.kept) {
    const auto old = before.find(leaf);
    if (old == before.end() || old->second != now) leavesBy[now].push_back(leaf);
  }
  const ir::Region& body = *traced.func->body;
  const auto look = [&](ir::Value& now) {
    const auto found = leavesBy.find(&now);
    if (found == leavesBy.end()) return;
    for (ir::Value* leaf : found->second) {
      const bool argument = leaf->op == nullptr && leaf->region == &body;
      traced.changed.push_back(argument ? arguments[leaf->index] : leaf);
      results.push_back(&now);
    }
  };
  for (const auto& v : body.args) look(*v);
  for (const auto& op : body.ops) {
    for (const auto& v : op->results) look(*v);
  }
  training.kept = before;
}

}  // namespace

std::optional<Traced> Tracer::trace(const TracedFn& f, const std::vector<Val>& args, const ParameterType& type,
                                    Span span, Trial::Reports reports, bool state) {
  Trial trial(context_, instances_, reports);
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
      if (training && state) {
        if (const auto now = training->kept.find(operand); now != training->kept.end()) operand = now->second;
      }
      traced.operands.push_back(operand);
      return Val::ofTensor(body.addArg(*as, leaf.tensor->name), leaf.span);
    });
    own.push_back(changed ? structs_.refit(std::move(v)) : args[i]);
  }
  traced.arguments = traced.operands.size();
  bool ok = false;
  const auto before = training ? training->kept : decltype(Training::kept)();
  {
    // Annotations around the code hold for it: until it is done, the body is a region inside of theirs.
    const Scoped inside(body.parentOp, context_.b().region()->parentOp);
    context_.inRegion(&body, [&] {
      traced.result = f(std::move(own));
      std::vector<ir::Value*> leaves;
      ok = leavesOf(traced.result, leaves);
      if (!ok) return;
      if (training && state) keepChanges(*training, before, given, traced, leaves);
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
  const std::vector<ir::Value*> results(returned.begin(),
                                        returned.end() - static_cast<std::ptrdiff_t>(traced.changed.size()));
  if (!results.empty()) traced.result = rebuild(traced.result, results);
  return traced;
}

}  // namespace tenc::frontend
