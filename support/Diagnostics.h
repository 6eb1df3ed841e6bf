// The one diagnostic engine: stable codes, several labelled spans, notes with provenance, help with the mended line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/SourceFile.h"

namespace tenc {

enum class Severity : uint8_t { Error, Warning };

/// One enumerator for each row of DiagnosticKinds.def, named by its code.
enum class Code : uint16_t {
#define TENC_DIAGNOSTIC(code, severity, title) code,
#include "support/DiagnosticKinds.def"
  Count
};

struct CodeInfo {
  std::string_view name;  ///< "E0301"
  Severity severity;
  std::string_view title;  ///< the short title shown by `tenc explain`
};
const CodeInfo& info(Code code);
/// The code of that name, or Code::Count.
Code codeNamed(std::string_view name);

struct Label {
  Span span;
  std::string text;  ///< may be empty
};
struct Note {
  Span span;  ///< may be invalid
  std::string text;
  bool isCall = false;  ///< of the chain of calls that leads to the error
};
struct Edit {
  Span span;  ///< an empty one inserts
  std::string replacement;
};
/// What would mend it; shown as the mended line when there are edits.
struct Help {
  std::string text;
  std::vector<Edit> edits;
  bool mustRemove = false;   ///< words only, until a trial has found one error fewer with the edits
  bool alternative = false;  ///< not shown, unless a trial finds that the edits before it are no mend
  bool cheaper = false;      ///< than another help: not shown when a trial finds that its edits are no mend
  bool copies = false;       ///< a value, for one use: not shown as words alone beside edits that mend
};

/// A text with edits of it, which do not overlap.
std::string applyEdits(std::string_view text, std::vector<Edit> edits);

struct Diagnostic {
  Code code;
  std::string message;
  Span span;                  ///< the primary span
  std::string label;          ///< the label at the primary span
  std::vector<Label> labels;  ///< further labelled spans
  std::vector<Note> notes;
  std::vector<Help> helps;
  Severity severity() const { return info(code).severity; }
};

/// Proof that an error was reported, which only the engine gives: what stands for a value that had an error is made of
/// it.
class ErrorGiven {
 private:
  friend class Diagnostics;
  ErrorGiven() = default;
};

/// Collects diagnostics. Nothing is printed here: `render` and `renderJson` make text of what was collected.
class Diagnostics {
 public:
  class Builder {
   public:
    Builder& label(std::string text) {
      d_->label = std::move(text);
      return *this;
    }
    Builder& label(Span s, std::string text) {
      d_->labels.push_back({s, std::move(text)});
      return *this;
    }
    Builder& note(Span s, std::string text) {
      d_->notes.push_back({s, std::move(text)});
      return *this;
    }
    Builder& note(std::string text) {
      d_->notes.push_back({Span{}, std::move(text)});
      return *this;
    }
    Builder& note(Note note) {
      d_->notes.push_back(std::move(note));
      return *this;
    }
    Builder& help(Help help) {
      d_->helps.push_back(std::move(help));
      return *this;
    }
    Builder& help(std::string text) {
      d_->helps.push_back({std::move(text), {}});
      return *this;
    }
    Builder& help(std::string text, std::vector<Edit> edits) {
      d_->helps.push_back({std::move(text), std::move(edits)});
      return *this;
    }

    /// Not of a warning.
    operator ErrorGiven() const;  // NOLINT(google-explicit-constructor)

   private:
    friend class Diagnostics;
    Builder(Diagnostic& d, Severity severity) : d_(&d), severity_(severity) {}
    Diagnostic* d_;
    Severity severity_;
  };

  /// Reports once: the same code at the same span with the same message is recorded a single time.
  /// After kMostKept others are only counted. The builder is valid until the next report.
  Builder report(Code code, Span span, std::string message);
  const std::vector<Diagnostic>& all() const { return list_; }
  /// Replaces the helps of the diagnostic at `index` of `all`.
  void setHelps(size_t index, std::vector<Help> helps) { list_[index].helps = std::move(helps); }
  /// Adds a note to the diagnostic at `index` of `all`.
  void addNote(size_t index, Note note) { list_[index].notes.push_back(std::move(note)); }
  size_t errors() const { return errors_; }
  /// Whether further ones will only be counted.
  bool full() const { return list_.size() >= kMostKept; }
  /// How many were only counted.
  size_t dropped() const { return droppedCount_; }
  bool ok() const { return errors_ == 0; }
  /// Proof for who stands behind an error that somebody else reported. Throws an InternalError when there was none:
  /// `what` says what is missing.
  ErrorGiven given(std::string_view what) const;
  void clear();
  /// Takes back those from `first` on in `all`, and gives them.
  std::vector<Diagnostic> take(size_t first);
  /// Adds what was taken back.
  void add(std::vector<Diagnostic> list);

 private:
  std::vector<Diagnostic> list_;
  static constexpr size_t kMostKept = 1000;
  Diagnostic dropped_{};
  size_t droppedCount_ = 0;
  size_t errors_ = 0;
};

/// Sorted by file and position; those without a position come first.
std::vector<const Diagnostic*> inSourceOrder(const Diagnostics& d);

struct RenderOptions {
  bool colour = false;
};
/// All diagnostics in source order, in the text form of `docs/diagnostics.md`.
std::string render(const Diagnostics& d, const SourceManager& sources, const RenderOptions& options = {});
/// One JSON object a line.
std::string renderJson(const Diagnostics& d, const SourceManager& sources);

}  // namespace tenc
