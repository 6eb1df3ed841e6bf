// Written types: names in them, dims, struct types with their arguments.
#include <algorithm>

#include "frontend/Lowering.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
}  // namespace

const ast::Generic* Lowering::listedGeneric(const Generics& g, std::string_view name) const {
  if (!g.listed) return nullptr;
  for (const ast::Generic& x : *g.listed) {
    if (x.name.text == name) return &x;
  }
  return nullptr;
}

Lowering::TypeName Lowering::typeName(const ast::TypeExpr& t, Generics& g, bool inShape) {
  const std::string& name = t.path[0].text;
  if (t.path.size() > 1) {
    auto imported = g.unit->modules.find(name);
    if (imported == g.unit->modules.end()) {
      if (lookupGlobal(*g.unit, name, t.span)) return {false, Val::none()};  // an import that failed
      return {false, unknownName(name, t.path[0].span)};
    }
    auto v = lookupGlobal(*imported->second, t.path[1].text, t.span);
    if (!v) {
      return {false, fail(Code::E0206, t.path[1].span, "module `" + name + "` has no `" + t.path[1].text + "`")};
    }
    return {false, v};
  }
  if (auto it = g.bound.find(name); it != g.bound.end()) return {false, it->second};
  if (listedGeneric(g, name)) return {true, std::nullopt};
  if (g.locals) {
    if (Binding* local = findLocal(name)) {
      const Val& v = local->value;
      if (v.isStatic() || v.is(Val::Kind::Type) || v.is(Val::Kind::Device) || v.poison()) return {false, v};
    }
  }
  const bool declaresType = g.unit->structs.count(name) || g.unit->aliases.count(name) || g.unit->names.count(name);
  const bool declaresValue = g.unit->constants.count(name) || g.unit->params.count(name) || g.unit->devices.count(name);
  if (declaresValue || (declaresType && !inShape) || (inShape && g.unit->names.count(name))) {
    auto v = lookupGlobal(*g.unit, name, t.span);
    if (v && (!inShape || v->is(Val::Kind::Int) || v->poison())) return {false, v};
  }
  if (declaresType && inShape && !g.unit->names.count(name)) {
    if (auto v = lookupGlobal(*g.unit, name, t.span)) return {false, v};
  }
  if (auto dtype = ir::dtypeNamed(name)) return {false, Val::ofDType(*dtype, t.span)};
  if (ir::DeviceTable::isKind(name)) {
    DeviceRef d;
    d.name = ir::DeviceTable::normal(name);
    return {false, Val::ofDevice(d, t.span)};
  }
  if (!inShape && g.unit->file && g.unit->file->lost.count(name)) return {false, Val::none()};
  if (g.open && (inShape || (g.dims && g.dims->contains(name)))) return {true, std::nullopt};
  return {false, std::nullopt};
}

std::optional<int64_t> Lowering::dimOf(const ast::TypeExpr& t, Generics& g, bool report) {
  switch (t.kind) {
    case TypeKind::Int: return t.integer;
    case TypeKind::Path: {
      TypeName n = typeName(t, g, true);
      if (n.value && n.value->is(Val::Kind::Int)) return constInt(*n.value);
      if (n.value && !n.value->poison() && report) {
        error(Code::E0203, t.span, "a dim is an integer, not " + describe(*n.value));
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
      auto v = foldNumbers(t.op == '/' ? "//" : text, Val::ofInt(*a, t.span), Val::ofInt(*c, t.span), t.span);
      return v && v->is(Val::Kind::Int) ? constInt(*v) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::string Lowering::deviceInType(const ast::TypeExpr& t, Generics& g) {
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
  if (g.unit != frame().unit && !g.locals) {
    auto own = std::make_unique<Frame>();
    own->unit = g.unit;
    own->scopes.emplace_back();
    frames_.push_back(std::move(own));
    auto d = annotationDevice(a);
    frames_.pop_back();
    return d ? d->name : "";
  }
  auto d = annotationDevice(a);
  return d ? d->name : "";
}

std::optional<Val> Lowering::typeArgument(const ast::TypeExpr& written, Generics& g) {
  const ast::TypeExpr& t = expanded(written, g);
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
        unknownName(t.path[0].text, t.span);
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

Ty Lowering::resolve(const ast::TypeExpr& written, Generics& g) {
  const ast::TypeExpr& t = expanded(written, g);
  Ty r;
  if (t.op == '!' && t.kind == TypeKind::Path) return r;
  switch (t.kind) {
    case TypeKind::Tuple:
      r.kind = Ty::Kind::Tuple;
      for (const auto& e : t.args) {
        if (spent(e->span)) break;  // names of tuples of names of tuples grow without end
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
        const std::string kind = listed ? listed->kind : "";
        if (kind == "fn")
          r.kind = Ty::Kind::Fn;
        else if (kind == "device")
          r.kind = Ty::Kind::Device;
        else if (t.hasArgs || (!kind.empty() && kind != "tree"))
          r.kind = Ty::Kind::Tensor;
      } else if (!n.value) {
        if (name == "str")
          r.kind = Ty::Kind::String;
        else if (name == "device")
          r.kind = Ty::Kind::Device;
        else if (name == "fn")
          r.kind = Ty::Kind::Fn;
        else if (!listedGeneric(g, name))
          unknownType(t);
        break;
      } else if (n.value->is(Val::Kind::DType)) {
        r.kind = Ty::Kind::Tensor;
        r.dtype = n.value->dtype;
      } else if (n.value->is(Val::Kind::Type)) {
        const Ty& named = *n.value->type;
        r = named;
        if (named.kind == Ty::Kind::Struct && named.info && named.elems.empty() && named.info->decl) {
          r = structResolved(*named.info->decl, t.args, g, t.span);
        }
      } else if (n.value->is(Val::Kind::Int)) {
        r.kind = Ty::Kind::Tensor;  // a parameter that is a dim
        r.dtype = ir::DType::I64;
        r.dims = ir::Dims{};
      } else if (n.value->is(Val::Kind::Device)) {
        r.kind = Ty::Kind::Device;
      } else if (const ast::Generic* listed = listedGeneric(g, name);
                 n.value->is(Val::Kind::Function) || (listed && listed->kind == "fn" && !n.value->poison())) {
        r.kind = Ty::Kind::Fn;
      } else if (!n.value->poison()) {
        fail(Code::E0203, t.span, "a type is expected here, not " + describe(*n.value));
      }
      if (r.kind == Ty::Kind::Tensor && !(n.value && n.value->is(Val::Kind::Type))) {
        ir::Dims dims;
        bool known = true;
        for (const auto& a : t.args) {
          if (a->kind == TypeKind::Pack) {
            auto it = g.bound.find(a->path[0].text);
            if (it == g.bound.end() && g.locals) {
              if (Binding* local = findLocal(a->path[0].text); local && local->value.is(Val::Kind::Pack)) {
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
    default: fail(Code::E0203, t.span, "a type is expected here"); break;
  }
  if (t.place) r.place = deviceInType(t, g);
  return r;
}

void Lowering::unknownType(const ast::TypeExpr& t) {
  const std::string& name = t.path[0].text;
  if (lostName(name)) return;
  auto d = error(Code::E0102, t.span, "unknown type `" + name + "`");
  std::vector<std::string> names = {"f16", "bf16", "f32", "f64", "i8",  "i16",  "i32",
                                    "i64", "u8",   "u16", "u32", "u64", "bool", "str"};
  for (const auto& [n, s] : frame().unit->structs) names.push_back(n);
  const syntax::Familiar* known = syntax::familiarName(name);
  if ((known && (!known->replacement.empty() || !known->help.empty())) || !nearest(name, names).empty())
    suggest(d, name, t.path[0].span, names, known);
  else
    d.note("dtype, tree and function variables are listed: `fn f[T: float](x: T[N])`");
}

std::shared_ptr<const Ty> Lowering::structType(const StructDecl& decl) {
  // Without arguments: only which struct it is. Fields are read where arguments are known.
  auto info = std::make_shared<StructInfo>();
  info->decl = &decl;
  info->text = (decl.unit->isScript ? "" : decl.unit->name + ".") + decl.stmt->name.text;
  auto t = std::make_shared<Ty>();
  t->kind = Ty::Kind::Struct;
  t->info = info;
  return t;
}

Lowering::Generics Lowering::structGenerics(const StructDecl& decl) {
  Generics g;
  g.unit = decl.unit;
  g.listed = &decl.stmt->generics;
  g.open = false;
  return g;
}

bool Lowering::giveArguments(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer,
                             Generics& inner, Span span) {
  const auto& generics = decl.stmt->generics;
  const auto shares = shareArguments(decl, args.size(), span, [&](size_t i) { return isDimArgument(*args[i], outer); });
  if (!shares) return false;
  for (size_t i = 0; i < generics.size(); ++i) {
    const auto [first, last] = (*shares)[i];
    if (first == last) continue;
    Val pack = Val::ofPack({}, span);
    bool known = true;
    for (size_t a = first; a < last; ++a) {
      const auto v = typeArgument(*args[a], outer);
      if (v && !generics[i].pack) inner.bound[generics[i].name.text] = *v;
      if (v && v->is(Val::Kind::Pack))
        pack.elems.insert(pack.elems.end(), v->elems.begin(), v->elems.end());
      else if (v && v->is(Val::Kind::Int))
        pack.elems.push_back(*v);
      else
        known = false;
    }
    if (generics[i].pack && known) inner.bound[generics[i].name.text] = pack;
  }
  return true;
}

bool Lowering::isDimArgument(const ast::TypeExpr& t, Generics& g) {
  if (t.kind == TypeKind::Pack || t.kind == TypeKind::Int || t.kind == TypeKind::Binary || t.kind == TypeKind::Negate)
    return true;
  if (t.kind != TypeKind::Path || t.hasArgs) return false;
  if (const ast::Generic* listed = listedGeneric(g, t.path[0].text); listed && !g.bound.count(t.path[0].text))
    return listed->kind.empty();
  const TypeName n = typeName(t, g, true);
  return n.variable || !n.value || n.value->is(Val::Kind::Int) || n.value->is(Val::Kind::Pack);
}

std::optional<std::vector<std::pair<size_t, size_t>>> Lowering::shareArguments(
    const StructDecl& decl, size_t count, Span span, const std::function<bool(size_t)>& isDim) {
  const auto& generics = decl.stmt->generics;
  const std::string name = "`" + decl.stmt->name.text + "`";
  std::vector<std::pair<size_t, size_t>> shares;
  const ast::Generic* pack = nullptr;
  bool packGiven = false;
  size_t next = 0;
  for (const ast::Generic& x : generics) {
    const size_t first = next;
    if (packGiven && !x.otherwise && (x.pack || x.kind.empty())) {
      error(Code::E0204, span,
            "which of these dims are the pack `" + pack->name.text + "` of " + name + ", and which `" + x.name.text +
                "`, cannot be told")
          .note(x.name.span, "declared here")
          .help("leave them out: the fields of a value say what they are");
      return std::nullopt;
    }
    if (x.pack) pack = &x;
    if (x.pack) {
      while (next < count && isDim(next)) ++next;
      packGiven = next > first;
    } else if (next < count) {
      ++next;
    }
    shares.emplace_back(first, next);
  }
  if (next == count) return shares;
  fail(Code::E0204, span,
       name + " has " + std::to_string(generics.size()) +
           (generics.size() == 1 ? " type parameter, but " : " type parameters, but ") + std::to_string(count) +
           " are given");
  return std::nullopt;
}

void Lowering::giveDefaults(const StructDecl& decl, Generics& g) {
  for (const ast::Generic& x : decl.stmt->generics) {
    if (!x.otherwise || g.bound.count(x.name.text)) continue;
    if (auto v = typeArgument(*x.otherwise, g)) g.bound[x.name.text] = *v;
  }
}

Ty Lowering::structResolved(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer, Span span) {
  Generics g = structGenerics(decl);
  if (!giveArguments(decl, args, outer, g, span)) return Ty{};
  // What is left out takes its default only when the others are given.
  if (args.size() < decl.stmt->generics.size()) {
    bool given = true;
    for (const ast::Generic& x : decl.stmt->generics) given = given && (x.otherwise || g.bound.count(x.name.text));
    if (given) giveDefaults(decl, g);
  }
  return structWith(decl, g);
}

namespace {

/// Takes the leaves of a type off `left`; false when there are more.
bool takeParts(const Ty& t, size_t& left) {
  if (t.elems.empty()) return left != 0 && left-- != 0;
  return std::all_of(t.elems.begin(), t.elems.end(), [&](const Ty& e) { return takeParts(e, left); });
}

}  // namespace

Ty Lowering::structWith(const StructDecl& decl, Generics& g) {
  Ty r = *structType(decl);
  if (circular_.contains(&decl)) return Ty{};
  if (auto found = std::find(resolving_.begin(), resolving_.end(), &decl); found != resolving_.end()) {
    circular_.insert(found, resolving_.end());
    fail(Code::E0109, decl.stmt->name.span, "the struct `" + decl.stmt->name.text + "` contains itself");
    return Ty{};
  }
  resolving_.push_back(&decl);
  for (const ast::Field& f : decl.stmt->fields) {
    if (spent(f.name.span)) break;
    r.elems.push_back(f.type ? resolve(*f.type, g) : Ty{});
    r.elems.back().state = f.state;
  }
  resolving_.pop_back();
  size_t left = kMostParts;
  if (!takeParts(r, left)) {
    fail(Code::E0208, decl.stmt->name.span,
         "the struct `" + decl.stmt->name.text + "` has more than " + std::to_string(kMostParts) + " parts");
    return Ty{};
  }
  bool all = true;
  for (const ast::Generic& x : decl.stmt->generics) all = all && g.bound.count(x.name.text);
  if (all) {
    r.info = structInfo(decl, g);
    return r;
  }
  auto open = std::make_shared<StructInfo>(*r.info);
  open->given.assign(g.bound.begin(), g.bound.end());
  r.info = std::move(open);
  return r;
}

namespace {
std::string argumentText(const Val& v) {
  switch (v.kind) {
    case Val::Kind::Int: return toString(v.integer);
    case Val::Kind::DType: return std::string(ir::name(v.dtype));
    case Val::Kind::Device: return v.device.name;
    case Val::Kind::Type: return toString(*v.type);
    case Val::Kind::Pack: {
      std::string s;
      for (const Val& e : v.elems) s += (s.empty() ? "" : ", ") + toString(e.integer);
      return s;
    }
    default: return describe(v);
  }
}
}  // namespace

StructPtr Lowering::structInfo(const StructDecl& decl, Generics& g) {
  auto info = std::make_shared<StructInfo>();
  info->decl = &decl;
  std::string text;
  const auto& generics = decl.stmt->generics;
  const bool several = std::count_if(generics.begin(), generics.end(), [](const auto& x) { return x.pack; }) > 1;
  for (const ast::Generic& x : generics) {
    auto it = g.bound.find(x.name.text);
    Val v = it == g.bound.end() ? Val::none() : it->second;
    const std::string argument = x.pack && several ? "...(" + argumentText(v) + ")" : argumentText(v);
    text += (text.empty() || argument.empty() ? "" : ", ") + argument;
    info->args.emplace_back(x.name.text, std::move(v));
  }
  info->text = structType(decl)->info->text + (text.empty() ? "" : "[" + text + "]");
  for (const ast::Field& f : decl.stmt->fields) info->pins.push_back(f.type ? deviceInType(*f.type, g) : "");
  return info;
}

Val Lowering::makeStruct(const StructDecl& decl, Generics& g, std::vector<Val> fields, Span span) {
  const auto& declared = decl.stmt->fields;
  const std::string& name = decl.stmt->name.text;
  bool ok = true;
  // Numbers take the dtype that tensors bind, so they come last.
  for (bool literals : {false, true}) {
    for (size_t i = 0; i < declared.size(); ++i) {
      const bool literal = fields[i].isNumber() || fields[i].is(Val::Kind::Array);
      if (literal != literals || !declared[i].type) continue;
      const Target who{"field `" + declared[i].name.text + "` of `" + name + "`",
                       fields[i].span.valid() ? fields[i].span : span, declared[i].name.span, true};
      fields[i] = unify(*declared[i].type, fields[i], g, who);
      ok = ok && !fields[i].poison();
    }
  }
  if (!ok) return Val::none();
  giveDefaults(decl, g);
  if (!finishPending(g, {"`" + name + "`", span, decl.stmt->name.span, true})) return Val::none();
  for (const ast::Generic& x : decl.stmt->generics) {
    if (g.bound.count(x.name.text)) continue;
    auto d = error(Code::E0204, span, "`" + x.name.text + "` of `" + name + "` does not follow from the fields");
    d.help("give it: `" + name + "[...] { ... }`");
    return Val::none();
  }
  StructPtr info = structInfo(decl, g);
  for (size_t i = 0; i < fields.size(); ++i) {
    Ty like;
    if (declared[i].type) like = resolve(*declared[i].type, g);
    fields[i] = materialise(fields[i], &like);
    if (fields[i].poison()) return Val::none();
    if (info->pins[i].empty()) continue;
    std::vector<ir::Value*> leaves;
    leavesOf(fields[i], leaves);
    at(fields[i].span.valid() ? fields[i].span : span);
    for (ir::Value*& v : leaves) {
      v = b().value(ir::OpKind::CheckPlace, {v},
                    {{"device", info->pins[i]}, {"what", "field `" + declared[i].name.text + "` of `" + name + "`"}});
    }
    fields[i] = rebuild(fields[i], leaves);
  }
  Val made = Val::ofStruct(info, std::move(fields), span);
  checkOnePlace(made, "the fields of `" + name + "`", span);
  return made;
}

Val Lowering::structOf(const StructInfo& type, std::vector<Val> fields, Span span) {
  const StructDecl& decl = *type.decl;
  Generics g = structGenerics(decl);
  for (const auto& [name, value] : type.given) g.bound[name] = value;
  return makeStruct(decl, g, std::move(fields), span);
}

Val Lowering::asDeclared(const Val& v, const Ty& declared) {
  Val r = v;
  if (v.is(Val::Kind::Tensor) && declared.dims && *declared.dims != v.tensor->type.shape) {
    r = Val::ofTensor(zerosOf(v.tensor->type.dtype, *declared.dims), v.span);
  }
  if (!v.is(Val::Kind::Tuple) && !v.is(Val::Kind::List)) return r;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    const size_t which = v.is(Val::Kind::List) ? 0 : i;
    if (which < declared.elems.size()) r.elems[i] = asDeclared(v.elems[i], declared.elems[which]);
  }
  return r;
}

Val Lowering::castTree(const Val& v, ir::DType to, Span span) {
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    // State of a fixed dtype, such as a counter, stays; state that the dtype variable types goes with the rest.
    const ast::Field* field = v.info ? &v.info->decl->stmt->fields[i] : nullptr;
    const bool state = field && field->state &&
                       !(field->type && field->type->path.size() == 1 &&
                         std::any_of(v.info->args.begin(), v.info->args.end(), [&](const auto& arg) {
                           return arg.first == field->type->path[0].text && arg.second.is(Val::Kind::DType);
                         }));
    Val& e = r.elems[i];
    if (e.isTree()) {
      e = castTree(e, to, span);
    } else if (e.is(Val::Kind::Tensor) && ir::isFloat(e.tensor->type.dtype) && !state) {
      e = cast(e, to, span);
    }
    if (e.poison()) return Val::none();
    e.span = span;
  }
  if (!v.is(Val::Kind::Struct)) return r;
  // The struct's type follows anew: a float field that no dtype variable types is refused, by name.
  Generics g = structGenerics(*v.info->decl);
  for (const auto& [name, arg] : v.info->args) {
    if (!arg.is(Val::Kind::DType) && !arg.is(Val::Kind::Type)) g.bound[name] = arg;
  }
  // Leaves that `vmap` has stacked are not of the declared shapes: one row stands for them.
  Generics all = structGenerics(*v.info->decl);
  for (const auto& [name, arg] : v.info->args) all.bound[name] = arg;
  const auto& fields = v.info->decl->stmt->fields;
  std::vector<Val> row = r.elems;
  bool stacked = false;
  for (size_t i = 0; i < row.size(); ++i) {
    if (fields[i].type) row[i] = asDeclared(row[i], resolve(*fields[i].type, all));
    stacked = stacked || !sameTypes(row[i], r.elems[i]);
  }
  for (size_t i = 0; i < row.size(); ++i) {
    const ast::TypeExpr* type = fields[i].type.get();
    if (!type || !row[i].is(Val::Kind::Tensor) || row[i].tensor->type.dtype != to) continue;
    const auto written = ir::dtypeNamed(type->path.size() == 1 ? type->path[0].text : "");
    if (!written || *written == to || !ir::isFloat(*written)) continue;
    const std::string name = v.info->decl->stmt->name.text;
    auto d = error(Code::E0207, span,
                   "field `" + fields[i].name.text + "` of `" + name + "` is always " +
                       std::string(ir::name(*written)) + ": `" + name + "` cannot become " + std::string(ir::name(to)));
    d.note(type->span, "declared here");
    d.help("a dtype variable lets it follow: `struct " + name + "[T: float = " + std::string(ir::name(*written)) +
           "] { " + fields[i].name.text + ": T[...] }`");
    return Val::none();
  }
  if (!stacked) return makeStruct(*v.info->decl, g, std::move(r.elems), span);
  const Val made = makeStruct(*v.info->decl, g, std::move(row), span);
  return made.poison() ? made : Val::ofStruct(made.info, std::move(r.elems), span);
}

}  // namespace tenc::frontend
