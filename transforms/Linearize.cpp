// Reverse mode, first half: values on their way, and beside them a function that is linear in tangents. While both are
// made, linear ops name values of the way freely; at the end what they name is handed over (HandOver.h).
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "ir/Causes.h"
#include "ir/Loops.h"
#include "support/InternalError.h"
#include "transforms/Derivatives.h"
#include "transforms/HandOver.h"
#include "transforms/Residuals.h"
#include "transforms/Tangents.h"

namespace tenc::transforms {

using ir::Dims;
using ir::DType;
using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

namespace {

/// Takes ops out of linear code whose results nobody reads, so that nothing is kept for them.
void dropUnused(ir::Region& r) {
  for (auto it = r.ops.end(); it != r.ops.begin();) {
    Op& op = **--it;
    if (op.has(Trait::Terminator)) continue;
    for (const auto& inner : op.regions) dropUnused(*inner);
    const bool used = std::any_of(op.results.begin(), op.results.end(), [](const auto& v) { return !v->unused(); });
    if (used) continue;
    ++it;
    op.erase();
  }
}

class Linearizer : public Walk {
 public:
  Linearizer(std::shared_ptr<const Activity> activity, ir::Builder& forward, ir::Builder& linear, DerivedFuncs& derived)
      : Walk(std::move(activity), forward, linear, derived.visited()), derived_(derived) {}

  bool run(const ir::Func& f, LinearizedFunc& made) {
    for (const auto& v : f.body->args) addArg(*made.forward->body, v.get());
    for (const auto& v : f.body->args) addTangentArg(*made.linear->body, v.get());
    if (!body(*f.body)) return false;
    const Op& end = *f.body->terminator();
    p_->setLoc(end.loc);
    t_->setLoc(end.loc);
    const Op* forwardEnd = p_->makeTyped(OpKind::Return, primalsOf(end.operands()), {});
    t_->makeTyped(OpKind::Return, activeTangents(end.operands()), {});
    dropUnused(*made.linear->body);
    handOver_.run(made);
    setHalf(*made.forward->body, ir::Half::Forward);
    for (const Value* v : forwardEnd->operands()) made.forward->resultTypes.push_back(withoutPlace(v->type));
    for (const Value* v : made.linear->body->terminator()->operands())
      made.linear->resultTypes.push_back(withoutPlace(v->type));
    return true;
  }
  Obstacle obstacle() { return std::move(obstacle_); }

 private:
  bool placing(const Op& op) override {
    copy(op);
    Value* t = tangentOf(op.operand(0));
    if (t == nullptr) return true;
    if (op.kind == OpKind::To) {
      // The way back of what enters a region stands in none.
      const bool enters = op.stringAttr("cause") == ir::name(ir::Cause::Enter);
      const std::string cause(enters ? ir::name(ir::Cause::Annotation) : op.stringAttr("cause"));
      t = wayBack(t, homeOf(op.operand(0), primalOf(op.operand(0))), op.stringAttr("device"), cause);
    }
    // What is assigned enters as what is read does.
    const Op* on = op.kind == OpKind::SamePlace ? regionOf(op) : nullptr;
    if (Value* home = on != nullptr && !isNumber(*op.operand(0)) ? outsideOf(op.operand(0), *on) : nullptr)
      t = wayBack(t, beforeEntry(primalOf(home)), on->stringAttr("device"),
                  std::string(ir::name(ir::Cause::Annotation)));
    defineTangent(op.result(), t);
    return true;
  }

  /// The `on` whose region an op stands in; null for none.
  static const Op* regionOf(const Op& op) {
    const Op* around = op.parent->parentOp;
    while (around != nullptr && around->kind != OpKind::On) around = around->parent->parentOp;
    return around;
  }

  /// `primal` as what the region at hand reads of `v`.
  Value* enter(const Value& v, Value* primal) {
    Value* entered = p_->makeTyped(OpKind::To, {primal}, {withoutPlace(v.type)},
                                   {{"device", std::string()}, {"cause", std::string(ir::name(ir::Cause::Enter))}})
                         ->result();
    entered->name = v.name;
    entered_.insert(entered);
    return entered;
  }

  /// What a variable was before the loops, branches and assignments that make it v: it keeps the place of that.
  Value* firstOf(Value* v) {
    if (const auto known = first_.find(v); known != first_.end()) return known->second;
    Value* first = v;
    while (Value* before = formerOf(*first)) first = before;
    return first_[v] = first;
  }
  /// Null where v is the first.
  Value* formerOf(const Value& v) {
    if (v.op == nullptr) {
      const Op* loop = v.region->parentOp;
      if (loop == nullptr || !ir::isLoop(*loop)) return nullptr;
      for (size_t k = ir::firstCarriedArg(*loop); k < v.region->args.size(); ++k)
        if (v.region->args[k].get() == &v)
          return loop->operand(ir::firstCarriedOperand(*loop) + k - ir::firstCarriedArg(*loop));
      return nullptr;
    }
    const Op& op = *v.op;
    if (op.kind == OpKind::SamePlace) return op.operand(1);
    if (op.regions.empty() || (!ir::isLoop(op) && op.kind != OpKind::If && op.kind != OpKind::On)) return nullptr;
    size_t k = 0;
    while (op.result(k) != &v) ++k;
    if (ir::isLoop(op)) return op.operand(ir::firstCarriedOperand(op) + k);
    Value* before = firstOf(op.regions[0]->terminator()->operand(k));
    const auto isAsBefore = [&](const auto& r) { return firstOf(r->terminator()->operand(k)) == before; };
    return !before->home()->isInside(op) && std::ranges::all_of(op.regions, isAsBefore) ? before : nullptr;
  }

  /// Where v is a variable from outside of the region of `on`, or what is assigned to it in there, what it was at
  /// first: it enters where it is read. Null for another value.
  Value* outsideOf(Value* v, const Op& on) {
    Value* first = firstOf(v);
    return first->home()->isInside(on) ? nullptr : first;
  }

  /// Of what this walk has made: a variable that the program itself starts with what enters lives in the region.
  bool hasEntered(const Value& v) const { return entered_.contains(&v); }

  /// The variable itself, of what regions read of it.
  Value* beforeEntry(Value* v) const {
    while (hasEntered(*v)) v = v->op->operand(0);
    return v;
  }

  /// What says where the value is: of a variable that loops carry its first value, which they need not keep; of one
  /// that has entered a region around what is there.
  Value* homeOf(Value* v, Value* primal) {
    Value* first = v->type.shape.empty() || hasEntered(*primal) ? v : firstOf(v);
    // What starts as a number says nothing of where it is.
    return first == v || isNumber(*scalarBehind(first)) ? primal : beforeEntry(primalOf(first));
  }

  /// Where the value goes that enters the region, for `wayBack`. A number of the host stays one, and does not share the
  /// way of what is moved to the device.
  static std::string entryTo(const Op& on, const Value& v) {
    const std::string& device = on.stringAttr("device");
    return device.empty() || !v.type.shape.empty() ? device : device + " as a number";
  }

  /// Calls f, for which the variables from outside of the region among the operands of op have entered it.
  bool reading(const Op& op, const std::function<bool()>& f) {
    const Op* on = regionOf(op);
    if (on == nullptr) return f();
    std::vector<std::tuple<Value*, Value*, Value*>> outside;
    for (Value* v : op.operands()) {
      Value *primal = primalOf(v), *tangent = tangentOf(v);
      Value* home = isNumber(*v) || hasEntered(*primal) ? nullptr : outsideOf(v, *on);
      if (home == nullptr) continue;
      outside.emplace_back(v, primal, tangent);
      define(v, enter(*v, primal));
      if (tangent == nullptr) continue;
      const std::string cause(ir::name(ir::Cause::Annotation));
      Value* back = beforeEntry(v->type.shape.empty() ? primal : primalOf(home));
      defineTangent(v, wayBack(tangent, back, entryTo(*on, *v), cause));
    }
    const bool ok = f();
    for (auto v = outside.rbegin(); v != outside.rend(); ++v) {
      define(std::get<0>(*v), std::get<1>(*v));
      defineTangent(std::get<0>(*v), std::get<2>(*v));
    }
    return ok;
  }
  bool single(const Op& op) override {
    if (op.has(Trait::Placing)) return Walk::single(op);
    return reading(op, [&] { return Walk::single(op); });
  }
  bool call(const Op& op) override {
    return reading(op, [&] { return called(op); });
  }

  /// A number is read on any device, where the cotangent of what reads it is: in a program with several devices that
  /// goes back to where the number lives.
  Value* tangentFor(const Op& op, Value* v) override {
    Value* t = tangentOf(v);
    if (t == nullptr || !derived_.arePlaced() || !v->type.shape.empty() || isNumber(*v)) return t;
    const bool meets =
        std::any_of(op.operands().begin(), op.operands().end(), [&](auto* o) { return o != v && !isNumber(*o); }) ||
        std::any_of(op.results.begin(), op.results.end(), [](const auto& r) { return !r->type.shape.empty(); });
    return meets ? wayBack(t, primalOf(v), "", std::string(ir::name(ir::Cause::Argument))) : t;
  }

  /// The tangent of a value that moves to a device: its transpose goes back to where the value came from, once for all
  /// moves there, and behind the loops that change neither.
  Value* wayBack(Value* tangent, Value* home, const std::string& device, const std::string& cause) {
    Op* before = nullptr;
    const ir::Region* at = t_->region();
    for (Op* loop = at->parentOp; loop != nullptr && loop->kind == OpKind::For; loop = at->parentOp) {
      if (tangent->home()->isInside(*loop) || home->home()->isInside(*forwardOf_.at(loop))) break;
      before = loop;
      at = loop->parent;
    }
    const auto encloses = [&](const ir::Region* outer) {
      const ir::Region* r = at;
      while (r != outer && r->parentOp != nullptr) r = r->parentOp->parent;
      return r == outer;
    };
    Value*& known = waysBack_[{tangent, device}];
    if (known != nullptr && !device.empty() && encloses(known->home())) return known;
    ir::Builder outside = before != nullptr ? ir::Builder(before) : *t_;
    outside.setLoc(t_->loc());
    known = outside
                .makeTyped(OpKind::To, {tangent, home}, {withoutPlace(tangent->type)},
                           {{"device", std::string()}, {"cause", cause}, {"gradient", true}})
                ->result();
    return known;
  }

  /// Whether the region reads the value as operands that enter it (P4 b) alone, and not where it lives.
  static bool enters(const Value& v, const Op& on) {
    return std::all_of(v.uses.begin(), v.uses.end(), [&](const Value::Use& use) {
      const Op& user = *use.user;
      if (&user == &on || !user.parent->isInside(on)) return true;
      // "Where this value is" means in here, unless the source names the value.
      if (user.kind == OpKind::On && !user.boolAttr("named")) return true;
      if (user.has(Trait::Placing) || user.has(Trait::HostEffect)) return false;
      // What a loop carries and a branch gives stays where it is; bounds and conditions the host may want.
      return !user.has(Trait::Terminator) && !ir::isLoop(user) && user.kind != OpKind::If;
    });
  }

  /// Linear code needs no region: each of its ops runs where its operands live. What enters the region is a value of
  /// its own in there, which linear code reads; its cotangent is summed there and goes back once.
  bool placed(const Op& op) override {
    Op* made = p_->makeTyped(OpKind::On, primalsOf(op.operands()), {});
    for (const auto& [name, value] : op.attrs()) made->set(name, value);
    const ir::Region& from = *op.regions[0];
    ir::Region* to = p_->addRegion(made);
    ir::Builder inner(to);
    inner.setLoc(op.loc);
    ir::Builder* outer = std::exchange(p_, &inner);
    std::vector<std::pair<Value*, Value*>> outside, outsideTangents;
    for (Value* v : capturesOf(from)) {
      if (isNumber(*v) || !enters(*v, op)) continue;
      Value* primal = primalOf(v);
      outside.emplace_back(v, primal);
      define(v, enter(*v, primal));
      Value* t = tangentOf(v);
      if (t == nullptr) continue;
      outsideTangents.emplace_back(v, t);
      Value* home = homeOf(v, primal);
      defineTangent(v, wayBack(t, home, entryTo(op, *v), std::string(ir::name(ir::Cause::Annotation))));
    }
    const bool ok = body(from);
    if (ok) p_->makeTyped(OpKind::Yield, primalsOf(from.terminator()->operands()), {});
    p_ = outer;
    if (!ok) return false;
    for (const auto& [v, primal] : outside) define(v, primal);
    for (const auto& [v, t] : outsideTangents) defineTangent(v, t);
    for (size_t i = 0; i < op.results.size(); ++i) {
      define(op.result(i), made->addResult(withoutPlace(op.result(i)->type), op.result(i)->name));
      if (Value* t = tangentOf(from.terminator()->operand(i))) defineTangent(op.result(i), t);
    }
    return true;
  }

  bool branch(const Op& op) override {
    Value* condition = primalOf(op.operand(0));
    Op* forward = p_->makeTyped(OpKind::If, {condition}, {});
    Op* linear = t_->makeTyped(OpKind::If, {condition}, {});
    linear->origin = OriginScope::kDerivative;
    pair(*forward, *linear);
    for (const auto& from : op.regions) {
      const bool ok = inside(p_->addRegion(forward), t_->addRegion(linear), [&] {
        if (!body(*from)) return false;
        const Op& end = *from->terminator();
        p_->makeTyped(OpKind::Yield, primalsOf(end.operands()), {});
        Values tangents;
        for (size_t i = 0; i < op.results.size(); ++i) {
          if (isActive(op.result(i))) tangents.push_back(wholeTangent(end.operand(i)));
        }
        t_->makeTyped(OpKind::Yield, tangents, {});
        return true;
      });
      if (!ok) return false;
    }
    addResults(op, *forward, *linear);
    return true;
  }

  bool loop(const Op& op) override {
    const size_t first = ir::firstCarriedOperand(op), firstArg = ir::firstCarriedArg(op);
    const ir::Region& from = *op.regions.back();
    const std::optional<int64_t> trips = ir::tripCount(op);
    if (!trips) return refuse({&op, Obstacle::Kind::UnknownTrips, {}});
    Op* forward = p_->makeTyped(OpKind::For, primalsOf(op.operands()), {});
    Values operands = {t_->scalarInt(DType::I64, 0), t_->scalarInt(DType::I64, *trips), t_->scalarInt(DType::I64, 1)};
    for (size_t i = firstArg; i < from.args.size(); ++i) {
      if (isActive(from.args[i].get())) operands.push_back(wholeTangent(op.operand(first + i - firstArg)));
    }
    Op* linear = t_->makeTyped(OpKind::For, operands, {});
    linear->origin = OriginScope::kDerivative;
    pair(*forward, *linear);
    ir::Region *primal = p_->addRegion(forward), *tangent = t_->addRegion(linear);
    for (const auto& v : from.args) addArg(*primal, v.get());
    tangent->addArg({DType::I64, {}, {}}, "trip");
    for (size_t i = firstArg; i < from.args.size(); ++i) addTangentArg(*tangent, from.args[i].get());
    const bool ok = inside(primal, tangent, [&] {
      if (!body(from)) return false;
      const Op& end = *from.terminator();
      p_->makeTyped(OpKind::Yield, primalsOf(end.operands()), {});
      Values tangents;
      for (size_t i = 0; i < end.operandCount(); ++i) {
        if (isActive(from.args[firstArg + i].get())) tangents.push_back(wholeTangent(end.operand(i)));
      }
      t_->makeTyped(OpKind::Yield, tangents, {});
      return true;
    });
    if (!ok) return false;
    addResults(op, *forward, *linear);
    return true;
  }

  /// Whether of a parameter only its place is asked for, as a device variable does.
  static bool saysOnlyWhere(const Value& v) {
    return std::ranges::all_of(v.uses, [](const Value::Use& use) { return use.user->kind == OpKind::StopGradient; });
  }

  bool called(const Op& op) {
    ir::Func* callee = module().find(op.stringAttr("callee"));
    std::vector<bool> arguments;
    bool any = false;
    for (const Value* v : op.operands()) {
      arguments.push_back(isActive(v));
      any = any || tangentOf(v) != nullptr;
    }
    if (!any) {  // all of them are 0
      copy(op);
      return true;
    }
    const bool again = op.boolAttr(kRecomputed);
    const LinearizedFunc* derived = nullptr;
    if (op.hasAttr(kRuleForward)) {
      for (auto i = static_cast<size_t>(op.intAttr(kRuleArguments)); i < op.operandCount(); ++i) {
        if (arguments[i] && saysOnlyWhere(*callee->body->args[i])) arguments[i] = false;
        if (arguments[i]) return refuse({&op, Obstacle::Kind::CaptureOfRule, op.operand(i)->name});
      }
      derived = &derived_.ruled(op, arguments);
    } else {
      derived = again ? derived_.recomputed(*callee, arguments, obstacle_)
                      : derived_.linearized(*callee, arguments, obstacle_);
    }
    if (derived == nullptr) return refuseIn(*callee, op);
    Op* forward = p_->makeTyped(OpKind::Call, primalsOf(op.operands()), derived->forward->resultTypes,
                                {{"callee", derived->forward->name}});
    if (again) forward->set(kRecomputed, true);
    if (derived->keepsRule) copyRule(op, *forward);
    Values operands;
    for (const LinearizedFunc::Residual& r : derived->residuals)
      operands.push_back(r.argument ? forward->operand(r.index) : forward->result(r.index));
    for (Value* v : op.operands()) {
      if (!isActive(v)) continue;
      Value* t = tangentFor(op, v);
      if (t == nullptr) t = wholeTangent(v);
      operands.push_back(atHome(t, primalOf(v)));
      Op* back = operands.back() != tangentOf(v) ? operands.back()->op : nullptr;
      if (back != nullptr && back->kind == OpKind::To && op.hasAttr(kRuleForward)) back->set(kRuleGradient, true);
    }
    Op* linear =
        t_->makeTyped(OpKind::Call, operands, derived->linear->resultTypes, {{"callee", derived->linear->name}});
    linear->set(kResiduals, static_cast<int64_t>(derived->residuals.size()));
    size_t next = 0;
    for (size_t i = 0; i < op.results.size(); ++i) {
      define(op.result(i), forward->result(i));
      if (derived->results[i]) defineTangent(op.result(i), atHome(linear->result(next++), forward->result(i)));
    }
    return true;
  }

  /// A function is placed by what it is given, and cotangents that are numbers alone do not say where they live: in a
  /// program with several devices those of arguments and results go to where these are.
  Value* atHome(Value* tangent, Value* home) {
    if (!derived_.arePlaced() || home->type.shape.empty()) return tangent;
    return wayBack(tangent, home, "", std::string(ir::name(ir::Cause::Argument)));
  }

  /// Of an op with the trait `WholeGradient` a call of a function of its own: what becomes of that in the transpose is
  /// one call again, whose parts a target may know.
  void tangents(TangentCall& c) override {
    if (!c.op.has(Trait::WholeGradient)) return Walk::tangents(c);
    ir::Func& linear = derived_.addLinear(*c.op.func());
    ir::Region& region = *linear.body;
    // Two, as rules keep what they compute for tangents apart from the way there.
    ir::Builder primal(&region), tangent(&region);
    primal.setLoc(c.op.loc);
    tangent.setLoc(c.op.loc);
    const ir::RoundingScope rounds(primal, c.op.dtypeAttr("rounds")), roundsToo(tangent, c.op.dtypeAttr("rounds"));
    ir::Compose p(primal), t(tangent);
    TangentCall inner{c.op, p, t, {}, c.out, Values(c.tangents.size()), Values(1)};
    Values operands = c.in;
    for (const Value* v : c.in) inner.in.push_back(region.addArg(withoutPlace(v->type)));
    Dims active;
    for (size_t i = 0; i < c.tangents.size(); ++i) {
      if (c.tangents[i] == nullptr) continue;
      active.push_back(static_cast<int64_t>(i));
      operands.push_back(c.tangents[i]);
      inner.tangents[i] = region.addArg(withoutPlace(c.tangents[i]->type));
    }
    Walk::tangents(inner);
    linear.resultTypes = {withoutPlace(inner.results[0]->type)};
    tangent.makeTyped(OpKind::Return, inner.results, {});
    Op* call = t_->makeTyped(OpKind::Call, operands, linear.resultTypes, {{"callee", linear.name}});
    call->set(kResiduals, static_cast<int64_t>(c.in.size()));
    call->set(ir::kGradientOf, std::string(c.op.info().mnemonic));
    call->set(ir::kGradientOperands, active);
    for (const auto& [name, value] : c.op.attrs()) call->set(ir::kGradientAttributes + name, value);
    c.add(call->result());
  }

  void pair(Op& forward, Op& linear) {
    handOver_.pair(forward, linear);
    forwardOf_[&linear] = &forward;
  }

  void addResults(const Op& op, Op& forward, Op& linear) {
    for (const auto& v : op.results) {
      define(v.get(), forward.addResult(withoutPlace(v->type), v->name));
      if (isActive(v.get())) defineTangent(v.get(), linear.addResult(withoutPlace(v->type)));
    }
  }

  DerivedFuncs& derived_;
  HandOver handOver_;
  std::unordered_map<const Op*, Op*> forwardOf_;                     ///< of a linear `for` or `if`
  std::map<std::pair<const Value*, std::string>, Value*> waysBack_;  ///< by tangent and device
  std::unordered_map<const Value*, Value*> first_;
  std::unordered_set<const Value*> entered_;  ///< what `enter` has made
};

}  // namespace

bool linearize(const ir::Func& f, const std::vector<bool>& arguments, LinearizedFunc& made, DerivedFuncs& derived,
               Obstacle& obstacle) {
  ir::Builder forward(made.forward->body.get()), linear(made.linear->body.get());
  const auto activity = Activity::of(f, arguments, derived.activity());
  made.results = activity->results();
  Linearizer linearizer(activity, forward, linear, derived);
  if (linearizer.run(f, made)) return true;
  if (obstacle.op == nullptr) obstacle = linearizer.obstacle();
  return false;
}

}  // namespace tenc::transforms
