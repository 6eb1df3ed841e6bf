// Placement of what the source says of devices: annotations, moves, checks, comparisons (P1 to P4).
#include <algorithm>

#include "ir/CallAttributes.h"
#include "ir/PlaceAttributes.h"
#include "passes/place/PlaceInfer.h"

namespace tenc::passes::placing {

std::string Inference::annotated(const Op& op, size_t valueOperand) {
  const std::string& name = op.stringAttr("device");
  if (name.empty() && op.operandCount() > valueOperand)
    return in_.devices[&op] = deviceOfValue(op.operand(valueOperand));
  return resolve(op, name);
}

void Inference::on(Op& op) {
  // Of "the device of a value" the first value counts that is not a free one.
  size_t like = 0;
  while (like + 1 < op.operandCount() && mixes(op.operand(like)->type)) ++like;
  const bool inferred = op.operandCount() > like && !op.boolAttr("named");
  if (inferred && mixes(op.operand(like)->type) &&
      std::any_of(op.operands().begin(), op.operands().end(), [&](const Value* v) { return isOpen(v); }))
    return setOpen(op);
  std::string device;
  if (inferred && !mixes(op.operand(like)->type)) {
    device = in_.devices[&op] = seen(op.operand(like)).device;
  } else if (inferred && op.stringAttr("device").empty()) {
    // Nothing but free values: as if it was made here; numbers are free as well.
    const bool numbers = std::ranges::all_of(op.results, [](const auto& r) { return r->type.shape.empty(); });
    std::optional<std::string> here = std::string(kHost);
    if (!numbers) here = isDerived(op) ? derivedPlace(op) : ambient();
    if (!here) return setOpen(op);
    device = in_.devices[&op] = *here;
  } else {
    device = annotated(op, like);
  }
  enclosing_[&op] = on_;
  Op* outer = on_;
  on_ = &op;
  // An unknown device was reported: what the region makes is poisoned by its place.
  region(*op.regions[0]);
  const Op* yield = op.regions[0]->terminator();
  std::vector<std::pair<std::string, bool>> places;
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Value* y = yield->operand(k);
    bool assigned = info(y).assignsOuter();
    places.emplace_back(assigned ? placeOf(y) : use(*yield, k), assigned);
  }
  on_ = outer;
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Value* y = yield->operand(k);
    Why why = places[k].second ? Why::Variable : Why::Operand;
    ValueInfo& i = set(op.result(k), places[k].first, why, y, &op);
    if (places[k].second) i.scope = info(y).scope;
    i.constant = info(y).constant;
    if (isOpen(y)) open_.insert(op.result(k));
  }
}

void Inference::setOpen(Op& op) {
  for (const auto& r : op.results) setOpen(r.get());
  for (const auto& region : op.regions)
    for (const auto& inner : region->ops) setOpen(*inner);
}

void Inference::to(Op& op) {
  if (op.operandCount() > 1 && isOpen(op.operand(1))) return setOpen(op.result());
  // A gradient goes back to where what it is of is used, which in an annotation is not where that came from; and so
  // does a mask to what it meets.
  const bool meets = op.boolAttr("gradient") || ir::causeOf(op) == Cause::If;
  const bool enters = meets && op.operandCount() > 1 && seen(op.operand(1)).entered;
  std::string device = enters ? in_.devices[&op] = seen(op.operand(1)).device : annotated(op, 1);
  const Value* v = op.operand(0);
  Value* r = op.result();
  // A written type inside an annotation, and `to` itself, see the value where it lives.
  if (device == kPoison || isPoison(v->type.place)) return poison(op);
  const Cause cause = ir::causeOf(op);
  if (cause == Cause::Enter) {  // the start of a `var` that is bound in this annotation
    std::string here = use(op, 0);
    set(r, here, here == placeOf(v) ? Why::Operand : Why::Entered, v, on_);
    return;
  }
  std::string now = placeOf(v);
  bool stays = now == device || (mixes(v->type) && device == kHost && v->type.shape.empty());
  const bool ofRule = op.hasAttr(ir::kRuleGradient) && !mixes(v->type) && !mixes(op.operand(1)->type);
  if (!stays && ofRule) {
    fail(op, report_.ruleApart(op, now, device));
    return poison(op);
  }
  if (!stays) {
    need(op, 0, device, cause);
    in_.needs[&op][0].gradient = op.boolAttr("gradient");
  }
  if (stays) {
    ValueInfo& i = set(r, device, Why::Operand, v);
    if (v->type.place.isFree()) i.why = Why::Moved, i.cause = &op;
  } else {
    set(r, device, Why::Moved, v, &op);
  }
}

void Inference::checkPlace(Op& op) {
  std::string device = resolve(op, op.stringAttr("device"));
  std::string here = use(op, 0);
  const Value* v = op.operand(0);
  if (device == kPoison || here == kPoison) return poison(op);
  if (mixes(v->type)) {
    if (here != device) need(op, 0, device, Cause::Literal);
  } else if (here != device) {
    const std::string& what = op.stringAttr("what");
    const std::string subject = what.empty() ? "this value" : what;
    fail(op, report_.wrongPlace(op, subject + " must be on " + device + ", the value is on " + here, {{v, here, 0}},
                                device));
    // What is built is typed as declared: later uses are checked against the declaration.
    set(op.result(), device, Why::Declared, v, &op);
    return;
  }
  set(op.result(), device, Why::Operand, v, &op);
}

void Inference::samePlace(Op& op) {
  const Value* fresh = op.operand(0);
  const Value* old = op.operand(1);  // only its place is asked for: it does not enter
  std::string here = use(op, 0), wanted = placeOf(old);
  // A number of the host follows the first value that is assigned to it, but where its type names the host.
  const bool declared = old->op && old->op->kind == OpKind::CheckPlace && mixes(old->type);
  if (declared) wanted = kHost;
  Op* scope = info(old).scope;
  std::string result = wanted;
  Why why = Why::Variable;
  const Value* from = old;
  if (here == kPoison || wanted == kPoison) {
    result = kPoison;
  } else if (mixes(old->type) && !(declared && !mixesHere(fresh))) {
    result = here;  // a var that started free lives where it is first placed
    from = fresh;
    why = Why::Operand;
    if (mixes(fresh->type) && here.empty()) result = wanted;
  } else if (mixes(fresh->type)) {
    need(op, 0, wanted, Cause::Literal);
  } else if (here != wanted) {
    fail(op, report_.assignment(op, fresh, here, old, wanted, 0));
  }
  set(op.result(), result, why, from, &op).scope = scope;
  info(op.result()).constant = info(fresh).constant;
}

void Inference::decidedBranch(Op& op) {
  const Value* condition = op.operand(0);
  const bool follows = info(condition).constant && followsFromDevices(condition);
  in_.decided[&op] = follows ? info(condition).constant : std::nullopt;
}

void Inference::onePlace(Op& op) {
  std::vector<Reporter::Operand> all;
  bool apart = false;
  for (size_t i = 0; i < op.operandCount(); ++i) {
    const Value* v = op.operand(i);
    std::string device = seen(v).device;
    if (device == kPoison) return;
    if (mixesHere(v)) continue;
    apart |= !all.empty() && all[0].device != device;
    all.push_back({v, std::move(device), i});
  }
  if (!apart) return;
  Diagnostic d = report_.apart(op, op.stringAttr("what") + " are on different devices", all);
  if (op.hasAttr(ir::kAsksForPlace)) d.helps = {report_.partHelp(op, all)};
  fail(op, std::move(d));
  for (const Reporter::Operand& o : all) {
    apart_[o.value].push_back(&op);
    // A leaf without a name of its own is used by way of the struct or list alone.
    if (!hasOwnName(*o.value)) op.operand(o.number)->type.place.device = kPoison;
  }
}

void Inference::deviceEq(Op& op) {
  const std::string& name = op.stringAttr("device");
  std::string a = deviceOfValue(op.operand(0));
  std::string b = op.operandCount() > 1 ? deviceOfValue(op.operand(1)) : comparedDevice(name);
  ValueInfo& i = set(op.result(), "", Why::Free);
  if (a == kPoison || b == kPoison) {
    op.result()->type.place.device = kPoison;
    return;
  }
  i.constant = shared_.devices.actual(a) == shared_.devices.actual(b);
  i.cause = &op;
}

std::string Inference::comparedDevice(const std::string& name) {
  if (!name.starts_with("$")) return shared_.devices.normal(name);
  auto it = in_.deviceVars.find(name.substr(1));
  return it == in_.deviceVars.end() ? in_.own : it->second;
}

void Inference::transfer(Op& op) {
  std::string device = placeOf(op.result());
  set(op.result(), device, Why::Moved, op.operand(0), &op);
}

}  // namespace tenc::passes::placing
