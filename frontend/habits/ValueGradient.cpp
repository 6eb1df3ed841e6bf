#include "frontend/habits/ValueGradient.h"

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using StmtKind = ast::Stmt::Kind;
using Statements = std::vector<const ast::Stmt*>;

/// The statements of `before` that make what `value` reads of the variables, in order; nothing where one of them is no
/// `let`, or reads what changes behind it.
std::optional<Statements> making(const Statements& before, NameSet tainted, const ast::Expr& value) {
  NameSet changed;
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
  const auto kept = making(before, {variable->text}, *value);
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

namespace {

using ExprKind = ast::Expr::Kind;

/// `w.grad`.
bool isGradient(const ast::Expr& e) {
  return e.kind == ExprKind::Member && e.text == "grad" && e.args[0]->kind == ExprKind::Name;
}

/// `w.grad.zero_()`, `w.grad = None`: what makes room for the next derivative.
bool clearsGradient(const ast::Stmt& s) {
  if (s.kind == StmtKind::Assign) return s.op == "=" && s.target && isGradient(*s.target);
  if (s.kind != StmtKind::Expr || !s.value || s.value->kind != ExprKind::Call) return false;
  const ast::Expr* e = s.value->args[0].get();
  if (!e->text.ends_with("_")) return false;
  while (e->kind == ExprKind::Member && !isGradient(*e)) e = e->args[0].get();
  return isGradient(*e);
}

/// Which gradients the statements read, and what only clears them.
struct Gradients {
  std::vector<std::string> variables;
  NameSet cleared;
  std::vector<const ast::Expr*> reads;
  Statements clears;
  size_t derivatives = 0;  ///< calls of `backward`

  explicit Gradients(const std::vector<ast::StmtPtr>& among) {
    TreeVisitor visitor;
    visitor.onStatement = [this](const ast::Stmt& s) {
      if (clearsGradient(s)) clears.push_back(&s);
    };
    visitor.onExpression = [this](const ast::Expr& e) {
      derivatives += e.kind == ExprKind::Member && e.text == "backward" ? 1 : 0;
      if (!isGradient(e)) return true;
      const std::string& name = e.args[0]->text;
      if (std::ranges::find(variables, name) == variables.end()) variables.push_back(name);
      const auto around = [&](const ast::Stmt* s) {
        return s->span.begin <= e.span.begin && e.span.end <= s->span.end;
      };
      if (std::ranges::any_of(clears, around))
        cleared.insert(name);
      else
        reads.push_back(&e);
      return true;
    };
    for (const ast::StmtPtr& s : among)
      if (s) visitor.visit(*s);
  }
  /// Whether what stands at a place behind the derivative is all that reads it, once: in PyTorch gradients that are not
  /// cleared add up.
  bool standFor(Span derivative, bool loops) const {
    const auto isBehind = [&](const ast::Expr* e) { return e->span.begin >= derivative.end; };
    const auto isCleared = [&](const std::string& v) { return !loops || cleared.contains(v); };
    return derivatives == 1 && !reads.empty() && std::ranges::all_of(reads, isBehind) &&
           std::ranges::all_of(variables, isCleared);
  }
};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

}  // namespace

std::optional<Help> backwardStep(Context& context, const ast::Expr& backward) {
  const ast::File* file = context.frame().unit ? context.frame().unit->file : nullptr;
  const ast::Expr& receiver = *backward.args[0]->args[0];
  const StatementPlace at = file ? placeIn(*file, backward.span) : StatementPlace{};
  if (!at.statement || at.statement->value.get() != &backward || at.statement->kind != StmtKind::Expr ||
      receiver.kind != ExprKind::Name || !backward.arguments.empty())
    return std::nullopt;
  Statements before, behind;
  const ast::Stmt* loss = nullptr;
  bool past = false;
  for (const ast::StmtPtr& s : *at.among) {
    if (!s) return std::nullopt;
    past = past || s.get() == at.statement;
    if (!past && boundBy(*s).contains(receiver.text)) loss = s.get();
    if (s.get() != at.statement) (past ? behind : before).push_back(s.get());
  }
  const Gradients gradients(*at.among);
  const std::vector<std::string>& variables = gradients.variables;
  const bool loops = statementAround(*file, backward.span, {StmtKind::For, StmtKind::While}) != nullptr;
  if (!loss || loss->kind != StmtKind::Let || loss->pattern.isTuple || loss != before.back() ||
      !gradients.standFor(backward.span, loops))
    return std::nullopt;
  before.pop_back();
  const NameSet tainted(variables.begin(), variables.end());
  std::erase_if(before, [&](const ast::Stmt* s) { return clearsGradient(*s); });
  for (size_t i = before.size(); i-- > 0;) {  // from the variables' own on
    if (!meet(boundBy(*before[i]), tainted)) continue;
    before.erase(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(i + 1));
    break;
  }
  const auto kept = making(before, tainted, *loss->value);
  if (!kept) return std::nullopt;
  const auto text = [&](Span s) { return std::string(context.sources.text(s)); };
  const auto gradientOf = [&](const std::string& v) { return variables.size() == 1 ? "g" : "g_" + v; };
  std::vector<std::string> made;
  for (const std::string& v : variables) {
    made.push_back(gradientOf(v));
    if (timesNamed(*file, made.back()) > 0) return std::nullopt;
  }
  std::vector<Edit> edits;
  std::string body = text(loss->value->span), lines;
  for (const ast::Stmt* s : *kept) {
    lines += text(s->span) + "; ";
    const auto reads = [&](const ast::Stmt* other) {
      return other != s && other != loss && std::ranges::find(*kept, other) == kept->end() &&
             meet(namesRead(*other), boundBy(*s));
    };
    if (std::ranges::none_of(before, reads) && std::ranges::none_of(behind, reads))
      edits.push_back(syntax::removed(context.sources, s->span));
  }
  if (!lines.empty()) body = "{ " + lines + body + " }";
  const bool one = variables.size() == 1;
  std::string places = "0";
  for (size_t i = 1; i < variables.size(); ++i) places += ", " + std::to_string(i);
  edits.push_back({loss->span, "let (" + receiver.text + ", " + (one ? made[0] : "(" + listed(made) + ")") +
                                   ") = value_and_grad(|" + listed(variables) + "| " + body +
                                   (one ? "" : ", wrt: (" + places + ")") + ")(" + listed(variables) + ")"});
  edits.push_back(syntax::removed(context.sources, at.statement->span));
  for (const ast::Stmt* s : gradients.clears) edits.push_back(syntax::removed(context.sources, s->span));
  for (const ast::Expr* e : gradients.reads) edits.push_back({e->span, gradientOf(e->args[0]->text)});
  return Help{"a gradient is a value, which `value_and_grad` gives", std::move(edits)};
}

}  // namespace tenc::frontend
