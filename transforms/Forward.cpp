// Forward mode: tangents are computed beside the values, through every kind of loop and branch.
#include <algorithm>
#include <utility>

#include "ir/Loops.h"
#include "ir/build/Compose.h"
#include "transforms/Derivatives.h"
#include "transforms/Functions.h"
#include "transforms/Residuals.h"
#include "transforms/Tangents.h"

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

class ForwardMode : public Walk {
 public:
  ForwardMode(std::shared_ptr<const Activity> activity, ir::Builder& at, DerivedFuncs& derived)
      : Walk(std::move(activity), at, at, derived.visited()), derived_(derived) {}

  bool run(const ir::Func& f, ir::Func& made) {
    for (const auto& v : f.body->args) addArg(*made.body, v.get());
    for (const auto& v : f.body->args) addTangentArg(*made.body, v.get());
    if (!body(*f.body)) return false;
    const Op& end = *f.body->terminator();
    Values results = valuesAndTangents(end.operands());
    for (const Value* v : results) made.resultTypes.push_back(withoutPlace(v->type));
    p_->setLoc(end.loc);
    p_->makeTyped(OpKind::Return, results, {});
    return true;
  }
  Obstacle obstacle() { return std::move(obstacle_); }

 private:
  Values valuesAndTangents(const Values& values) {
    Values all = primalsOf(values);
    for (Value* v : activeTangents(values)) all.push_back(v);
    return all;
  }

  /// The op's results and then tangents of the active ones, of types that are known when its regions are made.
  void addResults(const Op& op, Op& made) {
    for (const auto& v : op.results) define(v.get(), made.addResult(withoutPlace(v->type), v->name));
    for (const auto& v : op.results) {
      if (isActive(v.get())) defineTangent(v.get(), made.addResult(withoutPlace(v->type)));
    }
  }

  /// A tangent for a branch or a loop. Zeros are where the value is, also where that is a variable from outside of the
  /// region of a device: it is read and assigned to as that is.
  Value* tangentInPlace(Value* v) {
    Value* t = wholeTangent(v);
    if (tangentOf(v) != nullptr || !derived_.arePlaced()) return t;
    const OriginScope derivative(module());
    return p_->makeTyped(OpKind::SamePlace, {t, primalOf(v)}, {t->type})->result();
  }

  /// Whether something beside `v` says where the op is.
  bool meetsTensor(const Op& op, const Value* v) const {
    return std::any_of(op.operands().begin(), op.operands().end(),
                       [&](const Value* o) { return o != v && tangentOf(o) == nullptr && !isNumber(*o); });
  }

  /// A number mixes with tensors of any device, and so would its tangent, which has no such tensor beside it: it is
  /// where the result is.
  Value* tangentFor(const Op& op, Value* v) override {
    Value* t = tangentOf(v);
    if (t == nullptr || !derived_.arePlaced()) return t;
    Value* number = ir::Compose::withoutShape(t);
    if (number == t || !meetsTensor(op, v)) return t;
    const OriginScope derivative(module());
    return ir::Compose(*p_).fillOn(primalOf(op.result()), t->type.shape, number);
  }

  bool single(const Op& op) override {
    if (!Walk::single(op)) return false;
    if (!derived_.arePlaced()) return true;
    for (const auto& v : op.results) {
      Value* t = tangentOf(v.get());
      if (t == nullptr || !t->type.shape.empty() || !meetsTensor(op, nullptr)) continue;
      const OriginScope derivative(module());
      defineTangent(v.get(), p_->makeTyped(OpKind::SamePlace, {t, primalOf(v.get())}, {t->type})->result());
    }
    return true;
  }

  /// The region with its yield, where `targets` say which of the yielded values have tangents.
  bool regionOf(const ir::Region& from, ir::Region* to, const std::vector<const Value*>& targets) {
    return inside(to, to, [&] {
      if (!body(from)) return false;
      const Op& end = *from.terminator();
      Values yields = primalsOf(end.operands());
      for (size_t i = 0; i < targets.size(); ++i) {
        if (isActive(targets[i])) yields.push_back(tangentInPlace(end.operand(i)));
      }
      p_->makeTyped(end.kind, yields, {});
      return true;
    });
  }

  bool loop(const Op& op) override {
    const size_t first = ir::firstCarriedOperand(op), firstArg = ir::firstCarriedArg(op);
    const auto carriedOf = [&](const ir::Region& r) {
      std::vector<const Value*> carried;
      for (size_t i = firstArg; i < r.args.size(); ++i) carried.push_back(r.args[i].get());
      return carried;
    };
    const auto carried = carriedOf(*op.regions.back());
    Values operands = primalsOf(op.operands());
    for (size_t i = 0; i < carried.size(); ++i) {
      if (isActive(carried[i])) operands.push_back(tangentInPlace(op.operand(first + i)));
    }
    Op* made = p_->makeTyped(op.kind, operands, {});
    for (const auto& from : op.regions) {
      ir::Region* to = p_->addRegion(made);
      for (const auto& v : from->args) addArg(*to, v.get());
      for (const Value* v : carriedOf(*from)) addTangentArg(*to, v);
      const bool test = from->terminator()->kind == OpKind::Condition;
      if (!regionOf(*from, to, test ? std::vector<const Value*>{} : carried)) return false;
    }
    addResults(op, *made);
    return true;
  }

  bool branch(const Op& op) override { return regions(op, p_->makeTyped(OpKind::If, {primalOf(op.operand(0))}, {})); }

  bool placed(const Op& op) override {
    Op* made = p_->makeTyped(OpKind::On, primalsOf(op.operands()), {});
    for (const auto& [name, value] : op.attrs()) made->set(name, value);
    return regions(op, made);
  }

  bool regions(const Op& op, Op* made) {
    std::vector<const Value*> results;
    for (const auto& v : op.results) results.push_back(v.get());
    for (const auto& from : op.regions) {
      if (!regionOf(*from, p_->addRegion(made), results)) return false;
    }
    addResults(op, *made);
    return true;
  }

  bool placing(const Op& op) override {
    Op* made = copy(op);
    Value* t = tangentOf(op.operand(0));
    if (t == nullptr) return true;
    Values operands(made->operands());
    operands[0] = t;
    Op* moved = p_->makeTyped(op.kind, operands, {withoutPlace(op.result()->type)});
    for (const auto& [name, value] : op.attrs()) moved->set(name, value);
    defineTangent(op.result(), moved->result());
    return true;
  }

  bool call(const Op& op) override {
    if (op.hasAttr(kRuleForward)) return refuse({&op, Obstacle::Kind::ForwardOfRule, ""});
    ir::Func* callee = module().find(op.stringAttr("callee"));
    std::vector<bool> arguments;
    for (const Value* v : op.operands()) arguments.push_back(isActive(v));
    const ForwardFunc* derived = derived_.forward(*callee, arguments, obstacle_);
    if (derived == nullptr) return refuseIn(*callee, op);
    Op* made = p_->makeTyped(OpKind::Call, valuesAndTangents(op.operands()), derived->func->resultTypes,
                             {{"callee", derived->func->name}});
    const size_t n = op.results.size();
    size_t next = n;
    for (size_t i = 0; i < n; ++i) define(op.result(i), made->result(i));
    for (size_t i = 0; i < n; ++i) {
      if (derived->results[i]) defineTangent(op.result(i), made->result(next++));
    }
    return true;
  }

  DerivedFuncs& derived_;
};

}  // namespace

std::optional<std::vector<bool>> forwardMode(const ir::Func& f, const std::vector<bool>& arguments, ir::Func& made,
                                             DerivedFuncs& derived, Obstacle& obstacle) {
  ir::Builder at(made.body.get());
  const auto activity = Activity::of(f, arguments, derived.activity());
  ForwardMode mode(activity, at, derived);
  if (mode.run(f, made)) return activity->results();
  if (obstacle.op == nullptr) obstacle = mode.obstacle();
  return std::nullopt;
}

const ForwardFunc* DerivedFuncs::forward(ir::Func& f, const std::vector<bool>& arguments, Obstacle& obstacle) {
  const Key key{&f, arguments};
  if (const auto it = forward_.find(key); it != forward_.end()) return &it->second;
  ir::Func* made = f.module->addFuncLike(f.name + ".jvp" + std::to_string(f.module->funcs.size()), f);
  made->resultTypes.clear();
  auto results = forwardMode(f, arguments, *made, *this, obstacle);
  if (!results) {
    removeFunc(*made);
    return nullptr;
  }
  made->paramPlaces.resize(f.body->args.size());
  made->paramPlaces.resize(made->body->args.size(), kBeside);
  made->resultPlaces.resize(f.resultTypes.size());
  made->resultPlaces.resize(made->resultTypes.size(), kAnywhere);
  return &(forward_[key] = {made, std::move(*results)});
}

std::optional<Pushforward> pushforward(const ir::Func& f, const std::vector<bool>& arguments, DerivedFuncs& derived,
                                       Obstacle& obstacle) {
  const ForgetAtEnd forgotten(derived, f);
  Pushforward made{freeFunc(*f.module, f.name + ".jvp"), {}};
  auto active = forwardMode(f, arguments, *made.func, derived, obstacle);
  if (!active) return std::nullopt;
  made.active = std::move(*active);
  return made;
}

}  // namespace tenc::transforms
