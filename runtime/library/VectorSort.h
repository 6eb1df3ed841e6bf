// Rows of keys in ascending order with the processor's vectors: Highway's vqsort (Blacher, Giesen, Kuehne 2022), and
// the passes that turn elements into unsigned keys and back. Not stable: equal keys are equal bits.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenc::rt::library {

enum class Element : uint8_t { Unsigned, Signed, Float };

/// A 64-bit key with its place; ordered by key, then place.
struct alignas(16) KeyPlace {
  uint64_t place, key;
  friend bool operator<(const KeyPlace& a, const KeyPlace& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

/// In place; left where the call that it is part of is interrupted (Library.h, untilInterrupted).
void sortKeys(uint32_t* keys, size_t n);
void sortKeys(uint64_t* keys, size_t n);
void sortKeys(KeyPlace* keys, size_t n);

/// classes[i]: how many of the kPivots ascending pivots are not above keys[i].
inline constexpr size_t kPivots = 15;
void classify(const uint32_t* keys, size_t n, const uint32_t* pivots, uint8_t* classes);
void classify(const uint64_t* keys, size_t n, const uint64_t* pivots, uint8_t* classes);

/// The sign of floats and signed integers; the magnitude of infinity; whether floats of these bits are NaN.
template <class U>
inline constexpr U kTopBit = U{1} << (8 * sizeof(U) - 1);
template <class U>
inline constexpr U kInfinityBits = sizeof(U) == 4 ? U{0x7f800000} : static_cast<U>(uint64_t{0x7ff0000000000000});
template <class U>
constexpr bool isNan(U bits) {
  return (bits & ~kTopBit<U>) > kInfinityBits<U>;
}

/// What a row of floats holds that keys order otherwise than a stable sort.
struct Oddities {
  size_t nans = 0, negativeZeros = 0;
};

/// The key of one element: unsigned, in the order of the elements (all bits inverted when descending). -0 is below +0,
/// NaNs are at both ends by their sign.
template <class U>
constexpr U keyOf(U bits, Element kind, bool descending) {
  constexpr U kTop = kTopBit<U>;
  if (kind == Element::Signed) bits ^= kTop;
  if (kind == Element::Float) bits ^= (bits & kTop) ? ~U{0} : kTop;
  return descending ? static_cast<U>(~bits) : bits;
}

/// keys[i] = keyOf(row[i]); 32 and 64 bits.
Oddities encode(const uint32_t* row, uint32_t* keys, size_t n, Element kind, bool descending);
Oddities encode(const uint64_t* row, uint64_t* keys, size_t n, Element kind, bool descending);
/// The inverse, in place.
void decode(uint32_t* keys, size_t n, Element kind, bool descending);
void decode(uint64_t* keys, size_t n, Element kind, bool descending);
/// The least and the greatest of some keys.
template <class U>
struct KeyRange {
  U least = ~U{0}, most = 0;
};
/// keys[i] = keyOf(row[i]), with -0 as +0 and every NaN as the largest element.
KeyRange<uint64_t> encodeStable(const uint64_t* row, uint64_t* keys, size_t n, Element kind, bool descending);
/// pairs[i] = key << 32 | i, with -0 as +0 and every NaN as the largest element: sorted they are the stable order.
void encodePairs(const uint32_t* row, uint64_t* pairs, size_t n, Element kind, bool descending);
/// The pairs whose keys are below `bound`, in order, in pairs[0] and following; returns how many. At most 256 elements,
/// and room for as many pairs.
size_t encodePairsBelow(const uint32_t* row, uint64_t* pairs, size_t n, Element kind, bool descending, uint32_t bound);

}  // namespace tenc::rt::library
