#include "frontend/habits/Schedules.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/SameValue.h"
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
    if (uses_ != 1 || !steps_ || updates_ != 1 || optimisers_.size() != 1 || rate_.empty()) return std::nullopt;
    const StatementPlace at = placeIn(file_, steps_->span);
    const ast::Stmt* loop = at.outer;
    const bool counts = loop && loop->kind == StmtKind::For && at.among == &loop->body.statements &&
                        !loop->pattern.isTuple && countsFromZero(*loop);
    if (!counts || !startsWith(*loop, *made) || !countsSteps(*loop, *at.statement) || !keepsNames(*loop))
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
      moved_.push_back(a.value.get());
    }
    return std::ranges::none_of(options_, [](const auto& o) { return o.second == "!"; });
  }

  /// Whether the loop starts once for each time that the scheduler and its optimiser are made.
  bool startsWith(const ast::Stmt& loop, const ast::Stmt& made) const {
    const auto* among = placeIn(file_, loop.span).among;
    return made.span.end <= loop.span.begin && among == placeIn(file_, made.span).among &&
           among == placeIn(file_, optimisers_[0]->span).among;
  }
  /// Whether the loop's count is that of the scheduler's steps when the optimiser steps: each trip ends with one.
  bool countsSteps(const ast::Stmt& loop, const ast::Stmt& step) const {
    bool read = true;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { read = read && s.kind != StmtKind::Error; };
    visitor.visit(loop);
    const auto leaves = [&](const ast::StmtPtr& s) {
      return s && s->span.end <= step.span.begin && exitsOf(*s).continues;
    };
    return read && loop.body.span.begin <= update_->span.begin && update_->span.end <= step.span.begin &&
           std::ranges::none_of(loop.body.statements, leaves);
  }
  /// Whether the count, the options and the rate at the start are at the optimiser's step what they are where they
  /// stand.
  bool keepsNames(const ast::Stmt& loop) const {
    const Span body = loop.body.statements[0]->span;
    return isSameAt(sources_, file_, loop.pattern.name.text, Span{body.file, body.begin, body.begin}, update_->span) &&
           std::ranges::all_of(moved_,
                               [&](const ast::Expr* e) { return isSameAt(sources_, file_, *e, update_->span); });
  }

  void find(const std::string& scheduler) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (nameBound(s) == optimiser_) optimisers_.push_back(&s);
      if (s.kind == StmtKind::Expr && stepOf(s.value.get(), scheduler) && s.value->arguments.empty())
        steps_ = s.value.get();
      if (s.kind != StmtKind::Expr || !stepOf(s.value.get(), optimiser_)) return;
      update_ = s.value.get();
      ++updates_;
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      const bool target = e.kind == ExprKind::Name && e.text == scheduler && placeIn(file_, e.span).statement &&
                          placeIn(file_, e.span).statement->value.get() == &call_;
      uses_ += isName(&e, scheduler) && !target ? 1 : 0;
      return true;
    };
    visitor.visit(file_);
    const ast::Argument* lr = update_ ? named(*update_, "lr") : nullptr;
    const ast::Expr* optimiser = optimisers_.empty() ? nullptr : optimisers_[0]->value.get();
    if (!lr && optimiser && optimiser->kind == ExprKind::Call) lr = named(*optimiser, "lr");
    if (!lr) return;
    rate_ = text(lr->value->span);
    moved_.push_back(lr->value.get());
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
  std::vector<const ast::Stmt*> optimisers_;  ///< that bind the optimiser's name
  std::vector<const ast::Expr*> moved_;       ///< the options and the rate at the start
  size_t uses_ = 0, updates_ = 0;
};

}  // namespace

std::optional<Help> scheduledRate(Context& context, const ast::Expr& call) {
  const ast::File* file = fileOf(context);
  if (!file || call.kind != ExprKind::Call) return std::nullopt;
  for (const Schedule& s : schedules())
    if (call.args[0]->text == s.name) return Scheduled(context, *file, call, s).help();
  return std::nullopt;
}

}  // namespace tenc::frontend
