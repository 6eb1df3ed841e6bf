#include "frontend/habits/LossScaling.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Whether something is rounded to f16, where small gradients are lost; or may be, in what could not be read.
bool roundsToF16(const ast::File& file) {
  bool found = false;
  const auto isHalf = [](const ast::Expr& e) { return e.text == "f16" || e.text == "float16" || e.text == "half"; };
  const auto marks = [&](const std::vector<ast::Annotation>& all) {
    for (const ast::Annotation& a : all) found = found || (a.index && isHalf(*a.index));
  };
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    found = found || s.kind == StmtKind::Error;
    marks(s.annotations);
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    marks(e.annotations);
    found = found || isHalf(e);
    return true;
  };
  visitor.visit(file);
  return found;
}

class Scaler {
 public:
  Scaler(const SourceManager& sources, std::string name) : sources_(sources), name_(std::move(name)) {}

  /// The edits of all that is done with it; false where one is not known.
  bool read(const ast::File& file, Span bound) {
    size_t uses = 0, known = 0;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      const ast::Expr* call = s.kind == StmtKind::Expr ? methodOf(s.value.get()) : nullptr;
      if (!call) return;
      const std::string& method = call->args[0]->text;
      if (method == "update" || method == "unscale_") {
        edits.push_back(syntax::removed(sources_, s.span));
      } else if (method == "step" && stepsOf(*call)) {
        edits.push_back({call->span, stepOf(*call)});
      } else {
        return;
      }
      ++known;
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      uses += e.kind == ExprKind::Name && e.text == name_ && !holds(bound, e.span) ? 1 : 0;
      const bool scales = methodOf(&e) && e.args[0]->text == "scale" && e.arguments.size() == 1 && e.arguments[0].value;
      if (!scales) return true;
      const ast::Expr& loss = *e.arguments[0].value;
      const bool open = loss.kind == ExprKind::Binary || loss.kind == ExprKind::Unary;
      const std::string text(sources_.text(loss.span));
      edits.push_back({e.span, open ? "(" + text + ")" : text});
      ++known;
      return true;
    };
    visitor.visit(file);
    return uses == known;
  }

  std::vector<Edit> edits;

 private:
  /// The call of a method of the scaler; null for another expression.
  const ast::Expr* methodOf(const ast::Expr* e) const {
    const bool calls = e && e->kind == ExprKind::Call && e->args[0]->kind == ExprKind::Member;
    const ast::Expr* of = calls ? e->args[0]->args[0].get() : nullptr;
    return of && of->kind == ExprKind::Name && of->text == name_ ? e : nullptr;
  }

  /// Whether it is given an optimiser; options beside it, as `lr`, are those of the step.
  static bool stepsOf(const ast::Expr& call) {
    const auto& all = call.arguments;
    const bool first = !all.empty() && !all[0].name && all[0].value && !all[0].rangeEnd;
    return first && std::all_of(all.begin() + 1, all.end(), [](const ast::Argument& a) { return a.name.has_value(); });
  }
  /// `opt.step(lr: 0.1)` of `scaler.step(opt, lr: 0.1)`.
  std::string stepOf(const ast::Expr& call) const {
    const auto& all = call.arguments;
    const Span options{call.span.file, all.size() > 1 ? all[1].span.begin : call.span.end - 1, call.span.end};
    return std::string(sources_.text(all[0].value->span)) + ".step(" + std::string(sources_.text(options));
  }

  const SourceManager& sources_;
  const std::string name_;
};

}  // namespace

std::optional<Help> unscaledTraining(Context& context, const ast::Expr& call) {
  const ast::File* file = fileOf(context);
  if (!file || call.kind != ExprKind::Call || call.args[0]->text != "GradScaler") return std::nullopt;
  const ast::Stmt* s = placeIn(*file, call.span).statement;
  const std::string name = s && s->value.get() == &call ? nameBound(*s) : "";
  const std::string said = "f32 and bf16 need no scaling of losses; those of f16 are scaled by the module `amp`";
  Scaler scaler(context.sources, name);
  if (name.empty() || roundsToF16(*file) || !scaler.read(*file, s->span))
    return Help{said + ": `let s = amp.scaler()`", {}};
  scaler.edits.push_back(syntax::removed(context.sources, s->span));
  return Help{said, std::move(scaler.edits)};
}

}  // namespace tenc::frontend
