#include "tools/tenc/TryHelps.h"

#include <algorithm>

#include "ir/CallGraph.h"
#include "ir/Ir.h"
#include "syntax/Ast.h"

namespace tenc::tool {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;  // of source in all trials
constexpr int kMostTrials = 64;

bool isPlacement(Code code) { return code == Code::E0301 || code == Code::E0302 || code == Code::E0303; }

class Trials {
 public:
  explicit Trials(Session& session) : session_(session), script_(*session.script()) {
    text_ = session.sources().file(script_).text();
    const size_t size = std::max<size_t>(text_.size(), 1);
    left_ = std::min<int>(kMostTrials, static_cast<int>(std::min<size_t>(kMostBytes / size, kMostTrials)));
    options_ = session.options().ofTrial();
  }

  void run() {
    Diagnostics& diags = session_.diags();
    for (size_t i = 0; i < diags.all().size(); ++i) {
      const Diagnostic& d = diags.all()[i];
      if (!isPlacement(d.code) || d.span.file != script_ || d.helps.empty()) continue;
      diags.setHelps(i, tried(d));
    }
  }

 private:
  /// Whether the help has edits that can be tried here.
  bool canTry(const Help& h) const {
    return !h.edits.empty() && left_ > 0 &&
           std::all_of(h.edits.begin(), h.edits.end(), [&](const Edit& e) { return e.span.file == script_; });
  }

  std::vector<Help> tried(const Diagnostic& d) {
    std::vector<Help> kept;
    bool anyMends = false;
    for (Help h : d.helps) {
      if (h.alternative && anyMends) continue;
      if (!canTry(h)) {
        kept.push_back(std::move(h));
        continue;
      }
      --left_;
      const bool mends = isMend(d, h);
      if (mends) {
        h.mustRemove = h.alternative = false;
        anyMends = true;
      } else if (h.alternative) {
        continue;
      } else {
        h.edits.clear();
        if (h.cheaper) continue;
      }
      kept.push_back(std::move(h));
    }
    // Where only an alternative mends, what does not is no help.
    const bool shown = std::any_of(kept.begin(), kept.end(), [](const Help& h) { return !h.edits.empty(); });
    const auto isRefuted = [&](const Help& h) { return h.edits.empty() && h.copies && shown; };
    if (shown && !d.helps.empty() && !d.helps[0].edits.empty()) std::erase_if(kept, isRefuted);
    // Cheaper than what is shown no longer.
    constexpr std::string_view kCheaper = "cheaper: ";
    if (!kept.empty() && std::ranges::all_of(kept, &Help::cheaper) && kept[0].text.starts_with(kCheaper))
      kept[0].text.erase(0, kCheaper.size());
    return kept;
  }

  /// Where a span is after the edits.
  static Span moved(const Span& was, const std::vector<Edit>& edits) {
    Span at = was;
    for (const Edit& e : edits) {
      const auto grown = static_cast<uint32_t>(e.replacement.size() - (e.span.end - e.span.begin));
      if (e.span.end <= was.begin) at.begin += grown;
      if (e.span.begin <= was.end) at.end += grown;
    }
    return at;
  }

  bool isMend(const Diagnostic& d, const Help& help) {
    const Span at = moved(d.span, help.edits);
    Session trial(options_);
    const std::string& name = session_.sources().file(script_).name();
    const std::optional<uint32_t> file = trial.addText(name, applyEdits(text_, help.edits));
    const std::unique_ptr<ast::File> tree = file ? trial.parse(*file) : nullptr;
    if (!tree) return false;
    const frontend::Lowered lowered = trial.lower(*tree);
    if (!lowered.module) return false;
    const std::unique_ptr<ir::Module> whole = ir::clone(*lowered.module);
    trial.place(*lowered.module);
    const ir::CallGraph calls(*whole);
    for (const auto* cases : {&lowered.tests, &lowered.benches})
      for (const frontend::Lowered::Case& c : *cases) trial.place(*calls.alone(c.func));
    if (trial.internalError()) return false;

    const Diagnostics& now = trial.diags();
    const auto count = [](const Diagnostics& all, auto&& is) {
      return std::count_if(all.all().begin(), all.all().end(),
                           [&](const Diagnostic& o) { return o.severity() == Severity::Error && is(o); });
    };
    const auto other = [](const Diagnostic& o) { return !isPlacement(o.code); };
    if (count(now, other) > count(session_.diags(), other)) return false;
    if (help.mustRemove && now.errors() >= session_.diags().errors()) return false;
    // What was right before the error stays so: a variable that starts elsewhere is used there as well.
    const auto isNewBefore = [&](const Diagnostic& o) {
      return o.span.file == *file && o.span.begin < at.begin &&
             count(
                 session_.diags(),
                 [&](const Diagnostic& was) {
                   return was.code == o.code && was.message == o.message && was.span.begin < d.span.begin;
                 }) == 0;
    };
    if (help.mustRemove && count(now, isNewBefore) > 0) return false;
    // What stands at the place of the error stood there before, and is another one.
    const auto isHere = [&](const Diagnostic& o) {
      return o.code == d.code && o.span.file == *file && o.span.begin >= at.begin && o.span.end <= at.end;
    };
    const auto stoodHere = [&](const Diagnostic& o) {
      return o.code == d.code && o.span.file == script_ && o.span.begin >= d.span.begin && o.span.end <= d.span.end;
    };
    const auto isOther = [&](const Diagnostic& o) {
      return isHere(o) && count(session_.diags(), [&](const Diagnostic& was) {
                            return &was != &d && stoodHere(was) && was.message == o.message;
                          }) > 0;
    };
    return count(now, isHere) == count(now, isOther);
  }

  Session& session_;
  const uint32_t script_;
  std::string_view text_;
  SessionOptions options_;
  int left_ = 0;
};

}  // namespace

void tryHelps(Session& session) {
  if (!session.script() || session.options().session) return;
  Trials(session).run();
}

}  // namespace tenc::tool
