#include "frontend/habits/ValueGradient.h"

#include <ranges>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {

using StmtKind = ast::Stmt::Kind;
using Statements = std::vector<const ast::Stmt*>;

/// The statements of `before` that make what `value` reads of the variable, in order; nothing where one of them is no
/// `let`, or reads what changes behind it.
std::optional<Statements> making(const Statements& before, const std::string& variable, const ast::Expr& value) {
  NameSet tainted{variable}, changed;
  Statements all, kept;
  for (const ast::Stmt* s : before) {
    changed.merge(assignedBy(*s));
    if (!meet(namesRead(*s), tainted)) continue;
    if (s->kind != StmtKind::Let) continue;
    tainted.merge(boundBy(*s));
    all.push_back(s);
  }
  NameSet needed = namesRead(value);
  for (const ast::Stmt* s : all | std::views::reverse) {
    if (!meet(boundBy(*s), needed)) continue;
    needed.merge(namesRead(*s));
    kept.insert(kept.begin(), s);
  }
  if (meet(changed, needed)) return std::nullopt;
  return kept;
}

}  // namespace

std::optional<Help> valueGradient(Context& context, Span call, Span y, Span x) {
  const ast::File* file = context.frame().unit ? context.frame().unit->file : nullptr;
  const auto text = [&](Span s) { return std::string(context.sources.text(s)); };
  const ast::Expr* variable = file ? expressionAround(*file, x, ast::Expr::Kind::Name) : nullptr;
  const ast::Expr* value = file ? expressionAt(*file, y) : nullptr;
  if (!variable || variable->span != x || !value) return std::nullopt;
  const StatementPlace at = placeIn(*file, call);
  if (!at.statement || !at.among) return std::nullopt;
  Statements before;  // from the variable's own on
  for (const ast::StmtPtr& s : *at.among) {
    if (!s || s.get() == at.statement) break;
    if (boundBy(*s).contains(variable->text))
      before.clear();
    else
      before.push_back(s.get());
  }
  const auto kept = making(before, variable->text, *value);
  if (!kept) return std::nullopt;
  std::string body = text(y);
  // The last of them often only names the value.
  Statements inside = *kept;
  if (!inside.empty() && value->kind == ast::Expr::Kind::Name && inside.back()->pattern.name.text == value->text &&
      !inside.back()->pattern.isTuple) {
    body = text(inside.back()->value->span);
    inside.pop_back();
  }
  const bool depends = !kept->empty() || namesRead(*value).contains(variable->text);
  if (!depends) return std::nullopt;
  std::string lines;
  for (const ast::Stmt* s : inside) lines += "    " + text(s->span) + "\n";
  const std::string function = lines.empty() ? body : "{\n" + lines + "    " + body + "\n}";
  return Help{"a gradient is that of a function of what it is taken by",
              {{call, "grad(|" + variable->text + "| " + function + ")(" + variable->text + ")"}}};
}

}  // namespace tenc::frontend
