// Devices as compile-time values: declarations with fallbacks, literals, annotations, and moves asked for.
#include "frontend/names/Devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/Members.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/GradientCuts.h"
#include "frontend/habits/Idioms.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Names.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/values/Evaluator.h"
#include "support/Text.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

std::string choiceName(const ast::DevicePlace& p) {
  std::string name = p.name.text;
  if (p.number) return name + ":" + std::to_string(*p.number);
  return ir::DeviceTable::normal(name);
}

/// What a script may call an accelerator: gpu, and gpu1 the second.
std::string nameFor(std::string_view device) {
  const std::string normal = ir::DeviceTable::normal(device);
  const std::string number = normal.substr(std::min(normal.find(':'), normal.size() - 1) + 1);
  return number == "0" ? "gpu" : "gpu" + number;
}
}  // namespace

bool Devices::deviceAvailable(std::string_view name) const {
  if (std::any_of(context_.module.devices.begin(), context_.module.devices.end(),
                  [&](const auto& d) { return d.name == name; }))
    return true;
  return context_.options.machine.has(name);
}

std::string Devices::actualDevice(std::string_view name) const {
  return ir::DeviceTable::normal(context_.module.actual(name));
}

Val Devices::noDevice(std::string_view name, Span span) {
  auto d = context_.error(Code::E0304, span, "there is no device `" + std::string(name) + "`");
  d.note("`" + std::string(name) + "` was looked for; " + context_.options.machine.text());
  NearestName near(name);
  for (const auto& [declared, decl] : context_.frame().unit->devices) near.consider(declared);
  const std::string there = context_.options.machine.nearest(name);
  // Of an annotation what stands behind the `@`.
  const ir::SourceText* text = context_.module.texts->find(span);
  const Span device = text && text->kind == ir::SourceText::Kind::Device && text->whole.valid() ? text->whole : span;
  const Unit& unit = *context_.frame().unit;
  if (name.find(':') == std::string_view::npos && !near.best().empty()) {
    d.help("did you mean `" + near.best() + "`?", {{device, near.best()}});
  } else if (unit.isScript && !ir::DeviceTable::couldBe(name) && name.find(':') == std::string_view::npos) {
    d.help("declare the name, with what it falls back to",
           {declared(*unit.file, context_.sources.file(unit.source), deviceLine(name))});
    context_.frame().undeclared.insert(std::string(name));  // one error is enough
  } else if (const std::string own = nameFor(name); unit.isScript && ir::DeviceTable::couldBe(name) &&
                                                    there == ir::DeviceTable::kHost && !unit.devices.contains(own)) {
    std::vector<Edit> edits = {{device, own}};
    if (context_.frame().undeclared.insert(own).second)  // once
      edits.insert(edits.begin(), declared(*unit.file, context_.sources.file(unit.source), deviceLine(own, name)));
    d.help("a device with a fallback, which other machines can bind differently", std::move(edits));
    d.help("`--device " + own + "=" + there + "` chooses for one run");
  } else {
    d.help("a device of this machine", {{device, there}});
    d.help("or a name for it that other machines can bind differently: `device d = " + std::string(name) +
           " or cpu`, and `--device d=" + there + "` to choose");
  }
  return d;
}

namespace {

/// The device line that a choice of `line` names; null for none.
const ast::Stmt* lineNamed(const Unit& unit, const ast::Stmt& line, const ast::DevicePlace& p) {
  const Declaration* d = p.number || p.index ? nullptr : unit.resolution->definition(p.name.span);
  return d && d->kind == Declaration::Kind::Device && d->statement != &line ? d->statement : nullptr;
}
}  // namespace

Val Devices::deviceOf(const Unit& unit, const ast::Stmt& decl) {
  if (const auto known = unit.evaluated.find(decl.name.text); known != unit.evaluated.end()) {
    return known->second.is(Val::Kind::None) ? madeOfItself(decl) : known->second;
  }
  // The lines that it names come first, without recursion: thousands of them may hang together.
  std::vector<const ast::Stmt*> open = {&decl};
  while (!open.empty()) {
    const ast::Stmt& line = *open.back();
    const std::string& name = line.name.text;
    const size_t before = open.size();
    if (!unit.evaluated.contains(name) && unit.evaluating.insert(name).second) {
      for (const ast::DevicePlace& p : line.places) {
        const ast::Stmt* other = lineNamed(unit, line, p);
        if (!other || unit.evaluated.contains(other->name.text)) continue;
        if (unit.evaluating.contains(other->name.text)) {
          unit.evaluated[other->name.text] = madeOfItself(*other);
          unit.evaluated[name] = context_.lost();
        } else {
          open.push_back(other);
        }
      }
    }
    if (open.size() > before) continue;
    open.pop_back();
    unit.evaluating.erase(name);
    if (!unit.evaluated.contains(name)) lineValue(unit, line);
  }
  return unit.evaluated.find(decl.name.text)->second;
}

Val Devices::madeOfItself(const ast::Stmt& line) {
  return context_.fail(Code::E0109, line.span, "the device `" + line.name.text + "` is defined by itself");
}

Val Devices::lineValue(const Unit& unit, const ast::Stmt& decl) {
  const std::string& name = decl.name.text;
  Val& result = unit.evaluated[name];
  std::vector<std::string> choices;
  for (const ast::DevicePlace& p : decl.places) {
    std::string choice = choiceName(p);
    if (p.index) {
      auto i = evaluator_.constInt(expressions_.eval(*p.index), "a device number");
      if (!i) return result = context_.lost();
      choice = p.name.text + ":" + std::to_string(*i);
      if (p.indexEnd) return result = context_.notYet(p.span, "a mesh of devices");
    }
    if (const ast::Stmt* other = lineNamed(unit, decl, p)) {
      const auto known = unit.evaluated.find(other->name.text);
      if (known == unit.evaluated.end() || known->second.is(Val::Kind::None)) return result = madeOfItself(decl);
      if (known->second.poison()) return result = context_.lost();
      choice = known->second.device.name;
    }
    choices.push_back(choice);
  }
  const bool fallback = choices.size() > 1;
  const std::vector<std::string> written = choices;
  if (auto given = context_.options.devices.find(name); given != context_.options.devices.end() && unit.isScript) {
    choices = {ir::DeviceTable::normal(given->second)};
    if (!deviceAvailable(choices[0])) {
      context_
          .error(
              Code::E0304, decl.span,
              "there is no device `" + choices[0] + "`, which `--device " + name + "=" + given->second + "` asks for")
          .note(context_.options.machine.text())
          .help("`--device " + name + "=cpu` binds it to one that is there, and without `--device` the script chooses");
      return result = context_.lost();
    }
  }
  auto chosen = std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return deviceAvailable(c); });
  if (chosen == choices.end()) {
    std::string looked;
    for (const std::string& c : choices) looked += (looked.empty() ? "`" : ", `") + c + "`";
    auto d = context_.error(Code::E0304, decl.places.empty() ? decl.span : decl.places[0].span,
                            "there is no device `" + (choices.empty() ? name : choices[0]) + "`");
    d.note("for `" + name + "` the script looks for " + looked + "; " + context_.options.machine.text());
    if (!decl.places.empty()) {
      const Span last = decl.places.back().span;
      d.help("a fallback makes the script run on any machine", {{Span{last.file, last.end, last.end}, " or cpu"}});
    }
    d.help("or `--device " + name + "=cpu` binds it to another for one run");
    return result = context_.lost();
  }
  DeviceRef device;
  if (!fallback) {
    device.name = *chosen;  // only another name
  } else {
    device.name = unit.isScript ? name : unit.name + "." + name;
    context_.module.devices.push_back(
        {device.name, written, decl.name.span, std::string(context_.module.actual(*chosen))});
  }
  return result = Val::ofDevice(device, decl.name.span);
}

std::optional<DeviceRef> Devices::constDevice(const Val& v, std::string_view what) {
  if (v.poison()) return std::nullopt;
  if (!v.is(Val::Kind::Device)) {
    context_.error(Code::E0203, v.span, std::string(what) + " must be a device, not " + describe(v));
    return std::nullopt;
  }
  const std::string& name = v.device.name;
  // Under a condition on devices it is placement that knows whether the branch is taken.
  if (!name.empty() && !name.starts_with('$') && context_.deviceConditions == 0 && !deviceAvailable(name)) {
    noDevice(name, v.span);
    return std::nullopt;
  }
  return v.device;
}

std::optional<DeviceRef> Devices::annotationDevice(const ast::Annotation& a) {
  if (a.path.empty()) return std::nullopt;
  ir::SourceText text{a.span, ir::SourceText::Kind::Device, false, {}};
  text.name = a.path[0].text + (a.number ? ":" + std::to_string(*a.number) : "");
  text.whole = {a.span.file, a.path[0].span.begin, a.span.end};
  context_.note(std::move(text));
  const std::string& head = a.path[0].text;
  if (a.number || a.index) {
    std::string index = a.number ? std::to_string(*a.number) : "";
    if (a.index) {
      auto i = evaluator_.constInt(expressions_.eval(*a.index), "a device number");
      if (!i) return std::nullopt;
      index = std::to_string(*i);
    }
    DeviceRef d;
    d.name = head + ":" + index;
    return constDevice(Val::ofDevice(d, a.span));
  }
  if (a.path.size() == 1 && (head == ir::DeviceTable::kHost || head.find(':') != std::string::npos)) {
    DeviceRef d;
    d.name = ir::DeviceTable::normal(head);
    return constDevice(Val::ofDevice(d, a.span));
  }
  auto v = names_.lookup(a.path[0].span);
  if (!v && context_.frame().undeclared.contains(head)) return std::nullopt;
  if (!v) {
    const syntax::Familiar* known = syntax::familiarName(head);
    const bool marks = known && (a.path.size() > 1 ? known->prefix : !known->help.empty()) && !scopes_.lostName(head);
    if (marks) {
      const Help help = withoutMark(context_, a);
      context_.error(Code::E0304, a.span, noMark(a))
          .help(a.path.size() > 1 ? help.text : std::string(known->help), help.edits);
    } else if (a.path.size() == 1 && !scopes_.lostName(head))
      noDevice(head, a.span);
    else
      unknownNames_.unknownName(head, a.path[0].span);
    return std::nullopt;
  }
  for (size_t i = 1; i < a.path.size() && !v->poison(); ++i) v = members_.fieldOf(*v, a.path[i].text, a.path[i].span);
  return constDevice(*v, "an annotation");
}

}  // namespace tenc::frontend
