#include "frontend/habits/Schedules.h"

#include <map>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// A scheduler, what it calls its options in order, with their defaults, and its rate at step `{i}` of a start `{lr}`.
struct Schedule {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> options;  ///< "!" for one that must be given
  std::string_view rate;
  std::string_view most{};  ///< the option that says for how many steps this is the rate
};

const std::vector<Schedule>& schedules() {
  static const std::vector<Schedule> all = {
      {"StepLR",
       {{"step_size", "!"}, {"gamma", "0.1"}},
       "optim.step_decay({i}, every: {step_size}, start: {lr}, rate: {gamma})"},
      {"CosineAnnealingLR",
       {{"T_max", "!"}, {"eta_min", "0.0"}},
       "optim.cosine({i}, total: {T_max}, peak: {lr}, floor: {eta_min})",
       "T_max"},
      {"ExponentialLR", {{"gamma", "!"}}, "optim.step_decay({i}, every: 1, start: {lr}, rate: {gamma})"},
  };
  return all;
}

std::string replaced(std::string text, const std::string& hole, const std::string& by) {
  for (size_t at = text.find(hole); at != std::string::npos; at = text.find(hole, at + by.size()))
    text.replace(at, hole.size(), by);
  return text;
}

bool isName(const ast::Expr* e, const std::string& name) { return e && e->kind == ExprKind::Name && e->text == name; }

/// `x.step(...)` of that name; null for another expression.
const ast::Expr* stepOf(const ast::Expr* e, const std::string& name) {
  const bool steps =
      e && e->kind == ExprKind::Call && e->args[0]->kind == ExprKind::Member && e->args[0]->text == "step";
  return steps && isName(e->args[0]->args[0].get(), name) ? e : nullptr;
}

/// What a statement binds: a name alone; empty for others.
std::string nameBound(const ast::Stmt& s) {
  if (s.kind == StmtKind::Assign && s.op == "=" && s.target->kind == ExprKind::Name) return s.target->text;
  const bool binds = (s.kind == StmtKind::Let || s.kind == StmtKind::Var) && !s.pattern.isTuple;
  return binds ? s.pattern.name.text : "";
}

const ast::Argument* named(const ast::Expr& call, std::string_view name) {
  for (const ast::Argument& a : call.arguments)
    if (a.name && a.name->text == name && a.value) return &a;
  return nullptr;
}

class Scheduled {
 public:
  Scheduled(Context& context, const ast::File& file, const ast::Expr& call, const Schedule& schedule)
      : sources_(context.sources), unit_(*context.frame().unit), file_(file), call_(call), schedule_(schedule) {}

  std::optional<Help> help() {
    const ast::Stmt* made = placeIn(file_, call_.span).statement;
    const std::string scheduler = made && made->value.get() == &call_ ? nameBound(*made) : "";
    const bool given = !call_.arguments.empty() && !call_.arguments[0].name && call_.arguments[0].value &&
                       call_.arguments[0].value->kind == ExprKind::Name;
    if (scheduler.empty() || !given || !readOptions()) return std::nullopt;
    optimiser_ = call_.arguments[0].value->text;
    find(scheduler);
    if (uses_ != 1 || !steps_ || !update_ || rate_.empty()) return std::nullopt;
    const StatementPlace at = placeIn(file_, steps_->span);
    const ast::Stmt* loop = at.outer;
    const bool counts = loop && loop->kind == StmtKind::For && at.among == &loop->body.statements &&
                        !loop->pattern.isTuple && countsFromZero(*loop);
    if (!counts || !(loop->span.begin <= update_->span.begin && update_->span.end <= loop->span.end))
      return std::nullopt;
    if (!schedule_.most.empty() && endOf(*loop) != options_[std::string(schedule_.most)]) return std::nullopt;
    std::string rate = replaced(std::string(schedule_.rate), "{i}", loop->pattern.name.text);
    rate = replaced(rate, "{lr}", rate_);
    for (const auto& [name, value] : options_) rate = replaced(rate, "{" + name + "}", value);
    std::vector<Edit> edits{syntax::removed(sources_, made->span), syntax::removed(sources_, at.statement->span)};
    if (const ast::Argument* lr = named(*update_, "lr")) {
      edits.push_back({lr->value->span, rate});
    } else {
      const uint32_t end = update_->span.end - 1;
      edits.push_back({Span{update_->span.file, end, end}, (update_->arguments.empty() ? "lr: " : ", lr: ") + rate});
    }
    if (!unit_.modules.contains("optim") && !file_.lost.contains("optim"))
      edits.push_back(imported(file_, sources_.file(unit_.source), "optim"));
    return Help{"rates follow from the step, and are given to it", std::move(edits)};
  }

 private:
  std::string text(Span s) const { return std::string(sources_.text(s)); }

  bool readOptions() {
    for (const auto& [name, otherwise] : schedule_.options) options_[std::string(name)] = std::string(otherwise);
    for (size_t i = 1; i < call_.arguments.size(); ++i) {
      const ast::Argument& a = call_.arguments[i];
      if (!a.value || a.rangeEnd || (!a.name && i > schedule_.options.size())) return false;
      const std::string name = a.name ? a.name->text : std::string(schedule_.options[i - 1].first);
      const auto known = options_.find(name);
      if (known == options_.end()) return false;
      known->second = text(a.value->span);
    }
    return std::ranges::none_of(options_, [](const auto& o) { return o.second == "!"; });
  }

  void find(const std::string& scheduler) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (nameBound(s) == optimiser_ && s.value && s.value->kind == ExprKind::Call) readRate(*s.value);
      if (s.kind == StmtKind::Expr && stepOf(s.value.get(), scheduler) && s.value->arguments.empty())
        steps_ = s.value.get();
      if (s.kind == StmtKind::Expr && stepOf(s.value.get(), optimiser_)) update_ = s.value.get();
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      const bool target = e.kind == ExprKind::Name && e.text == scheduler && placeIn(file_, e.span).statement &&
                          placeIn(file_, e.span).statement->value.get() == &call_;
      uses_ += isName(&e, scheduler) && !target ? 1 : 0;
      return true;
    };
    visitor.visit(file_);
    if (update_)
      if (const ast::Argument* lr = named(*update_, "lr")) rate_ = text(lr->value->span);
  }
  void readRate(const ast::Expr& optimiser) {
    if (const ast::Argument* lr = named(optimiser, "lr")) rate_ = text(lr->value->span);
  }
  /// `for i in 0..n`, or `range(n)` as it is written there.
  static bool countsFromZero(const ast::Stmt& loop) {
    const ast::Expr* lo = loop.lo.get();
    if (!lo || loop.by) return false;
    if (loop.hi) return lo->kind == ExprKind::Int && lo->text == "0";
    return lo->kind == ExprKind::Call && lo->args[0]->text == "range" && lo->arguments.size() == 1;
  }

  /// What the loop counts up to, as it is written.
  std::string endOf(const ast::Stmt& loop) const {
    const ast::Expr* end = loop.hi ? loop.hi.get() : loop.lo->arguments[0].value.get();
    return end ? text(end->span) : "";
  }

  const SourceManager& sources_;
  const Unit& unit_;
  const ast::File& file_;
  const ast::Expr& call_;
  const Schedule& schedule_;
  std::map<std::string, std::string> options_;
  std::string optimiser_, rate_;
  const ast::Expr *steps_ = nullptr, *update_ = nullptr;
  size_t uses_ = 0;
};

}  // namespace

std::optional<Help> scheduledRate(Context& context, const ast::Expr& call) {
  const ast::File* file = context.frame().unit ? context.frame().unit->file : nullptr;
  if (!file || call.kind != ExprKind::Call) return std::nullopt;
  for (const Schedule& s : schedules())
    if (call.args[0]->text == s.name) return Scheduled(context, *file, call, s).help();
  return std::nullopt;
}

}  // namespace tenc::frontend
