// Source texts and positions in them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenc {

/// A half-open range of bytes in one source text. `file` is an index into SourceManager; kNone means "no position".
struct Span {
  static constexpr uint32_t kNone = ~0u;
  uint32_t file = kNone;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool valid() const { return file != kNone; }
  bool operator==(const Span&) const = default;
  /// The smallest span that covers both; either may be invalid.
  static Span cover(Span a, Span b);
};

/// A position for people: both count from 1; `column` counts code points, as editors do.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};

class SourceFile {
 public:
  /// `firstLine`: the number of the first line, where the text is a part of a file.
  SourceFile(std::string name, std::string text, uint32_t firstLine = 1);
  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  /// A part of the standard library, which no user can mend.
  bool isLibrary = false;
  LineColumn position(uint32_t offset) const;
  uint32_t firstLine() const { return firstLine_; }
  uint32_t lastLine() const { return firstLine_ + static_cast<uint32_t>(starts_.size()) - 1; }
  /// The text of a line without its newline.
  std::string_view line(uint32_t line) const;
  /// Where a line starts in the text.
  uint32_t lineStart(uint32_t line) const { return starts_[line - firstLine_]; }

 private:
  std::string name_;
  std::string text_;
  uint32_t firstLine_;
  /// Code points before a byte.
  uint32_t codePoints(uint32_t offset) const;
  std::vector<uint32_t> starts_;
  std::vector<uint32_t> codePointsBefore_;  ///< before every block of kBlock bytes: a line may be very long
};

/// Owns the texts of one session. Files are never removed, so spans stay valid.
class SourceManager {
 public:
  uint32_t add(std::string name, std::string text, uint32_t firstLine = 1);
  const SourceFile& file(uint32_t id) const { return *files_[id]; }
  void markLibrary(uint32_t id) { files_[id]->isLibrary = true; }
  bool inLibrary(Span s) const { return s.valid() && file(s.file).isLibrary; }
  uint32_t size() const { return static_cast<uint32_t>(files_.size()); }
  std::string_view text(Span s) const;

 private:
  std::vector<std::unique_ptr<SourceFile>> files_;
};

}  // namespace tenc
