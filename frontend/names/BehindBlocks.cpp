#include "frontend/names/BehindBlocks.h"

#include <set>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/LocalNames.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/Tokens.h"

namespace tenc::frontend {

std::optional<Span> readBehindBlock(const Unit& unit, Span assigned, const std::string& name) {
  const ast::Stmt* block = placeIn(*unit.file, assigned).outer;
  if (!block || block->kind == ast::Stmt::Kind::Fn || isBoundAnew(*unit.file, *block, name)) return std::nullopt;
  const ast::Expr* lambda = expressionAround(*unit.file, assigned, ast::Expr::Kind::Lambda);
  if (lambda && !holds(lambda->span, block->span)) return std::nullopt;
  std::optional<Span> first;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool reads = e.kind == ast::Expr::Kind::Name && e.text == name && e.span.begin >= block->span.end &&
                       !unit.resolution->definition(e.span);
    if (reads && (!first || e.span.begin < first->begin)) first = e.span;
    return true;
  };
  visitAround(*unit.file, assigned, visitor);
  return first;
}

const ast::Stmt* blockBefore(const ast::File& file, const ast::Stmt& statement, Span use) {
  const ast::Stmt* block = &statement;
  for (const ast::Stmt* outer = block; outer && !holds(outer->span, use); outer = placeIn(file, outer->span).outer)
    block = outer;
  return block;
}

std::optional<Span> boundSomewhere(const ast::File& file, const std::string& name) {
  std::optional<Span> first;
  const auto add = [&](Span at) {
    if (!first || at.begin < first->begin) first = at;
  };
  const auto addPattern = [&](const ast::Pattern& p) {
    if (namesOf(p).contains(name)) add(p.isTuple ? p.span : p.name.span);
  };
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (boundBy(s).contains(name) || s.kind == ast::Stmt::Kind::For) addPattern(s.pattern);
    if (s.kind == ast::Stmt::Kind::Assign && s.op == "=" && nameBound(s) == name) add(s.target->span);
    if (s.kind == ast::Stmt::Kind::Assign && s.target && s.target->kind == ast::Expr::Kind::Tuple)
      for (const ast::ExprPtr& part : s.target->args)
        if (part && part->kind == ast::Expr::Kind::Name && part->text == name) add(part->span);
    for (const ast::FnParam& p : s.params)
      if (p.name.text == name) add(p.name.span);
    for (const ast::Field& f : s.fields)
      if (f.name.text == name) add(f.name.span);
    for (const ast::Name& n : s.names)
      if (n.text == name) add(n.span);
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    for (const ast::LambdaParam& p : e.params) addPattern(p.pattern);
    return true;
  };
  visitor.visit(file);
  return first;
}

bool isOfScriptItself(const ast::File& file, Span bound) {
  using Kind = ast::Stmt::Kind;
  const StatementPlace at = placeIn(file, bound);
  const bool binds = at.statement && !at.outer &&
                     (at.statement->kind == Kind::Assign || at.statement->kind == Kind::Let ||
                      at.statement->kind == Kind::Var || at.statement->kind == Kind::Import);
  return binds && !expressionAround(file, bound, ast::Expr::Kind::Lambda);
}

bool mayBeBound(const SourceManager& sources, const Unit& unit, const std::string& name) {
  if (unit.file->lost.contains(name)) return true;
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool imports = s.kind == ast::Stmt::Kind::Import && s.names.empty() && !s.path.empty();
    found = found || (imports && !unit.modules.contains(s.path.back().text)) ||
            (s.kind == ast::Stmt::Kind::Error && syntax::hasWord(sources.text(s.span), name));
  };
  visitor.visit(*unit.file);
  return found;
}

size_t timesAssigned(const ast::Stmt& block, const std::string& name) {
  size_t times = 0;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    std::set<std::string> names;
    if (s.kind == ast::Stmt::Kind::Assign) assignedNames(s, names);
    times += names.contains(name) ? 1 : 0;
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    const ast::Expr* changed = changedByCall(e);
    const ast::Expr* root = changed ? rootOf(*changed) : nullptr;
    times += root && root->text == name ? 1 : 0;
    return true;
  };
  visitor.visit(block);
  return times;
}

size_t timesBound(const ast::Stmt& block, const std::string& name) {
  size_t times = 0;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { times += boundBy(s).contains(name) ? 1 : 0; };
  visitor.visit(block);
  return times;
}

}  // namespace tenc::frontend
