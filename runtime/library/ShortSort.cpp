// Compiled once for AVX2 and once for AVX-512 by Highway's foreach_target; which one runs is chosen at the end.
#include "runtime/library/ShortSort.h"

#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/library/ShortSort.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "runtime/library/TurnSquare.h"

HWY_BEFORE_NAMESPACE();
namespace tenc::rt::library {
namespace HWY_NAMESPACE {

/// Keys in the order of elements as signed integers: -0 is as large as +0, and every NaN larger than any number.
template <class S, class V = hn::Vec<Wide<S>>>
HWY_ATTR HWY_INLINE V keyOfBits(V bits, Element kind, bool descending) {
  const Wide<S> d;
  const V top = hn::Set(d, hwy::LimitsMin<S>()), rest = hn::Set(d, hwy::LimitsMax<S>());
  V key = bits;
  if (kind == Element::Unsigned) key = hn::Xor(bits, top);
  if (kind == Element::Float) {
    const V size = hn::And(bits, rest);
    key = hn::IfThenElse(hn::Lt(bits, hn::Zero(d)), hn::Neg(size), size);
    key = hn::IfThenElse(hn::Gt(size, hn::Set(d, static_cast<S>(kInfinityBits<hwy::MakeUnsigned<S>>))), rest, key);
  }
  return descending ? hn::Not(key) : key;
}

/// Sorts n vectors of keys, and in the same way `values` and `places` where these are not null.
template <class S, bool kValues, bool kPlaces>
HWY_ATTR HWY_INLINE void sortLanes(S* HWY_RESTRICT keys, S* HWY_RESTRICT values, S* HWY_RESTRICT places, int64_t n) {
  const Wide<S> d;
  constexpr int64_t kStep = kGroup<S>;
  // Each pass takes the largest of what is left, the last of equal ones, to its end.
  for (int64_t last = n - 1; last > 0; --last) {
    auto key = hn::Load(d, keys), value = hn::Zero(d), place = hn::Zero(d);
    if (kValues) value = hn::Load(d, values);
    if (kPlaces) place = hn::Load(d, places);
    for (int64_t at = kStep; at <= last * kStep; at += kStep) {
      const auto next = hn::Load(d, keys + at);
      const auto swaps = hn::Gt(key, next);
      hn::Store(hn::Min(key, next), d, keys + at - kStep);
      key = hn::Max(key, next);
      if (kValues) {
        const auto other = hn::Load(d, values + at);
        hn::Store(hn::IfThenElse(swaps, other, value), d, values + at - kStep);
        value = hn::IfThenElse(swaps, value, other);
      }
      if (kPlaces) {
        const auto other = hn::Load(d, places + at);
        hn::Store(hn::IfThenElse(swaps, other, place), d, places + at - kStep);
        place = hn::IfThenElse(swaps, place, other);
      }
    }
    hn::Store(key, d, keys + last * kStep);
    if (kValues) hn::Store(value, d, values + last * kStep);
    if (kPlaces) hn::Store(place, d, places + last * kStep);
  }
}

/// Sorts kGroup rows of n elements, as integers of their bits, in place. `places`, if not null, becomes rows of the
/// places that they came from; `work` has room for three times the rows. Without `wantsValues` the rows are lost.
template <class S>
HWY_ATTR void sortRows(S* rows, S* places, S* work, int64_t n, Element kind, bool descending, bool wantsValues) {
  const Wide<S> d;
  constexpr int64_t kStep = kGroup<S>;
  S *const keys = work, *const values = keys + n * kStep, *const from = values + n * kStep;
  toLanes(rows, values, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t h = 0; h < kStep; h += kLanes<S>) {
      const int64_t at = i * kStep + h;
      hn::Store(keyOfBits<S>(hn::Load(d, values + at), kind, descending), d, keys + at);
      hn::Store(hn::Set(d, static_cast<S>(i)), d, from + at);
    }
  }
  for (int64_t h = 0; h < kStep; h += kLanes<S>) {
    if (places && wantsValues) {
      sortLanes<S, true, true>(keys + h, values + h, from + h, n);
    } else if (places) {
      sortLanes<S, false, true>(keys + h, values + h, from + h, n);
    } else {
      sortLanes<S, true, false>(keys + h, values + h, from + h, n);
    }
  }
  if (places) fromLanes(from, places, n);
  if (wantsValues) fromLanes(values, rows, n);
}

void sortRows32(int32_t* rows, int32_t* places, int32_t* work, int64_t n, Element kind, bool descending, bool values) {
  sortRows(rows, places, work, n, kind, descending, values);
}
void sortRows64(int64_t* rows, int64_t* places, int64_t* work, int64_t n, Element kind, bool descending, bool values) {
  sortRows(rows, places, work, n, kind, descending, values);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenc::rt::library
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstring>

#include "runtime/library/Matrix.h"
#include "runtime/library/SortElements.h"

namespace tenc::rt::library {
namespace {

void sortRows(int32_t* rows, int32_t* places, int32_t* work, int64_t n, Element kind, bool descending, bool values) {
  (hasAvx512() ? N_AVX3::sortRows32 : N_AVX2::sortRows32)(rows, places, work, n, kind, descending, values);
}
void sortRows(int64_t* rows, int64_t* places, int64_t* work, int64_t n, Element kind, bool descending, bool values) {
  (hasAvx512() ? N_AVX3::sortRows64 : N_AVX2::sortRows64)(rows, places, work, n, kind, descending, values);
}

/// On the stack: 10 KiB.
template <class S>
struct ShortWork {
  static constexpr size_t kSize = static_cast<size_t>(kMostShortRow * kGroup<S>);
  alignas(64) S rows[kSize];
  alignas(64) S places[kSize];
  alignas(64) S work[3 * kSize];
};

bool isWide(const abi::TensorRef& x) { return abi::dtype::kBytes[x.dtype] == 8; }

/// The rows of an item; those beyond the last are zeros.
template <class S>
void sortItem(const abi::TensorRef& x, const void* source, bool descending, int64_t k, void* values, uint64_t* places,
              const Item& item) {
  const int64_t n = dim(x, 1), width = abi::dtype::kBytes[x.dtype], first = item.number * kGroup<S>;
  const int64_t rows = std::min(kGroup<S>, batch(x, 1) - first);
  ShortWork<S> w;  // what is used of it is written first
  const std::byte* from = static_cast<const std::byte*>(source) + first * n * width;
  if (isNarrow(x.dtype)) {
    widen(x.dtype, from, reinterpret_cast<uint32_t*>(w.rows), static_cast<size_t>(rows * n));
  } else {
    std::memcpy(w.rows, from, static_cast<size_t>(rows * n * width));
  }
  std::fill(w.rows + rows * n, w.rows + kGroup<S> * n, S{0});
  sortRows(w.rows, places ? w.places : nullptr, w.work, n, kindOf(x.dtype), descending, values != nullptr);
  // Rows lie side by side where all elements are wanted.
  const int64_t together = k == n ? rows : 1;
  for (int64_t r = 0; r < rows; r += together) {
    if (values) {
      std::byte* const to = static_cast<std::byte*>(values) + (first + r) * k * width;
      const auto count = static_cast<size_t>(together * k);
      if (isNarrow(x.dtype)) {
        narrow(x.dtype, reinterpret_cast<const uint32_t*>(w.rows + r * n), to, count);
      } else {
        std::memcpy(to, w.rows + r * n, count * static_cast<size_t>(width));
      }
    }
    for (int64_t i = 0; places && i < together * k; ++i)
      places[(first + r) * k + i] = static_cast<uint64_t>(w.places[r * n + i]);
  }
}

template <class S>
Plan planItems(const abi::TensorRef& x) {
  const int64_t n = dim(x, 1);
  const double cost = 50 + static_cast<double>(n) * (4 + 2 * static_cast<double>(n));
  return {(batch(x, 1) + kGroup<S> - 1) / kGroup<S>, cost, 0};
}

}  // namespace

bool isShortRows(const abi::TensorRef& x) {
  constexpr int64_t kLeastRows = 4;  // fewer leave most lanes empty
  return dim(x, 1) >= 1 && dim(x, 1) <= kMostShortRow && batch(x, 1) >= kLeastRows;
}

Plan planShortRows(const abi::TensorRef& x) { return isWide(x) ? planItems<int64_t>(x) : planItems<int32_t>(x); }

void sortShortRows(const abi::TensorRef& x, const void* rows, bool descending, int64_t k, void* values,
                   uint64_t* places, const Item& item) {
  (isWide(x) ? sortItem<int64_t> : sortItem<int32_t>)(x, rows, descending, k, values, places, item);
}

}  // namespace tenc::rt::library
#endif  // HWY_ONCE
