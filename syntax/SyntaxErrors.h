// What is said about text that is not TL.
#pragma once
#include <antlr4-runtime.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/Diagnostics.h"

namespace tenc::syntax {

/// Reports the errors of one file and remembers where they were, so that the tree builder puts Error nodes there.
class SyntaxReporter {
 public:
  SyntaxReporter(const SourceManager& sources, uint32_t file, Diagnostics& diags)
      : sources_(sources), source_(sources.file(file)), file_(file), diags_(diags) {}

  Span span(size_t begin, size_t end) const {
    return Span{file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }
  Span span(const antlr4::Token& t) const;
  const SourceManager& sources() const { return sources_; }
  std::string_view text() const { return source_.text(); }
  std::string_view text(Span s) const { return text().substr(s.begin, s.end - s.begin); }
  LineColumn position(size_t offset) const { return source_.position(static_cast<uint32_t>(offset)); }
  uint32_t line(size_t offset) const { return position(offset).line; }

  Diagnostics::Builder report(Code code, Span at, std::string message);
  /// Reports what is read on as if it were right: no place is marked.
  Diagnostics::Builder reportMended(Code code, Span at, std::string message) {
    return diags_.report(code, at, std::move(message));
  }
  /// Marks a place as wrong without a report of its own.
  void mark(size_t offset);
  /// Whether an error was reported or marked inside, or an edit takes the place of it; touching either end counts.
  bool hasProblem(Span s) const;
  /// Whether the line of `offset` has a problem at or before it, or anywhere: a later one on that line is most likely
  /// its consequence.
  bool lineHasProblem(size_t offset, bool anywhere) const;
  /// Notes that brackets were left open there: what does not fit behind the first one is their consequence.
  void leftOpen(Span s) { leftOpen_.push_back(s); }
  bool isLeftOpen(size_t offset) const {
    return std::any_of(leftOpen_.begin(), leftOpen_.end(), [&](Span s) { return s.begin < offset && offset <= s.end; });
  }
  /// Notes that an edit takes the place of all that stands there, or that it is read no further.
  void mendedWhole(Span s) { mended_.push_back(s); }
  bool isMended(size_t offset) const {
    return std::any_of(mended_.begin(), mended_.end(), [&](Span s) { return s.begin <= offset && offset < s.end; });
  }
  /// Notes that a block was written in a way that is none here: exits behind it may stand in it.
  void loseBlock() { blockLost_ = true; }
  bool blockLost() const { return blockLost_; }
  /// Notes a character that no token of TL starts with, and that the parser does not see.
  void noteUnread(Span s) { unread_.push_back(s); }
  const std::vector<Span>& unread() const { return unread_; }
  /// Notes a word of another language.
  void noteForeign() { foreign_ = true; }
  bool hasForeign() const { return foreign_; }
  /// Notes that an edit writes what a name of an import stands for in its place.
  void rename(const std::string& name) { renamed_.insert(name); }
  std::set<std::string, std::less<>> takeRenamed() { return std::move(renamed_); }

 private:
  const SourceManager& sources_;
  const SourceFile& source_;
  uint32_t file_;
  Diagnostics& diags_;
  bool blockLost_ = false, foreign_ = false;
  std::set<std::string, std::less<>> renamed_;
  std::vector<Span> leftOpen_, mended_, unread_;
  std::vector<size_t> problems_;  ///< sorted byte offsets
};

/// Turns ANTLR's reports into messages: what was expected, what was found, and the TL word for a foreign one.
class SyntaxListener final : public antlr4::BaseErrorListener {
 public:
  explicit SyntaxListener(SyntaxReporter& reporter) : reporter_(reporter) {}
  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* at, size_t line, size_t column,
                   const std::string& message, std::exception_ptr error) override;

 private:
  SyntaxReporter& reporter_;
};

class ForeignOperators;

inline constexpr std::string_view kNoQuotesInBraces =
    "an expression in braces cannot contain quotes: bind it to a name first and write `{name}`";

/// Reports a character that no TL token starts with; knows what people mean by `&`, `!`, `'` and the like.
void reportBadCharacter(SyntaxReporter& reporter, Span at, const ForeignOperators* operators);

}  // namespace tenc::syntax
