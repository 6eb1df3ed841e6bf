#include "frontend/habits/TrainingStep.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;
using Statements = std::vector<ast::StmtPtr>;
using NameSet = std::set<std::string>;

NameSet namesRead(const ast::Stmt& s) {
  NameSet names;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind == ExprKind::Name) names.insert(e.text);
    return true;
  };
  visitor.visit(s);
  return names;
}

bool meet(const NameSet& a, const NameSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& n) { return b.contains(n); });
}

void addBound(const ast::Pattern& p, NameSet& names) {
  if (!p.isTuple) names.insert(p.name.text);
  for (const ast::Pattern& part : p.elements) addBound(part, names);
}
NameSet boundBy(const ast::Stmt& s) {
  NameSet names;
  if (s.kind == StmtKind::Let || s.kind == StmtKind::Var) addBound(s.pattern, names);
  return names;
}

/// `name.method()`, with options alone, as a whole statement; the call, or null.
const ast::Expr* calledAlone(const ast::Stmt& s, std::string_view method) {
  if (s.kind != StmtKind::Expr || !s.value || s.value->kind != ExprKind::Call) return nullptr;
  const ast::Expr& callee = *s.value->args[0];
  const bool plain = callee.kind == ExprKind::Member && callee.text == method && callee.args[0]->kind == ExprKind::Name;
  const auto& all = s.value->arguments;
  const bool named = std::all_of(all.begin(), all.end(), [](const ast::Argument& a) { return a.name.has_value(); });
  return plain && named ? s.value.get() : nullptr;
}

/// The model in what binds an optimiser: `optim.adam(m)`, `optim.adam(m.parameters())`.
const ast::Expr* modelOf(const ast::Stmt& optimiser) {
  const ast::Expr* made = optimiser.value.get();
  if (!made || made->kind != ExprKind::Call || made->arguments.empty() || made->arguments[0].name) return nullptr;
  const ast::Expr* m = made->arguments[0].value.get();
  if (m && m->kind == ExprKind::Call && m->args[0]->kind == ExprKind::Member && m->args[0]->text == "parameters")
    m = m->args[0]->args[0].get();
  return m && m->kind == ExprKind::Name ? m : nullptr;
}

/// The norm that `clip_grad_norm_(m.parameters(), 1.0)` leaves; null for another statement.
const ast::Expr* mostNorm(const ast::Stmt& s) {
  if (s.kind != StmtKind::Expr || !s.value || s.value->kind != ExprKind::Call) return nullptr;
  const bool clips = s.value->args[0]->text == "clip_grad_norm_" || s.value->args[0]->text == "clip_grad_norm";
  return clips && s.value->arguments.size() == 2 ? s.value->arguments[1].value.get() : nullptr;
}

size_t placeAmong(const Statements& among, const ast::Stmt* s) {
  return static_cast<size_t>(
      std::find_if(among.begin(), among.end(), [&](const ast::StmtPtr& p) { return p.get() == s; }) - among.begin());
}

/// One step, as its statements stand in a block.
struct Step {
  const Statements& among;
  size_t loss, backward, update;  ///< places of the statements
  std::string model, optimiser, name;
  const ast::Expr* call;             ///< `opt.step()`
  const ast::Stmt* clips = nullptr;  ///< `clip_grad_norm_(m.parameters(), 1.0)`

  /// The statements before the loss that it needs and that depend on the model, in order; nothing where one of them
  /// does more than bind names.
  std::optional<std::vector<size_t>> dependent() const {
    NameSet tainted{model};
    std::vector<size_t> all;
    for (size_t i = 0; i < loss; ++i) {
      if (!among[i]) return std::nullopt;
      const ast::Stmt& s = *among[i];
      if (!meet(namesRead(s), tainted)) continue;
      const bool updates = calledAlone(s, "zero_grad") || calledAlone(s, "train") || calledAlone(s, "eval");
      if (updates) continue;
      if (s.kind != StmtKind::Let) return std::nullopt;
      tainted.merge(boundBy(s));
      all.push_back(i);
    }
    NameSet needed = namesRead(*among[loss]);
    std::vector<size_t> kept;
    for (size_t k = all.size(); k-- > 0;) {
      if (!meet(boundBy(*among[all[k]]), needed)) continue;
      needed.merge(namesRead(*among[all[k]]));
      kept.insert(kept.begin(), all[k]);
    }
    return kept;
  }
  /// Whether what a statement binds is read outside of what makes the loss.
  bool isReadElsewhere(size_t i, const std::vector<size_t>& moved) const {
    for (size_t k = i + 1; k < among.size(); ++k) {
      if (k == loss || std::find(moved.begin(), moved.end(), k) != moved.end() || !among[k]) continue;
      if (meet(namesRead(*among[k]), boundBy(*among[i]))) return true;
    }
    return false;
  }
};

std::optional<Step> stepAt(const ast::File& file, const ast::Expr& backward) {
  const StatementPlace at = placeIn(file, backward.span);
  if (!at.statement || !at.among || calledAlone(*at.statement, "backward") != &backward || !backward.arguments.empty())
    return std::nullopt;
  const Statements& among = *at.among;
  const std::string& loss = backward.args[0]->args[0]->text;
  const size_t b = placeAmong(among, at.statement);
  size_t l = b, u = b;
  for (size_t i = 0; i < b; ++i)
    if (among[i] && boundBy(*among[i]).contains(loss)) l = i;
  const ast::Expr* call = nullptr;
  for (size_t i = b + 1; i < among.size() && !call; ++i) {
    call = among[i] ? calledAlone(*among[i], "step") : nullptr;
    u = i;
  }
  if (l == b || b >= among.size() || !call || among[l]->kind != StmtKind::Let || among[l]->pattern.isTuple)
    return std::nullopt;
  const std::string& optimiser = call->args[0]->args[0]->text;
  const ast::Stmt* made = boundBefore(file, optimiser, backward.span.begin);
  const ast::Expr* model = made ? modelOf(*made) : nullptr;
  if (!model) return std::nullopt;
  Step step{among, l, b, u, model->text, optimiser, loss, call};
  for (size_t i = b + 1; i < u; ++i)
    if (among[i] && mostNorm(*among[i])) step.clips = among[i].get();
  return step;
}

}  // namespace

namespace {
/// Whether the file names layers that do something else while a network is trained.
bool trainsOtherwise(const ast::File& file) {
  constexpr std::string_view kLayers[] = {"BatchNorm", "batch_norm", "Dropout", "dropout"};
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool names = e.kind == ExprKind::Name || e.kind == ExprKind::Member;
    for (const std::string_view layer : kLayers) found = found || (names && e.text.find(layer) != std::string::npos);
    return !found;
  };
  for (const ast::StmtPtr& s : file.statements)
    if (s) visitor.visit(*s);
  return found;
}
}  // namespace

std::optional<Help> trainingStep(Context& context, const ast::Expr& backward) {
  const ast::File* file = context.frame().unit ? context.frame().unit->file : nullptr;
  const std::optional<Step> step = file ? stepAt(*file, backward) : std::nullopt;
  const auto moved = step ? step->dependent() : std::nullopt;
  if (!moved) return std::nullopt;
  const SourceManager& sources = context.sources;
  if (trainsOtherwise(*file))
    return Help{
        "a gradient is a value, and layers that differ in training are called by `nn.train`: "
        "`let ((loss, trained), g) = value_and_grad(f, aux: true)(m)`, with `nn.train(m, x)` in `f`",
        {}};
  const auto text = [&](Span s) { return std::string(sources.text(s)); };
  const ast::Stmt& loss = *step->among[step->loss];
  const std::string margin = [&] {
    const uint32_t line = sources.file(loss.span.file).position(loss.span.begin).line;
    const uint32_t start = sources.file(loss.span.file).lineStart(line);
    const std::string before = text({loss.span.file, start, loss.span.begin});
    return before.find_first_not_of(" \t") == std::string::npos ? before : "";
  }();
  const std::string g = timesNamed(*file, "g") == 0 ? "g" : "gradient";
  std::string body = text(loss.value->span);
  std::vector<Edit> edits;
  if (!moved->empty()) {
    std::string block = "{\n";
    for (const size_t i : *moved) {
      const Span s = step->among[i]->span;
      block += margin + "    " + text(s) + "\n";
      if (!step->isReadElsewhere(i, *moved)) edits.push_back(syntax::removed(sources, s));
    }
    body = block + margin + "    " + body + "\n" + margin + "}";
  }
  const std::string& m = step->model;
  edits.push_back(
      {loss.span, "let (" + step->name + ", " + g + ") = value_and_grad(|" + m + "| " + body + ")(" + m + ")"});
  edits.push_back(syntax::removed(sources, step->among[step->backward]->span));
  const std::string taken = step->clips ? "clipped" : g;
  if (step->clips)
    edits.push_back(
        {step->clips->span, "let clipped = optim.clip_norm(" + g + ", " + text(mostNorm(*step->clips)->span) + ")"});
  std::string options;
  for (const ast::Argument& a : step->call->arguments) options += ", " + text(a.span);
  const std::string& s = step->optimiser;
  edits.push_back({step->among[step->update]->span,
                   "(" + m + ", " + s + ") = optim.step(" + s + ", " + m + ", " + taken + options + ")"});
  return Help{"a gradient is a value, which `value_and_grad` gives and `optim.step` takes", std::move(edits)};
}

}  // namespace tenc::frontend
