// Operators that other languages have and TL does not, `a & b`, `~a`, `a << 2`, `a ^= b`, `x in xs`, `c ? a : b`,
// written as TL writes them. They bind here as in Python, whose comparisons are looser than `&`.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::syntax {

/// A token: its type in the grammar and its place.
struct Piece {
  size_t type = 0, begin = 0, end = 0;
};

/// What takes the place of a part of the text.
struct Rewrite {
  size_t begin = 0, end = 0;
  std::string text;
};

class ForeignOperators {
 public:
  /// Of tokens in the order of the text, with those that have no meaning in TL among them.
  ForeignOperators(const std::vector<Piece>& pieces, std::string_view text);

  /// Whether a bit operator at an offset stands between two comparisons without parentheses: C joins what they give,
  /// Python takes the operator first, and of arrays it is an error there.
  bool joinsComparisons(size_t offset) const;
  /// The whole expression of bits that the operator at an offset stands in.
  std::optional<Rewrite> bits(size_t offset) const;
  /// `c ? a : b`, by the place of the question mark.
  std::optional<Rewrite> choice(size_t offset) const;
  /// `x in xs`, `x not in xs`, by the place of the `in` or the `not`.
  std::optional<Rewrite> membership(size_t offset) const;

 private:
  struct Range {
    size_t first = 0, last = 0;  ///< indices of pieces, the last one behind
  };
  /// A text in TL and how tightly it binds.
  struct Written {
    std::string text;
    int level = 0;
  };
  std::string_view textOf(const Piece& p) const { return text_.substr(p.begin, p.end - p.begin); }
  std::string source(Range r) const;
  int level(size_t i) const;
  bool opens(size_t i) const;
  bool closes(size_t i) const;
  size_t behindGroup(size_t open, size_t end) const;
  std::optional<size_t> find(size_t offset) const;
  /// The pieces around one that bind tighter than `loosest`.
  Range around(size_t i, int loosest) const;
  bool isLogical(Range r) const;
  bool isWhole(Range r) const;
  Written expression(Range r) const;
  std::string content(Range r) const;
  std::string bitsName(size_t i) const;
  std::optional<Rewrite> update(size_t i) const;

  std::vector<Piece> pieces_;
  std::string_view text_;
};

}  // namespace tenc::syntax
