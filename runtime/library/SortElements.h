// Elements of rows as the routines that sort take them.
#pragma once
#include <cmath>

#include "runtime/library/Library.h"
#include "runtime/library/VectorSort.h"

namespace tenc::rt::library {

inline Element kindOf(uint8_t dtype) {
  if (dtype <= abi::dtype::F64) return Element::Float;
  return dtype <= abi::dtype::I64 ? Element::Signed : Element::Unsigned;
}

/// Rough nanoseconds.
inline double sortCost(double n) { return n * (1.0 + 0.3 * std::log2(std::max(2.0, n))); }

/// f16 and bf16 bits as those of an f32 of the same order; of integers of 8 or 16 bits those of 32.
uint32_t widened(uint8_t dtype, const void* row, size_t i);
void widen(uint8_t dtype, const void* row, uint32_t* wide, size_t n);
/// The inverse.
void narrow(uint8_t dtype, const uint32_t* wide, void* out, size_t n);

/// Narrow elements are sorted as wider ones, in memory of their own.
inline bool isNarrow(uint8_t dtype) { return abi::dtype::kBytes[dtype] < 4; }

/// One element, widened if it is narrow.
template <class U>
U elementAt(uint8_t dtype, const std::byte* row, int64_t i) {
  if constexpr (sizeof(U) == 4)
    if (isNarrow(dtype)) return widened(dtype, row, static_cast<size_t>(i));
  return reinterpret_cast<const U*>(row)[i];
}

/// The key of an element in the stable order: -0 as +0, every NaN as the largest.
inline uint64_t stableKeyAt(uint8_t dtype, const std::byte* row, size_t i, bool descending) {
  const Element kind = kindOf(dtype);
  if (abi::dtype::kBytes[dtype] == 8) {
    constexpr uint64_t kTop = kTopBit<uint64_t>;
    uint64_t bits = reinterpret_cast<const uint64_t*>(row)[i];
    if (kind == Element::Float && bits == kTop) bits = 0;
    if (kind == Element::Float && isNan(bits)) bits = ~kTop;
    return keyOf(bits, kind, descending);
  }
  uint64_t pair = 0;
  const auto x = elementAt<uint32_t>(dtype, row, static_cast<int64_t>(i));
  encodePairs(&x, &pair, 1, kind, descending);
  return pair >> 32;
}

/// Operand 0's row of that number, from element `begin` on.
inline const std::byte* rowOf(const Call& call, void* const* buffers, int64_t row, int64_t begin = 0) {
  const abi::TensorRef& x = call.operands[0];
  return static_cast<const std::byte*>(buffers[0]) + (row * dim(x, 1) + begin) * abi::dtype::kBytes[x.dtype];
}

}  // namespace tenc::rt::library
