#include "transforms/Walk.h"

#include <algorithm>
#include <utility>

#include "ir/Loops.h"
#include "support/InternalError.h"
#include "transforms/Tangents.h"

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

Value* Walk::primalOf(Value* v) const {
  const auto it = primal_.find(v);
  if (it == primal_.end()) throw InternalError("differentiation met a value that it has not seen");
  return it->second;
}

Walk::Values Walk::primalsOf(const Values& values) const {
  Values all;
  for (Value* v : values) all.push_back(primalOf(v));
  return all;
}

Value* Walk::tangentOf(const Value* v) const {
  const auto it = tangent_.find(v);
  return it == tangent_.end() ? nullptr : it->second;
}

Value* Walk::wholeTangent(Value* v) {
  if (Value* t = tangentOf(v)) return t;
  const OriginScope derivative(module());
  ir::Compose c(*t_);
  Value* primal = primalOf(v);
  return c.broadcastTo(c.literal(primal, 0), primal->type.shape);
}

Walk::Values Walk::activeTangents(const Values& values) {
  Values all;
  for (Value* v : values) {
    if (isActive(v)) all.push_back(wholeTangent(v));
  }
  return all;
}

bool Walk::refuse(Obstacle o) {
  if (obstacle_.op == nullptr) obstacle_ = std::move(o);
  return false;
}

bool Walk::refuseIn(const ir::Func& callee, const ir::Op& call) {
  obstacle_.calls.push_back({callee.signature, call.loc});
  return false;
}

void Walk::addArg(ir::Region& region, const Value* v) { define(v, region.addArg(withoutPlace(v->type), v->name)); }

void Walk::addTangentArg(ir::Region& region, const Value* v) {
  if (isActive(v)) defineTangent(v, region.addArg(withoutPlace(v->type)));
}

bool Walk::inside(ir::Region* primal, ir::Region* tangent, const std::function<bool()>& f) {
  ir::Builder atPrimal(primal);
  atPrimal.setLoc(p_->loc());
  ir::Builder atTangent(tangent);
  atTangent.setLoc(t_->loc());
  ir::Builder* outerP = std::exchange(p_, &atPrimal);
  ir::Builder* outerT = std::exchange(t_, primal == tangent ? &atPrimal : &atTangent);
  const bool ok = f();
  p_ = outerP;
  t_ = outerT;
  return ok;
}

bool Walk::body(const ir::Region& region) {
  return std::all_of(region.ops.begin(), region.ops.end(), [&](const auto& op) {
    if (op->has(Trait::Terminator)) return true;
    p_->setLoc(op->loc);
    t_->setLoc(op->loc);
    return visit(*op);
  });
}

Op* Walk::copy(const Op& op) {
  ir::ValueMap map;
  for (Value* v : op.operands()) map[v] = primalOf(v);
  for (const auto& r : op.regions) {
    for (Value* v : capturesOf(*r)) map[v] = primalOf(v);
  }
  Op* made = ir::clone(op, *p_, map);
  for (size_t i = 0; i < op.results.size(); ++i) define(op.result(i), made->result(i));
  return made;
}

bool Walk::visit(const Op& op) {
  if (++visited_ > kMostOps) return refuse({&op, Obstacle::Kind::TooLarge, {}});
  const OriginScope origin(module(), op.origin);
  if (!activity_->reads(op)) {
    copy(op);
    return true;
  }
  switch (op.kind) {
    case OpKind::For:
    case OpKind::While: return loop(op);
    case OpKind::If: return branch(op);
    case OpKind::On: return placed(op);
    case OpKind::Call: return call(op);
    default: return op.has(Trait::Placing) && !op.results.empty() && isActive(op.result()) ? placing(op) : single(op);
  }
}

void Walk::tangents(TangentCall& c) { tangentRule(c.op.kind)(c); }

bool Walk::single(const Op& op) {
  Op* made = copy(op);
  const bool active =
      std::any_of(op.results.begin(), op.results.end(), [&](const auto& v) { return isActive(v.get()); });
  if (!active) return true;
  // The products of a derivative round their operands as the op does; so the rules need not say it.
  const ir::RoundingScope roundsP(*p_, op.dtypeAttr("rounds")), roundsT(*t_, op.dtypeAttr("rounds"));
  ir::Compose p(*p_), t(*t_);
  TangentCall c{op, p, t, primalsOf(op.operands()), {}, {}, Values(op.results.size()), {}};
  if (op.has(Trait::Elementwise)) {
    // A number in the shape of the others stays a number: what follows from it alone has no place of its own.
    for (Value*& v : c.in) v = scalarBehind(v);
  }
  for (const auto& v : made->results) c.out.push_back(v.get());
  for (Value* v : op.operands()) c.tangents.push_back(tangentFor(op, v));
  if (std::all_of(c.tangents.begin(), c.tangents.end(), [](const Value* v) { return v == nullptr; })) return true;
  const OriginScope derivative(module());
  tangents(c);
  if (!c.refusal.empty()) return refuse({&op, Obstacle::Kind::NoDerivative, std::move(c.refusal), std::move(c.remedy)});
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (c.results[i] == nullptr) continue;
    if (!c.results[i]->type.sameTensor(op.result(i)->type))
      throw InternalError("the tangent of `" + std::string(op.info().mnemonic) + "` is " +
                          toString(c.results[i]->type) + ", not " + toString(op.result(i)->type));
    defineTangent(op.result(i), c.results[i]);
  }
  return true;
}

}  // namespace tenc::transforms
