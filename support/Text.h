// Small pieces of text handling that the renderers and the tools share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tenc {

/// One decoded code point: its bytes, and how many terminal columns it takes.
struct CodePoint {
  uint32_t value = 0;
  uint32_t bytes = 1;
  uint32_t width = 1;
  bool valid = true;  ///< false: one byte that is not UTF-8; value is U+FFFD
};
/// Decodes the code point at `at` (which must be inside `text`).
CodePoint decodeUtf8(std::string_view text, size_t at);
/// Offset of the first byte that is not UTF-8, or npos.
size_t findInvalidUtf8(std::string_view text);

/// What a terminal would obey, not show: control characters, among them those from U+0080 on, what turns the order of
/// text, and bytes that are no UTF-8.
bool isHiddenInTerminal(const CodePoint& c);
/// What stands for such a character: U+FFFD.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
/// `text` with that in their place; line breaks and tabs stay.
std::string forTerminal(std::string_view text);

/// `text` as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string jsonQuote(std::string_view text);

/// What is said of an index, or of the first of `count`, that is none of the `size` of dim `axis`.
std::string outOfRange(int64_t index, int64_t count, int64_t axis, int64_t size);

/// Optimal string alignment distance: edits of one character, and swaps of neighbours.
size_t editDistance(std::string_view a, std::string_view b);

/// The candidate nearest to `word` by edit distance, or "" when none is near enough to be what was meant.
class NearestName {
 public:
  explicit NearestName(std::string_view word) : word_(word) {}
  void consider(std::string_view candidate);
  const std::string& best() const { return best_; }

 private:
  std::string word_;
  std::string best_;
  size_t distance_ = ~size_t{0};
};

/// "196 KiB", "1.5 GiB", "12 bytes".
std::string formatBytes(uint64_t bytes);

}  // namespace tenc
