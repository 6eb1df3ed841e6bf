// Values against written types: binds dim, dtype, shape, tree, device and function variables; checks what is known.
#include <algorithm>

#include "frontend/Lowering.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
using Kind = Val::Kind;

bool isPack(const ast::TypePtr& t) { return t->kind == TypeKind::Pack; }

bool callable(const Val& v) {
  return v.is(Kind::Function) || v.is(Kind::Struct) || v.is(Kind::Tuple) || v.is(Kind::DType);
}
}  // namespace

bool Lowering::checkKind(std::string_view kind, const Val& v, std::string_view name, const Target& who) {
  bool ok = true;
  if (kind == "float")
    ok = ir::isFloat(v.dtype);
  else if (kind == "int")
    ok = ir::isInt(v.dtype);
  else if (kind == "real")
    ok = v.dtype != ir::DType::Bool;
  if (!ok) {
    error(Code::E0201, who.span,
          who.what + " is " + std::string(ir::name(v.dtype)) + ", but `" + std::string(name) + "` is declared " +
              std::string(kind));
  }
  return ok;
}

void Lowering::namedDims(const ast::TypeExpr& t, Generics& g, std::vector<NamedDim>& named) {
  for (const auto& part : t.args) namedDims(*part, g, named);
  if (t.kind != TypeKind::Path || !t.args.empty()) return;
  const std::string written(sources.text(t.span));
  const auto same = [&](const NamedDim& d) { return d.name == written; };
  if (std::any_of(named.begin(), named.end(), same)) return;
  const auto value = dimOf(t, g, false);
  if (!value) return;
  const auto from = g.origin.find(t.path[0].text);
  named.push_back({written, *value, t.span, from == g.origin.end() ? Span{} : from->second});
}

void Lowering::noteDims(Diagnostics::Builder& d, const ast::TypeExpr& t, Generics& g) {
  std::vector<NamedDim> named;
  namedDims(t, g, named);
  for (size_t i = 0; i < named.size(); ++i) {
    const NamedDim& n = named[i];
    if (n.origin.valid()) {
      std::string values;  // of all that one argument bound, at the last of them
      bool last = true;
      for (size_t j = 0; j < named.size(); ++j) {
        if (named[j].origin != n.origin) continue;
        last = last && j <= i;
        values += (values.empty() ? "`" : ", `") + named[j].name + "` is " + std::to_string(named[j].value);
      }
      if (last) d.note(n.origin, values + " because of this");
      continue;
    }
    if (listedGeneric(g, n.name)) continue;
    const std::string listed = g.open ? "fn f[" : "struct S[";
    d.note(n.written, g.locals ? "`" + n.name + "` is " + std::to_string(n.value) + " in this scope"
                               : "`" + n.name + "` is a constant in scope; list it, `" + listed + n.name +
                                     "]`, to make it a variable");
  }
}

bool Lowering::unifyDim(const ast::TypeExpr& t, int64_t value, Generics& g, const Target& who) {
  if (t.kind == TypeKind::Path) {
    TypeName n = typeName(t, g, true);
    if (n.variable) {
      const std::string& name = t.path[0].text;
      if (name == "_") return true;
      if (value < 0 && who.dim) {
        fail(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
             who.what + " has dim " + std::to_string(who.size) + ", which is not `" +
                 std::string(sources.text(who.dim->span)) + "` for any dim: `" + name + "` would be " +
                 std::to_string(value));
        return false;
      }
      g.bound[name] = Val::ofInt(value, who.span);
      g.origin[name] = who.span;
      return true;
    }
    if (n.value && n.value->poison()) return true;
  }
  if (auto known = dimOf(t, g, true)) {
    if (*known == value) return true;
    const std::string written(sources.text(t.span));
    const bool literal = t.kind == TypeKind::Int;
    auto d = error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                   who.what + " has dim " + std::to_string(value) + " where " +
                       (literal ? std::to_string(*known) : "`" + written + "` = " + std::to_string(*known)) +
                       " is declared");
    noteDims(d, t, g);
    return false;
  }
  if (t.kind == TypeKind::Negate) return unifyDim(*t.args[0], -value, g, who);
  if (t.kind != TypeKind::Binary) return false;
  // A variable that stands alone in a linear term is solved for; otherwise the term waits for the others.
  const ast::TypeExpr &left = *t.args[0], &right = *t.args[1];
  auto a = dimOf(left, g, false), c = dimOf(right, g, false);
  if (t.op == '+' && a) return unifyDim(right, value - *a, g, who);
  if (t.op == '+' && c) return unifyDim(left, value - *c, g, who);
  if (t.op == '-' && a) return unifyDim(right, *a - value, g, who);
  if (t.op == '-' && c) return unifyDim(left, value + *c, g, who);
  if (t.op == '*' && (a || c)) {
    const int64_t factor = a ? *a : *c;
    if (factor == 0 || value % factor != 0) {
      auto d = error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                     who.what + " has dim " + std::to_string(who.dim ? who.size : value) + ", which is not `" +
                         std::string(sources.text((who.dim ? who.dim : &t)->span)) + "` for any integer");
      noteDims(d, t, g);
      return false;
    }
    return unifyDim(a ? right : left, value / factor, g, who);
  }
  if (t.op == '/' && c == 1) return unifyDim(left, value, g, who);  // `I // G` of one group
  g.pending.push_back({&t, value});
  return true;
}

bool Lowering::finishPending(Generics& g, const Target& who) {
  std::vector<Generics::Pending> pending;
  pending.swap(g.pending);
  for (size_t before = pending.size() + 1; !pending.empty() && pending.size() < before;) {
    before = pending.size();
    std::vector<Generics::Pending> now;
    now.swap(pending);
    for (const auto& p : now) {
      if (!unifyDim(*p.dim, p.value, g, who)) return false;
    }
    pending.swap(g.pending);
  }
  if (pending.empty()) return true;
  error(Code::E0202, who.span,
        "the dims in `" + std::string(sources.text(pending[0].dim->span)) + "` do not follow from the arguments");
  return false;
}

bool Lowering::unifyDims(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
                         const ast::TypeExpr& whole) {
  auto pack = std::find_if(args.begin(), args.end(), isPack);
  const bool hasPack = pack != args.end();
  // A pack that is bound already counts with its dims.
  size_t fixed = args.size() - (hasPack ? 1 : 0);
  const auto differs = [&] {
    std::vector<NamedDim> named;
    for (const auto& dim : args) namedDims(*dim, g, named);
    std::string values;
    for (const NamedDim& n : named) {
      values += (values.empty() ? " with " : ", ") + n.name + " = " + std::to_string(n.value);
    }
    for (const auto& t : args) {
      const auto known = isPack(t) ? packDims(t->path[0].text, g) : std::nullopt;
      if (known && values.find("..." + t->path[0].text + " = ") == std::string::npos)
        values += (values.empty() ? " with ..." : ", ...") + t->path[0].text + " = " + ir::toString(*known);
    }
    auto d = error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                   who.what + " has shape " + ir::toString(dims) + ", but " + std::string(sources.text(whole.span)) +
                       values + " is declared");
    if (who.declared.valid()) d.note(who.declared, "declared here");
    noteDims(d, whole, g);
    return false;
  };
  if (std::count_if(args.begin(), args.end(), isPack) > 1) return unifyPacks(args, dims, g, who, differs);
  if (hasPack ? dims.size() < fixed : dims.size() != fixed) return differs();
  if (!hasPack) {
    size_t wrong = 0;
    for (size_t i = 0; i < fixed; ++i) {
      const auto known = dimOf(*args[i], g, false);
      wrong += known && *known != dims[i];
    }
    if (wrong > 1) return differs();  // one error, not one a dim
  }
  bool ok = true;
  const size_t front = static_cast<size_t>(pack - args.begin());
  // A term names all of itself in what is said of a part.
  const auto dim = [&](const ast::TypeExpr& t, int64_t size) {
    if (t.kind != TypeKind::Binary && t.kind != TypeKind::Negate) return unifyDim(t, size, g, who);
    Target term = who;
    term.dim = &t;
    term.size = size;
    return unifyDim(t, size, g, term);
  };
  for (size_t i = 0; ok && i < (hasPack ? front : fixed); ++i) ok = dim(*args[i], dims[i]);
  if (!hasPack) return ok;
  const size_t back = args.size() - front - 1;
  for (size_t i = 0; ok && i < back; ++i) ok = dim(*args[front + 1 + i], dims[dims.size() - back + i]);
  ir::Dims inner(dims.begin() + static_cast<std::ptrdiff_t>(front), dims.end() - static_cast<std::ptrdiff_t>(back));
  const std::string& name = (*pack)->path[0].text;
  const auto expected = packDims(name, g);
  if (!expected) {
    if (g.bound.count(name)) return false;  // what it stands for had an error
    g.bound[name] = Val::ofPack(inner, who.span);
    g.origin[name] = who.span;
    return ok;
  }
  if (*expected != inner) {
    auto d = error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                   who.what + " has shape " + ir::toString(inner) + " where `..." + name +
                       "` = " + ir::toString(*expected) + " is declared");
    if (auto from = g.origin.find(name); from != g.origin.end())
      d.note(from->second, "`" + name + "` is bound by this");
    return false;
  }
  return ok;
}

std::optional<ir::Dims> Lowering::packDims(const std::string& name, Generics& g) {
  auto known = g.bound.find(name);
  if (known == g.bound.end() && g.locals) {
    if (Binding* local = findLocal(name); local && local->value.is(Kind::Pack)) {
      known = g.bound.emplace(name, local->value).first;
    }
  }
  return known == g.bound.end() ? std::nullopt : constInts(known->second);
}

bool Lowering::unifyPacks(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
                          const std::function<bool()>& differs) {
  std::vector<std::optional<ir::Dims>> known(args.size());
  size_t fixed = 0, open = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (isPack(args[i])) known[i] = packDims(args[i]->path[0].text, g);
    fixed += !isPack(args[i]) ? 1 : known[i] ? known[i]->size() : 0;
    open += isPack(args[i]) && !known[i];
  }
  if (open > 1) {
    error(Code::E0202, who.span, "how the dims of " + who.what + " are shared among its packs does not follow");
    return false;
  }
  if (open ? dims.size() < fixed : dims.size() != fixed) return differs();
  auto at = dims.begin();
  for (size_t i = 0; i < args.size(); ++i) {
    if (!isPack(args[i])) {
      if (!unifyDim(*args[i], *at++, g, who)) return false;
      continue;
    }
    const size_t size = known[i] ? known[i]->size() : dims.size() - fixed;
    const ir::Dims part(at, at + static_cast<std::ptrdiff_t>(size));
    at += static_cast<std::ptrdiff_t>(size);
    if (known[i] && *known[i] != part) return differs();
    if (known[i]) continue;
    g.bound[args[i]->path[0].text] = Val::ofPack(part, who.span);
    g.origin[args[i]->path[0].text] = who.span;
  }
  return true;
}

Val Lowering::unifyTensor(const ast::TypeExpr& t, const TypeName& head, const Val& v, Generics& g, const Target& who) {
  const std::string& name = t.path[0].text;
  const Code dtypeCode = who.isDeclaration ? Code::E0207 : Code::E0201;
  auto mismatch = [&](Code code) {
    auto d = error(code, who.span,
                   who.what + " is " + describe(v) + ", but " + std::string(sources.text(t.span)) + " is declared");
    if (who.declared.valid()) d.note(who.declared, "declared here");
    return Val::none();
  };
  std::optional<ir::DType> declared;
  if (head.value) declared = head.value->dtype;
  Val r = v;
  if (v.isNumber() || v.is(Kind::Bool)) {
    if (!declared) {
      Val type = Val::ofDType(v.is(Kind::Bool) ? ir::DType::Bool : v.dtype, who.span);
      if (const ast::Generic* listed = listedGeneric(g, name); listed && !checkKind(listed->kind, type, name, who)) {
        return g.bound[name] = Val::none();  // what it stands for elsewhere is no error of its own
      }
      g.bound[name] = type;
      g.origin[name] = who.span;
      declared = type.dtype;
    }
    const bool isBool = v.is(Kind::Bool);
    if (isBool != (*declared == ir::DType::Bool)) return mismatch(dtypeCode);
    if (v.is(Kind::Float) && !ir::isFloat(*declared)) return mismatch(dtypeCode);
    if (!isBool && !v.adopts && v.dtype != *declared) return mismatch(dtypeCode);
    if (!t.args.empty() && !unifyDims(t.args, {}, g, who, t)) return Val::none();
    if (isBool) return r;
    const bool stays = *declared == ir::DType::I64 || *declared == ir::DType::F32 || *declared == ir::DType::F64;
    if (stays) {
      r = ir::isFloat(*declared) ? Val::ofFloat(v.is(Kind::Int) ? static_cast<double>(v.integer) : v.real, v.span, true)
                                 : v;
      r.dtype = *declared;
      r.adopts = true;
      r.dim = false;
      r = settle(r);
      return r;
    }
    ir::Value* x = tensorOf(v, declared);
    return x ? Val::ofTensor(x, v.span) : Val::none();
  }
  if (v.is(Kind::Array) || v.is(Kind::Pack)) {
    ir::Value* x = tensorOf(v, declared);
    if (!x) return Val::none();
    r = Val::ofTensor(x, v.span);
  }
  if (!r.is(Kind::Tensor)) return mismatch(who.isDeclaration ? Code::E0207 : Code::E0203);
  const ir::Type& type = r.tensor->type;
  if (!declared) {
    Val bound = Val::ofDType(type.dtype, who.span);
    if (const ast::Generic* listed = listedGeneric(g, name); listed && !checkKind(listed->kind, bound, name, who)) {
      return g.bound[name] = Val::none();
    }
    g.bound[name] = bound;
    g.origin[name] = who.span;
  } else if (*declared != type.dtype) {
    const std::string asked(ir::name(*declared));
    auto d = error(dtypeCode, who.span,
                   who.what + " is " + describe(r) + ", but " + std::string(sources.text(t.span)) +
                       (head.value && name != asked ? " with " + name + " = " + asked : "") + " is declared");
    if (who.declared.valid()) d.note(who.declared, "declared here");
    if (v.span.valid()) d.help("`" + asked + "(...)` converts");
    return Val::none();
  }
  if (!unifyDims(t.args, type.shape, g, who, t)) return Val::none();
  return r;
}

bool Lowering::unifyArgument(const ast::TypeExpr& written, const Val& actual, Generics& g, const Target& who) {
  const ast::TypeExpr& t = expanded(written, g);
  if (actual.poison()) return true;
  auto differs = [&](const Val& known) {
    auto d = error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                   who.what + " has " + describe(actual) + " where " + describe(known) + " is declared");
    if (who.declared.valid()) d.note(who.declared, "declared here");
    return false;
  };
  switch (t.kind) {
    case TypeKind::Int:
    case TypeKind::Binary:
    case TypeKind::Negate: {
      auto value = constInt(actual);
      return value && unifyDim(t, *value, g, who);
    }
    case TypeKind::Pack: {
      auto [it, fresh] = g.bound.try_emplace(t.path[0].text, actual);
      return fresh || keyOf(it->second) == keyOf(actual) || differs(it->second);
    }
    case TypeKind::Path: {
      if (actual.is(Kind::Int)) {
        auto value = constInt(actual);
        return value && unifyDim(t, *value, g, who);
      }
      TypeName n = typeName(t, g, true);
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
        const Ty wanted = resolve(t, g);
        return !wanted.complete() || toString(wanted) == toString(*actual.type) || differs(*n.value);
      }
      return keyOf(*n.value) == keyOf(actual) || differs(*n.value);
    }
    default: return true;
  }
}

Val Lowering::unifyStruct(const ast::TypeExpr& t, const StructDecl& decl, const Val& v, Generics& g,
                          const Target& who) {
  if (!v.is(Kind::Struct) || v.info->decl != &decl) {
    auto d = error(who.isDeclaration ? Code::E0207 : Code::E0203, who.span,
                   who.what + " is " + describe(v) + ", but " + std::string(sources.text(t.span)) + " is declared");
    if (who.declared.valid()) d.note(who.declared, "declared here");
    return Val::none();
  }
  const auto shares =
      shareArguments(decl, t.args.size(), t.span, [&](size_t i) { return isDimArgument(*t.args[i], g); });
  if (!shares) return Val::none();
  const auto given = [&](size_t i) { return (*shares)[i].first != (*shares)[i].second; };
  for (size_t i = 0; i < shares->size(); ++i) {
    const auto [first, last] = (*shares)[i];
    const Val& actual = v.info->args[i].second;
    if (first == last) continue;
    if (decl.stmt->generics[i].pack && actual.is(Kind::Pack)) {
      const auto dims = constInts(actual);
      if (!dims || !unifyDims(std::span(t.args).subspan(first, last - first), *dims, g, who, t)) return Val::none();
    } else if (!unifyArgument(*t.args[first], actual, g, who)) {
      return Val::none();
    }
  }
  // What is left out has its default, in a type that gives the others.
  if (!t.args.empty()) {
    Generics own = structGenerics(decl);
    for (size_t i = 0; i < shares->size(); ++i)
      if (given(i)) own.bound[v.info->args[i].first] = v.info->args[i].second;
    giveDefaults(decl, own);
    for (size_t i = 0; i < v.info->args.size(); ++i) {
      auto it = own.bound.find(v.info->args[i].first);
      if (it == own.bound.end() || keyOf(it->second) == keyOf(v.info->args[i].second)) continue;
      auto d = error(who.isDeclaration ? Code::E0207 : Code::E0201, who.span,
                     who.what + " is " + describe(v) + ", but " + std::string(sources.text(t.span)) + " with " +
                         it->first + " = " + describe(it->second) + " is declared");
      if (who.declared.valid()) d.note(who.declared, "declared here");
      return Val::none();
    }
  }
  return v;
}

Val Lowering::unify(const ast::TypeExpr& written, const Val& v, Generics& g, const Target& who) {
  const ast::TypeExpr& t = expanded(written, g);
  if (v.poison() || t.op == '!') return Val::none();
  auto mismatch = [&] {
    auto d = error(who.isDeclaration ? Code::E0207 : Code::E0203, who.span,
                   who.what + " is " + describe(v) + ", but " + std::string(sources.text(t.span)) + " is declared");
    if (who.declared.valid()) d.note(who.declared, "declared here");
    return Val::none();
  };
  if (t.place && t.place->path.size() == 1 && !t.place->number && !t.place->index) {
    const std::string& device = t.place->path[0].text;
    if (listedGeneric(g, device) && !g.bound.count(device)) {
      DeviceRef d;
      d.name = "$" + device;
      g.bound[device] = Val::ofDevice(d, who.span);
    }
  }
  switch (t.kind) {
    case TypeKind::Tuple: {
      if (!v.is(Kind::Tuple) || v.elems.size() != t.args.size()) return mismatch();
      Val r = v;
      for (size_t i = 0; i < r.elems.size(); ++i) {
        r.elems[i] = unify(*t.args[i], v.elems[i], g,
                           {who.what + "." + std::to_string(i), who.span, who.declared, who.isDeclaration});
        if (r.elems[i].poison()) return Val::none();
      }
      return r;
    }
    case TypeKind::List: {
      Val r = v;
      if (v.is(Kind::Array)) {
        const Ty expected = resolve(t, g);
        r = settle(v, &expected);
        if (r.poison()) return r;
      }
      if (!r.is(Kind::List)) return mismatch();
      if (!unifyDim(*t.args[1], static_cast<int64_t>(r.elems.size()), g, who)) return Val::none();
      for (Val& e : r.elems) {
        e = unify(*t.args[0], e, g, {"an element of " + who.what, who.span, who.declared, who.isDeclaration});
        if (e.poison()) return Val::none();
      }
      return r;
    }
    case TypeKind::ShapeOf: {
      auto dims = constShape(v);
      if (!dims) return Val::none();
      Val pack = Val::ofPack(*dims, v.span);
      auto [it, fresh] = g.bound.try_emplace(t.path[0].text, pack);
      if (!fresh && constInts(it->second) != dims) return mismatch();
      return pack;
    }
    case TypeKind::Path: break;
    default: return fail(Code::E0203, t.span, "a type is expected here");
  }
  const std::string& name = t.path[0].text;
  TypeName head = typeName(t, g, false);
  if (head.variable) {
    const std::string kind = listedGeneric(g, name) ? listedGeneric(g, name)->kind : "";
    if (kind == "fn") {
      if (!callable(v)) return mismatch();
      g.bound[name] = v;
      return v;
    }
    if (kind == "device") {
      if (!v.is(Kind::Device)) return mismatch();
      g.bound[name] = v;
      return v;
    }
    if (t.hasArgs || (!kind.empty() && kind != "tree")) return unifyTensor(t, head, v, g, who);
    if (kind.empty() && v.is(Kind::Int)) {
      g.bound[name] = v;
      g.bound[name].adopts = true;
      g.origin[name] = who.span;
      return g.bound[name];
    }
    if (kind.empty() && v.is(Kind::DType)) {
      g.bound[name] = v;
      return v;
    }
    Val r = materialise(v);
    if (r.poison()) return r;
    if (!r.isTree() && !r.is(Kind::Tensor)) return mismatch();
    Val bound;
    bound.kind = Kind::Type;
    bound.span = who.span;
    bound.type = std::make_shared<Ty>(typeOf(r));
    g.bound[name] = bound;
    g.origin[name] = who.span;
    return r;
  }
  if (!head.value) {
    if (name == "str") return v.is(Kind::String) || v.is(Kind::Format) ? v : mismatch();
    if (name == "device") return v.is(Kind::Device) ? v : mismatch();
    if (name == "fn") return callable(v) ? v : mismatch();
    unknownType(t);
    return Val::none();
  }
  switch (head.value->kind) {
    case Kind::Poison: return Val::none();
    case Kind::DType: return unifyTensor(t, head, v, g, who);
    case Kind::Int: {
      auto actual = v.is(Kind::Int) ? constInt(v) : std::nullopt;
      if (!actual) return v.is(Kind::Tensor) ? (constInt(v, who.what), Val::none()) : mismatch();
      return unifyDim(t, *actual, g, who) ? Val::ofInt(*actual, v.span) : Val::none();
    }
    case Kind::Device: return v.is(Kind::Device) ? v : mismatch();
    case Kind::Function:
    case Kind::Struct:
    case Kind::Tuple: return callable(v) ? v : mismatch();
    case Kind::Type: {
      const Ty& named = *head.value->type;
      if (named.kind == Ty::Kind::Struct && named.elems.empty() && named.info->decl &&
          !(g.bound.count(name) && t.path.size() == 1)) {
        return unifyStruct(t, *named.info->decl, v, g, who);
      }
      return fit(named, v, who);
    }
    default: return mismatch();
  }
}

Val Lowering::fit(const Ty& t, const Val& v, const Target& who) {
  if (v.poison()) return Val::none();
  Val r = v;
  auto mismatch = [&] {
    const Code code = assigningIn_ ? Code::E0209 : who.isDeclaration ? Code::E0207 : Code::E0202;
    auto d = error(code, who.span, who.what + " is " + toString(t) + ", but this is " + describe(r));
    if (who.declared.valid()) d.note(who.declared, "its type comes from here");
    return Val::none();
  };
  switch (t.kind) {
    case Ty::Kind::Tensor: {
      if (r.isTree() || r.is(Kind::Function) || r.is(Kind::String)) return mismatch();
      if (v.is(Kind::Float) && v.adopts && t.dtype && !ir::isFloat(*t.dtype)) return mismatch();
      r = materialise(v, &t);
      if (r.poison()) return r;
      if (!r.is(Kind::Tensor)) return mismatch();
      if (t.dtype && r.tensor->type.dtype != *t.dtype) return mismatch();
      if (t.dims) {
        const ir::Dims& dims = r.tensor->type.shape;
        bool same = dims.size() == t.dims->size();
        for (size_t i = 0; same && i < dims.size(); ++i) same = (*t.dims)[i] < 0 || (*t.dims)[i] == dims[i];
        if (!same) return mismatch();
      }
      return r;
    }
    case Ty::Kind::Struct:
    case Ty::Kind::Tuple:
    case Ty::Kind::List: {
      if (v.is(Kind::Array)) r = settle(v, &t);
      if (r.poison()) return r;
      const Kind kind = t.kind == Ty::Kind::Struct  ? Kind::Struct
                        : t.kind == Ty::Kind::Tuple ? Kind::Tuple
                                                    : Kind::List;
      if (r.kind != kind) return mismatch();
      if (kind == Kind::Struct &&
          (r.info->decl != t.info->decl || (!t.elems.empty() && r.info->text != t.info->text))) {
        return mismatch();
      }
      if (kind == Kind::List && static_cast<int64_t>(r.elems.size()) != t.length) return mismatch();
      if (kind == Kind::Tuple && r.elems.size() != t.elems.size()) return mismatch();
      for (size_t i = 0; i < r.elems.size(); ++i) {
        const size_t which = kind == Kind::List ? 0 : i;
        if (which < t.elems.size()) r.elems[i] = fit(t.elems[which], r.elems[i], who);
        if (r.elems[i].poison()) return Val::none();
      }
      return r;
    }
    default: return r;
  }
}

}  // namespace tenc::frontend
