// What names mean: locals first, then what the unit declares, then what is built in.
#include "frontend/names/Names.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/names/Constants.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"

namespace tenc::frontend {

Val Names::lookupCallee(const ast::Expr& name, const ast::Expr* call) {
  auto v = lookup(name.text, name.span);
  if (v) return *v;
  if (isTransform(name.text)) {
    auto f = std::make_shared<FnValue>();
    f->kind = FnValue::Kind::Builtin;
    f->name = name.text;
    return Val::ofFunction(std::move(f), name.span);
  }
  return unknownNames_.unknownName(name.text, name.span, false, call);
}

std::optional<Val> Names::lookupGlobal(const Unit& unit, std::string_view name, Span span) {
  if (auto it = unit.constants.find(name); it != unit.constants.end()) {
    Val v = constants_.constantOf(unit, *it->second);
    v.span = span;
    return v;
  }
  if (auto it = unit.params.find(name); it != unit.params.end()) {
    Val v = constants_.paramOf(*it->second);
    v.span = span;
    return v;
  }
  if (auto it = unit.devices.find(name); it != unit.devices.end()) {
    Val v = devices_.deviceOf(unit, *it->second);
    v.span = span;
    return v;
  }
  if (auto it = unit.functions.find(name); it != unit.functions.end()) {
    auto f = std::make_shared<FnValue>();
    f->kind = FnValue::Kind::Overloads;
    f->name = std::string(name);
    for (const FnDecl& d : it->second) f->overloads.push_back(&d);
    return Val::ofFunction(std::move(f), span);
  }
  if (auto it = unit.structs.find(name); it != unit.structs.end()) {
    Val v;
    v.kind = Val::Kind::Type;
    v.span = span;
    v.type = structType(it->second);
    return v;
  }
  if (auto it = unit.aliases.find(name); it != unit.aliases.end()) {
    Val v = aliasValue(unit, *it->second);
    v.span = span;
    return v;
  }
  if (auto it = unit.modules.find(name); it != unit.modules.end()) {
    Val v;
    v.kind = Val::Kind::Module;
    v.span = span;
    v.module = it->second;
    return v;
  }
  if (auto it = unit.names.find(name); it != unit.names.end()) {
    return lookupGlobal(*it->second.first, it->second.second, span);
  }
  // What a failed import would have brought.
  if (auto it = unit.evaluated.find(name); it != unit.evaluated.end() && it->second.poison()) return it->second;
  return std::nullopt;
}

namespace {

/// Takes the parts of a type off `left`; false when there are more.
bool takeParts(const Ty& t, size_t& left) {
  if (left == 0) return false;
  --left;
  return std::all_of(t.elems.begin(), t.elems.end(), [&](const Ty& e) { return takeParts(e, left); });
}
}  // namespace

Val Names::aliasValue(const Unit& unit, const ast::Stmt& alias) {
  const auto read = [&](const ast::Stmt& a) {
    Generics g;
    g.unit = &unit;
    g.listed = &a.generics;
    Val v;
    v.kind = Val::Kind::Type;
    v.type = std::make_shared<Ty>(types_.resolve(*a.type, g));
    // One that is made of two of another doubles with each step.
    size_t left = 2 * kMostParts;
    if (takeParts(*v.type, left)) return v;
    return context_.fail(Code::E0208, a.name.span,
                         "the type `" + a.name.text + "` has more than " + std::to_string(kMostParts) + " parts");
  };
  if (!alias.generics.empty()) return unit.evaluated.contains(alias.name.text) ? context_.lost() : read(alias);
  // What it is made of comes first, without recursion: thousands of them may hang together.
  std::vector<const ast::Stmt*> open = {&alias};
  std::set<const ast::Stmt*> done;
  const auto known = [&](const ast::Stmt& a) { return done.contains(&a) || unit.evaluated.contains(a.name.text); };
  Val last;
  while (!open.empty()) {
    const ast::Stmt& a = *open.back();
    const size_t before = open.size();
    if (!known(a)) {
      for (const ast::Stmt* part : unit.aliasesIn(a)) {
        if (part->generics.empty() && !known(*part)) open.push_back(part);
      }
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (known(a)) continue;
    const size_t errors = context_.diags.errors();
    last = read(a);
    done.insert(&a);
    // What had an error says so each time, as it may be one that is taken back; but for a type without end.
    if (context_.diags.errors() == errors || last.poison()) unit.evaluated[a.name.text] = last;
  }
  const auto kept = unit.evaluated.find(alias.name.text);
  return kept == unit.evaluated.end() ? last : kept->second;
}

namespace {

Val deviceValue(std::string name, Span span) {
  DeviceRef d;
  d.name = std::move(name);
  return Val::ofDevice(std::move(d), span);
}
}  // namespace

std::optional<Val> Names::lookup(std::string_view name, Span span) {
  if (Binding* local = scopes_.findLocal(name)) {
    Val v = local->value;
    v.span = span;
    return v;
  }
  if (auto v = lookupGlobal(*context_.frame().unit, name, span)) return v;
  if (auto v = builtinConstant(name, span)) return v;
  if (auto t = ir::dtypeNamed(name)) return Val::ofDType(*t, span);
  if (ir::DeviceTable::isKind(name)) return deviceValue(ir::DeviceTable::normal(name), span);
  if (isBuiltin(name)) {
    auto f = std::make_shared<FnValue>();
    f->kind = FnValue::Kind::Builtin;
    f->name = std::string(name);
    return Val::ofFunction(std::move(f), span);
  }
  return std::nullopt;
}

}  // namespace tenc::frontend
