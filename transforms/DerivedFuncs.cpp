// Derived functions of the functions of a module, made once each; and those of calls that say how they are
// differentiated.
#include <algorithm>
#include <optional>
#include <utility>

#include "ir/Causes.h"
#include "transforms/Derivatives.h"
#include "transforms/Functions.h"

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Value;
using Values = std::vector<Value*>;

namespace {

/// The first parameter that lives on the function's own device, if one says so.
std::optional<size_t> parameterAtHome(const ir::Func& f) {
  if (!f.ownDevice.empty() && !f.ownDevice.starts_with('$')) return std::nullopt;
  for (size_t i = 0; i < f.body->args.size() && i < f.paramPlaces.size(); ++i) {
    if (f.paramPlaces[i] == f.ownDevice && !f.body->args[i]->type.shape.empty()) return i;
  }
  return std::nullopt;
}

/// Whether values of the function may live on several devices.
bool hasSeveralPlaces(const ir::Func& f) {
  const auto isNamed = [](const std::string& place) { return !place.empty() && place != kAnywhere; };
  return std::any_of(f.paramPlaces.begin(), f.paramPlaces.end(), isNamed) || !everyOp(*f.body, [&](const Op& op) {
           if (op.kind == OpKind::On || (op.kind == OpKind::To && ir::causeOf(op) != ir::Cause::Capture)) return false;
           const ir::Func* callee = op.kind == OpKind::Call ? calleeOf(op) : nullptr;
           return callee == nullptr || std::none_of(callee->paramPlaces.begin(), callee->paramPlaces.end(), isNamed);
         });
}

}  // namespace

void DerivedFuncs::runWhere(const ir::Func& f, LinearizedFunc& made) const {
  if (!f.ownDevice.starts_with('$')) made.linear->ownDevice = f.ownDevice;
  const std::optional<size_t> home = parameterAtHome(f);
  if (!home) return;
  std::vector<LinearizedFunc::Residual>& residuals = made.residuals;
  const auto known = std::find_if(residuals.begin(), residuals.end(),
                                  [&](const LinearizedFunc::Residual& r) { return r.argument && r.index == *home; });
  const auto at = static_cast<size_t>(known - residuals.begin());
  if (known == residuals.end()) {
    if (!placed_ || !hasSeveralPlaces(f)) return;
    auto& args = made.linear->body->args;
    made.linear->body->addArg(withoutPlace(f.body->args[*home]->type));
    std::rotate(args.begin() + static_cast<std::ptrdiff_t>(at), args.end() - 1, args.end());
    for (size_t i = 0; i < args.size(); ++i) args[i]->index = static_cast<uint32_t>(i);
    residuals.push_back({true, *home});
  }
  made.linear->paramPlaces.assign(made.linear->body->args.size(), kAnywhere);
  made.linear->paramPlaces[at].clear();
}

ir::Func& DerivedFuncs::addLinear(const ir::Func& f) {
  auto linear = freeFunc(*f.module, f.name + ".linear" + std::to_string(serial_++));
  linear->source = f.source;
  linear->span = f.span;
  linear->signature = f.signature;
  ir::Func& made = *linear;
  linears_[made.name] = std::move(linear);
  return made;
}

const LinearizedFunc* DerivedFuncs::linearized(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle) {
  const Key key{&f, arguments};
  if (const auto it = linearized_.find(key); it != linearized_.end()) return &it->second;
  LinearizedFunc made;
  made.forward = f.module->addFuncLike(f.name + ".forward" + std::to_string(f.module->funcs.size()), f);
  made.forward->resultTypes.clear();
  made.linear = &addLinear(f);
  if (!linearize(f, arguments, made, *this, obstacle)) {
    linears_.erase(made.linear->name);
    removeFunc(*made.forward);
    return nullptr;
  }
  runWhere(f, made);
  // Residuals are where the body leaves them.
  made.forward->resultPlaces.resize(f.resultTypes.size());
  made.forward->resultPlaces.resize(made.forward->resultTypes.size(), kAnywhere);
  return &(linearized_[key] = std::move(made));
}

const LinearizedFunc* DerivedFuncs::recomputed(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle) {
  const Key key{&f, arguments};
  if (const auto it = recomputed_.find(key); it != recomputed_.end()) return &it->second;
  const LinearizedFunc* whole = linearized(f, arguments, obstacle);
  if (whole == nullptr) return nullptr;
  LinearizedFunc made{&f, &addLinear(f), {}, whole->results};
  ir::Region& body = *made.linear->body;
  ir::Builder at(&body);
  at.setLoc(f.body->terminator()->loc);
  Values again, tangents;
  const int64_t number = serial_++;
  for (const auto& v : f.body->args) body.addArg(withoutPlace(v->type), v->name);
  for (size_t i = 0; i < arguments.size(); ++i) {
    made.residuals.push_back({true, i});
    again.push_back(at.value(OpKind::Barrier, {body.args[i].get()}, {{"number", number}}));
    if (arguments[i]) tangents.push_back(body.addArg(withoutPlace(f.body->args[i]->type)));
  }
  Op* forward = at.makeTyped(OpKind::Call, again, whole->forward->resultTypes, {{"callee", whole->forward->name}});
  Values operands;
  for (const LinearizedFunc::Residual& r : whole->residuals)
    operands.push_back(r.argument ? again[r.index] : forward->result(r.index));
  operands.insert(operands.end(), tangents.begin(), tangents.end());
  Op* linear = at.makeTyped(OpKind::Call, operands, whole->linear->resultTypes, {{"callee", whole->linear->name}});
  linear->set(kResiduals, static_cast<int64_t>(whole->residuals.size()));
  Values results;
  for (const auto& v : linear->results) results.push_back(v.get());
  at.makeTyped(OpKind::Return, results, {});
  made.linear->resultTypes = whole->linear->resultTypes;
  runWhere(f, made);
  return &(recomputed_[key] = std::move(made));
}

ir::Func& DerivedFuncs::resultsOf(const ir::Func& forward, size_t results) {
  ir::Func& made = *forward.module->addFuncLike(forward.name + ".results" + std::to_string(serial_++), forward);
  ir::ValueMap map;
  for (const auto& v : forward.body->args) map[v.get()] = made.body->addArg(withoutPlace(v->type), v->name);
  ir::cloneInto(*forward.body, *made.body, map);
  Values kept = made.body->terminator()->operands();
  kept.resize(results);
  setResults(made, kept);
  made.resultPlaces.resize(results);
  return made;
}

const LinearizedFunc& DerivedFuncs::ruled(const Op& call, const std::vector<bool>& arguments) {
  const ir::Module& module = *call.func()->module;
  const ir::Func& f = *calleeOf(call);
  const Key key{&f, arguments};
  if (const auto it = ruled_.find(key); it != ruled_.end()) return it->second;
  LinearizedFunc made;
  made.forward = module.find(call.stringAttr(kRuleForward));
  made.linear = &addLinear(f);
  Rule rule{module.find(call.stringAttr(kRuleBackward)), f.resultTypes, {}, 0};
  const auto own = static_cast<size_t>(call.intAttr(kRuleArguments));
  rule.arguments.assign(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(own));
  ir::Region& body = *made.linear->body;
  const size_t results = f.resultTypes.size();
  rule.saved = made.forward->resultTypes.size() - results;
  // Saved arguments and results have derivatives of their own. Where nothing else is saved, `forward` need not be
  // differentiated for second ones: those of its results follow from the rule again.
  const Values& given = made.forward->body->terminator()->operands();
  const auto behind = given.begin() + static_cast<std::ptrdiff_t>(results);
  made.keepsRule = true;
  for (size_t i = 0; i < rule.saved; ++i) {
    const Value* v = given[results + i];
    const auto same = std::find(given.begin(), behind, v);
    if (v->op == nullptr) {
      made.residuals.push_back({true, v->index});
    } else if (same != behind) {
      made.residuals.push_back({false, static_cast<size_t>(same - given.begin())});
    } else {
      made.residuals.push_back({false, results + i});
      made.keepsRule = false;
    }
    body.addArg(withoutPlace(made.forward->resultTypes[results + i]));
  }
  if (made.keepsRule && rule.saved > 0) made.forward = &resultsOf(*made.forward, results);
  for (size_t i = own; i < arguments.size(); ++i) {
    made.residuals.push_back({true, i});
    body.addArg(withoutPlace(f.body->args[i]->type));
  }
  for (size_t i = 0; i < own; ++i) {
    if (arguments[i]) body.addArg(withoutPlace(f.body->args[i]->type));
  }
  for (const ir::Type& t : f.resultTypes) {
    made.results.push_back(ir::isFloat(t.dtype));
    if (made.results.back()) made.linear->resultTypes.push_back(withoutPlace(t));
  }
  rules_[made.linear] = std::move(rule);
  return ruled_[key] = std::move(made);
}

void DerivedFuncs::transposeRule(const Rule& rule, const ir::Func& linear, size_t residuals,
                                 const std::vector<bool>& results, ir::Func& made) {
  ir::Region& body = *made.body;
  ir::Builder at(&body);
  at.setLoc(rule.backward->body->terminator()->loc);
  Values kept, operands;
  for (size_t i = 0; i < residuals; ++i) kept.push_back(body.addArg(linear.body->args[i]->type));
  operands.assign(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(rule.saved));
  size_t next = 0;
  for (const ir::Type& t : rule.results) {
    const bool asked = ir::isFloat(t.dtype) && results[next++];
    operands.push_back(asked ? body.addArg(withoutPlace(t)) : at.broadcastTo(at.scalarInt(t.dtype, 0), t.shape));
  }
  operands.insert(operands.end(), kept.begin() + static_cast<std::ptrdiff_t>(rule.saved), kept.end());
  Op* call = at.makeTyped(OpKind::Call, operands, rule.backward->resultTypes, {{"callee", rule.backward->name}});
  call->set(kRuleBackward, rule.backward->name);
  Values given;
  made.resultTypes.clear();
  for (size_t i = 0; i < rule.arguments.size(); ++i) {
    if (!rule.arguments[i]) continue;
    given.push_back(call->result(i));
    made.resultTypes.push_back(withoutPlace(call->result(i)->type));
  }
  at.makeTyped(OpKind::Return, given, {});
  setHalf(body, ir::Half::Backward);
}

const TransposedFunc& DerivedFuncs::transposed(ir::Func& linear, size_t residuals, const std::vector<bool>& results,
                                               std::vector<bool> sums) {
  const auto rule = rules_.find(&linear);
  if (rule != rules_.end()) sums.assign(sums.size(), false);
  Key key{&linear, results};
  key.second.insert(key.second.end(), sums.begin(), sums.end());
  if (const auto it = transposed_.find(key); it != transposed_.end()) return it->second;
  const std::string number = std::to_string(linear.module->funcs.size());
  ir::Func* made = linear.module->addFuncLike(linear.name + ".back" + number, linear);
  std::vector<bool> reached;
  if (rule != rules_.end()) {
    transposeRule(rule->second, linear, residuals, results, *made);
    reached.assign(made->resultTypes.size(), true);
  } else {
    reached = transpose(linear, residuals, results, sums, *made, *this);
  }
  // A number lives wherever its tensor is wanted, a tensor of it would be on the device of the function.
  std::vector<bool> numbers(made->resultTypes.size(), false);
  Op& end = *made->body->terminator();
  for (size_t i = 0; i < numbers.size(); ++i) {
    Value* scalar = scalarBehind(end.operand(i));
    if (scalar == end.operand(i)) continue;
    numbers[i] = true;
    end.setOperand(i, scalar);
    made->resultTypes[i] = withoutPlace(scalar->type);
  }
  made->paramPlaces = linear.paramPlaces;
  made->paramPlaces.resize(residuals, kAnywhere);
  made->paramPlaces.resize(made->body->args.size(), kAnywhere);
  made->resultPlaces.assign(made->resultTypes.size(), kAnywhere);
  return transposed_[key] = {made, std::move(reached), std::move(numbers), std::move(sums)};
}

void DerivedFuncs::forget(const ir::Func& gone) {
  const auto isOf = [](const ir::Func* f) { return [f](const auto& entry) { return entry.first.first == f; }; };
  std::erase_if(forward_, [&](const auto& e) { return e.first.first == &gone || e.second.func == &gone; });
  for (auto* known : {&linearized_, &recomputed_, &ruled_}) {
    std::erase_if(*known, [&](const auto& e) {
      if (e.first.first != &gone && e.second.forward != &gone) return false;
      std::erase_if(transposed_, isOf(e.second.linear));
      rules_.erase(e.second.linear);
      linears_.erase(e.second.linear->name);
      return true;
    });
  }
  std::erase_if(transposed_, [&](const auto& e) { return e.second.func == &gone; });
  std::erase_if(activity_, isOf(&gone));
}

}  // namespace tenc::transforms
