// Written types: names in them, dims, arguments.
#include "frontend/types/Types.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Names.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/types/Aliases.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Evaluator.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
using GenericKind = ast::Generic::Kind;
}  // namespace

TypeName Types::typeName(const ast::TypeExpr& t, Generics& g, bool inShape) {
  const std::string& name = t.path[0].text;
  if (t.path.size() > 1) {
    auto imported = g.unit->modules.find(name);
    if (imported == g.unit->modules.end()) {
      if (names_.lookupGlobal(*g.unit, name, t.span)) return {false, context_.lost()};  // an import that failed
      return {false, unknownNames_.unknownName(name, t.path[0].span)};
    }
    auto v = names_.lookupGlobal(*imported->second, t.path[1].text, t.span);
    if (!v) {
      return {false,
              context_.fail(Code::E0206, t.path[1].span, "module `" + name + "` has no `" + t.path[1].text + "`")};
    }
    return {false, v};
  }
  if (auto it = g.bound.find(name); it != g.bound.end()) return {false, it->second};
  if (listedGeneric(g, name)) return {true, std::nullopt};
  if (g.locals) {
    if (Binding* local = scopes_.findLocal(name)) {
      const Val& v = local->value;
      if (v.isStatic() || v.is(Val::Kind::Type) || v.is(Val::Kind::Device) || v.poison()) return {false, v};
    }
  }
  const bool declaresType = g.unit->structs.count(name) || g.unit->aliases.count(name) || g.unit->names.count(name);
  const bool declaresValue = g.unit->constants.count(name) || g.unit->params.count(name) || g.unit->devices.count(name);
  if (declaresValue || (declaresType && !inShape) || (inShape && g.unit->names.count(name))) {
    auto v = names_.lookupGlobal(*g.unit, name, t.span);
    if (v && (!inShape || v->is(Val::Kind::Int) || v->poison())) return {false, v};
  }
  if (declaresType && inShape && !g.unit->names.count(name)) {
    if (auto v = names_.lookupGlobal(*g.unit, name, t.span)) return {false, v};
  }
  if (auto dtype = ir::dtypeNamed(name)) return {false, Val::ofDType(*dtype, t.span)};
  if (ir::DeviceTable::isKind(name)) {
    DeviceRef d;
    d.name = ir::DeviceTable::normal(name);
    return {false, Val::ofDevice(d, t.span)};
  }
  if (!inShape && g.unit->file && g.unit->file->lost.count(name)) return {false, context_.lost()};
  if (g.open && (inShape || (g.dims && g.dims->contains(name)))) return {true, std::nullopt};
  return {false, std::nullopt};
}

std::optional<int64_t> Types::dimOf(const ast::TypeExpr& t, Generics& g, bool report) {
  switch (t.kind) {
    case TypeKind::Int: return t.integer;
    case TypeKind::Path: {
      TypeName n = typeName(t, g, true);
      if (n.value && n.value->is(Val::Kind::Int)) return evaluator_.constInt(*n.value);
      if (n.value && !n.value->poison() && report) {
        context_.error(Code::E0203, t.span, "a dim must be an integer, not " + describe(*n.value));
      }
      return std::nullopt;
    }
    case TypeKind::Negate: {
      auto v = dimOf(*t.args[0], g, report);
      return v ? std::optional(-*v) : std::nullopt;
    }
    case TypeKind::Binary: {
      auto a = dimOf(*t.args[0], g, report), c = dimOf(*t.args[1], g, report);
      if (!a || !c) return std::nullopt;
      const char text[] = {t.op, 0};
      auto v =
          evaluator_.foldNumbers(t.op == '/' ? "//" : text, Val::ofInt(*a, t.span), Val::ofInt(*c, t.span), t.span);
      return v && v->is(Val::Kind::Int) ? evaluator_.constInt(*v) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::string Types::deviceInType(const ast::TypeExpr& t, Generics& g) {
  if (!t.place) return "";
  const ast::Annotation& a = *t.place;
  if (a.path.size() == 1 && !a.number && !a.index) {
    const std::string& name = a.path[0].text;
    if (auto it = g.bound.find(name); it != g.bound.end()) {
      return it->second.is(Val::Kind::Device) ? it->second.device.name : "";
    }
    if (listedGeneric(g, name)) return "$" + name;
  }
  // Other names are those of the unit in whose scope the type is read.
  if (g.unit != context_.frame().unit && !g.locals) {
    Frame own(g.unit);
    const FrameScope inside(context_.frames, own);
    auto d = devices_.annotationDevice(a);
    return d ? d->name : "";
  }
  auto d = devices_.annotationDevice(a);
  return d ? d->name : "";
}

std::optional<Val> Types::typeArgument(const ast::TypeExpr& written, Generics& g) {
  const ast::TypeExpr& t = *aliases_.expanded(&written, g);
  switch (t.kind) {
    case TypeKind::Int:
    case TypeKind::Binary:
    case TypeKind::Negate:
      if (auto d = dimOf(t, g, true)) return Val::ofInt(*d, t.span);
      return std::nullopt;
    case TypeKind::Device: {
      DeviceRef d;
      d.name = t.device;
      return Val::ofDevice(d, t.span);
    }
    case TypeKind::Pack: {
      auto it = g.bound.find(t.path[0].text);
      return it == g.bound.end() ? std::nullopt : std::optional(it->second);
    }
    case TypeKind::Path: {
      TypeName n = typeName(t, g, true);
      if (n.variable) return std::nullopt;
      if (!n.value) {
        unknownNames_.unknownName(t.path[0].text, t.span);
        return std::nullopt;
      }
      if (n.value->is(Val::Kind::Type) || (n.value->is(Val::Kind::DType) && !t.args.empty())) break;
      return n.value->poison() ? std::nullopt : n.value;
    }
    default: break;
  }
  Val v;
  v.kind = Val::Kind::Type;
  v.span = t.span;
  v.type = std::make_shared<Ty>(resolve(t, g));
  return v;
}

Ty Types::resolve(const ast::TypeExpr& written, Generics& g) {
  const ast::TypeExpr& t = *aliases_.expanded(&written, g);
  Ty r;
  if (context_.tooDeep(t.span)) return r;
  if (t.op == '!' && t.kind == TypeKind::Path) return r;
  switch (t.kind) {
    case TypeKind::Tuple:
      r.kind = Ty::Kind::Tuple;
      for (const auto& e : t.args) {
        if (context_.spent(e->span)) break;  // names of tuples of names of tuples grow without end
        r.elems.push_back(resolve(*e, g));
      }
      break;
    case TypeKind::List:
      r.kind = Ty::Kind::List;
      r.elems.push_back(resolve(*t.args[0], g));
      r.length = dimOf(*t.args[1], g, false).value_or(-1);
      break;
    case TypeKind::ShapeOf: r.kind = Ty::Kind::Shape; break;
    case TypeKind::Path: {
      const std::string& name = t.path[0].text;
      TypeName n = typeName(t, g, false);
      if (n.variable) {
        const ast::Generic* listed = listedGeneric(g, name);
        const GenericKind kind = listed ? listed->kind : GenericKind::Open;
        if (kind == GenericKind::Fn)
          r.kind = Ty::Kind::Fn;
        else if (kind == GenericKind::Device)
          r.kind = Ty::Kind::Device;
        else if (t.hasArgs || (listed && listed->isDType()))
          r.kind = Ty::Kind::Tensor;
      } else if (!n.value) {
        r.kind = builtInType(name);
        if (r.kind == Ty::Kind::Unknown && !listedGeneric(g, name)) unknownType(t);
        break;
      } else if (n.value->is(Val::Kind::DType)) {
        r.kind = Ty::Kind::Tensor;
        r.dtype = n.value->dtype;
      } else if (n.value->is(Val::Kind::Type)) {
        const Ty& named = *n.value->type;
        r = named;
        if (named.kind == Ty::Kind::Struct && named.info && named.elems.empty() && named.info->decl) {
          r = structs_.structResolved(*named.info->decl, t.args, g, t.span);
        }
      } else if (n.value->is(Val::Kind::Int)) {
        r.kind = Ty::Kind::Tensor;  // a parameter that is a dim
        r.dtype = ir::DType::I64;
        r.dims = ir::Dims{};
      } else if (n.value->is(Val::Kind::Device)) {
        r.kind = Ty::Kind::Device;
      } else if (const ast::Generic* listed = listedGeneric(g, name);
                 n.value->is(Val::Kind::Function) ||
                 (listed && listed->kind == GenericKind::Fn && !n.value->poison())) {
        r.kind = Ty::Kind::Fn;
      } else if (!n.value->poison()) {
        context_.fail(Code::E0203, t.span, "expected a type here, not " + describe(*n.value));
      }
      if (r.kind == Ty::Kind::Tensor && !(n.value && n.value->is(Val::Kind::Type))) {
        ir::Dims dims;
        bool known = true;
        for (const auto& a : t.args) {
          if (a->kind == TypeKind::Pack) {
            auto it = g.bound.find(a->path[0].text);
            if (it == g.bound.end() && g.locals) {
              if (Binding* local = scopes_.findLocal(a->path[0].text); local && local->value.is(Val::Kind::Pack)) {
                for (const Val& d : local->value.elems) dims.push_back(static_cast<int64_t>(d.integer));
                continue;
              }
            }
            if (it == g.bound.end()) {
              known = false;
              continue;
            }
            for (const Val& d : it->second.elems) dims.push_back(static_cast<int64_t>(d.integer));
          } else {
            dims.push_back(dimOf(*a, g, true).value_or(-1));
          }
        }
        if (known) r.dims = dims;
      }
      break;
    }
    default: context_.fail(Code::E0203, t.span, "expected a type here"); break;
  }
  if (t.place) r.place = deviceInType(t, g);
  return r;
}

void Types::unknownType(const ast::TypeExpr& t) {
  const std::string& name = t.path[0].text;
  if (scopes_.lostName(name)) return;
  auto d = context_.error(Code::E0102, t.span, "unknown type `" + name + "`");
  std::vector<std::string> names = {"f16", "bf16", "f32", "f64", "i8",  "i16",  "i32",
                                    "i64", "u8",   "u16", "u32", "u64", "bool", "str"};
  for (const auto& [n, s] : context_.frame().unit->structs) names.push_back(n);
  const syntax::Familiar* known = syntax::familiarName(name);
  if ((known && (!known->replacement.empty() || !known->help.empty())) || !nearest(name, names).empty())
    suggest(d, name, t.path[0].span, names, known);
  else
    d.note("dtype, tree and function variables are listed: `fn f[T: float](x: T[N])`");
}

}  // namespace tenc::frontend
