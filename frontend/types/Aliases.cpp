// Generic aliases, `type Square[N, T = f32] = T[N, N]`: a use with arguments is read as the alias's type with the
// arguments in the places of its variables, so that variables in them are bound as if that type had been written.
#include "frontend/types/Aliases.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
using Substitution = std::map<std::string, std::vector<const ast::TypeExpr*>, std::less<>>;

ast::TypePtr substituted(const ast::TypeExpr& t, const Substitution& map);

/// An annotation copied; only names and numbers stand in types.
ast::Annotation copied(const ast::Annotation& a) {
  ast::Annotation r;
  r.kind = a.kind;
  r.path = a.path;
  r.number = a.number;
  r.span = a.span;
  return r;
}

ast::TypePtr copyOf(const ast::TypeExpr& t) { return substituted(t, {}); }

/// The place, or what is given for the variable that it names.
ast::Annotation placeWith(const ast::Annotation& place, const Substitution& map) {
  ast::Annotation r = copied(place);
  const bool name = place.path.size() == 1 && !place.number && !place.index;
  const auto given = name ? map.find(place.path[0].text) : map.end();
  if (given == map.end() || given->second.size() != 1) return r;
  const ast::TypeExpr& device = *given->second[0];
  r.path = device.path, r.span = device.span;
  if (device.kind == TypeKind::Device) {
    const size_t colon = device.device.find(':');
    r.path = {{device.device.substr(0, colon), device.span}};
    if (colon != std::string::npos) r.number = std::stoll(device.device.substr(colon + 1));
  }
  return r;
}

/// The names keep their places in the text, by which it is known what they mean.
ast::TypePtr substituted(const ast::TypeExpr& t, const Substitution& map) {
  const bool name = t.kind == TypeKind::Path && t.path.size() == 1;
  auto it = name ? map.find(t.path[0].text) : map.end();
  if (it != map.end() && it->second.size() == 1 && !t.hasArgs) {
    ast::TypePtr r = copyOf(*it->second[0]);
    if (t.place && !r->place) r->place = placeWith(*t.place, map);
    return r;
  }
  auto r = std::make_unique<ast::TypeExpr>();
  r->kind = t.kind;
  r->path = t.path;
  if (it != map.end() && it->second.size() == 1) r->path = it->second[0]->path;  // a dtype variable with dims
  r->hasArgs = t.hasArgs;
  for (const ast::TypePtr& a : t.args) {
    auto pack = a->kind == TypeKind::Pack ? map.find(a->path[0].text) : map.end();
    if (pack == map.end()) {
      r->args.push_back(substituted(*a, map));
      continue;
    }
    for (const ast::TypeExpr* e : pack->second) r->args.push_back(copyOf(*e));
  }
  r->integer = t.integer;
  r->op = t.op;
  r->device = t.device;
  if (t.place) r->place = placeWith(*t.place, map);
  r->span = t.span;
  return r;
}
}  // namespace

const ast::TypeExpr* Aliases::expanded(const ast::TypeExpr* written, const Generics& g) {
  const ast::TypeExpr& t = *written;
  if (t.kind != TypeKind::Path || t.args.empty()) return written;
  const Declaration* alias = g.unit->resolution->definition(t.path.back().span);
  if (!alias || alias->kind != Declaration::Kind::Alias || alias->statement->generics.empty()) return written;
  if (alias->home->unit->evaluated.contains(alias->name)) return written;  // it is made of itself: reported
  auto& known = expandedAliases_[{written, g.unit}];
  if (known) return known.get();
  const ast::Stmt& decl = *alias->statement;
  Substitution map;
  std::vector<ast::TypePtr> defaults;
  size_t next = 0;
  bool wrong = false;
  for (size_t i = 0; i < decl.generics.size(); ++i) {
    const ast::Generic& x = decl.generics[i];
    std::vector<const ast::TypeExpr*>& to = map[x.name.text];
    if (x.pack) {
      const size_t after = decl.generics.size() - i - 1;
      while (next + after < t.args.size()) to.push_back(t.args[next++].get());
    } else if (next < t.args.size()) {
      to.push_back(t.args[next++].get());
    } else if (x.otherwise) {
      // It may name the variables before it.
      defaults.push_back(substituted(*x.otherwise, map));
      to.push_back(defaults.back().get());
    } else {
      wrong = true;
    }
  }
  if (wrong || next < t.args.size()) {
    context_
        .error(Code::E0204, t.span,
               "`" + decl.name.text + "` has " + std::to_string(decl.generics.size()) + " type parameters, but " +
                   std::to_string(t.args.size()) + (t.args.size() == 1 ? " is given" : " are given"))
        .note(decl.name.span, "declared here");
    known = std::make_unique<ast::TypeExpr>();
    known->op = '!';  // reported
    known->path = {{"_", t.span}};
    known->span = t.span;
    return known.get();
  }
  known = substituted(*decl.type, map);
  known->span = t.span;
  if (t.place && !known->place) known->place = copied(*t.place);
  return expanded(known.get(), g);  // an alias of an alias
}

Val Aliases::aliasWith(const ast::Expr& given, const ast::Expr& callee) {
  const Span named = callee.kind == ast::Expr::Kind::Member ? callee.opSpan : callee.span;
  const Declaration* alias = context_.frame().unit->resolution->definition(named);
  if (!alias || alias->kind != Declaration::Kind::Alias || alias->statement->generics.empty()) return Val::unit();
  const ast::Stmt& decl = *alias->statement;
  Generics g;
  g.unit = alias->home->unit;
  g.listed = &decl.generics;
  if (given.subscripts.size() > decl.generics.size()) {
    return context_.fail(Code::E0204, given.span,
                         "`" + decl.name.text + "` has " + std::to_string(decl.generics.size()) +
                             " type parameters, but " + std::to_string(given.subscripts.size()) +
                             (given.subscripts.size() == 1 ? " is given" : " are given"));
  }
  for (size_t i = 0; i < decl.generics.size(); ++i) {
    const ast::Generic& x = decl.generics[i];
    if (i >= given.subscripts.size()) {
      if (!x.otherwise) continue;
      if (auto v = types_.typeArgument(*x.otherwise, g)) g.bound[x.name.text] = *v;
      continue;
    }
    const ast::Subscript& s = given.subscripts[i];
    if (s.kind != ast::Subscript::Kind::Index || !s.index)
      return context_.fail(Code::E0203, s.span, "expected a type argument");
    Val v = expressions_.eval(*s.index);
    if (v.poison()) return v;
    g.bound[x.name.text] = v;
  }
  Val v;
  v.kind = Val::Kind::Type;
  v.span = given.span;
  v.type = std::make_shared<Ty>(types_.resolve(*decl.type, g));
  return v;
}

}  // namespace tenc::frontend
