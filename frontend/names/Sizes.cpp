#include "frontend/names/Sizes.h"

#include <algorithm>
#include <set>

#include "frontend/builtins/Builtin.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

using ExprKind = ast::Expr::Kind;

namespace {
const Declaration* calleeOf(const Resolution& names, const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  return names.definition(callee.kind == ExprKind::Member ? callee.opSpan : callee.span);
}
}  // namespace

bool SizeParameters::contains(const Resolution& names, const ast::Stmt& fn, const ast::FnParam& p) {
  const bool plain =
      p.type && p.type->kind == ast::TypeExpr::Kind::Path && !p.type->hasArgs && p.type->path.size() == 1;
  if (!plain || ir::dtypeNamed(p.type->path[0].text) != ir::DType::I64) return false;
  const auto [it, fresh] = known_.try_emplace(&p, false);  // a function that calls itself says nothing new
  if (fresh) {
    const bool size = inBody(names, fn, p);
    known_[&p] = size;
    return size;
  }
  return it->second;
}

bool SizeParameters::inBody(const Resolution& names, const ast::Stmt& fn, const ast::FnParam& p) {
  const Span declared = p.name.span;
  const auto uses = names.within(fn.span);
  const auto shape = [&](const Use& u) { return u.inShape && u.declaration && u.declaration->span == declared; };
  if (std::any_of(uses.begin(), uses.end(), shape)) return true;
  bool found = false;
  const auto inside = [&](const ast::ExprPtr& e) { found = found || (e && names.mentions(e->span, declared)); };
  std::set<const ast::Expr*> piped;
  TreeVisitor v;
  v.onStatement = [&](const ast::Stmt& s) {
    if (s.kind != ast::Stmt::Kind::For || !s.isStatic) return;
    inside(s.lo);
    inside(s.hi);
  };
  v.onExpression = [&](const ast::Expr& e) {
    if (e.kind == ExprKind::Array) {
      for (const auto& a : e.args) inside(a);
    } else if (e.kind == ExprKind::Binary && e.text == "|>") {
      piped.insert(e.args[1].get());
    } else if (e.kind == ExprKind::Call) {
      found = found || inCall(names, e, piped.contains(&e), declared);
    } else if (e.kind == ExprKind::Index) {
      for (const auto& s : e.subscripts) {
        inside(s.lo);
        inside(s.hi);
        inside(s.size);
      }
    } else if (e.kind == ExprKind::Struct && e.args[0]->kind == ExprKind::Index) {  // Linear[i, o] { ... }
      for (const auto& s : e.args[0]->subscripts) inside(s.index);
    }
    return !found;
  };
  v.visit(fn);
  return found;
}

bool SizeParameters::inCall(const Resolution& names, const ast::Expr& call, bool piped, Span declared) {
  const Declaration* callee = calleeOf(names, call);
  if (!callee) return false;
  const Use* written =
      names.at(call.args[0]->kind == ExprKind::Member ? call.args[0]->opSpan.begin : call.args[0]->span.begin);
  // What a pipe or a method's receiver gives comes first.
  size_t place = (piped ? 1 : 0) + (written && written->method ? 1 : 0);
  const auto isSize = [&](const ast::Argument& a) {
    const size_t at = a.name ? 0 : place++;
    if (callee->builtin) {
      const Signature& s = callee->builtin->signature;
      const Parameter* p = a.name ? s.find(a.name->text) : s.positional(at);
      return p && p->isSize();
    }
    return std::any_of(callee->functions.begin(), callee->functions.end(), [&](const ast::Stmt* fn) {
      const auto& params = fn->params;
      const auto named = [&](const ast::FnParam& p) { return p.name.text == a.name->text; };
      const auto p = a.name               ? std::find_if(params.begin(), params.end(), named)
                     : at < params.size() ? params.begin() + static_cast<std::ptrdiff_t>(at)
                                          : params.end();
      return p != params.end() && contains(*callee->home, *fn, *p);
    });
  };
  bool found = false;
  for (const ast::Argument& a : call.arguments) {
    const bool size = isSize(a);
    found = found || (size && a.value && names.mentions(a.value->span, declared));
  }
  return found;
}

bool hasOpenResult(const Resolution& names, const ast::Stmt& fn) {
  bool found = std::any_of(fn.generics.begin(), fn.generics.end(), [](const ast::Generic& g) {
    return g.kind == ast::Generic::Kind::Fn || g.kind == ast::Generic::Kind::Tree;
  });
  for (const ast::FnParam& p : fn.params) found = found || !p.type;
  const auto uses = names.within(fn.span);
  return found || std::any_of(uses.begin(), uses.end(), [](const Use& u) {
           return u.declaration && u.declaration->builtin && u.declaration->builtin->traits.openResult;
         });
}

}  // namespace tenc::frontend
