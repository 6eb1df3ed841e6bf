#include "frontend/habits/LocalNames.h"

#include <algorithm>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

const ast::Block* blockOf(const ast::Expr& lambda) {
  const bool isBlock = lambda.body && lambda.body->kind == ExprKind::Block && !lambda.body->blocks.empty();
  return isBlock ? &lambda.body->blocks[0] : nullptr;
}

/// The block of the innermost lambda around a place; null where the lambda is one expression, or there is none.
const ast::Block* lambdaBlock(const ast::File& file, Span place) {
  const ast::Expr* lambda = expressionAround(file, place, ExprKind::Lambda);
  return lambda ? blockOf(*lambda) : nullptr;
}

bool assignsWhole(const ast::Stmt& s, const std::string& name) {
  if (s.kind != StmtKind::Assign || s.op != "=" || !s.target) return false;
  const auto isName = [&](const ast::Expr& e) { return e.kind == ExprKind::Name && e.text == name; };
  return isName(*s.target) || (s.target->kind == ExprKind::Tuple &&
                               std::ranges::any_of(s.target->args, [&](auto& part) { return part && isName(*part); }));
}

}  // namespace

bool isOfLambda(const ast::File& file, const ast::Expr& target) {
  const ast::Block* block = target.kind == ExprKind::Name ? lambdaBlock(file, target.span) : nullptr;
  if (!block) return false;
  bool assigned = false;
  for (const ast::StmtPtr& s : block->statements) {
    if (!s) return false;
    if (assigned) {
      if (namesRead(*s).contains(target.text)) return true;
      continue;
    }
    assigned = holds(s->span, target.span) && assignsWhole(*s, target.text);
    if ((assigned ? namesRead(*s->value) : namesRead(*s)).contains(target.text)) return false;
  }
  return false;
}

bool bindsFirst(const ast::Block& block, const std::string& name) {
  for (const ast::StmtPtr& s : block.statements) {
    if (!s || (s->value && namesRead(*s->value).contains(name))) return false;
    if (boundBy(*s).contains(name) || assignsWhole(*s, name)) return true;
    if (namesRead(*s).contains(name)) return false;
  }
  return false;
}

bool bindsFirst(const ast::Expr& lambda, const std::string& name) {
  const ast::Block* block = blockOf(lambda);
  return block && bindsFirst(*block, name);
}

namespace {
/// Whether each trip of a loop binds the name before anything reads it.
bool bindsInTrips(const ast::Stmt& s, const std::string& name) {
  const bool reads = s.lo && namesRead(*s.lo).contains(name);
  return (s.kind == StmtKind::For || s.kind == StmtKind::While) && !reads && bindsFirst(s.body, name);
}
}  // namespace

bool isBoundAnew(const ast::File& file, const ast::Stmt& block, const std::string& name) {
  const auto has = [&](const ast::Stmt& s) { return namesRead(s).contains(name) || boundBy(s).contains(name); };
  for (const ast::Stmt* inner = &block; inner;) {
    const StatementPlace at = placeIn(file, inner->span);
    if (at.statement != inner || !at.among) return false;
    bool before = true, named = false;
    for (const ast::StmtPtr& s : *at.among) {
      if (!s) return false;
      if (s.get() == inner) {
        before = false;
      } else if (before) {
        named = named || has(*s);
      } else if (has(*s) && !bindsInTrips(*s, name)) {
        const bool reads = s->value && namesRead(*s->value).contains(name);
        return !reads && (boundBy(*s).contains(name) || assignsWhole(*s, name));
      }
    }
    const ast::Stmt* outer = at.outer;
    if (!outer || outer->kind == StmtKind::Fn) return true;
    const bool repeats = outer->kind == StmtKind::For || outer->kind == StmtKind::While;
    if (repeats && (named || (outer->lo && namesRead(*outer->lo).contains(name)))) return false;
    inner = outer;
  }
  return false;
}

std::optional<Edit> lambdaVariable(const SourceManager& sources, const ast::File& file, Span binding,
                                   const ast::Expr& target) {
  const ast::Block* block = lambdaBlock(file, target.span);
  const ast::Expr* lambda = block ? expressionAround(file, target.span, ExprKind::Lambda) : nullptr;
  const bool isOwn = lambda && std::ranges::any_of(lambda->params, [&](const ast::LambdaParam& p) {
                       return !p.pattern.isTuple && p.pattern.name.span == binding;
                     });
  if (!isOwn || block->statements.empty() || !block->statements[0]) return std::nullopt;
  bool whole = true;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind != StmtKind::Assign) return;
    NameSet assigned;
    assignedNames(s, assigned);
    whole = whole && (!assigned.contains(target.text) || assignsWhole(s, target.text));
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    const ast::Expr* changed = changedByCall(e);
    const ast::Expr* root = changed ? rootOf(*changed) : nullptr;
    whole = whole && !(root && root->text == target.text);
    return true;
  };
  visitor.visit(*block);
  if (!whole) return std::nullopt;
  return syntax::lineBefore(sources, block->statements[0]->span, "var " + target.text + " = " + target.text);
}

}  // namespace tenc::frontend
