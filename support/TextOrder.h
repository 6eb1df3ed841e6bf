// Characters that make an editor show text in another order than it has.
#pragma once
#include <cstdint>

namespace tenc {

/// Embeddings, overrides and isolates of the Unicode bidirectional algorithm, and what ends them.
constexpr bool reordersText(uint32_t codePoint) {
  return (codePoint >= 0x202A && codePoint <= 0x202E) || (codePoint >= 0x2066 && codePoint <= 0x2069);
}

}  // namespace tenc
