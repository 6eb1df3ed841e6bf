// Sizes against written dims: what is known is checked, a variable that stands alone in a linear term is solved for.
#include "frontend/types/DimSolver.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

namespace {
using TypeKind = ast::TypeExpr::Kind;
using Kind = Val::Kind;

bool isPack(const ast::TypePtr& t) { return t->kind == TypeKind::Pack; }
}  // namespace

void DimSolver::namedDims(const ast::TypeExpr& t, Generics& g, std::vector<NamedDim>& named) {
  for (const auto& part : t.args) namedDims(*part, g, named);
  if (t.kind != TypeKind::Path || !t.args.empty()) return;
  std::string written;
  for (const ast::Name& n : t.path) written += (written.empty() ? "" : ".") + n.text;
  const auto same = [&](const NamedDim& d) { return d.name == written; };
  if (std::any_of(named.begin(), named.end(), same)) return;
  const auto value = types_.dimOf(t, g, false);
  if (!value) return;
  const auto from = g.origin.find(t.path[0].text);
  named.push_back({written, *value, t.span, from == g.origin.end() ? Span{} : from->second});
}

void DimSolver::noteDims(Diagnostics::Builder& d, const ast::TypeExpr& t, Generics& g) {
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

bool DimSolver::unifyDim(const ast::TypeExpr& t, int64_t value, Generics& g, const Target& who) {
  if (!types_.requireDim(t)) return false;
  if (t.kind == TypeKind::Path) {
    TypeName n = types_.typeName(t, g, true);
    if (n.variable) {
      const std::string& name = t.path[0].text;
      if (name == "_") return true;
      if (const ast::Generic* listed = listedGeneric(g, name);
          listed && (listed->pack || listed->kind != ast::Generic::Kind::Open)) {
        context_.error(Code::E0203, t.span,
                       listed->pack ? "`" + name + "` stands for several dims: write `..." + name + "`"
                                    : "`" + name + "` is declared `" + std::string(ast::name(listed->kind)) +
                                          "`, and a dim is an integer");
        return false;
      }
      if (value < 0 && who.dim) {
        context_.fail(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                      who.ofDim() + " has dim " + std::to_string(who.size) + ", which is not `" +
                          std::string(context_.sources.text(who.dim->span)) + "` for any dim: `" + name +
                          "` would be " + std::to_string(value));
        return false;
      }
      g.bound[name] = Val::ofInt(value, who.span);
      g.origin[name] = who.span;
      return true;
    }
    if (n.value && n.value->poison()) return true;
  }
  if (auto known = types_.dimOf(t, g, true)) {
    if (*known == value) return true;
    const std::string written(context_.sources.text(t.span));
    const bool literal = t.kind == TypeKind::Int;
    auto d = context_.error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                            who.ofDim() + " has dim " + std::to_string(value) + " where " +
                                (literal ? std::to_string(*known) : "`" + written + "` = " + std::to_string(*known)) +
                                " is declared");
    noteDims(d, t, g);
    return false;
  }
  if (t.kind == TypeKind::Negate) return unifyDim(*t.args[0], -value, g, who);
  if (t.kind != TypeKind::Binary) return false;
  // A variable that stands alone in a linear term is solved for; otherwise the term waits for the others.
  const ast::TypeExpr &left = *t.args[0], &right = *t.args[1];
  auto a = types_.dimOf(left, g, false), c = types_.dimOf(right, g, false);
  if (t.op == '+' && a) return unifyDim(right, value - *a, g, who);
  if (t.op == '+' && c) return unifyDim(left, value - *c, g, who);
  if (t.op == '-' && a) return unifyDim(right, *a - value, g, who);
  if (t.op == '-' && c) return unifyDim(left, value + *c, g, who);
  if (t.op == '*' && (a || c)) {
    const int64_t factor = a ? *a : *c;
    if (factor == 0 && value == 0) {  // any number will do, which others may tell
      g.pending.push_back({&t, value});
      return true;
    }
    if (factor == 0 || value % factor != 0) {
      auto d =
          context_.error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                         who.ofDim() + " has dim " + std::to_string(who.dim ? who.size : value) + ", which is not `" +
                             std::string(context_.sources.text((who.dim ? who.dim : &t)->span)) + "` for any integer");
      noteDims(d, t, g);
      return false;
    }
    return unifyDim(a ? right : left, value / factor, g, who);
  }
  if (t.op == '/' && c == 1) return unifyDim(left, value, g, who);  // `I // G` of one group
  g.pending.push_back({&t, value});
  return true;
}

bool DimSolver::finishPending(Generics& g, const Target& who) {
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
  context_.error(Code::E0202, who.span,
                 "the dims in `" + std::string(context_.sources.text(pending[0].dim->span)) +
                     "` cannot be inferred from the arguments");
  return false;
}

bool DimSolver::unifyDims(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
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
    std::set<std::string> packs;
    for (const auto& t : args) {
      const auto known = isPack(t) ? packDims(t->path[0], g) : std::nullopt;
      if (known && packs.insert(t->path[0].text).second)
        values += (values.empty() ? " with ..." : ", ...") + t->path[0].text + " = " + ir::toString(*known);
    }
    auto d = context_.error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                            who.what + " has shape " + ir::toString(dims) + ", but " +
                                std::string(context_.sources.text(whole.span)) + values + " is declared");
    who.explain(d);
    noteDims(d, whole, g);
    return false;
  };
  if (std::count_if(args.begin(), args.end(), isPack) > 1) return unifyPacks(args, dims, g, who, differs);
  if (hasPack ? dims.size() < fixed : dims.size() != fixed) return differs();
  if (!hasPack) {
    size_t wrong = 0;
    for (size_t i = 0; i < fixed; ++i) {
      const auto known = types_.dimOf(*args[i], g, false);
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
  const auto expected = packDims((*pack)->path[0], g);
  if (!expected) {
    if (g.bound.count(name)) return false;  // what it stands for had an error
    g.bound[name] = Val::ofPack(inner, who.span);
    g.origin[name] = who.span;
    return ok;
  }
  if (*expected != inner) {
    auto d = context_.error(who.isDeclaration ? Code::E0207 : Code::E0202, who.span,
                            who.what + " has shape " + ir::toString(inner) + " where `..." + name +
                                "` = " + ir::toString(*expected) + " is declared");
    if (auto from = g.origin.find(name); from != g.origin.end())
      d.note(from->second, "`" + name + "` is bound by this");
    return false;
  }
  return ok;
}

std::optional<ir::Dims> DimSolver::packDims(const ast::Name& pack, Generics& g) {
  auto known = g.bound.find(pack.text);
  if (known == g.bound.end() && g.locals) {
    if (Binding* local = scopes_.find(pack.span); local && local->value.is(Kind::Pack)) {
      known = g.bound.emplace(pack.text, local->value).first;
    }
  }
  return known == g.bound.end() ? std::nullopt : evaluator_.constInts(known->second);
}

bool DimSolver::unifyPacks(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
                           const std::function<bool()>& differs) {
  std::vector<std::optional<ir::Dims>> known(args.size());
  size_t fixed = 0, open = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (isPack(args[i])) known[i] = packDims(args[i]->path[0], g);
    fixed += !isPack(args[i]) ? 1 : known[i] ? known[i]->size() : 0;
    open += isPack(args[i]) && !known[i];
  }
  if (open > 1) {
    context_.error(Code::E0202, who.span, "how the dims of " + who.what + " are shared among its packs is ambiguous");
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

}  // namespace tenc::frontend
