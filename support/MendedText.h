// A text, and what one round of edits after the other has made of it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/Diagnostics.h"

namespace tenc {

/// An edit of the text as it is now, and the finding that proposes it.
struct OwnedEdit {
  Edit edit;
  size_t finding;
};

/// The first help of an error of the file that mends it by edits of that file; null where there is none.
const Help* mendOf(const Diagnostic& d, uint32_t file);
/// Whether the edits of two findings may be made together, and give the same in either order.
bool areApart(const Edit& a, const Edit& b);

class MendedText {
 public:
  explicit MendedText(std::string_view original) : original_(original), now_(original) {}

  const std::string& now() const { return now_; }
  /// Makes the edits of one round, which are apart. What several findings put at one place is nested.
  void apply(std::vector<OwnedEdit> edits);
  /// Where a span of the text as it is now stands in the original; a changed place is its whole.
  Span inOriginal(Span s) const;
  /// The finding that stands for all those whose edits have become one with the edits of this one.
  size_t groupOf(size_t finding) const;
  /// All edits of the original of that group.
  std::vector<Edit> editsOf(size_t group, uint32_t file) const;

 private:
  /// Bytes of the original, what stands in their place now, and where.
  struct Change {
    uint32_t begin, end;
    std::string text;
    size_t finding;
    uint32_t at = 0;
  };
  void apply(const OwnedEdit& e);
  uint32_t originalOf(uint32_t at) const;
  bool meets(const Change& c, const Edit& e) const;
  void unite(size_t a, size_t b);

  std::string_view original_;
  std::string now_;
  std::vector<Change> changes_;  ///< in order, apart from each other
  std::vector<size_t> group_;    ///< of each finding: another one of its group, or itself
};

}  // namespace tenc
