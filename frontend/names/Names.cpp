// What names mean: locals first, then what the unit declares, then what is built in.
#include "frontend/names/Names.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
    Val v;
    v.kind = Val::Kind::Type;
    v.span = span;
    Generics g;
    g.unit = &unit;
    g.listed = &it->second->generics;
    v.type = std::make_shared<Ty>(types_.resolve(*it->second->type, g));
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
