#include "frontend/control/Coverage.h"

#include <algorithm>

#include "frontend/Context.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {
using StmtKind = ast::Stmt::Kind;
using ExprKind = ast::Expr::Kind;

/// Declarations are collected before, and lowered where they are used.
bool isDeclaration(const ast::Stmt& s) { return s.kind <= StmtKind::Bench; }
}  // namespace

Coverage::Visit::Visit(Coverage& coverage, List list) : coverage_(coverage), list_(list), start_(coverage.now_) {
  coverage_.last_[list.data()] = ++coverage_.now_;
}

void Coverage::Visit::end(Context& context) const {
  if (!context.diags.ok()) return;  // one error may stand for all that depends on it
  const auto dropped = [&](Span span) {
    if (!span.valid()) return;
    context.at(span);
    context.lost();  // an InternalError, as there is no error
  };
  const ast::Stmt* before = nullptr;
  for (const ast::StmtPtr& statement : list_) {
    if (!statement || isDeclaration(*statement)) continue;
    const ast::Stmt& s = *statement;
    if (!since(coverage_.last_, &s, start_)) {
      if (before && coverage_.leaves(*before, start_)) return;
      return dropped(s.span);
    }
    dropped(coverage_.droppedOf(s, start_));
    before = &s;
  }
}

const Coverage::Parts& Coverage::partsOf(const ast::Stmt& s) {
  const auto [entry, fresh] = parts_.try_emplace(&s);
  Parts& parts = entry->second;
  if (!fresh) return parts;
  if (s.kind == StmtKind::For || s.kind == StmtKind::While) parts.blocks.emplace_back(s.body.statements);
  // What follows an exit among the operands is not evaluated, nor need be the right side of `and` and `or`.
  const bool isBlock = s.value && (s.value->kind == ExprKind::If || s.value->kind == ExprKind::Block);
  if (!isBlock && exitsOf(s).any()) return parts;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind == ExprKind::If) parts.branches.push_back(&e);
    if (e.kind == ExprKind::Block) parts.blocks.emplace_back(e.blocks[0].statements);
    if (e.kind == ExprKind::Binary && (e.text == "and" || e.text == "or")) return visitor.visit(*e.args[0]), false;
    return e.kind != ExprKind::If && e.kind != ExprKind::Block && e.kind != ExprKind::Lambda;
  };
  for (const ast::ExprPtr* e : {&s.value, &s.message, &s.lo, &s.hi, &s.by})
    if (*e) visitor.visit(**e);
  return parts;
}

std::vector<bool> Coverage::needed(const ast::Expr& branches, uint64_t start) const {
  std::vector<bool> needed(branches.blocks.size(), true);
  const auto found = decisions_.find(&branches);
  if (found == decisions_.end()) return needed;
  for (auto d = found->second.rbegin(); d != found->second.rend() && d->at > start; ++d) {
    if (d->taken) std::fill(needed.begin() + static_cast<std::ptrdiff_t>(d->which) + 1, needed.end(), false);
    if (!d->taken) needed[d->which] = false;
  }
  return needed;
}

Span Coverage::droppedOf(const ast::Stmt& s, uint64_t start) {
  const Parts& parts = partsOf(s);
  const auto isDropped = [&](List list) {
    const auto first = std::find_if(list.begin(), list.end(), [](const auto& x) { return x && !isDeclaration(*x); });
    return first != list.end() && !since(last_, list.data(), start);
  };
  for (const List list : parts.blocks)
    if (isDropped(list) && !since(noTrips_, &s, start)) return s.span;
  for (const ast::Expr* e : parts.branches) {
    const std::vector<bool> all = needed(*e, start);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] && isDropped(e->blocks[i].statements)) return e->blocks[i].span;
  }
  return {};
}

bool Coverage::leaves(List list, uint64_t start) const {
  return std::any_of(list.begin(), list.end(), [&](const auto& s) { return s && leaves(*s, start); });
}

bool Coverage::leaves(const ast::Stmt& s, uint64_t start) const {
  switch (s.kind) {
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Return: return true;
    case StmtKind::For:
      return since(unrolled_, &s, start) && exitsOf(s.body).returns && leaves(s.body.statements, start);
    case StmtKind::While: return false;
    default: break;
  }
  const auto part = [&](const ast::ExprPtr& e) { return e && exitsOf(*e).any() && leaves(*e, start); };
  return part(s.value) || part(s.message);
}

bool Coverage::leaves(const ast::Expr& e, uint64_t start) const {
  if (e.kind == ExprKind::Block) return leaves(e.blocks[0].statements, start);
  if (e.kind != ExprKind::If) {
    bool any = false;
    operandsOf(e, [&](const ast::Expr& part) { any = any || leaves(part, start); });
    return any;
  }
  size_t known = e.blocks.size();  // the first block behind a condition that holds
  if (const auto found = decisions_.find(&e); found != decisions_.end()) {
    for (auto d = found->second.rbegin(); d != found->second.rend() && d->at > start; ++d) {
      if (!d->taken) continue;
      // An unrolled loop comes here several times.
      if (leaves(e.blocks[d->which].statements, start)) return true;
      known = std::min(known, d->which);
    }
  }
  if (known == e.blocks.size() && e.blocks.size() == e.args.size()) return false;  // no `else`
  const std::vector<bool> all = needed(e, start);
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] && !leaves(e.blocks[i].statements, start)) return false;
  return true;
}

}  // namespace tenc::frontend
