#include "transforms/Deferred.h"

#include <utility>

#include "transforms/Functions.h"

namespace tenc::transforms {

using ir::Value;
using Values = std::vector<Value*>;

namespace {

ir::Dims positions(const std::vector<bool>& flags) {
  ir::Dims all;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) all.push_back(static_cast<int64_t>(i));
  }
  return all;
}

std::vector<ir::Type> typesAt(const ir::Dims& positions, const std::vector<ir::Type>& types) {
  std::vector<ir::Type> all;
  for (const int64_t i : positions) all.push_back(withoutPlace(types[static_cast<size_t>(i)]));
  return all;
}

Values resultsOf(const ir::Op& op) {
  Values all;
  for (const auto& v : op.results) all.push_back(v.get());
  return all;
}

}  // namespace

std::unique_ptr<ir::Func> deferred(std::unique_ptr<ir::Func> traced, const std::string& name, const DeferredForm& form,
                                   ir::Loc loc) {
  ir::Module& module = *traced->module;
  const ir::Func& f = addToModule(std::move(traced), name);
  const ir::Dims arguments = positions(form.arguments), results = positions(form.results);
  std::vector<ir::Type> parameters;
  for (const auto& v : f.body->args) parameters.push_back(withoutPlace(v->type));
  const std::vector<ir::Type> ofArguments = typesAt(arguments, parameters), ofResults = typesAt(results, f.resultTypes);
  const auto addParameters = [&](ir::Func& to) {
    Values all;
    for (const auto& v : f.body->args) all.push_back(to.body->addArg(withoutPlace(v->type), v->name));
    if (form.forward || !form.ones) {
      for (const ir::Type& t : form.forward ? ofArguments : ofResults) all.push_back(to.body->addArg(t));
    }
    return all;
  };

  // What the call takes and gives, with 0 for the derivatives.
  auto zeros = freeFunc(module, name);
  ir::Builder at(zeros->body.get());
  at.setLoc(loc);
  Values operands = addParameters(*zeros);
  operands.resize(f.body->args.size());
  Values given = resultsOf(*at.makeTyped(ir::OpKind::Call, operands, f.resultTypes, {{"callee", f.name}}));
  for (const ir::Type& t : form.forward ? ofResults : ofArguments)
    given.push_back(at.broadcastTo(at.scalar(t.dtype, 0), t.shape));
  at.makeTyped(ir::OpKind::Return, given, {});
  const ir::Func& signature = addToModule(std::move(zeros), name + ".zeros");

  auto made = freeFunc(module, name);
  ir::Builder caller(made->body.get());
  caller.setLoc(loc);
  operands = addParameters(*made);
  ir::Op* call = caller.makeTyped(ir::OpKind::Call, operands, signature.resultTypes, {{"callee", signature.name}});
  call->set(ir::kOracle, f.name);
  call->set(ir::kOracleForward, form.forward);
  call->set(ir::kOracleArguments, arguments);
  call->set(ir::kOracleResults, results);
  caller.makeTyped(ir::OpKind::Return, resultsOf(*call), {});
  return made;
}

}  // namespace tenc::transforms
