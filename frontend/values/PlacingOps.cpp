// Moves that are asked for, and ops that say what must live together.
#include "frontend/values/PlacingOps.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;
}  // namespace

Val PlacingOps::placedAs(const Val& value, const Val& old, const std::string& variable, const Ty* declared) {
  std::vector<ir::Value*> now, before;
  leavesOf(value, now);
  leavesOf(old, before);
  const Pins own = declared ? pinsOf(*declared) : Pins();
  const bool inLibrary = context_.sources.file(context_.frame().unit->source).isLibrary;
  const std::vector<std::string> pinned = pinnedLeaves(old, &own);
  for (size_t i = 0; i < now.size() && now.size() == before.size(); ++i) {
    if (now[i] == before[i] || now[i]->type.shape != before[i]->type.shape) continue;
    // A number that is free follows the first value that is assigned to it, but where its type says that it is here.
    const bool held = pinned.size() == now.size() && !pinned[i].empty() && before[i]->type.shape.empty();
    if (held && (pinned[i] == ir::DeviceTable::kHost || pinned[i].starts_with('$'))) {
      before[i] =
          context_.b().value(OpKind::CheckPlace, {before[i]}, {{"device", pinned[i]}, {"what", "`" + variable + "`"}});
      before[i]->name = variable;
    }
    now[i] = context_.b().value(OpKind::SamePlace, {now[i], before[i]});
    if (variable.empty()) continue;
    now[i]->op->set("variable", variable);
    if (!inLibrary) now[i]->name = variable;
  }
  return rebuild(value, now);
}

ir::Value* PlacingOps::valueOn(const DeviceRef& d) {
  if (d.name.empty()) return d.of;
  if (!d.of || d.of->home()->func == context_.b().region()->func) return nullptr;
  return context_.b().value(OpKind::StopGradient, {d.of});  // only its place is asked for
}

Val PlacingOps::moveTo(const Val& v, const DeviceRef& d, Span span, ir::Cause cause, Span device) {
  context_.derived.notePlaces();
  std::function<Val(const Val&, const Pins*)> move = [&](const Val& x, const Pins* own) -> Val {
    if (x.poison()) return x;
    if (x.isTree()) {
      Val r = x;
      for (size_t i = 0; i < x.elems.size(); ++i) {
        const Pins* part = pinsOfPart(x, own, i);
        if (!part || !part->named()) r.elems.edit()[i] = move(x.elems[i], part);
        if (r.elems[i].poison()) return r.elems[i];
      }
      return r;
    }
    if (!x.is(Val::Kind::Tensor) && !x.isNumber() && !x.is(Val::Kind::Bool) && !x.is(Val::Kind::Array)) return x;
    ir::Value* t = tensors_.tensorOf(x);
    if (!t) return context_.lost();
    context_.at(span, {{v.span, ""}, {device, ""}});
    std::vector<ir::Value*> operands = {t};
    ir::Value* const there = valueOn(d);
    if (there) operands.push_back(there);
    const std::string named = there ? std::string() : d.name;
    ir::Value* moved =
        context_.b().value(OpKind::To, operands, {{"device", named}, {"cause", std::string(ir::name(cause))}});
    return Val::ofTensor(moved, span);
  };
  if (v.is(Val::Kind::Function) || v.is(Val::Kind::String) || v.is(Val::Kind::Unit)) {
    return context_.fail(Code::E0203, span, "only tensors and trees of them move, not " + describe(v));
  }
  // Brackets around structs or tuples are a list, which is a tree.
  const bool holdsTrees =
      v.is(Val::Kind::Array) && std::ranges::any_of(v.elems, [](const Val& e) { return e.isTree(); });
  return move(holdsTrees ? tensors_.settle(v) : v, nullptr);
}

ir::Op* PlacingOps::annotationAround() {
  if (!context_.body.builder) return nullptr;
  ir::Op* on = context_.b().region()->parentOp;
  while (on && on->kind != OpKind::On) on = on->parent->parentOp;
  return on;
}

Val PlacingOps::keepPlace(const Val& v) {
  return mapLeaves(v, [&](const Val& leaf, const std::string&, bool) {
    return leaf.is(Val::Kind::Tensor) ? Val::ofTensor(kept(leaf.tensor), leaf.span) : leaf;
  });
}

ir::Value* PlacingOps::kept(ir::Value* v) {
  // A single condition may be known while compiling, and would be no more.
  if (v->type.dtype == ir::DType::Bool && v->type.shape.empty()) return v;
  const std::vector<ir::Value*> operands = {v, v};  // to where it is
  ir::Value* there =
      context_.b().value(OpKind::To, operands, {{"device", std::string()}, {"cause", std::string("capture")}});
  there->name = v->name;
  return there;
}

Val PlacingOps::keepCaptures(const Val& v) {
  if (v.poison() || !holdsFunction(v)) return v;
  const ir::Op* on = annotationAround();
  if (!on) return v;
  const std::function<Val(const Val&, bool)> keep = [&](const Val& x, bool captured) -> Val {
    if (x.is(Val::Kind::Tensor))
      return captured && !x.tensor->home()->isInside(*on) ? Val::ofTensor(kept(x.tensor), x.span) : x;
    Val r = x;
    for (size_t i = 0; x.isTree() && i < x.elems.size(); ++i) {
      Val part = keep(x.elems[i], captured);
      if (!part.isIdentical(x.elems[i])) r.elems.edit()[i] = std::move(part);
    }
    if (!x.is(Val::Kind::Function) || tensorsIn(*x.fn) == 0) return r;
    auto f = std::make_shared<FnValue>(*x.fn);
    for (auto& [name, value] : f->captures) value = keep(value, true);
    if (f->receiver) f->receiver = std::make_shared<Val>(keep(*f->receiver, captured));
    for (Val& e : f->inner) e = keep(e, captured);
    for (auto& [name, value] : f->options) value = keep(value, captured);
    r.fn = std::move(f);
    return r;
  };
  return keep(v, false);
}

Val PlacingOps::enterAnnotation(const Val& v) {
  ir::Op* on = annotationAround();
  return on ? enter(v, *on, nullptr) : v;
}

Val PlacingOps::enter(const Val& v, ir::Op& on, const Pins* own) {
  if (v.is(Val::Kind::Tensor) && !v.tensor->home()->isInside(on)) {
    std::vector<ir::Value*> operands = {v.tensor};
    operands.insert(operands.end(), on.operands().begin(), on.operands().end());
    ir::Value* entered = context_.b().value(OpKind::To, operands,
                                            {{"device", on.stringAttr("device")}, {"cause", std::string("enter")}});
    return Val::ofTensor(entered, v.span);
  }
  if (v.is(Val::Kind::Function)) {  // what it has captured
    std::vector<ir::Value*> captured;
    if (!leavesOf(v, captured)) return v;
    for (ir::Value*& leaf : captured) leaf = enter(Val::ofTensor(leaf, v.span), on, nullptr).tensor;
    return rebuild(v, captured);
  }
  if (!v.isTree() || v.poison()) return v;
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    const Pins* pins = pinsOfPart(v, own, i);
    if (pins && pins->named()) continue;
    Val part = enter(v.elems[i], on, pins);
    if (!part.isIdentical(v.elems[i])) r.elems.edit()[i] = std::move(part);
  }
  return r;
}

void PlacingOps::checkOnePlace(const Val& tree, std::string what, Span span) {
  std::vector<ir::Value*> leaves;
  std::vector<ir::OperandText> written;
  using Collect = std::function<void(const Val&, Span, const std::string&, const Pins*)>;
  const Collect collect = [&](const Val& v, Span text, const std::string& path, const Pins* own) {
    if (v.is(Val::Kind::Tensor)) {
      leaves.push_back(v.tensor);
      written.push_back({text, path});
    }
    for (size_t i = 0; v.isTree() && i < v.elems.size(); ++i) {
      const Pins* pins = pinsOfPart(v, own, i);
      if (pins && pins->named()) continue;
      const bool top = &v == &tree;
      const std::string step = v.is(Val::Kind::Struct) ? v.info->decl->stmt->fields[i].name.text : std::to_string(i);
      collect(v.elems[i], top ? v.elems[i].span : text, top ? "" : path.empty() ? step : path + "." + step, pins);
    }
  };
  collect(tree, {}, "", nullptr);
  if (leaves.size() < 2) return;
  context_.at(span, std::move(written));
  context_.b().makeTyped(OpKind::OnePlace, leaves, {}, {{"what", std::move(what)}});
}

void PlacingOps::checkOperands(const std::vector<ir::Value*>& operands, std::vector<ir::OperandText> texts,
                               std::string_view builtin, Span span) {
  if (operands.size() < 2) return;
  context_.at(span, std::move(texts));
  context_.b().makeTyped(OpKind::OnePlace, operands, {}, {{"what", "operands of `" + std::string(builtin) + "`"}});
  context_.at(span);
}

Val PlacingOps::checkPins(const Val& v, const Pins& pins, const PartName& what, Span span) {
  if (v.poison() || !pins.any()) return v;
  if (!pins.named()) {
    Val r = v;
    for (size_t i = 0; v.isTree() && i < v.elems.size(); ++i) {
      const Pins* part = pinsOfPart(v, &pins, i);
      const auto inner = [&](const std::string& path) { return what("." + std::to_string(i) + path); };
      if (part) r.elems.edit()[i] = checkPins(v.elems[i], *part, inner, span);
    }
    return r;
  }
  std::vector<ir::Value*> leaves;
  if (!leavesOf(v, leaves)) return v;
  context_.derived.notePlaces();
  context_.at(v.span.valid() ? v.span : span);
  // A lambda may be compiled where the device variable of its type is none.
  const DeviceRef device = written(pins.place);
  if (ir::Value* there = pins.place.starts_with('$') ? valueOn(device) : nullptr) {
    for (ir::Value* leaf : leaves)
      context_.b().makeTyped(OpKind::OnePlace, {leaf, there}, {}, {{"what", what("") + " and its device"}});
    return v;
  }
  for (ir::Value*& leaf : leaves)
    leaf = context_.b().value(OpKind::CheckPlace, {leaf}, {{"device", pins.place}, {"what", what("")}});
  return rebuild(v, leaves);
}

DeviceRef PlacingOps::written(const std::string& place) const {
  if (place.starts_with('$')) {
    for (const Scope& scope : context_.frame().scopes) {
      for (const auto& [name, binding] : scope.names) {
        const DeviceRef& d = binding.value.device;
        if (!binding.value.is(Val::Kind::Device)) continue;
        if (d.name == place || (d.name.empty() && d.of && place == "$" + name)) return d;
      }
    }
  }
  return {place, nullptr};
}

Val PlacingOps::moveToPlaces(const Val& v, const Ty& type, Span span) {
  if (v.poison()) return v;
  if (!type.place.empty()) { return moveTo(v, written(type.place), span, ir::Cause::Type); }
  // Pinned fields of a struct are checked where it is built; a tuple or list type may name devices inside.
  if (!v.isTree() || v.is(Val::Kind::Struct)) return v;
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    const size_t which = type.kind == Ty::Kind::List ? 0 : i;
    if (which < type.elems.size()) r.elems.edit()[i] = moveToPlaces(r.elems[i], type.elems[which], span);
    if (r.elems[i].poison()) return r.elems[i];
  }
  return r;
}

}  // namespace tenc::frontend
