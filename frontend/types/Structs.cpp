// Struct types with their arguments, and values of them.
#include "frontend/types/Structs.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/types/DimSolver.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
}  // namespace

bool Structs::giveArguments(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer,
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
      const auto v = types_.typeArgument(*args[a], outer);
      if (v && v->is(Val::Kind::Int) && generics[i].kind != ast::Generic::Kind::Open) {
        context_.error(Code::E0203, args[a]->span,
                       "`" + generics[i].name.text + "` of `" + decl.stmt->name.text + "` is declared `" +
                           std::string(ast::name(generics[i].kind)) + "`, and this is an integer");
        return false;
      }
      if (v && !generics[i].pack) inner.bound[generics[i].name.text] = *v;
      if (v && v->is(Val::Kind::Pack))
        for (const Val& dim : v->elems) pack.elems.push_back(dim);
      else if (v && v->is(Val::Kind::Int))
        pack.elems.push_back(*v);
      else
        known = false;
    }
    if (generics[i].pack && known) inner.bound[generics[i].name.text] = pack;
  }
  return true;
}

bool Structs::isDimArgument(const ast::TypeExpr& t, Generics& g) {
  if (t.kind == TypeKind::Pack || t.kind == TypeKind::Int || t.kind == TypeKind::Binary || t.kind == TypeKind::Negate)
    return true;
  if (t.kind != TypeKind::Path || t.hasArgs) return false;
  if (const ast::Generic* listed = listedGeneric(g, t.path[0].text); listed && !g.bound.count(t.path[0].text))
    return listed->kind == ast::Generic::Kind::Open;
  const TypeName n = types_.typeName(t, g, true);
  return n.variable || !n.value || n.value->is(Val::Kind::Int) || n.value->is(Val::Kind::Pack);
}

std::optional<std::vector<std::pair<size_t, size_t>>> Structs::shareArguments(
    const StructDecl& decl, size_t count, Span span, const std::function<bool(size_t)>& isDim) {
  const auto& generics = decl.stmt->generics;
  const std::string name = "`" + decl.stmt->name.text + "`";
  std::vector<std::pair<size_t, size_t>> shares;
  const ast::Generic* pack = nullptr;
  bool packGiven = false;
  size_t next = 0;
  for (const ast::Generic& x : generics) {
    const size_t first = next;
    if (packGiven && !x.otherwise && (x.pack || x.kind == ast::Generic::Kind::Open)) {
      context_
          .error(Code::E0204, span,
                 "which of these dims are the pack `" + pack->name.text + "` of " + name + ", and which `" +
                     x.name.text + "`, is ambiguous")
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
  context_.fail(Code::E0204, span,
                name + " has " + std::to_string(generics.size()) +
                    (generics.size() == 1 ? " type parameter, but " : " type parameters, but ") +
                    std::to_string(count) + (count == 1 ? " is given" : " are given"));
  return std::nullopt;
}

void Structs::giveDefaults(const StructDecl& decl, Generics& g) {
  for (const ast::Generic& x : decl.stmt->generics) {
    if (!x.otherwise || g.bound.count(x.name.text)) continue;
    if (auto v = types_.typeArgument(*x.otherwise, g)) g.bound[x.name.text] = *v;
  }
}

Ty Structs::structResolved(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer, Span span) {
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
  if (!t.elems.empty())
    return std::all_of(t.elems.begin(), t.elems.end(), [&](const Ty& e) { return takeParts(e, left); });
  if (left == 0) return false;
  --left;
  return true;
}
}  // namespace

Ty Structs::structWith(const StructDecl& decl, Generics& g) {
  Ty r = *structType(decl);
  if (circular_.contains(&decl)) return Ty{};
  if (auto found = std::find(resolving_.begin(), resolving_.end(), &decl); found != resolving_.end()) {
    circular_.insert(found, resolving_.end());
    context_.fail(Code::E0109, decl.stmt->name.span, "the struct `" + decl.stmt->name.text + "` contains itself");
    return Ty{};
  }
  resolving_.push_back(&decl);
  for (const ast::Field& f : decl.stmt->fields) {
    if (context_.spent(f.name.span)) break;
    r.elems.push_back(f.type ? types_.resolve(*f.type, g) : Ty{});
    r.elems.back().state = f.state;
  }
  resolving_.pop_back();
  size_t left = kMostParts;
  if (!takeParts(r, left)) {
    context_.fail(Code::E0208, decl.stmt->name.span,
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

StructPtr Structs::structInfo(const StructDecl& decl, Generics& g) {
  auto info = std::make_shared<StructInfo>();
  info->decl = &decl;
  std::string text;
  const auto& generics = decl.stmt->generics;
  const bool several = std::count_if(generics.begin(), generics.end(), [](const auto& x) { return x.pack; }) > 1;
  for (const ast::Generic& x : generics) {
    auto it = g.bound.find(x.name.text);
    Val v = it == g.bound.end() ? Val() : it->second;
    const std::string argument = x.pack && several ? "...(" + argumentText(v) + ")" : argumentText(v);
    text += (text.empty() || argument.empty() ? "" : ", ") + argument;
    info->args.emplace_back(x.name.text, std::move(v));
  }
  info->text = structType(decl)->info->text + (text.empty() ? "" : "[" + text + "]");
  for (const ast::Field& f : decl.stmt->fields) info->pins.push_back(f.type ? types_.pinsOf(*f.type, g) : Pins());
  return info;
}

bool Structs::bindDevices(const StructDecl& decl, Generics& g, Span span, const StructInfo* expected) {
  for (const ast::Generic& x : decl.stmt->generics) {
    if (x.kind != ast::Generic::Kind::Device || g.bound.count(x.name.text)) continue;
    const auto isThis = [&](const auto& a) { return a.first == x.name.text; };
    if (expected) {
      const auto known = std::find_if(expected->args.begin(), expected->args.end(), isThis);
      if (known != expected->args.end()) g.bound.insert(*known);
    }
    if (const bool open = !g.bound.count(x.name.text); open && x.otherwise) {
      if (auto v = types_.typeArgument(*x.otherwise, g)) g.bound[x.name.text] = *v;
    } else if (open) {
      const std::string& name = decl.stmt->name.text;
      context_.error(Code::E0204, span, "the device `" + x.name.text + "` of `" + name + "` is not known here")
          .note(x.name.span, "declared here")
          .help("give it: `" + name + "[...] { ... }`; a type does not follow from where values live");
      return false;
    }
  }
  return true;
}

Val Structs::makeStruct(const StructDecl& decl, Generics& g, std::vector<Val> fields, Span span,
                        const StructInfo* expected) {
  const auto& declared = decl.stmt->fields;
  const std::string& name = decl.stmt->name.text;
  bool ok = bindDevices(decl, g, span, expected);
  // Numbers take the dtype that tensors bind, so they come last.
  for (bool literals : {false, true}) {
    for (size_t i = 0; i < declared.size(); ++i) {
      const bool literal = fields[i].isNumber() || fields[i].is(Val::Kind::Array);
      if (literal != literals || !declared[i].type) continue;
      const Target who{"field `" + declared[i].name.text + "` of `" + name + "`",
                       fields[i].span.valid() ? fields[i].span : span, declared[i].name.span, true};
      fields[i] = unifier_.unify(*declared[i].type, fields[i], g, who);
      ok = ok && !fields[i].poison();
    }
  }
  if (!ok) return context_.lost();
  if (expected) {
    for (const auto& [generic, argument] : expected->args) g.bound.emplace(generic, argument);
  }
  giveDefaults(decl, g);
  if (!dimSolver_.finishPending(g, {"`" + name + "`", span, decl.stmt->name.span, true})) return context_.lost();
  for (const ast::Generic& x : decl.stmt->generics) {
    if (g.bound.count(x.name.text)) continue;
    auto d =
        context_.error(Code::E0204, span, "`" + x.name.text + "` of `" + name + "` cannot be inferred from the fields");
    d.help("give it: `" + name + "[...] { ... }`");
    return d;
  }
  StructPtr info = structInfo(decl, g);
  for (size_t i = 0; i < fields.size(); ++i) {
    Ty like;
    if (declared[i].type) like = types_.resolve(*declared[i].type, g);
    fields[i] = tensors_.materialise(fields[i], &like);
    if (fields[i].poison()) return fields[i];
  }
  Val made = checkFields(Val::ofStruct(info, std::move(fields), span), span);
  placing_.checkOnePlace(made, "the fields of `" + name + "`", span);
  return made;
}

Val Structs::checkFields(Val v, Span span) {
  const auto& declared = v.info->decl->stmt->fields;
  for (size_t i = 0; i < v.elems.size(); ++i) {
    const Pins& pins = v.info->pins[i];
    if (!pins.any()) continue;
    const auto what = [&](const std::string& path) {
      return "field `" + declared[i].name.text + path + "` of `" + v.info->decl->stmt->name.text + "`";
    };
    v.elems.edit()[i] = placing_.checkPins(tensors_.materialise(v.elems[i], nullptr), pins, what, span);
  }
  return v;
}

Val Structs::checkPlaces(Val v, Span span) {
  if (v.poison() || !v.isTree()) return v;
  // Of what is not pinned the outermost struct or list holds all.
  const std::function<Val(Val, bool)> check = [&](Val x, bool outermost) {
    const bool isOne = !x.is(Val::Kind::Tuple);
    for (size_t i = 0; i < x.elems.size(); ++i) {
      if (!x.elems[i].isTree()) continue;
      const bool pinned = x.is(Val::Kind::Struct) && x.info->pins[i].any();
      x.elems.edit()[i] = check(x.elems[i], pinned || (outermost && !isOne));
    }
    if (x.is(Val::Kind::Struct)) x = checkFields(std::move(x), span);
    if (outermost && isOne)
      placing_.checkOnePlace(
          x, x.is(Val::Kind::List) ? "the values of a list" : "the fields of `" + x.info->decl->stmt->name.text + "`",
          span);
    return x;
  };
  return check(std::move(v), true);
}

Val Structs::structOf(const StructInfo& type, std::vector<Val> fields, Span span) {
  const StructDecl& decl = *type.decl;
  Generics g = structGenerics(decl);
  for (const auto& [name, value] : type.given) g.bound[name] = value;
  return makeStruct(decl, g, std::move(fields), span);
}

}  // namespace tenc::frontend
