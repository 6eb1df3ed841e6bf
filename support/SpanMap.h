// What is known of places in the text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/SourceFile.h"

namespace tenc {

/// A table of spans that only grows. Tables are filled and asked in about the order of the text, so the entries stand
/// in the order in which they came and the hash keeps neighbours together: a look-up seldom misses the cache.
template <class T>
class SpanMap {
 public:
  /// The entry of `s`, and whether it is new. It stays where it is until the next one is added.
  std::pair<T*, bool> add(Span s) {
    if (entries_.size() * 2 >= slots_.size()) grow();
    uint32_t& slot = slots_[slotOf(s)];
    const bool fresh = slot == 0;
    if (fresh) {
      entries_.emplace_back(s, T{});
      slot = static_cast<uint32_t>(entries_.size());
    }
    return {&entries_[slot - 1].second, fresh};
  }
  /// Null for a span that nothing was added for.
  const T* find(Span s) const {
    if (slots_.empty()) return nullptr;
    const uint32_t slot = slots_[slotOf(s)];
    return slot == 0 ? nullptr : &entries_[slot - 1].second;
  }
  T* find(Span s) { return const_cast<T*>(std::as_const(*this).find(s)); }

 private:
  /// Where `s` stands, or would.
  size_t slotOf(Span s) const {
    const size_t mask = slots_.size() - 1;
    // Spans that begin or end at the same byte, or lie in each other like parentheses, differ here too.
    size_t i = (size_t{s.file} * 0x9E3779B1u + s.begin + size_t{s.end - s.begin} * 3) & mask;
    while (slots_[i] != 0 && !(entries_[slots_[i] - 1].first == s)) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    for (uint32_t n = 0; n < entries_.size(); ++n) slots_[slotOf(entries_[n].first)] = n + 1;
  }

  std::vector<std::pair<Span, T>> entries_;
  std::vector<uint32_t> slots_;  ///< numbers of entries, from 1; 0 for none. At most half are taken
};

}  // namespace tenc
