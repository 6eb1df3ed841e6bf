// Values against written types: binds dim, dtype, shape, tree, device and function variables; checks what is known.
#include "frontend/types/Unifier.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/Context.h"
#include "frontend/types/Aliases.h"
#include "frontend/types/DimSolver.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Structs.h"
#include "frontend/types/Types.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Keys.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
using Kind = Val::Kind;
using GenericKind = ast::Generic::Kind;

bool callable(const Val& v) {
  return v.is(Kind::Function) || v.is(Kind::Struct) || v.is(Kind::Tuple) || v.is(Kind::DType);
}
}  // namespace

bool Unifier::checkKind(GenericKind kind, const Val& v, std::string_view name, const Target& who, bool ofValue) {
  bool ok = true;
  if (kind == GenericKind::Float)
    ok = ir::isFloat(v.dtype);
  else if (kind == GenericKind::Int)
    ok = ir::isInt(v.dtype);
  else if (kind == GenericKind::Real)
    ok = v.dtype != ir::DType::Bool;
  if (!ok) {
    auto d = context_.error(Code::E0201, who.span,
                            who.what + " is " + std::string(ir::name(v.dtype)) + ", but `" + std::string(name) +
                                "` is declared " + std::string(ast::name(kind)));
    if (ofValue && kind == GenericKind::Int && ir::isFloat(v.dtype)) d.help("`i64(...)` converts");
    if (ofValue && kind == GenericKind::Float && ir::isInt(v.dtype)) d.help("`f32(...)` converts");
  }
  return ok;
}

Val Unifier::unifyTensor(const ast::TypeExpr& t, const TypeName& head, const Val& v, Generics& g, const Target& who) {
  const std::string& name = t.path[0].text;
  const Code dtypeCode = who.isDeclaration ? Code::E0207 : Code::E0201;
  auto mismatch = [&](Code code) {
    auto d = context_.error(
        code, who.span,
        who.what + " is " + describe(v) + ", but " + std::string(context_.sources.text(t.span)) + " is declared");
    who.explain(d);
    return Val(d);
  };
  std::optional<ir::DType> declared;
  if (head.value) declared = head.value->dtype;
  Val r = v;
  if (v.isNumber() || v.is(Kind::Bool)) {
    if (!declared) {
      Val type = Val::ofDType(v.is(Kind::Bool) ? ir::DType::Bool : v.dtype, who.span);
      if (const ast::Generic* listed = listedGeneric(g, name);
          listed && !checkKind(listed->kind, type, name, who, true)) {
        return g.bound[name] = context_.lost();  // what it stands for elsewhere is no error of its own
      }
      g.bound[name] = type;
      g.origin[name] = who.span;
      declared = type.dtype;
    }
    const bool isBool = v.is(Kind::Bool);
    if (isBool != (*declared == ir::DType::Bool)) return mismatch(dtypeCode);
    if (v.is(Kind::Float) && !ir::isFloat(*declared)) return mismatch(dtypeCode);
    if (!isBool && !v.adopts && v.dtype != *declared) return mismatch(dtypeCode);
    if (!t.args.empty() && !dimSolver_.unifyDims(t.args, {}, g, who, t)) return context_.lost();
    if (isBool) return r;
    const bool stays = *declared == ir::DType::I64 || *declared == ir::DType::F32 || *declared == ir::DType::F64;
    if (stays) {
      r = ir::isFloat(*declared) ? Val::ofFloat(asFloat(v, *declared), v.span, true) : v;
      r.dtype = *declared;
      r.adopts = true;
      r.dim = false;
      r = tensors_.settle(r);
      return r;
    }
    ir::Value* x = tensors_.tensorOf(v, declared);
    return x ? Val::ofTensor(x, v.span) : context_.lost();
  }
  if (v.is(Kind::Array) || v.is(Kind::Pack)) {
    ir::Value* x = tensors_.tensorOf(v, declared);
    if (!x) return context_.lost();
    r = Val::ofTensor(x, v.span);
  }
  if (!r.is(Kind::Tensor)) return mismatch(who.isDeclaration ? Code::E0207 : Code::E0203);
  const ir::Type& type = r.tensor->type;
  if (!declared) {
    Val bound = Val::ofDType(type.dtype, who.span);
    if (const ast::Generic* listed = listedGeneric(g, name);
        listed && !checkKind(listed->kind, bound, name, who, true)) {
      return g.bound[name] = context_.lost();
    }
    g.bound[name] = bound;
    g.origin[name] = who.span;
  } else if (*declared != type.dtype) {
    const std::string asked(ir::name(*declared));
    auto d = context_.error(dtypeCode, who.span,
                            who.what + " is " + describe(r) + ", but " + std::string(context_.sources.text(t.span)) +
                                (head.value && name != asked ? " with " + name + " = " + asked : "") + " is declared");
    who.explain(d);
    const bool isNumber = t.args.empty();
    // An edit where nothing is lost.
    const bool exact = ir::isFloat(*declared) && type.dtype != ir::DType::Bool &&
                       (ir::isInt(type.dtype) || ir::byteSize(*declared) > ir::byteSize(type.dtype));
    const std::string written(v.span.valid() ? context_.sources.text(v.span) : "");
    const bool isWhole = !written.empty() && written.find('\n') == std::string::npos && !who.isDeclaration;
    if (v.span.valid() && (!isNumber || type.shape.empty()))
      d.help("`" + asked + "(...)` converts",
             exact && isWhole ? std::vector<Edit>{{v.span, asked + "(" + written + ")"}} : std::vector<Edit>{});
    return d;
  }
  Target of = who;
  of.whole = &r;
  if (!dimSolver_.unifyDims(t.args, type.shape, g, of, t)) return context_.lost();
  return r;
}

bool Unifier::unifyArgument(const ast::TypeExpr& written, const Val& actual, Generics& g, const Target& who) {
  const ast::TypeExpr& t = *aliases_.expanded(&written, g);
  if (actual.poison()) return true;
  auto differs = [&](const Val& known) {
    auto d = context_.error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                            who.what + " has " + describe(actual) + " where " + describe(known) + " is declared");
    who.explain(d);
    return false;
  };
  switch (t.kind) {
    case TypeKind::Int:
    case TypeKind::Binary:
    case TypeKind::Negate: {
      auto value = evaluator_.constInt(actual);
      return value && dimSolver_.unifyDim(t, *value, g, who);
    }
    case TypeKind::Pack: {
      auto [it, fresh] = g.bound.try_emplace(t.path[0].text, actual);
      return fresh || sameKey(it->second, actual) || differs(it->second);
    }
    case TypeKind::Path: {
      if (actual.is(Kind::Int)) {
        auto value = evaluator_.constInt(actual);
        return value && dimSolver_.unifyDim(t, *value, g, who);
      }
      TypeName n = types_.typeName(t, g, true);
      if (n.variable) {
        const std::string& name = t.path[0].text;
        if (name == "_") return true;
        if (const ast::Generic* listed = listedGeneric(g, name);
            listed && actual.is(Kind::DType) && !checkKind(listed->kind, actual, name, who)) {
          return false;
        }
        g.bound[name] = actual;
        g.origin[name] = who.span;
        return true;
      }
      if (!n.value || n.value->poison()) return true;
      if (n.value->is(Kind::Type) && actual.is(Kind::Type)) {
        const Ty wanted = types_.resolve(t, g);
        return !wanted.complete() || toString(wanted) == toString(*actual.type) || differs(*n.value);
      }
      return sameKey(*n.value, actual) || differs(*n.value);
    }
    default: return true;
  }
}

Val Unifier::unifyStruct(const ast::TypeExpr& t, const StructDecl& decl, const Val& v, Generics& g, const Target& who) {
  if (!v.is(Kind::Struct) || v.info->decl != &decl) {
    auto d = context_.error(
        who.isDeclaration ? Code::E0207 : Code::E0203, who.span,
        who.what + " is " + describe(v) + ", but " + std::string(context_.sources.text(t.span)) + " is declared");
    who.explain(d);
    return d;
  }
  const auto shares = structs_.shareArguments(decl, t.args.size(), t.span,
                                              [&](size_t i) { return structs_.isDimArgument(*t.args[i], g); });
  if (!shares) return context_.lost();
  const auto given = [&](size_t i) { return (*shares)[i].first != (*shares)[i].second; };
  for (size_t i = 0; i < shares->size(); ++i) {
    const auto [first, last] = (*shares)[i];
    const Val& actual = v.info->args[i].second;
    if (first == last) continue;
    if (decl.stmt->generics[i].pack && actual.is(Kind::Pack)) {
      const auto dims = evaluator_.constInts(actual);
      if (!dims || !dimSolver_.unifyDims(std::span(t.args).subspan(first, last - first), *dims, g, who, t))
        return context_.lost();
    } else if (!unifyArgument(*t.args[first], actual, g, who)) {
      return context_.lost();
    }
  }
  // What is left out has its default, in a type that gives the others.
  if (!t.args.empty()) {
    Generics own = structGenerics(decl);
    for (size_t i = 0; i < shares->size(); ++i)
      if (given(i)) own.bound[v.info->args[i].first] = v.info->args[i].second;
    structs_.giveDefaults(decl, own);
    for (size_t i = 0; i < v.info->args.size(); ++i) {
      auto it = own.bound.find(v.info->args[i].first);
      if (it == own.bound.end() || sameKey(it->second, v.info->args[i].second)) continue;
      auto d = context_.error(who.isDeclaration ? Code::E0207 : Code::E0201, who.span,
                              who.what + " is " + describe(v) + ", but " + std::string(context_.sources.text(t.span)) +
                                  " with " + it->first + " = " + describe(it->second) + " is declared");
      who.explain(d);
      return d;
    }
  }
  // Rows of a struct's tensors, or a batch of them, are no such struct.
  if (const auto part = structs_.misfit(v)) {
    auto d = context_.error(who.isDeclaration ? Code::E0207 : Code::E0203, who.span,
                            "`" + part->path.substr(1) + "` of " + who.what + " is " + describe(*part->leaf) +
                                ", but " + std::string(context_.sources.text(part->declared->span)) + " is declared");
    d.note(part->declared->span, "the field is declared here");
    if (!who.help.empty()) d.help(who.help);
    return d;
  }
  return v;
}

Val Unifier::mismatch(const ast::TypeExpr& t, const Val& v, const Target& who, const ast::Generic* tree) {
  auto d = context_.error(
      who.isDeclaration ? Code::E0207 : Code::E0203, who.span,
      who.what + " is " + describe(v) + ", but " + std::string(context_.sources.text(t.span)) + " is declared");
  who.explain(d);
  if (tree != nullptr && tree->kind == ast::Generic::Kind::Tree && !tree->otherwise && v.is(Kind::Function))
    d.help("a function is no tree: its kind is `fn`", {{tree->span, tree->name.text + ": fn"}});
  return d;
}

Val Unifier::unify(const ast::TypeExpr& written, const Val& v, Generics& g, const Target& who) {
  const ast::TypeExpr& t = *aliases_.expanded(&written, g);
  if (v.poison() || t.op == '!') return context_.lost();
  if (t.place && t.place->path.size() == 1 && !t.place->number && !t.place->index) {
    const std::string& device = t.place->path[0].text;
    if (listedGeneric(g, device) && !g.bound.count(device)) {
      DeviceRef d;
      d.name = "$" + device;
      g.bound[device] = Val::ofDevice(d, who.span);
    }
  }
  switch (t.kind) {
    case TypeKind::Tuple: return unifyTuple(t, v, g, who);
    case TypeKind::List: return unifyList(t, v, g, who);
    case TypeKind::ShapeOf: return unifyShape(t, v, g, who);
    case TypeKind::Path: return unifyName(t, v, g, who);
    default: return context_.fail(Code::E0203, t.span, "expected a type here");
  }
}

Val Unifier::unifyTuple(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who) {
  if (!v.is(Kind::Tuple) || v.elems.size() != t.args.size()) return mismatch(t, v, who);
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    r.elems.edit()[i] = unify(*t.args[i], v.elems[i], g,
                              {who.what + "." + std::to_string(i), who.span, who.declared, who.isDeclaration});
    if (r.elems[i].poison()) return r.elems[i];
  }
  return r;
}

Val Unifier::unifyList(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who) {
  Val r = v;
  if (v.is(Kind::Array)) {
    const Ty expected = types_.resolve(t, g);
    r = tensors_.settle(v, &expected);
    if (r.poison()) return r;
  }
  if (!r.is(Kind::List)) return mismatch(t, v, who);
  if (!dimSolver_.unifyDim(*t.args[1], static_cast<int64_t>(r.elems.size()), g, who)) return context_.lost();
  for (Val& e : r.elems.edit()) {
    e = unify(*t.args[0], e, g, {"an element of " + who.what, who.span, who.declared, who.isDeclaration});
    if (e.poison()) return e;
  }
  return r;
}

Val Unifier::unifyShape(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who) {
  auto dims = evaluator_.constShape(v);
  if (!dims) return context_.lost();
  Val pack = Val::ofPack(*dims, v.span);
  auto [it, fresh] = g.bound.try_emplace(t.path[0].text, pack);
  if (!fresh && evaluator_.constInts(it->second) != dims) return mismatch(t, v, who);
  return pack;
}

/// A type variable that is bound here.
Val Unifier::unifyVariable(const ast::TypeExpr& t, const TypeName& head, const Val& v, Generics& g, const Target& who) {
  const std::string& name = t.path[0].text;
  const ast::Generic* listed = listedGeneric(g, name);
  const GenericKind kind = listed ? listed->kind : GenericKind::Open;
  if (kind == GenericKind::Fn || kind == GenericKind::Device) {
    if (!(kind == GenericKind::Fn ? callable(v) : v.is(Kind::Device))) return mismatch(t, v, who);
    return g.bound[name] = v;
  }
  if (t.hasArgs || (listed && listed->isDType())) return unifyTensor(t, head, v, g, who);
  if (kind == GenericKind::Open && v.is(Kind::Int)) {
    g.bound[name] = v;
    g.bound[name].adopts = true;
    g.origin[name] = who.span;
    return g.bound[name];
  }
  if (kind == GenericKind::Open && v.is(Kind::DType)) return g.bound[name] = v;
  const bool runTimeSize = v.is(Kind::Tensor) && v.tensor->type.shape.empty() && ir::isInt(v.tensor->type.dtype);
  if (listed && kind == GenericKind::Open && !runTimeSize) {  // one that is listed without a kind is a dim
    if (v.is(Kind::Struct)) {
      auto d = context_.error(Code::E0203, who.span, who.what + " must be an integer, not " + describe(v));
      d.help("a struct with a function `call`, such as a layer, is called itself: `layer(x)`");
      return d;
    }
    if (evaluator_.constInt(v, who.what)) return mismatch(t, v, who);
    return context_.lost();
  }
  Val r = tensors_.materialise(v);
  if (r.poison()) return r;
  if (!r.isTree() && !r.is(Kind::Tensor)) return mismatch(t, v, who, listedGeneric(g, t.path[0].text));
  Val bound;
  bound.kind = Kind::Type;
  bound.span = who.span;
  bound.type = std::make_shared<Ty>(typeOf(r));
  g.bound[name] = bound;
  g.origin[name] = who.span;
  return r;
}

/// What a name means: a variable, a type of the language, or what is known of it.
Val Unifier::unifyName(const ast::TypeExpr& t, const Val& v, Generics& g, const Target& who) {
  const std::string& name = t.path[0].text;
  const TypeName head = types_.typeName(t, g, false);
  const auto when = [&](bool fits) { return fits ? v : mismatch(t, v, who); };
  if (head.variable) return unifyVariable(t, head, v, g, who);
  if (!head.value) {
    switch (builtInType(name)) {
      case Ty::Kind::String: return when(v.is(Kind::String) || v.is(Kind::Format));
      case Ty::Kind::Device: return when(v.is(Kind::Device));
      case Ty::Kind::Fn: return when(callable(v));
      default: types_.unknownType(t); return context_.lost();
    }
  }
  switch (head.value->kind) {
    case Kind::None:
    case Kind::Poison: return context_.lost();
    case Kind::DType: return unifyTensor(t, head, v, g, who);
    case Kind::Int: {
      auto actual = v.is(Kind::Int) ? evaluator_.constInt(v) : std::nullopt;
      if (!actual && !v.is(Kind::Tensor)) return mismatch(t, v, who);
      if (!actual) {
        evaluator_.constInt(v, who.what);  // says why it is none
        return context_.lost();
      }
      return dimSolver_.unifyDim(t, *actual, g, who) ? Val::ofInt(*actual, v.span) : context_.lost();
    }
    case Kind::Device: return when(v.is(Kind::Device));
    case Kind::Function:
    case Kind::Struct:
    case Kind::Tuple: return when(callable(v));
    case Kind::Type: {
      const Ty& named = *head.value->type;
      if (named.kind == Ty::Kind::Struct && named.elems.empty() && named.info->decl &&
          !(g.bound.count(name) && t.path.size() == 1)) {
        return unifyStruct(t, *named.info->decl, v, g, who);
      }
      return fit(named, v, who);
    }
    default: return mismatch(t, v, who);
  }
}

}  // namespace tenc::frontend
