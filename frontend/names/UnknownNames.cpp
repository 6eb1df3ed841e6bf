// Names that are nowhere declared, and the names of code that is not compiled.
#include "frontend/names/UnknownNames.h"

#include <set>
#include <string>
#include <string_view>

#include "frontend/Context.h"
#include "frontend/habits/Habits.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

/// Whether the name at `span` is a subscript by itself.
bool isSubscript(const ast::File& file, Span span) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    for (const ast::Subscript& s : e.subscripts) found = found || (s.index && s.index->span == span);
    return !found;
  };
  for (const ast::StmtPtr& s : file.statements)
    if (s) visitor.visit(*s);
  return found;
}

/// Whether the name at `span` is one of several that a statement assigns.
bool isAmongAssigned(const ast::File& file, Span span) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool several = s.kind == ast::Stmt::Kind::Assign && s.target && s.target->kind == ast::Expr::Kind::Tuple;
    found = found || (several && s.target->span.begin <= span.begin && span.end <= s.target->span.end);
  };
  for (const ast::StmtPtr& s : file.statements)
    if (s) visitor.visit(*s);
  return found;
}

/// Whether the file assigns a variable of this name, or a part of it, behind `at`.
bool isAssignedBehind(const ast::File& file, Span at, const std::string& name) {
  std::set<std::string> names;
  TreeVisitor behind;
  behind.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == ast::Stmt::Kind::Assign && s.target && s.target->span.begin >= at.end) assignedNames(s, names);
  };
  for (const ast::StmtPtr& s : file.statements)
    if (s) behind.visit(*s);
  return names.contains(name);
}
}  // namespace

Val UnknownNames::unknownName(std::string_view name, Span span, bool assigned, const ast::Expr* call) {
  if (scopes_.lostName(name) || context_.frame().undeclared.contains(name)) return context_.lost();
  if (const FnDecl* fn = context_.frame().fn) {
    for (const ast::Generic& g : fn->stmt->generics) {
      if (g.name.text != name) continue;
      return Val(context_.error(
          Code::E0204, span,
          "`" + g.name.text + "` of `" + fn->stmt->name.text + "` cannot be inferred from the arguments"));
    }
  }
  if (assigned) context_.frame().undeclared.emplace(name);
  auto d = context_.error(Code::E0102, span, "unknown name `" + std::string(name) + "`");
  auto ended = context_.frame().ended.find(std::string(name));
  if (ended != context_.frame().ended.end())
    d.note(ended->second, "`" + std::string(name) + "` was bound in a block that has ended");
  const syntax::Familiar* known = syntax::familiarName(name);
  const std::string near = assigned ? nearest(name, scopes_.visibleNames()) : "";
  const Binding* local = near.empty() ? nullptr : scopes_.named(near);
  if (assigned && !(local && local->isVar)) {
    const ast::File* file = context_.frame().unit != nullptr ? context_.frame().unit->file : nullptr;
    const bool again = file != nullptr && isAssignedBehind(*file, span, std::string(name));
    if (file != nullptr && isAmongAssigned(*file, span)) {
      d.help("declare each variable before, with `var`");
    } else {
      d.help("bind a new name with `let`, or with `var` if it is assigned again",
             {{Span{span.file, span.begin, span.begin}, again ? "var " : "let "}});
    }
  } else if (known && !known->inSubscript.empty() && isSubscript(*context_.frame().unit->file, span)) {
    d.help("a new dim is written `new`", {{span, std::string(known->inSubscript)}});
  } else if (const ast::Stmt* variable = scriptVariable(context_.frame().unit->file, name)) {
    if (!context_.frame().fn && variable->pattern.span.begin > span.begin) {
      d.note(variable->pattern.span, "it is bound only later, here");
      return d;
    }
    d.note(variable->pattern.span, "bound by the script here; functions, tests and benches do not see its variables");
    const bool fixed =
        variable->kind == ast::Stmt::Kind::Let && variable->value &&
        (variable->value->kind == ast::Expr::Kind::Int || variable->value->kind == ast::Expr::Kind::Float);
    d.help(fixed ? "make it a `const`, or pass it as an argument" : "pass it as an argument");
  } else if (!call || !habits_.offerRewrite(d, *call)) {
    suggest(d, name, span, scopes_.visibleNames(), known);
  }
  return d;
}

void UnknownNames::checkNames(const ast::Block& block) { unknownIn().visit(block); }
void UnknownNames::checkNames(const ast::Stmt& fn) { unknownIn().visit(fn); }

void UnknownNames::checkMarks(const ast::Stmt& fn) {
  for (const ast::Annotation& a : fn.annotations) {
    const bool named = a.kind == ast::Annotation::Kind::Place && !a.path.empty() && !a.number && !a.index;
    if (!named || context_.frame().unit->resolution->definition(a.path[0].span)) continue;
    const std::string& head = a.path[0].text;
    const syntax::Familiar* known = syntax::familiarName(head);
    if (a.path.size() > 1)
      unknownName(head, a.path[0].span);
    else if (known && !known->help.empty())
      context_.error(Code::E0304, a.span, "there is no device `" + head + "`")
          .help(std::string(known->help), {{a.span, ""}});
  }
}

TreeVisitor UnknownNames::unknownIn() {
  TreeVisitor used;
  used.onExpression = [&](const ast::Expr& e) {
    const bool known =
        e.kind != ast::Expr::Kind::Name || e.text == "_" || context_.frame().unit->resolution->definition(e.span);
    if (!known) unknownName(e.text, e.span);
    return true;
  };
  return used;
}

}  // namespace tenc::frontend
