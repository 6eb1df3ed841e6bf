#include "frontend/habits/Places.h"

#include <algorithm>
#include <array>

#include "frontend/names/Scan.h"

namespace tenc::frontend {

StatementPlace placeIn(const ast::File& file, Span part) {
  StatementPlace found;
  found.among = &file.statements;
  const ast::Block* innermost = nullptr;
  const auto consider = [&](const ast::Block& b) {
    if (holds(b.span, part) && (!innermost || holds(innermost->span, b.span))) innermost = &b;
  };
  TreeVisitor visitor;
  visitor.within = part;
  visitor.onStatement = [&](const ast::Stmt& s) {
    found.outer = found.statement;
    found.statement = &s;
    consider(s.body);
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    for (const ast::Block& b : e.blocks) consider(b);
    return true;
  };
  visitor.visit(file);
  if (innermost) found.among = &innermost->statements;
  return found;
}

const ast::Expr* expressionAround(const ast::File& file, Span part, const IsWanted& wanted) {
  const ast::Expr* found = nullptr;
  TreeVisitor visitor;
  visitor.within = part;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (wanted(e)) found = &e;
    return true;
  };
  visitor.visit(file);
  return found;
}

const ast::Expr* expressionAround(const ast::File& file, Span part, ast::Expr::Kind kind) {
  return expressionAround(file, part, [kind](const ast::Expr& e) { return e.kind == kind; });
}

const ast::Expr* expressionAt(const ast::File& file, Span span) {
  return expressionAround(file, span, [span](const ast::Expr& e) { return e.span == span; });
}

const ast::Stmt* statementAround(const ast::File& file, Span part, std::initializer_list<ast::Stmt::Kind> kinds) {
  const ast::Stmt* found = nullptr;
  TreeVisitor visitor;
  visitor.within = part;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (std::find(kinds.begin(), kinds.end(), s.kind) != kinds.end()) found = &s;
  };
  visitor.visit(file);
  return found;
}

const ast::Stmt* functionAround(const ast::File& file, Span part) {
  using Kind = ast::Stmt::Kind;
  return statementAround(file, part, {Kind::Fn, Kind::Test, Kind::Bench});
}

void visitAround(const ast::File& file, Span place, const TreeVisitor& visitor) {
  using Kind = ast::Stmt::Kind;
  if (const ast::Stmt* fn = functionAround(file, place)) return visitor.visit(*fn);
  for (const ast::StmtPtr& s : file.statements)
    if (s && s->kind != Kind::Fn && s->kind != Kind::Test && s->kind != Kind::Bench) visitor.visit(*s);
}

const ast::Expr* givenTo(const ast::Stmt& fn, size_t parameter, const ast::Expr& call) {
  const ast::FnParam& p = fn.params[parameter];
  const auto isNamed = [&](const ast::Argument& a) { return a.name && a.name->text == p.name.text; };
  const auto named = std::ranges::find_if(call.arguments, isNamed);
  if (named != call.arguments.end()) return named->value.get();
  const bool inOrder = parameter < call.arguments.size() && !call.arguments[parameter].name;
  return inOrder ? call.arguments[parameter].value.get() : p.otherwise.get();
}

size_t timesNamed(const ast::File& file, std::string_view name) {
  size_t times = 0;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    times += e.kind == ast::Expr::Kind::Name && e.text == name ? 1 : 0;
    return true;
  };
  visitor.visit(file);
  return times;
}

const ast::Stmt* boundBefore(const ast::File& file, std::string_view name, uint32_t offset) {
  const ast::Stmt* found = nullptr;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool binds = s.kind == ast::Stmt::Kind::Let || s.kind == ast::Stmt::Kind::Var;
    if (binds && !s.pattern.isTuple && s.pattern.name.text == name && s.span.end <= offset) found = &s;
  };
  visitor.visit(file);
  return found;
}

Span withEmptiedLoop(const ast::File& file, const ast::Stmt& s) {
  using Kind = ast::Expr::Kind;
  const ast::Stmt* loop = placeIn(file, s.span).outer;
  const bool alone = loop && loop->kind == ast::Stmt::Kind::For && loop->body.statements.size() == 1 && loop->lo &&
                     (loop->lo->kind == Kind::Array || loop->lo->kind == Kind::Tuple);
  const auto isNamed = [](const ast::ExprPtr& e) { return e->kind == Kind::Name || e->kind == Kind::Member; };
  return alone && std::ranges::all_of(loop->lo->args, isNamed) ? loop->span : s.span;
}

std::string nameBound(const ast::Stmt& s) {
  using Kind = ast::Stmt::Kind;
  if (s.kind == Kind::Assign && s.op == "=" && s.target->kind == ast::Expr::Kind::Name) return s.target->text;
  const bool binds = (s.kind == Kind::Let || s.kind == Kind::Var) && !s.pattern.isTuple;
  return binds ? s.pattern.name.text : "";
}

bool assigns(const ast::File& file, std::string_view name) {
  const auto isIt = [&](const ast::Expr& e) { return e.kind == ast::Expr::Kind::Name && e.text == name; };
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind != ast::Stmt::Kind::Assign || !s.target) return;
    const auto& parts = s.target->args;
    found = found || isIt(*s.target) ||
            (s.target->kind == ast::Expr::Kind::Tuple &&
             std::any_of(parts.begin(), parts.end(), [&](const ast::ExprPtr& p) { return isIt(*p); }));
  };
  visitor.visit(file);
  return found;
}

std::string marksOf(const SourceManager& sources, const ast::Stmt& s) {
  std::string text;
  for (const ast::Annotation& a : s.annotations) text += std::string(sources.text(a.span)) + " ";
  return text;
}

std::string valueText(const SourceManager& sources, const ast::Stmt& s, const std::string& value) {
  return s.annotations.empty() ? value : marksOf(sources, s) + "{ " + value + " }";
}

std::string asOperand(const SourceManager& sources, const ast::Expr& e) {
  using Kind = ast::Expr::Kind;
  const bool open = e.kind == Kind::Binary || e.kind == Kind::Unary || e.kind == Kind::If || e.kind == Kind::Lambda;
  const std::string text(sources.text(e.span));
  return open && !e.grouped ? "(" + text + ")" : text;
}

bool mayBeStatic(const ast::Stmt& loop) {
  return std::ranges::all_of(std::array{loop.lo.get(), loop.hi.get(), loop.by.get()}, [](const ast::Expr* e) {
    return !e || e->kind == ast::Expr::Kind::Int || e->kind == ast::Expr::Kind::Array ||
           e->kind == ast::Expr::Kind::Name;
  });
}

bool isOfLiterals(const ast::Expr& e) {
  using Kind = ast::Expr::Kind;
  if (e.kind == Kind::Int || e.kind == Kind::Float || e.kind == Kind::Bool) return true;
  const bool computed = e.kind == Kind::Unary || e.kind == Kind::Binary;
  return computed && std::all_of(e.args.begin(), e.args.end(), [](const ast::ExprPtr& a) { return isOfLiterals(*a); });
}

}  // namespace tenc::frontend
