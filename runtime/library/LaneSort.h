// Rows of some ten to a thousand elements in order, one row in each lane of a vector: a network of exchanges, most of
// them in registers. Elements are sorted by their bits, so it says nothing of where they came from.
#pragma once
#include <cstdint>

#include "runtime/library/Processor.h"
#include "runtime/library/VectorSort.h"

namespace tenc::rt::library {

template <class U>
inline constexpr int64_t kMostLaneRow = sizeof(U) == 2 ? 2048 : 1024;

/// Whether so many rows of n elements are sorted so. Long ones of 32 and 64 bits only by AVX-512: with half of the
/// lanes they take as long as one by one. A group of them is much work, which others are to have as well.
template <class U>
bool isForLanes(int64_t rows, int64_t n) {
  constexpr int64_t kLong = 512, kGroup = 64 / sizeof(U);
  if (n <= kLong) return rows >= kGroup / 2;
  return n <= kMostLaneRow<U> && rows >= 4 * kGroup && (sizeof(U) == 2 || hasAvx512());
}

/// What was found in the rows of a group.
struct LaneOddities {
  bool nans = false;           ///< nothing was sorted
  bool negativeZeros = false;  ///< all stand before the zeros without a sign, or after them when descending
};

/// `infinity`: bits of the largest float that is no NaN.
template <class U>
struct LaneOrder {
  Element kind;
  bool descending;
  U infinity;
};

/// Sorts kGroup rows of n elements that lie one after the other, from `rows` to `out`.
LaneOddities sortInLanes(const uint16_t* rows, uint16_t* out, int64_t n, const LaneOrder<uint16_t>& order);
LaneOddities sortInLanes(const uint32_t* rows, uint32_t* out, int64_t n, const LaneOrder<uint32_t>& order);
LaneOddities sortInLanes(const uint64_t* rows, uint64_t* out, int64_t n, const LaneOrder<uint64_t>& order);

}  // namespace tenc::rt::library
