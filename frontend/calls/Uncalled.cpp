// `tenc check`: functions that nobody calls are checked with dims, dtypes and devices of its own.
#include "frontend/calls/Uncalled.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/Trial.h"
#include "frontend/calls/Functions.h"
#include "frontend/calls/Instances.h"
#include "frontend/control/Flow.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Sizes.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/types/Aliases.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Structs.h"
#include "frontend/types/Types.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using ir::OpKind;
}  // namespace

void Uncalled::checkNamesOf(const FnDecl& decl) {
  Frame own(decl.unit);
  const FrameScope inside(context_.frames, own);
  unknownNames_.checkNames(*decl.stmt);
}

void Uncalled::checkUnseen(const Unit& unit) {
  for (const auto& [name, list] : unit.functions) {
    for (const FnDecl& decl : list) {
      if (functions_.isCalled(decl)) continue;
      if (functions_.isNamed(decl)) checkNamesOf(decl);
      Frame own(decl.unit);
      const FrameScope inside(context_.frames, own);
      unknownNames_.checkMarks(*decl.stmt);
    }
  }
}

namespace {

/// Dims for the names of a signature in order.
constexpr int64_t kChoices[][16] = {
    // Distinct, so that dims that should differ do, and each a multiple of many others, as functions that split a dim
    // ask for multiples that no signature tells; the later ones, often heads, groups or windows, are smaller.
    {4320, 1440, 480, 160, 96, 48, 24, 12, 288, 144, 72, 36, 320, 240, 192, 120},
    // The first names are those of a layer, windows among them, and pictures come after.
    {12, 24, 48, 96, 160, 480, 1440, 4320, 36, 72, 144, 288, 120, 192, 240, 320},
    // Channels in and out, and a window with its stride, padding, dilation and groups.
    {48, 24, 3, 2, 1, 1, 1, 5, 96, 192, 288, 384, 480, 144, 72, 36},
};
}  // namespace

struct Samples {
  std::span<const int64_t> dims;
  size_t next = 0;
  int64_t take() { return dims[next++ % dims.size()]; }
};

bool Uncalled::sampleValue(const Ty& t, ir::Region* region, Val& v) {
  switch (t.kind) {
    case Ty::Kind::Tensor:
      if (!t.complete() || !ir::elementCount(*t.dims)) return false;
      v = Val::ofTensor(region->addArg({*t.dtype, *t.dims, {}}, "sample"));
      return true;
    case Ty::Kind::Struct:
    case Ty::Kind::Tuple: {
      if (t.kind == Ty::Kind::Struct && (!t.info || t.info->pins.size() != t.elems.size())) return false;
      std::vector<Val> elems(t.elems.size());
      for (size_t i = 0; i < elems.size(); ++i) {
        if (!sampleValue(t.elems[i], region, elems[i])) return false;
      }
      v = t.kind == Ty::Kind::Struct ? Val::ofStruct(t.info, std::move(elems)) : Val::ofTuple(std::move(elems));
      return true;
    }
    case Ty::Kind::List: {
      if (t.length < 0 || t.length > 64) return false;
      std::vector<Val> elems(static_cast<size_t>(t.length));
      for (Val& e : elems) {
        if (!sampleValue(t.elems[0], region, e)) return false;
      }
      v = Val::ofList(std::move(elems));
      return true;
    }
    default: return false;
  }
}

void Uncalled::bindSamples(const ast::TypeExpr& written, Generics& g, Samples& samples, bool inShape) {
  const ast::TypeExpr& t = *aliases_.expanded(&written, g);
  using TypeKind = ast::TypeExpr::Kind;
  using GenericKind = ast::Generic::Kind;
  if (t.kind == TypeKind::Pack) {
    g.bound.try_emplace(t.path[0].text, Val::ofPack({samples.dims[0]}));
    return;
  }
  if (t.kind == TypeKind::Path && t.path.size() == 1) {
    const std::string& name = t.path[0].text;
    const ast::Generic* listed = listedGeneric(g, name);
    const bool free = !g.bound.count(name) && types_.typeName(t, g, inShape).variable;
    if (listed && free && listed->isDType() && listed->kind != GenericKind::Int) {
      g.bound[name] = Val::ofDType(ir::DType::F32);
    } else if (listed && free && listed->kind == GenericKind::Int) {
      g.bound[name] = Val::ofDType(ir::DType::I64);
    } else if (listed && free && listed->kind == GenericKind::Device) {
      DeviceRef d;
      d.name = "$" + name;
      g.bound[name] = Val::ofDevice(d);
    } else if (free && (!listed || (listed->kind == GenericKind::Open && !t.hasArgs))) {
      g.bound[name] = Val::ofInt(samples.take());
      g.origin[name] = t.span;
    }
  }
  if (t.place && t.place->path.size() == 1) {
    const std::string& name = t.place->path[0].text;
    if (listedGeneric(g, name) && !g.bound.count(name)) {
      DeviceRef d;
      d.name = "$" + name;
      g.bound[name] = Val::ofDevice(d);
    }
  }
  for (size_t i = 0; i < t.args.size(); ++i) {
    const bool element = t.kind == TypeKind::Tuple || (t.kind == TypeKind::List && i == 0);
    bindSamples(*t.args[i], g, samples, inShape || !element);
  }
}

/// What is wrong is reported when it is with every choice of dims: with some a window is larger than a picture.
void Uncalled::checkWithSamples(const FnDecl& decl, ir::Region& region) {
  std::vector<Diagnostic> first;
  for (const auto& dims : kChoices) {
    Trial trial(context_, instances_, Trial::Reports::Go);
    instantiateSample(decl, {dims}, region);
    if (!trial.failed()) {
      trial.keep();
      return;
    }
    if (&dims == &kChoices[0]) first = trial.takeReports();
  }
  context_.restate(std::move(first));
}

void Uncalled::instantiateSample(const FnDecl& decl, Samples samples, ir::Region& region) {
  const ast::Stmt& s = *decl.stmt;
  Generics g = genericsOf(decl);
  std::vector<Val> values(s.params.size());
  bool ok = true;
  for (const ast::FnParam& p : s.params) {
    // A default says what its name is.
    const bool given = p.otherwise && p.type && p.type->kind == ast::TypeExpr::Kind::Path && p.type->args.empty();
    if (p.type && !given) bindSamples(*p.type, g, samples, /*inShape=*/false);
  }
  // A device variable that is that of no parameter: every call is an error.
  ok = std::ranges::none_of(s.generics, [&](const ast::Generic& x) {
    return x.kind == ast::Generic::Kind::Device && !g.bound.count(x.name.text);
  });
  for (size_t i = 0; ok && i < values.size(); ++i) {
    const ast::FnParam& p = s.params[i];
    if (!p.type) {
      ok = false;
      break;
    }
    if (p.otherwise) {
      const Val given = expressions_.eval(*p.otherwise);
      values[i] = unifier_.unify(*p.type, given, g,
                                 {"the default of `" + p.name.text + "`", p.otherwise->span, p.name.span, true});
      ok = !values[i].poison();
      if (ok && !functions_.paramIsStatic(decl, p)) values[i] = tensors_.materialise(values[i]);
      continue;
    }
    const auto bound = p.type->path.size() == 1 ? g.bound.find(p.type->path[0].text) : g.bound.end();
    if (bound != g.bound.end() && bound->second.is(Kind::Int)) {
      values[i] = bound->second;
    } else if (bound != g.bound.end() && bound->second.is(Kind::Device)) {
      ok = false;
    } else if (p.isStatic) {
      const std::string type = p.type->path.size() == 1 ? p.type->path[0].text : "";
      values[i] = Val::ofBool(true);
      ok = type == "bool";
    } else if (functions_.paramIsStatic(decl, p)) {
      values[i] = Val::ofInt(samples.take());
      g.bound[p.name.text] = values[i];
    } else {
      ok = sampleValue(types_.resolve(*p.type, g), &region, values[i]);
    }
  }
  if (ok && s.type && !hasOpenResult(*decl.unit->resolution, s)) ok = functions_.resultDimsBound(*s.type, g, false);
  if (ok)
    instances_.instantiate(decl, values, g, {});
  else if (!functions_.isNamed(decl))
    checkNamesOf(decl);  // others were looked at by checkUnseen
}

void Uncalled::checkUncalled(const Unit& unit) { check(unit, std::nullopt, true); }
void Uncalled::checkUncalledOf(const Unit& unit, uint32_t source) { check(unit, source, true); }
void Uncalled::checkTypes(const Unit& unit) {
  if (!unit.structs.empty() || !unit.aliases.empty()) check(unit, std::nullopt, false);
}

void Uncalled::check(const Unit& unit, std::optional<uint32_t> source, bool functionsToo) {
  const auto isMeant = [source](const ast::Stmt& s) { return !source || s.span.file == *source; };
  ir::Func* samples = context_.module.addFunc("samples");
  samples->signature = "samples";
  ir::Builder builder(samples->body.get());
  Boundary boundary;
  Body body = context_.body.called(builder, boundary);
  ++body.outerRegions;  // the samples are no calls that happen: an assertion over them says nothing
  const Scoped inside(context_.body, body);
  Frame own(&unit);
  const FrameScope names(context_.frames, own);
  for (const auto& [name, decl] : unit.structs) {
    if (!isMeant(*decl.stmt)) continue;
    Generics g = structGenerics(decl);
    Samples dims{kChoices[0]};
    for (const ast::Field& f : decl.stmt->fields) {
      if (f.type) bindSamples(*f.type, g, dims, false);
    }
    structs_.structWith(decl, g);
  }
  for (const auto& [name, alias] : unit.aliases) {
    if (!isMeant(*alias) || !alias->type || !alias->generics.empty()) continue;
    Generics g;
    g.unit = &unit;
    types_.resolve(*alias->type, g);
  }
  for (const auto& [name, list] : unit.functions) {
    for (const FnDecl& decl : list) {
      if (!functionsToo || functions_.isCalled(decl) || !isMeant(*decl.stmt)) continue;
      checkWithSamples(decl, *samples->body);
    }
  }
  context_.b().makeTyped(OpKind::Return, {}, {});
  // It was only the place where sample values stood.
  auto& funcs = context_.module.funcs;
  funcs.erase(std::find_if(funcs.begin(), funcs.end(), [&](const auto& f) { return f.get() == samples; }));
}

}  // namespace tenc::frontend
