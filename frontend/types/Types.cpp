// Written types: names in them, dims, arguments.
#include "frontend/types/Types.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Idioms.h"
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
#include "frontend/values/Trees.h"
#include "ir/DeviceTable.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
using GenericKind = ast::Generic::Kind;
}  // namespace

TypeName Types::typeName(const ast::TypeExpr& t, Generics& g, bool inShape) {
  const ast::Name& head = t.path[0];
  const std::string& name = head.text;
  const Declaration* d = g.unit->resolution->definition(head.span);
  if (t.path.size() > 1) {
    if (!d) return {false, unknownPath(t)};
    if (d->kind != Declaration::Kind::Module) return {false, noModule(*d, head)};
    const ast::Name& member = t.path[1];
    if (auto v = names_.lookupGlobal(*d->home->unit, member.text, t.span)) return {false, v};
    return {false, context_.fail(Code::E0206, member.span, "module `" + name + "` has no `" + member.text + "`")};
  }
  if (!d) return {g.open && inShape, std::nullopt};
  if (!d->isLocal()) return {false, names_.valueOf(*d, t.span)};
  if (auto it = g.bound.find(name); it != g.bound.end()) return {false, it->second};
  if (Binding* local = g.locals ? scopes_.declaredAt(d->span) : nullptr) return {false, local->value};
  using Kind = Declaration::Kind;
  const bool variable = d->kind == Kind::Generic || d->kind == Kind::Dim || d->kind == Kind::Parameter;
  return {variable, std::nullopt};
}

Val Types::noModule(const Declaration& d, const ast::Name& head) {
  if (d.kind == Declaration::Kind::Lost) return context_.lost();
  auto error = context_.error(Code::E0102, head.span, "`" + head.text + "` is not a module");
  if (d.span.valid()) error.note(d.span, "declared here");
  return Val(error);
}

Val Types::unknownPath(const ast::TypeExpr& t) {
  const ast::Name& head = t.path[0];
  auto mended = dimOfParameter(context_, t);
  const syntax::Familiar* known = syntax::familiarName(head.text);
  if (!mended && known && known->prefix) mended = withoutType(context_, t);
  if (!mended && scopes_.nameExists(head.text))
    return context_.fail(Code::E0102, head.span, "`" + head.text + "` is not a module");
  if (!mended) return unknownNames_.unknownName(head.text, head.span);
  return Val(
      context_.error(Code::E0102, head.span, "`" + head.text + "` is not a module").help(mended->text, mended->edits));
}

bool Types::requireDim(const ast::TypeExpr& t) {
  if (t.place) {
    context_.error(Code::E0203, t.place->span, "a dim has no device")
        .help("the device follows the type: `f32[N, 4] @gpu`");
    return false;
  }
  switch (t.kind) {
    case TypeKind::Int: return true;
    case TypeKind::Negate: return requireDim(*t.args[0]);
    case TypeKind::Binary: return requireDim(*t.args[0]) && requireDim(*t.args[1]);
    case TypeKind::Path:  // also one of a device or a dtype: a dim variable may be called so
      if (!t.hasArgs || t.path.size() > 1) return true;  // `x.shape[0]`: that `x` is no module is said
      context_.error(Code::E0203, t.span, "a dim is an integer and takes no arguments in brackets");
      return false;
    default:
      context_.error(Code::E0203, t.span,
                     "a dim must be an integer, not " + std::string(t.kind == TypeKind::Tuple    ? "a tuple"
                                                                    : t.kind == TypeKind::Device ? "a device"
                                                                                                 : "a list"));
      return false;
  }
}

std::optional<int64_t> Types::dimOf(const ast::TypeExpr& t, Generics& g, bool report) {
  if (report && !requireDim(t)) return std::nullopt;
  switch (t.kind) {
    case TypeKind::Int: return t.integer;
    case TypeKind::Path: {
      TypeName n = typeName(t, g, true);
      if (n.value && n.value->is(Val::Kind::Int)) return evaluator_.constInt(*n.value);
      if (n.value && isRunTimeSize(*n.value) && report) {
        // In the function itself the way to the argument begins at this use.
        const Declaration* variable = context_.frame().unit->resolution->definition(t.span);
        Val size = *n.value;
        if (variable && context_.frame().bound(variable->span)) size.span = t.span;
        refuseRunTimeSize(context_, size);
      } else if (n.value && !n.value->poison() && report) {
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
  const bool named = a.path.size() == 1 && !a.number && !a.index;
  const Declaration* d = named ? g.unit->resolution->definition(a.path[0].span) : nullptr;
  if (d && (d->kind == Declaration::Kind::Generic || d->kind == Declaration::Kind::Parameter)) {
    const auto bound = g.bound.find(d->name);
    if (bound != g.bound.end()) return bound->second.is(Val::Kind::Device) ? bound->second.device.name : "";
    const Binding* local = context_.frame().bound(d->span);
    const bool byValue = local && local->value.device.of && local->value.device.name.empty();
    if (d->kind == Declaration::Kind::Generic || byValue) return "$" + d->name;
  }
  // Other names are those of the unit in whose scope the type is read.
  if (g.unit != context_.frame().unit && !g.locals) {
    Frame own(g.unit);
    const FrameScope inside(context_.frames, own);
    const auto device = devices_.annotationDevice(a);
    return device ? device->name : "";
  }
  const auto device = devices_.annotationDevice(a);
  return device ? device->name : "";
}

Span Types::placeIn(const ast::TypeExpr& t) {
  if (t.place) return t.place->span;
  for (const ast::TypePtr& part : t.args) {
    if (const Span inner = placeIn(*part); inner.valid()) return inner;
  }
  return {};
}

Pins Types::pinsOf(const ast::TypeExpr& written, Generics& g) {
  const ast::TypeExpr& t = *aliases_.expanded(&written, g);
  if (t.place) return {deviceInType(t, g), {}};
  if (t.kind == TypeKind::Tuple || t.kind == TypeKind::List) {
    std::vector<Pins> parts;
    const size_t count = t.kind == TypeKind::List ? 1 : t.args.size();
    for (size_t i = 0; i < count && !context_.spent(t.args[i]->span); ++i) parts.push_back(pinsOf(*t.args[i], g));
    return Pins::ofParts(std::move(parts));
  }
  if (t.kind == TypeKind::Path) {
    const Declaration* d = g.unit->resolution->definition(t.path.back().span);
    if (d && d->kind == Declaration::Kind::Alias) return frontend::pinsOf(resolve(t, g));
    const auto bound = d && d->kind == Declaration::Kind::Generic ? g.bound.find(d->name) : g.bound.end();
    if (bound != g.bound.end() && bound->second.is(Val::Kind::Type)) return frontend::pinsOf(*bound->second.type);
  }
  return {};
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
      d.name = ir::DeviceTable::normal(t.device);
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

namespace {

/// How many leaves a value of this type has; no more than there may be, and one.
size_t partsOf(const Ty& t) {
  if (t.elems.empty()) return 1;
  size_t all = 0;
  for (const Ty& e : t.elems) all = std::min(all + partsOf(e), kMostParts + 1);
  if (t.kind != Ty::Kind::List) return all;
  const auto length = std::clamp<int64_t>(t.length, 0, static_cast<int64_t>(kMostParts) + 1);
  return std::min(all * static_cast<size_t>(length), kMostParts + 1);
}

}  // namespace

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
    case TypeKind::List: {
      r.kind = Ty::Kind::List;
      const size_t errors = context_.diags.errors();
      r.elems.push_back(resolve(*t.args[0], g));
      r.length = requireDim(*t.args[1]) ? dimOf(*t.args[1], g, false).value_or(-1) : -1;
      // Lists of lists multiply with each bracket.
      if (context_.diags.errors() > errors) return Ty{};
      if (partsOf(r) > kMostParts) {
        context_.fail(Code::E0208, t.span, "this type has more than " + std::to_string(kMostParts) + " parts");
        return Ty{};
      }
      break;
    }
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
              if (Binding* local = scopes_.find(a->path[0].span); local && local->value.is(Val::Kind::Pack)) {
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
  if (auto left = known && known->name == "Tensor" ? withoutType(context_, t) : std::nullopt)
    d.help(left->text, left->edits);
  else if (known && !known->asType.empty())
    d.help(std::string(known->help), {{t.span, std::string(known->asType)}});
  else if ((known && (!known->replacement.empty() || !known->help.empty())) || !nearest(name, names).empty())
    suggest(d, name, t.path[0].span, names, known);
  else if (auto listed = listedVariable(context_, t))
    d.help(listed->text, listed->edits);
}

}  // namespace tenc::frontend
