// The lexer's input: the bytes of a source text, so that token positions are the byte offsets of spans.
#pragma once
#include <antlr4-runtime.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace tenc::syntax {

/// A character stream over bytes 0..255. It can be narrowed to a window, to lex a part of the text again in place.
class ByteStream final : public antlr4::CharStream {
 public:
  static constexpr size_t kOther = 0x7F;  ///< what the lexer sees of a byte that is not ASCII

  explicit ByteStream(std::string_view text)
      : text_(text), end_(text.size()), bom_(text.starts_with("\xEF\xBB\xBF") ? 3 : 0) {}

  /// Lets the stream end at `end` and go on at `begin`.
  void window(size_t begin, size_t end) {
    position_ = begin;
    end_ = end;
  }
  std::string_view text() const { return text_; }

  void consume() override {
    if (position_ < end_) ++position_;
  }
  size_t LA(ssize_t i) override {
    if (i == 0) return 0;
    const ssize_t at = static_cast<ssize_t>(position_) + (i > 0 ? i - 1 : i);
    if (at < 0 || at >= static_cast<ssize_t>(end_)) return antlr4::IntStream::EOF;
    return symbol(static_cast<size_t>(at));
  }
  /// What the lexer sees of a byte. Its tables end at 127: what is beyond has no meaning outside of strings and
  /// comments, and stands for itself there. A byte order mark is a blank.
  size_t symbol(size_t at) const {
    const auto byte = static_cast<unsigned char>(text_[at]);
    return byte < 0x80 ? byte : at < bom_ ? ' ' : kOther;
  }
  size_t end() const { return end_; }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return position_; }
  void seek(size_t index) override { position_ = std::min(index, end_); }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "source"; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    if (interval.b < interval.a || interval.a < 0) return "";
    const auto begin = std::min(static_cast<size_t>(interval.a), text_.size());
    return std::string(text_.substr(begin, static_cast<size_t>(interval.b - interval.a + 1)));
  }
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  size_t position_ = 0;
  size_t end_;
  size_t bom_;
};

}  // namespace tenc::syntax
