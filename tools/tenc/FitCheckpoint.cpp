// Where `checkpoint` makes a training step fit: calls of the forward pass whose residuals are alive at the peak, each
// tried by compiling the script with it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "frontend/names/Scan.h"
#include "ir/Ir.h"
#include "support/Quote.h"
#include "support/Text.h"
#include "tools/tenc/Memory.h"

namespace tenc::tool {
namespace {

using ast::Expr;
using Planned = MemoryTrials::Planned;

constexpr size_t kMostSites = 24;

/// An expression of the forward pass that may be computed again.
struct Site {
  Span span;
  std::vector<Edit> edits;
  uint64_t bytes = 0;  ///< of residuals that are made in it
  Planned alone;       ///< the script with this one recomputed
};

/// Bytes of residuals by the places of the script that make them: calls, and what is no call of a function.
class Makers {
 public:
  Makers(const ir::Module& m, const AtPeak& peak, uint32_t script) {
    for (const auto& [at, bytes] : peak.residuals) {
      std::vector<Span> seen;
      for (ir::Loc l = at; l.index != 0; l = m.loc(l).caller) {
        const Span span = m.span(l);
        if (l.half != ir::Half::Forward || span.file != script) continue;
        if (std::find(seen.begin(), seen.end(), span) != seen.end()) continue;
        seen.push_back(span);
        bytes_[{span.begin, span.end}] += bytes;
      }
    }
  }
  uint64_t exactly(Span s) const {
    const auto it = bytes_.find({s.begin, s.end});
    return it == bytes_.end() ? 0 : it->second;
  }
  /// Of the places in it, the most that one of them makes.
  uint64_t inside(Span s) const {
    uint64_t most = 0;
    for (const auto& [at, bytes] : bytes_)
      if (at.first >= s.begin && at.second <= s.end) most = std::max(most, bytes);
    return most;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> bytes_;
};

/// Finds the sites in the tree of the script.
class Sites {
 public:
  Sites(const ast::File& tree, const Makers& makers) : makers_(makers) {
    for (const ast::StmtPtr& s : tree.statements) calls(*s);
    for (const ast::StmtPtr& s : tree.statements)
      if (s->kind == ast::Stmt::Kind::Fn) function(*s);
  }
  std::vector<Site> take() {
    std::stable_sort(sites_.begin(), sites_.end(), [](const Site& a, const Site& b) { return a.bytes > b.bytes; });
    if (sites_.size() > kMostSites) sites_.resize(kMostSites);
    return std::move(sites_);
  }

 private:
  static Edit insert(Span at, bool behind, std::string text) {
    const uint32_t place = behind ? at.end : at.begin;
    return {{at.file, place, place}, std::move(text)};
  }
  static std::vector<Edit> around(Span span, const char* before, const char* behind) {
    return {insert(span, false, before), insert(span, true, behind)};
  }

  /// Functions that are called: `f(x)`, `m.layer(x)`, `x |> f`.
  void calls(const ast::Stmt& s) {
    frontend::TreeVisitor visitor;
    visitor.onExpression = [&](const Expr& e) {
      const uint64_t bytes = makers_.exactly(e.span);
      if (bytes == 0) return true;
      if (const Expr* callee = calledBy(e))
        sites_.push_back({e.span, around(callee->span, "checkpoint(", ")"), bytes, {}});
      return true;
    };
    visitor.visit(s);
  }

  /// What is called, where it can be an argument of `checkpoint`.
  static const Expr* calledBy(const Expr& e) {
    const Expr* callee = nullptr;
    if (e.kind == Expr::Kind::Call) callee = e.args[0].get();
    if (e.kind == Expr::Kind::Binary && e.text == "|>") {
      callee = e.args[1].get();
      if (callee->kind == Expr::Kind::Call && !callee->grouped) callee = callee->args[0].get();
    }
    const bool isName = callee && (callee->kind == Expr::Kind::Name || callee->kind == Expr::Kind::Member ||
                                   callee->kind == Expr::Kind::Index);
    return isName ? callee : nullptr;
  }

  /// The values of statements in functions, which a lambda may compute.
  void function(const ast::Stmt& fn) {
    frontend::TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == ast::Stmt::Kind::Fn && !s.bodyIsExpr) return;
      const bool isCall = s.value && makers_.exactly(s.value->span) > 0 && calledBy(*s.value) != nullptr;
      if (!s.value || isCall || s.value->kind == Expr::Kind::Lambda || s.value->kind == Expr::Kind::Name) return;
      const uint64_t bytes = makers_.inside(s.value->span);
      if (bytes == 0) return;
      sites_.push_back({s.value->span, around(s.value->span, "checkpoint(|| ", ")()"), bytes, {}});
    };
    visitor.visit(fn);
  }

  const Makers& makers_;
  std::vector<Site> sites_;
};

bool overlap(const Site& a, const Site& b) { return a.span.begin < b.span.end && b.span.begin < a.span.end; }

/// Some sites together.
struct Choice {
  std::vector<const Site*> sites;
  Planned planned;

  std::vector<Edit> edits() const {
    std::vector<Edit> all;
    for (const Site* s : sites) all.insert(all.end(), s->edits.begin(), s->edits.end());
    return all;
  }
};

class Chooser {
 public:
  Chooser(MemoryTrials& trials, std::vector<Site> sites, const Planned& now)
      : trials_(trials), sites_(std::move(sites)), now_(now) {}

  std::optional<Choice> run() {
    std::optional<Choice> best;
    for (Site& s : sites_) {
      const auto planned = trials_.plan(s.edits);
      s.alone = planned.value_or(Planned{false, ~uint64_t{0}, 0});
      if (s.alone.fits) keepCheaper(best, {{&s}, s.alone});
    }
    if (std::optional<Choice> more = together()) keepCheaper(best, std::move(*more));
    return best;
  }

 private:
  static void keepCheaper(std::optional<Choice>& best, Choice other) {
    if (!best || other.planned.flops < best->planned.flops) best = std::move(other);
  }

  double cost(const Planned& p) const { return std::max(p.flops - now_.flops, 0.0); }

  /// One after the other, those first that save the most for what they cost, until it fits; then without those that
  /// are not needed any more.
  std::optional<Choice> together() {
    std::vector<const Site*> order;
    for (const Site& s : sites_)
      if (s.alone.peak < now_.peak) order.push_back(&s);
    const auto worth = [&](const Site* s) {
      return static_cast<double>(now_.peak - s->alone.peak) / (cost(s->alone) + 1);
    };
    std::stable_sort(order.begin(), order.end(), [&](auto* a, auto* b) { return worth(a) > worth(b); });
    Choice all{{}, now_};
    for (const Site* s : order) {
      if (std::any_of(all.sites.begin(), all.sites.end(), [&](const Site* o) { return overlap(*s, *o); })) continue;
      Choice with = all;
      with.sites.push_back(s);
      const auto planned = trials_.plan(with.edits());
      if (!planned || planned->peak >= all.planned.peak) continue;
      with.planned = *planned;
      all = std::move(with);
      if (all.planned.fits) return all.sites.size() > 1 ? leaner(std::move(all)) : all;
    }
    return std::nullopt;
  }

  Choice leaner(Choice all) {
    for (size_t i = all.sites.size(); i-- > 0 && all.sites.size() > 1;) {
      Choice without = all;
      without.sites.erase(without.sites.begin() + static_cast<std::ptrdiff_t>(i));
      const auto planned = trials_.plan(without.edits());
      if (!planned || !planned->fits || planned->flops > all.planned.flops) continue;
      without.planned = *planned;
      all = std::move(without);
    }
    return all;
  }

  MemoryTrials& trials_;
  std::vector<Site> sites_;
  const Planned now_;
};

/// "12.4 GFLOP"
std::string formatFlops(double flops) {
  static constexpr const char* kUnits[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  size_t unit = 0;
  while (flops >= 1000 && unit + 1 < std::size(kUnits)) flops /= 1000, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, flops < 100 && unit > 0 ? "%.1f %s" : "%.0f %s", flops, kUnits[unit]);
  return text;
}

std::string formatPart(double part) {
  const double percent = 100 * part;
  char text[32];
  if (percent > 0 && percent < 0.1) return "less than 0.1 %";
  std::snprintf(text, sizeof text, percent < 10 ? "+%.1f %%" : "+%.0f %%", percent);
  return text;
}

}  // namespace

std::optional<Help> fittingCheckpoint(MemoryTrials& trials, const ir::Module& m, const AtPeak& peak, uint64_t bytes,
                                      const SourceManager& sources, uint32_t script) {
  if (peak.residuals.empty()) return std::nullopt;
  const auto tree = trials.parse();
  if (!tree) return std::nullopt;
  // The trees of trials have files of their own.
  std::vector<Site> sites = Sites(*tree, Makers(m, peak, script)).take();
  for (Site& s : sites) {
    s.span.file = script;
    for (Edit& e : s.edits) e.span.file = script;
  }
  const Planned now{false, bytes, gradientFlops(*m.main())};
  Chooser chooser(trials, std::move(sites), now);  // the choice points into it
  const std::optional<Choice> choice = chooser.run();
  if (!choice) return std::nullopt;
  const double extra = std::max(choice->planned.flops - now.flops, 0.0);
  std::string what;
  for (const Site* s : choice->sites) {
    const std::string text = isQuotable(sources, s->span) ? quote(sources, s->span) : std::string();
    if (choice->sites.size() == 1 && !text.empty()) what = " around " + text;
  }
  Help help;
  help.text = "`checkpoint`" + what + " fits in " + formatBytes(choice->planned.peak) + ": it recomputes " +
              formatFlops(extra) + " a step (" + formatPart(extra / std::max(now.flops, 1.0)) + ")";
  help.edits = choice->edits();
  return help;
}

}  // namespace tenc::tool
