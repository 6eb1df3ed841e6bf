// `tenc check`: functions that nobody calls are checked with dims, dtypes and devices of its own.
#include "frontend/calls/Uncalled.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/Trial.h"
#include "frontend/calls/Functions.h"
#include "frontend/calls/Instances.h"
#include "frontend/control/Flow.h"
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
#include "support/Diagnostics.h"

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

/// What is not as in the first samples.
struct Difference {
  size_t dtype = 0;  ///< which of its dtypes each variable takes, all at once: two may have to agree
  const ast::FnParam* parameter = nullptr;  ///< a static bool that is false
};

struct Samples {
  std::span<const int64_t> dims;
  const Difference& difference;
  size_t rank;  ///< of shapes that are arguments
  size_t next = 0;
  bool unknown = false;  ///< whether a parameter has no sample: a type or value that the signature leaves open

  int64_t take() { return dims[next++ % dims.size()]; }
};

namespace {
constexpr std::string_view kUnknown = "nothing is known of a sample";
/// Elements of lists: as many layers are instances of their own.
constexpr int64_t kLength = 4;
constexpr size_t kRanks[] = {1, 2, 4};  // for each of kChoices
static_assert(std::size(kRanks) == std::size(kChoices));

/// A body has to take all dtypes that its signature takes; the first stands for the others mostly.
std::span<const ir::DType> dtypesOf(ast::Generic::Kind kind) {
  using GenericKind = ast::Generic::Kind;
  static constexpr ir::DType kFloats[] = {ir::DType::F32, ir::DType::F64};
  static constexpr ir::DType kInts[] = {ir::DType::I64, ir::DType::I32};
  static constexpr ir::DType kReals[] = {ir::DType::F32, ir::DType::F64, ir::DType::I64};
  static constexpr ir::DType kAll[] = {ir::DType::F32, ir::DType::F64, ir::DType::I64, ir::DType::Bool};
  if (kind == GenericKind::Float) return kFloats;
  if (kind == GenericKind::Int) return kInts;
  return kind == GenericKind::Real ? std::span<const ir::DType>(kReals) : std::span<const ir::DType>(kAll);
}

bool isStaticBool(const ast::FnParam& p) {
  return p.isStatic && p.type && p.type->path.size() == 1 && p.type->path[0].text == "bool";
}

std::vector<Difference> differencesOf(const ast::Stmt& fn) {
  size_t variables = 0, most = 1;
  for (const ast::Generic& x : fn.generics) {
    if (!x.isDType() || x.otherwise) continue;
    ++variables;
    most = std::max(most, dtypesOf(x.kind).size());
  }
  // Of several variables one may be of integers only where another is, or a shape tells: only their precision differs.
  if (variables > 1) most = std::min(most, size_t{2});
  std::vector<Difference> all;
  for (size_t i = 0; i < most; ++i) all.push_back({i});
  for (const ast::FnParam& p : fn.params)
    if (isStaticBool(p)) all.push_back({0, &p});
  return all;
}
}  // namespace

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
  if (t.kind == TypeKind::ShapeOf) {
    const auto dims = samples.dims.first(samples.rank);
    g.bound.try_emplace(t.path[0].text, Val::ofPack({dims.begin(), dims.end()}));
    return;
  }
  if (t.kind == TypeKind::Path && t.path.size() == 1) {
    const std::string& name = t.path[0].text;
    const ast::Generic* listed = listedGeneric(g, name);
    const bool free = !g.bound.count(name) && types_.typeName(t, g, inShape).variable;
    if (listed && free && listed->isDType()) {
      const auto dtypes = dtypesOf(listed->kind);
      g.bound[name] = Val::ofDType(dtypes[std::min(samples.difference.dtype, dtypes.size() - 1)]);
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
    const bool isList = t.kind == TypeKind::List;
    const bool element = t.kind == TypeKind::Tuple || (isList && i == 0);
    const ast::TypeExpr& part = *t.args[i];
    const bool length = isList && i == 1 && part.kind == TypeKind::Path && part.path.size() == 1;
    if (length && !g.bound.count(part.path[0].text) && types_.typeName(part, g, true).variable) {
      g.bound[part.path[0].text] = Val::ofInt(kLength);
      g.origin[part.path[0].text] = part.span;
    }
    bindSamples(part, g, samples, inShape || !element);
  }
}

/// Stands for a value of which nothing is known: what is made of it is poison, so that only what is wrong whatever it
/// is remains to be said.
Val Uncalled::unknown(Samples& samples) {
  if (!std::exchange(samples.unknown, true)) context_.error(Code::E0190, {}, std::string(kUnknown));
  return context_.lost();
}

bool Uncalled::holds(const Difference& difference, const std::function<void(Samples&)>& lower) {
  std::vector<Diagnostic> first;
  for (size_t i = 0; i < std::size(kChoices); ++i) {
    Trial trial(context_, instances_, Trial::Reports::Go);
    Samples samples{kChoices[i], difference, kRanks[i]};
    lower(samples);
    if (!trial.failed()) {
      if (difference.dtype == 0 && !difference.parameter) trial.keep();  // where its values are is checked later
      return true;
    }
    std::vector<Diagnostic> reports = trial.takeReports();
    if (samples.unknown) {
      std::erase_if(reports, [](const Diagnostic& d) {
        return d.severity() != Severity::Error || (d.code == Code::E0190 && d.message == kUnknown);
      });
      if (reports.empty()) return true;
    }
    if (i == 0) first = std::move(reports);
  }
  context_.restate(std::move(first));
  return false;
}

void Uncalled::checkWithSamples(const FnDecl& decl, ir::Region& region) {
  for (const Difference& difference : differencesOf(*decl.stmt)) {
    if (!holds(difference, [&](Samples& samples) { instantiateSample(decl, samples, region); })) return;
  }
}

/// The default of a parameter where it goes with the samples of others: `w: f32[N] = ones([3])` does for one N alone.
Val Uncalled::fittingDefault(const FnDecl& decl, size_t index, Generics& g, Samples& samples) {
  const ast::FnParam& p = decl.stmt->params[index];
  Val given = functions_.defaultOf(decl, index, g);
  if (!p.type || given.poison()) return given;
  const Target who{"the default of `" + p.name.text + "`", p.otherwise->span, p.name.span, true};
  Generics alone = genericsOf(decl);
  if (const Val v = unifier_.unify(*p.type, given, alone, who); v.poison()) return v;
  Generics all = g;
  Val v;
  {
    Trial trial(context_, instances_, Trial::Reports::Go);
    v = unifier_.unify(*p.type, given, all, who);
    if (!trial.failed()) trial.keep();
  }
  if (v.poison()) return unknown(samples);
  g = std::move(all);
  return v;
}

Val Uncalled::sampleOf(const FnDecl& decl, size_t index, Generics& g, Samples& samples, ir::Region& region) {
  const ast::FnParam& p = decl.stmt->params[index];
  const bool differs = samples.difference.parameter == &p;
  if (p.otherwise) {
    Val v = fittingDefault(decl, index, g, samples);
    if (differs && v.is(Kind::Bool)) v.boolean = !v.boolean;
    return v.poison() || functions_.paramIsStatic(decl, p) ? v : tensors_.materialise(v);
  }
  if (!p.type) return unknown(samples);
  const auto bound = p.type->path.size() == 1 ? g.bound.find(p.type->path[0].text) : g.bound.end();
  if (bound != g.bound.end() && bound->second.is(Kind::Int)) return bound->second;
  if (isStaticBool(p)) return Val::ofBool(!differs);
  if (p.isStatic) return g.bound[p.name.text] = unknown(samples);
  if (functions_.paramIsStatic(decl, p)) return g.bound[p.name.text] = Val::ofInt(samples.take());
  Val v;
  const size_t errors = context_.diags.errors();
  const Ty type = types_.resolve(*p.type, g);
  if (context_.diags.errors() > errors) return Val::unit();
  const bool isListed = p.type->path.size() == 1 && listedGeneric(g, p.type->path[0].text);
  if (type.kind == Ty::Kind::Unknown && !isListed) return Val::unit();  // told before
  if (type.kind == Ty::Kind::Shape) return g.bound[p.type->path[0].text];
  return sampleValue(type, &region, v) ? v : unknown(samples);
}

bool Uncalled::sampleArguments(const FnDecl& decl, std::vector<Val>& values, Generics& g, Samples& samples,
                               ir::Region& region) {
  const ast::Stmt& s = *decl.stmt;
  for (const ast::FnParam& p : s.params)
    if (p.type && !p.otherwise) bindSamples(*p.type, g, samples, /*inShape=*/false);  // others are bound by the default
  const auto isFree = [&](const ast::Generic& x) { return !g.bound.count(x.name.text); };
  // A device variable that is that of no parameter: every call is an error.
  if (std::ranges::any_of(s.generics,
                          [&](const ast::Generic& x) { return x.kind == ast::Generic::Kind::Device && isFree(x); }))
    return false;
  for (size_t i = 0; i < s.params.size(); ++i) {
    values.push_back(sampleOf(decl, i, g, samples, region));
    if (values.back().is(Kind::Unit)) return false;
  }
  for (const ast::Generic& x : s.generics) {
    if (!isFree(x)) continue;
    if (x.otherwise) {
      if (auto v = types_.typeArgument(*x.otherwise, g)) g.bound[x.name.text] = *v;
    } else if (x.kind != ast::Generic::Kind::Open) {
      g.bound[x.name.text] = unknown(samples);
    }
  }
  return true;
}

void Uncalled::instantiateSample(const FnDecl& decl, Samples& samples, ir::Region& region) {
  const ast::Stmt& s = *decl.stmt;
  Generics g = genericsOf(decl);
  std::vector<Val> values;
  bool ok = sampleArguments(decl, values, g, samples, region);
  if (ok && s.type && !hasOpenResult(*decl.unit->resolution, s)) ok = functions_.resultDimsBound(*s.type, g, false);
  if (ok) instances_.instantiate(decl, values, g, {});
  if ((!ok || samples.unknown) && !functions_.isNamed(decl)) checkNamesOf(decl);  // others: checkUnseen
}

void Uncalled::checkDefaults(const FnDecl& decl, ir::Region& region) {
  const auto& params = decl.stmt->params;
  const auto isReported = [&](const ast::FnParam& p) {
    return std::ranges::any_of(context_.diags.all(), [&](const Diagnostic& d) {
      return d.span.file == p.otherwise->span.file && d.span.begin >= p.otherwise->span.begin &&
             d.span.end <= p.otherwise->span.end;
    });
  };
  if (std::ranges::none_of(params, [&](const ast::FnParam& p) { return p.otherwise && !isReported(p); })) return;
  holds({}, [&](Samples& samples) {
    Generics g = genericsOf(decl);
    std::vector<Val> values;
    sampleArguments(decl, values, g, samples, region);
  });
}

void Uncalled::checkDefaults(const std::vector<ast::Generic>& generics, const Generics& g) {
  Generics known = g;
  known.open = false;  // a name that nothing declares is none of a dim
  for (const ast::Generic& x : generics) {
    const auto v = x.otherwise ? types_.typeArgument(*x.otherwise, known) : std::nullopt;
    if (v && v->is(Kind::DType) && x.isDType())
      unifier_.checkKind(x.kind, *v, x.name.text,
                         {"the default of `" + x.name.text + "`", x.otherwise->span, x.name.span});
  }
}

void Uncalled::checkUncalled(const Unit& unit) { check(unit, std::nullopt, true); }
void Uncalled::checkUncalledOf(const Unit& unit, uint32_t source) { check(unit, source, true); }
void Uncalled::checkTypes(const Unit& unit) {
  const bool hasDefaults = std::ranges::any_of(unit.functions, [](const auto& named) {
    return std::ranges::any_of(named.second, [](const FnDecl& decl) {
      return std::ranges::any_of(decl.stmt->params, [](const ast::FnParam& p) { return p.otherwise != nullptr; });
    });
  });
  if (hasDefaults || !unit.structs.empty() || !unit.aliases.empty()) check(unit, std::nullopt, false);
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
    const Difference none;
    Samples dims{kChoices[0], none, kRanks[0]};
    for (const ast::Field& f : decl.stmt->fields) {
      if (f.type) bindSamples(*f.type, g, dims, false);
    }
    structs_.structWith(decl, g);
    checkDefaults(decl.stmt->generics, g);
  }
  for (const auto& [name, alias] : unit.aliases) {
    if (!isMeant(*alias) || !alias->type) continue;
    Generics g;
    g.unit = &unit;
    g.listed = &alias->generics;
    checkDefaults(alias->generics, g);
    if (alias->generics.empty()) types_.resolve(*alias->type, g);
  }
  for (const auto& [name, list] : unit.functions) {
    for (const FnDecl& decl : list) {
      if (!isMeant(*decl.stmt)) continue;
      checkDefaults(decl.stmt->generics, genericsOf(decl));
      if (functions_.isCalled(decl))
        checkDefaults(decl, *samples->body);
      else if (functionsToo)
        checkWithSamples(decl, *samples->body);
    }
  }
  context_.b().makeTyped(OpKind::Return, {}, {});
  // It was only the place where sample values stood.
  auto& funcs = context_.module.funcs;
  funcs.erase(std::find_if(funcs.begin(), funcs.end(), [&](const auto& f) { return f.get() == samples; }));
}

}  // namespace tenc::frontend
