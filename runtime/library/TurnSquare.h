// Vectors of a target, and matrices of a group, of which each lane of a vector has one: between memory, where they lie
// one after the other, and vectors of the elements at one place in all of them. To be included in a file that
// foreach_target compiles.
#if defined(TENC_TURN_SQUARE_TARGET) == defined(HWY_TARGET_TOGGLE)
#ifdef TENC_TURN_SQUARE_TARGET
#undef TENC_TURN_SQUARE_TARGET
#else
#define TENC_TURN_SQUARE_TARGET
#endif

#include "hwy/highway.h"
#include "runtime/library/SmallMatrix.h"

HWY_BEFORE_NAMESPACE();
namespace tenc::rt::library {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A whole vector.
template <class T>
using Wide = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Wide<T>()));

/// Elements of 16 bytes.
template <class T>
inline constexpr int64_t kSquare = 16 / sizeof(T);

/// The 16-byte square of `from`, rows `fromStep` elements apart, turned into `to`.
template <class T>
HWY_ATTR HWY_INLINE void turnSquare(const T* HWY_RESTRICT from, int64_t fromStep, T* HWY_RESTRICT to, int64_t toStep) {
  const hn::CappedTag<T, 16 / sizeof(T)> d;
  if constexpr (sizeof(T) == 8) {
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + fromStep);
    hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + toStep);
  } else if constexpr (sizeof(T) == 2) {
    // Rows r and r + 4 are interleaved, then those of that by 2, and by 1.
    hn::Vec<decltype(d)> v[8], w[8];
    for (int r = 0; r < 8; ++r) v[r] = hn::LoadU(d, from + r * fromStep);
    const auto interleave = [&](const auto(&rows)[8], auto(&out)[8]) HWY_ATTR {
      for (int r = 0; r < 4; ++r) {
        out[2 * r] = hn::InterleaveLower(d, rows[r], rows[r + 4]);
        out[2 * r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + 4]);
      }
    };
    interleave(v, w);
    interleave(w, v);
    interleave(v, w);
    for (int r = 0; r < 8; ++r) hn::StoreU(w[r], d, to + r * toStep);
  } else {
    const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + fromStep);
    const auto c = hn::LoadU(d, from + 2 * fromStep), e = hn::LoadU(d, from + 3 * fromStep);
    const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
    const auto ac2 = hn::InterleaveUpper(d, a, c), be2 = hn::InterleaveUpper(d, b, e);
    hn::StoreU(hn::InterleaveLower(d, ac, be), d, to);
    hn::StoreU(hn::InterleaveUpper(d, ac, be), d, to + toStep);
    hn::StoreU(hn::InterleaveLower(d, ac2, be2), d, to + 2 * toStep);
    hn::StoreU(hn::InterleaveUpper(d, ac2, be2), d, to + 3 * toStep);
  }
}

/// The matrices of a group, of `size` elements each, become vectors. The last square ends with the matrix, and has
/// elements of the one before where squares are not whole.
template <class T>
HWY_ATTR HWY_INLINE void toLanes(const T* HWY_RESTRICT from, T* HWY_RESTRICT to, int64_t size) {
  constexpr int64_t kStep = kGroup<T>;
  for (int64_t m = 0; m < kStep; m += kSquare<T>) {
    const T* const matrices = from + m * size;
    for (int64_t at = 0; at < size; at += kSquare<T>) {
      const int64_t e = at + kSquare<T> <= size ? at : size - kSquare<T>;
      if (e >= 0) {
        turnSquare(matrices + e, size, to + e * kStep + m, kStep);
        continue;
      }
      for (int64_t q = 0; q < kSquare<T>; ++q)
        for (int64_t i = 0; i < size; ++i) to[i * kStep + m + q] = matrices[q * size + i];
    }
  }
}

/// The way back.
template <class T>
HWY_ATTR HWY_INLINE void fromLanes(const T* HWY_RESTRICT from, T* HWY_RESTRICT to, int64_t size) {
  constexpr int64_t kStep = kGroup<T>;
  for (int64_t m = 0; m < kStep; m += kSquare<T>) {
    T* const matrices = to + m * size;
    for (int64_t at = 0; at < size; at += kSquare<T>) {
      const int64_t e = at + kSquare<T> <= size ? at : size - kSquare<T>;
      if (e >= 0) {
        turnSquare(from + e * kStep + m, kStep, matrices + e, size);
        continue;
      }
      for (int64_t q = 0; q < kSquare<T>; ++q)
        for (int64_t i = 0; i < size; ++i) matrices[q * size + i] = from[i * kStep + m + q];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenc::rt::library
HWY_AFTER_NAMESPACE();

#endif  // per target
