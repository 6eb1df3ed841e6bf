#include "tools/tenc/Behind.h"

#include <algorithm>

#include "support/MendedText.h"
#include "support/Text.h"
#include "syntax/Ast.h"

namespace tenc::tool {
namespace {

constexpr size_t kMostBytes = size_t{1} << 16;
constexpr int kMostRounds = 8;
constexpr int kMostOfFix = 40;
constexpr size_t kMostSaid = 3;

/// An error with an edit, of the user's text or of what became of it.
struct Finding {
  Diagnostic diagnostic;  ///< its spans are those of the original
  size_t round;
  size_t index;  ///< in the session's list, for those of the first round
  std::string help;
};

const Help* firstMend(const Diagnostic& d) {
  const auto has = [](const Help& h) { return !h.edits.empty() && !h.alternative && !h.mustRemove; };
  const auto h = std::find_if(d.helps.begin(), d.helps.end(), has);
  return h == d.helps.end() ? nullptr : &*h;
}

bool isPlacement(const Diagnostic& d) { return info(d.code).name.starts_with("E03"); }

bool isTooLarge(Session& session, uint32_t file) { return session.sources().file(file).text().size() > kMostBytes; }

class Rounds {
 public:
  Rounds(Session& session, uint32_t script)
      : session_(session),
        script_(script),
        source_(session.sources().file(script)),
        options_(session.options().ofTrial()),
        mended_(source_.text()) {}

  void run() {
    if (mend(kMostRounds)) report();
  }
  /// Makes the edits, round by round; whether a script without errors comes of it.
  bool mend(int most) {
    std::vector<OwnedEdit> edits;
    collect(session_.diags(), script_, 0, edits);
    for (int round = 1; round <= most && !edits.empty(); ++round) {
      last_ = mended_.now();
      mended_.apply(std::move(edits));
      if (mended_.now() == last_) return false;
      edits.clear();
      Session trial(options_);
      const std::optional<uint32_t> file = trial.addText(source_.name(), mended_.now());
      if (!file || !compiled(trial, *file)) return false;
      last_ = mended_.now();
      if (trial.diags().ok()) return true;
      collect(trial.diags(), *file, round, edits);
    }
    return false;
  }
  /// The text of the last round that could be read.
  const std::string& last() const { return last_; }

 private:
  static bool compiled(Session& trial, uint32_t file) {
    const std::unique_ptr<ast::File> tree = trial.parse(file);
    if (!tree) return false;
    trial.lower(*tree);
    return !trial.internalError();
  }

  /// The edits that a round makes: the first of every error, as far as they are apart.
  void collect(const Diagnostics& diags, uint32_t file, size_t round, std::vector<OwnedEdit>& edits) {
    const auto isApart = [&](const Edit& e) {
      return std::all_of(edits.begin(), edits.end(), [&](const OwnedEdit& o) { return areApart(o.edit, e); });
    };
    for (const Diagnostic* d : inSourceOrder(diags)) {
      const Help* h = mendOf(*d, file);
      if (!h) continue;
      std::vector<Edit> own;
      bool clashes = false;
      for (const Edit& e : h->edits) {
        const auto isSame = [&](const OwnedEdit& o) {
          return o.edit.span == e.span && o.edit.replacement == e.replacement && e.replacement.ends_with('\n');
        };
        if (std::any_of(edits.begin(), edits.end(), isSame)) continue;  // one import for two uses
        clashes = clashes || !isApart(e);
        own.push_back(e);
      }
      if (clashes) continue;
      const size_t finding = add(*d, *h, file, round, static_cast<size_t>(d - diags.all().data()));
      for (Edit& e : own) edits.push_back({std::move(e), finding});
    }
  }

  size_t add(const Diagnostic& d, const Help& h, uint32_t file, size_t round, size_t index) {
    Diagnostic here = d;
    const auto moved = [&](Span s) {
      Span at = mended_.inOriginal(s);
      at.file = script_;
      return at;
    };
    const auto isElsewhere = [&](const auto& part) { return part.span.valid() && part.span.file != file; };
    std::erase_if(here.labels, isElsewhere);
    std::erase_if(here.notes, isElsewhere);
    here.span = moved(d.span);
    for (Label& l : here.labels) l.span = moved(l.span);
    for (Note& n : here.notes)
      if (n.span.valid()) n.span = moved(n.span);
    here.helps.clear();
    findings_.push_back({std::move(here), round, index, h.text});
    return findings_.size() - 1;
  }

  /// What is said of a group of edits: what was said of the first few.
  std::string saidOf(size_t group) const {
    std::vector<std::string> said;
    for (size_t i = 0; i < findings_.size(); ++i)
      if (mended_.groupOf(i) == group && std::find(said.begin(), said.end(), findings_[i].help) == said.end())
        said.push_back(findings_[i].help);
    std::string text;
    for (size_t i = 0; i < std::min(said.size(), kMostSaid); ++i) text += (text.empty() ? "" : "; ") + said[i];
    return text + (said.size() > kMostSaid ? "; and what the errors below say of these lines" : "");
  }

  /// The error of the first round that says the same at the same place, without an edit.
  std::optional<size_t> alreadySaid(const Diagnostic& d) const {
    const auto& all = session_.diags().all();
    const auto same = std::find_if(all.begin(), all.end(), [&](const Diagnostic& o) {
      return o.code == d.code && o.span == d.span && o.message == d.message && !firstMend(o);
    });
    return same == all.end() ? std::nullopt : std::optional(static_cast<size_t>(same - all.begin()));
  }

  void report() {
    std::vector<Diagnostic> behind;
    for (size_t i = 0; i < findings_.size(); ++i) {
      Finding& f = findings_[i];
      const size_t group = mended_.groupOf(i);
      const Help whole{saidOf(group), mended_.editsOf(group, script_)};
      if (f.round > 0) {
        if (group != i || whole.edits.empty()) continue;
        if (const auto same = alreadySaid(f.diagnostic)) {  // what mends it is known only now
          session_.diags().setHelps(*same, {whole});
        } else {
          f.diagnostic.helps = {whole};
          behind.push_back(std::move(f.diagnostic));
        }
        continue;
      }
      if (group != i) continue;  // it is mended with the first; its own edit stands alone
      std::vector<Help> helps = session_.diags().all()[f.index].helps;
      const auto first = std::find_if(helps.begin(), helps.end(), [](const Help& h) { return !h.edits.empty(); });
      *first = whole;
      session_.diags().setHelps(f.index, std::move(helps));
    }
    session_.diags().add(std::move(behind));
  }

  Session& session_;
  const uint32_t script_;
  const SourceFile& source_;
  SessionOptions options_;
  MendedText mended_;
  std::string last_;
  std::vector<Finding> findings_;
};

/// With the line breaks of the original, where those are `\r\n`.
std::string withBreaksOf(std::string_view original, const std::string& mended) {
  const size_t first = original.find('\n');
  if (first == original.npos || first == 0 || original[first - 1] != '\r') return mended;
  std::string text;
  for (const char c : mended) {
    if (c == '\n' && !text.ends_with('\r')) text += '\r';
    text += c;
  }
  return text;
}

}  // namespace

void reportBehind(Session& session) {
  if (!session.script() || session.options().session) return;
  if (std::any_of(session.diags().all().begin(), session.diags().all().end(), isPlacement)) return;
  if (isTooLarge(session, *session.script())) return;
  Rounds(session, *session.script()).run();
}

size_t mendableErrors(Session& session) {
  if (!session.script() || session.options().session || isTooLarge(session, *session.script())) return 0;
  return static_cast<size_t>(std::ranges::count_if(session.diags().all(), [&](const Diagnostic& d) {
    return !isPlacement(d) && mendOf(d, *session.script()) != nullptr;
  }));
}

MendedScript mendedScript(Session& session, uint32_t file) {
  const std::string text(session.sources().file(file).text());
  if (session.diags().ok()) return {text, ""};
  if (isTooLarge(session, file)) return {text, "it has more than " + formatBytes(kMostBytes)};
  if (!session.script()) return {text, "it cannot be read"};
  Rounds rounds(session, file);
  rounds.mend(kMostOfFix);
  if (rounds.last().empty()) return {text, "none of its errors has an edit that --fix makes"};
  std::string mended = withBreaksOf(text, rounds.last());
  return {mended, mended == text ? "what its edits make of it cannot be read" : ""};
}

}  // namespace tenc::tool
