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
#include "frontend/habits/Places.h"
#include "frontend/names/Constants.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"

namespace tenc::frontend {

namespace {

Val builtinFunction(const std::string& name, Span span) {
  auto f = std::make_shared<FnValue>();
  f->kind = FnValue::Kind::Builtin;
  f->name = name;
  return Val::ofFunction(std::move(f), span);
}

/// A dtype, a kind of devices, a constant of the language; nullopt for words that stand in types only.
std::optional<Val> languageValue(const std::string& name, Span span) {
  if (auto v = builtinConstant(name, span)) return v;
  if (auto t = ir::dtypeNamed(name)) return Val::ofDType(*t, span);
  if (!ir::DeviceTable::isKind(name)) return std::nullopt;
  return Val::ofDevice({ir::DeviceTable::normal(name), nullptr}, span);
}

Val typeValue(std::shared_ptr<const Ty> type, Span span) {
  Val v;
  v.kind = Val::Kind::Type;
  v.span = span;
  v.type = std::move(type);
  return v;
}
}  // namespace

Val Names::lookupCallee(const ast::Expr& name, const ast::Expr* call) {
  auto v = lookup(name.span);
  return v ? *v : unknownNames_.unknownName(name.text, name.span, {.call = call});
}

std::optional<Val> Names::lookup(Span use) {
  const Declaration* d = context_.frame().unit->resolution->definition(use);
  if (!d) return std::nullopt;
  // `mean = x.sum() / n`, which was refused, was meant to bind the name.
  const bool language = d->kind == Declaration::Kind::Builtin || d->kind == Declaration::Kind::Language;
  if (language && context_.frame().undeclared.contains(d->name)) return context_.lost();
  if (d->kind == Declaration::Kind::Language) warnOfConstant(d->name, use);
  if (d->kind == Declaration::Kind::Builtin && meansVariable(d->name, use))
    return unknownNames_.unknownName(d->name, use);
  return valueOf(*d, use);
}

/// Whether the name of a built-in function is an operand of arithmetic in a function of a script that has a variable of
/// that name.
bool Names::meansVariable(const std::string& name, Span use) const {
  const Unit& unit = *context_.frame().unit;
  if (!context_.frame().fn || !unit.file || !scriptVariable(unit.file, name)) return false;
  return expressionAround(*unit.file, use, [use](const ast::Expr& e) {
           const bool computes =
               (e.kind == ast::Expr::Kind::Binary && e.text != "|>") || e.kind == ast::Expr::Kind::Index;
           return computes && std::ranges::any_of(e.args, [use](const ast::ExprPtr& arg) { return arg->span == use; });
         }) != nullptr;
}

void Names::warnOfConstant(const std::string& name, Span use) {
  const Unit& unit = *context_.frame().unit;
  if (!context_.frame().fn || !builtinConstant(name, use)) return;
  const ast::Stmt* own = scriptVariable(unit.file, name);
  if (!own) return;
  context_
      .warning(
          Code::W0106, use,
          "this `" + name + "` is the constant of the language: a function does not see the variable of the script")
      .note(own->pattern.span, "the variable is bound here")
      .help("a function reads a `const`: `const " + name + " = ...`, or takes the value as an argument");
}

namespace {
/// Whether a function `call` of a unit may take the struct.
bool hasCall(const Unit& unit, const Val& v) {
  if (unit.names.contains("call")) return true;
  const auto it = unit.functions.find("call");
  if (it == unit.functions.end()) return false;
  return std::ranges::any_of(it->second, [&](const FnDecl& d) {
    const auto& params = d.stmt->params;
    const ast::TypeExpr* type = params.empty() ? nullptr : params[0].type.get();
    return !type || type->path.empty() || unit.aliases.contains(type->path.back().text) ||
           type->path.back().text == v.info->decl->stmt->name.text;
  });
}
}  // namespace

std::optional<Val> Names::lookupMethod(Span use) {
  const Resolution& names = *context_.frame().unit->resolution;
  const Declaration* d = names.definition(use);
  auto v = d ? valueOf(*d, use) : std::nullopt;
  using Kind = Val::Kind;
  const auto isCalled = [&](const Val& f) {
    const bool layer = f.is(Kind::Struct) && (hasCall(*context_.frame().unit, f) || hasCall(*f.info->decl->unit, f));
    return layer || f.is(Kind::Function) || f.is(Kind::DType) || f.poison();
  };
  if (!v || isCalled(*v)) return v;
  if (const Declaration* global = d->isLocal() ? names.global(d->name) : d)
    v = valueOf(*global, use);
  else
    v.reset();
  if (v && isCalled(*v)) return v;
  return isBuiltin(d->name) || isTransform(d->name) ? std::optional(builtinFunction(d->name, use)) : v;
}

std::optional<Val> Names::lookupGlobal(const Unit& unit, std::string_view name, Span span) {
  const Declaration* d = unit.resolution->global(name);
  return d ? valueOf(*d, span) : std::nullopt;
}

std::optional<Val> Names::valueOf(const Declaration& d, Span span) {
  using Kind = Declaration::Kind;
  if (d.isLocal()) {
    Binding* local = scopes_.declaredAt(d.span);
    if (!local) return std::nullopt;
    Val v = local->value;
    v.span = span;
    return v;
  }
  if (d.kind == Kind::Lost) return context_.lost();
  if (d.kind == Kind::Builtin) return builtinFunction(d.name, span);
  if (d.kind == Kind::Language) return languageValue(d.name, span);
  Val v = unitValue(d, span);
  v.span = span;
  return v;
}

Val Names::unitValue(const Declaration& d, Span span) {
  using Kind = Declaration::Kind;
  if (d.kind == Kind::Module) {
    Val v;
    v.kind = Val::Kind::Module;
    v.module = d.home->unit;
    return v;
  }
  const Unit& unit = *d.home->unit;
  switch (d.kind) {
    case Kind::Constant: return constants_.constantOf(unit, *d.statement);
    case Kind::Param: return constants_.paramOf(*d.statement);
    case Kind::Device: return devices_.deviceOf(unit, *d.statement);
    case Kind::Struct: return typeValue(structType(unit.structs.find(d.name)->second), span);
    case Kind::Alias: return aliasValue(unit, *d.statement);
    case Kind::Functions: {
      auto f = std::make_shared<FnValue>();
      f->kind = FnValue::Kind::Overloads;
      f->name = d.name;
      for (const FnDecl& fn : unit.functions.find(d.name)->second) f->overloads.push_back(&fn);
      return Val::ofFunction(std::move(f), span);
    }
    default: return context_.lost();
  }
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
  const auto isLost = [&](const ast::Stmt* part) {
    const auto it = unit.evaluated.find(part->name.text);
    return part->generics.empty() && it != unit.evaluated.end() && it->second.poison();
  };
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
    last = std::ranges::any_of(unit.aliasesIn(a), isLost) ? context_.lost() : read(a);
    done.insert(&a);
    // What had an error says so each time, as it may be one that is taken back; but for a type without end.
    if (context_.diags.errors() == errors || last.poison()) unit.evaluated[a.name.text] = last;
  }
  const auto kept = unit.evaluated.find(alias.name.text);
  return kept == unit.evaluated.end() ? last : kept->second;
}

}  // namespace tenc::frontend
