// Devices as compile-time values: declarations with fallbacks, literals, annotations, and moves asked for.
#include <algorithm>

#include "frontend/Lowering.h"
#include "support/Text.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;

std::string choiceName(const ast::DevicePlace& p) {
  std::string name = p.name.text;
  if (p.number) return name + ":" + std::to_string(*p.number);
  return ir::DeviceTable::normal(name);
}
}  // namespace

bool Lowering::deviceAvailable(std::string_view name) const {
  if (std::any_of(module.devices.begin(), module.devices.end(), [&](const auto& d) { return d.name == name; }))
    return true;
  return options.machine.has(name);
}

std::string Lowering::actualDevice(std::string_view name) const { return ir::DeviceTable::normal(module.actual(name)); }

Val Lowering::noDevice(std::string_view name, Span span) {
  auto d = error(Code::E0304, span, "there is no device `" + std::string(name) + "`");
  d.note("`" + std::string(name) + "` was looked for; " + options.machine.text());
  NearestName near(name);
  for (const auto& [declared, decl] : frame().unit->devices) near.consider(declared);
  const std::string there = options.machine.nearest(name);
  const std::string at = sources.text(span).starts_with("@") ? "@" : "";
  if (name.find(':') == std::string_view::npos && !near.best().empty()) {
    d.help("did you mean `" + near.best() + "`?", {{span, at + near.best()}});
  } else {
    d.help("a device that is there", {{span, at + there}});
    d.help("or a name for it that other machines bind otherwise: `device d = " + std::string(name) +
           " or cpu`, and `--device d=" + there + "` to choose");
  }
  return Val::none();
}

Val Lowering::deviceOf(const Unit& unit, const ast::Stmt& decl) {
  const std::string& name = decl.name.text;
  if (auto it = unit.evaluated.find(name); it != unit.evaluated.end()) return it->second;
  Val& result = unit.evaluated[name];
  std::vector<std::string> choices;
  for (const ast::DevicePlace& p : decl.places) {
    std::string choice = choiceName(p);
    if (p.index) {
      auto i = constInt(eval(*p.index), "a device number");
      if (!i) return result = Val::none();
      choice = p.name.text + ":" + std::to_string(*i);
      if (p.indexEnd) return result = notYet(p.span, "a mesh of devices");
    }
    // A choice may be the name of another device line.
    if (auto other = unit.devices.find(choice); other != unit.devices.end() && other->second != &decl) {
      Val v = deviceOf(unit, *other->second);
      if (v.poison()) return result = Val::none();
      choice = v.device.name;
    }
    choices.push_back(choice);
  }
  const bool fallback = choices.size() > 1;
  const std::vector<std::string> written = choices;
  if (auto given = options.devices.find(name); given != options.devices.end() && unit.isScript) {
    choices = {ir::DeviceTable::normal(given->second)};
    if (!deviceAvailable(choices[0])) {
      error(Code::E0304, decl.span,
            "there is no device `" + choices[0] + "`, which `--device " + name + "=" + given->second + "` asks for")
          .note(options.machine.text())
          .help("`--device " + name + "=cpu` binds it to one that is there, and without `--device` the script chooses");
      return result = Val::none();
    }
  }
  auto chosen = std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return deviceAvailable(c); });
  if (chosen == choices.end()) {
    std::string looked;
    for (const std::string& c : choices) looked += (looked.empty() ? "`" : ", `") + c + "`";
    auto d = error(Code::E0304, decl.places.empty() ? decl.span : decl.places[0].span,
                   "there is no device `" + (choices.empty() ? name : choices[0]) + "`");
    d.note("for `" + name + "` the script looks for " + looked + "; " + options.machine.text());
    if (!decl.places.empty()) {
      const Span last = decl.places.back().span;
      d.help("a fallback makes the script run on any machine", {{Span{last.file, last.end, last.end}, " or cpu"}});
    }
    d.help("or `--device " + name + "=cpu` binds it to another for one run");
    return result = Val::none();
  }
  DeviceRef device;
  if (!fallback) {
    device.name = *chosen;  // only another name
  } else {
    device.name = unit.isScript ? name : unit.name + "." + name;
    module.devices.push_back({device.name, written, decl.name.span, std::string(module.actual(*chosen))});
  }
  return result = Val::ofDevice(device, decl.name.span);
}

std::optional<DeviceRef> Lowering::constDevice(const Val& v, std::string_view what) {
  if (v.poison()) return std::nullopt;
  if (!v.is(Val::Kind::Device)) {
    error(Code::E0203, v.span, std::string(what) + " must be a device, not " + describe(v));
    return std::nullopt;
  }
  const std::string& name = v.device.name;
  // Under a condition on devices it is placement that knows whether the branch is taken.
  if (!name.empty() && !name.starts_with('$') && deviceConditions_ == 0 && !deviceAvailable(name)) {
    noDevice(name, v.span);
    return std::nullopt;
  }
  return v.device;
}

std::optional<DeviceRef> Lowering::annotationDevice(const ast::Annotation& a) {
  if (a.path.empty()) return std::nullopt;
  const std::string& head = a.path[0].text;
  if (a.number || a.index) {
    std::string index = a.number ? std::to_string(*a.number) : "";
    if (a.index) {
      auto i = constInt(eval(*a.index), "a device number");
      if (!i) return std::nullopt;
      index = std::to_string(*i);
    }
    DeviceRef d;
    d.name = head + ":" + index;
    return constDevice(Val::ofDevice(d, a.span));
  }
  if (a.path.size() == 1 && (head == ir::DeviceTable::kHost || head.find(':') != std::string::npos)) {
    DeviceRef d;
    d.name = head;
    return constDevice(Val::ofDevice(d, a.span));
  }
  auto v = lookup(head, a.path[0].span);
  if (!v) {
    const syntax::Familiar* known = syntax::familiarName(head);
    if (known && !known->help.empty() && !lostName(head))
      error(Code::E0304, a.span, "there is no device `" + head + "`").help(std::string(known->help));
    else if (a.path.size() == 1 && !lostName(head))
      noDevice(head, a.span);
    else
      unknownName(head, a.path[0].span);
    return std::nullopt;
  }
  for (size_t i = 1; i < a.path.size() && !v->poison(); ++i) v = fieldOf(*v, a.path[i].text, a.path[i].span);
  return constDevice(*v, "an annotation");
}

Val Lowering::moveTo(const Val& v, const DeviceRef& d, Span span, std::string_view cause) {
  std::function<Val(const Val&)> move = [&](const Val& x) -> Val {
    if (x.poison()) return x;
    if (x.isTree()) {
      Val r = x;
      for (size_t i = 0; i < x.elems.size(); ++i) {
        const bool pinned = x.info && i < x.info->pins.size() && !x.info->pins[i].empty();
        if (!pinned) r.elems[i] = move(x.elems[i]);
        if (r.elems[i].poison()) return Val::none();
      }
      return r;
    }
    if (!x.is(Val::Kind::Tensor) && !x.isNumber() && !x.is(Val::Kind::Bool) && !x.is(Val::Kind::Array)) return x;
    ir::Value* t = tensorOf(x);
    if (!t) return Val::none();
    if (cause == "type")
      at(span, {{v.span, ""}});
    else
      at(span);
    std::vector<ir::Value*> operands = {t};
    if (d.name.empty()) operands.push_back(d.of);
    ir::Value* moved = b().value(OpKind::To, operands, {{"device", d.name}, {"cause", std::string(cause)}});
    return Val::ofTensor(moved, span);
  };
  if (v.is(Val::Kind::Function) || v.is(Val::Kind::String) || v.is(Val::Kind::Unit)) {
    return fail(Code::E0203, span, "only tensors and trees of them move, not " + describe(v));
  }
  return move(v);
}

ir::Op* Lowering::annotationAround() {
  if (!builder_) return nullptr;
  ir::Op* on = b().region()->parentOp;
  while (on && on->kind != OpKind::On) on = on->parent->parentOp;
  return on;
}

Val Lowering::keepPlace(const Val& v) {
  return mapLeaves(v, [&](const Val& leaf, const std::string&, bool) {
    if (!leaf.is(Val::Kind::Tensor) || leaf.tensor->type.dtype == ir::DType::Bool) return leaf;
    const std::vector<ir::Value*> operands = {leaf.tensor, leaf.tensor};  // to where it is
    ir::Value* kept = b().value(OpKind::To, operands, {{"device", std::string()}, {"cause", std::string("capture")}});
    kept->name = leaf.tensor->name;
    return Val::ofTensor(kept, leaf.span);
  });
}

Val Lowering::enterAnnotation(const Val& v) {
  ir::Op* on = annotationAround();
  if (!on || v.poison()) return v;
  return mapLeaves(v, [&](const Val& leaf, const std::string&, bool) {
    if (!leaf.is(Val::Kind::Tensor) || leaf.tensor->home()->isInside(*on)) return leaf;
    std::vector<ir::Value*> operands = {leaf.tensor};
    operands.insert(operands.end(), on->operands().begin(), on->operands().end());
    ir::Value* entered =
        b().value(OpKind::To, operands, {{"device", on->stringAttr("device")}, {"cause", std::string("enter")}});
    return Val::ofTensor(entered, leaf.span);
  });
}

void Lowering::checkOnePlace(const Val& tree, std::string what, Span span) {
  std::vector<ir::Value*> leaves;
  std::vector<ir::OperandText> written;
  std::function<void(const Val&, Span, const std::string&)> collect = [&](const Val& v, Span text,
                                                                          const std::string& path) {
    if (v.is(Val::Kind::Tensor)) {
      leaves.push_back(v.tensor);
      written.push_back({text, path});
    }
    for (size_t i = 0; v.isTree() && i < v.elems.size(); ++i) {
      if (v.info && i < v.info->pins.size() && !v.info->pins[i].empty()) continue;
      const bool top = &v == &tree;
      const std::string step = v.is(Val::Kind::Struct) ? v.info->decl->stmt->fields[i].name.text : std::to_string(i);
      collect(v.elems[i], top ? v.elems[i].span : text, top ? "" : path.empty() ? step : path + "." + step);
    }
  };
  collect(tree, {}, "");
  if (leaves.size() < 2) return;
  at(span, std::move(written));
  b().makeTyped(OpKind::OnePlace, leaves, {}, {{"what", std::move(what)}});
}

Val Lowering::moveToPlaces(const Val& v, const Ty& type, Span span) {
  if (v.poison()) return v;
  if (!type.place.empty()) {
    DeviceRef d;
    d.name = type.place;
    return moveTo(v, d, span, "type");
  }
  // Pinned fields of a struct are checked where it is built; a tuple or list type may name devices inside.
  if (!v.isTree() || v.is(Val::Kind::Struct)) return v;
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    const size_t which = type.kind == Ty::Kind::List ? 0 : i;
    if (which < type.elems.size()) r.elems[i] = moveToPlaces(r.elems[i], type.elems[which], span);
    if (r.elems[i].poison()) return Val::none();
  }
  return r;
}

}  // namespace tenc::frontend
