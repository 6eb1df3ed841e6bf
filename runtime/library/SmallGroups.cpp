// Elimination of many matrices of few rows, one in each lane: what a lane computes is what SmallLu.cpp does, operation
// by operation. Compiled once for AVX2 and once for AVX-512 by Highway's foreach_target; which one runs is chosen at
// the end.
#include <algorithm>

#include "runtime/library/SmallMatrix.h"

#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/library/SmallGroups.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "runtime/library/TurnSquare.h"

HWY_BEFORE_NAMESPACE();
namespace tenc::rt::library {
namespace HWY_NAMESPACE {

/// Rows of vectors, kGroup elements apart.
template <class T>
struct Rows {
  T* at;
  int64_t columns;
  HWY_ATTR HWY_INLINE T* place(int64_t i, int64_t j) const { return at + (i * columns + j) * kGroup<T>; }
  HWY_ATTR HWY_INLINE hn::Vec<Wide<T>> get(int64_t i, int64_t j) const { return hn::Load(Wide<T>(), place(i, j)); }
  HWY_ATTR HWY_INLINE void set(int64_t i, int64_t j, hn::Vec<Wide<T>> v) const { hn::Store(v, Wide<T>(), place(i, j)); }
  /// Exchanges the elements of two rows, from column `begin` on, in the lanes of a mask.
  HWY_ATTR HWY_INLINE void swap(int64_t i, int64_t k, int64_t begin, hn::Mask<Wide<T>> on) const {
    for (int64_t j = begin; j < columns; ++j) {
      const auto x = get(i, j), y = get(k, j);
      set(i, j, hn::IfThenElse(on, y, x));
      set(k, j, hn::IfThenElse(on, x, y));
    }
  }
};

template <class T>
struct Found {
  hn::Vec<Wide<T>> sign;       ///< of the permutation of the rows
  hn::Mask<Wide<T>> singular;  ///< some pivot is 0
};

/// Brings the row whose element in column k is the largest to place k, the first of the largest; NaN is larger than any
/// number. Returns the sign of the exchange.
template <class T>
HWY_ATTR HWY_INLINE hn::Vec<Wide<T>> choosePivot(const Rows<T>& a, const Rows<T>& y, int64_t n, int64_t k) {
  const Wide<T> d;
  const hn::RebindToSigned<Wide<T>> di;
  using I = hn::TFromD<decltype(di)>;
  // Sizes are in the order of their bits.
  auto best = hn::BitCast(di, hn::Abs(a.get(k, k)));
  auto row = hn::Set(di, static_cast<I>(k));
  for (int64_t i = k + 1; i < n; ++i) {
    const auto size = hn::BitCast(di, hn::Abs(a.get(i, k)));
    row = hn::IfThenElse(hn::Gt(size, best), hn::Set(di, static_cast<I>(i)), row);
    best = hn::Max(best, size);
  }
  for (int64_t i = k + 1; i < n; ++i) {
    const auto on = hn::RebindMask(d, hn::Eq(row, hn::Set(di, static_cast<I>(i))));
    a.swap(i, k, k, on);
    y.swap(i, k, 0, on);
  }
  const auto stays = hn::RebindMask(d, hn::Eq(row, hn::Set(di, static_cast<I>(k))));
  return hn::IfThenElse(stays, hn::Set(d, T{1}), hn::Set(d, T{-1}));
}

/// u of p a = l u replaces a on and above the diagonal, and the solution of l z = p y replaces y.
template <class T>
HWY_ATTR HWY_INLINE Found<T> eliminate(const Rows<T>& a, const Rows<T>& y, int64_t n) {
  const Wide<T> d;
  Found<T> found{hn::Set(d, T{1}), hn::FirstN(d, 0)};
  for (int64_t k = 0; k < n; ++k) {
    found.sign = hn::Mul(found.sign, choosePivot(a, y, n, k));
    const auto pivot = a.get(k, k);
    const auto zero = hn::Eq(pivot, hn::Zero(d));
    found.singular = hn::Or(found.singular, zero);
    for (int64_t i = k + 1; i < n; ++i) {
      const auto factor = hn::Div(a.get(i, k), pivot);
      // Where the pivot is 0 the column is, and nothing is taken away.
      for (int64_t j = k + 1; j < n; ++j) {
        const auto x = a.get(i, j);
        a.set(i, j, hn::IfThenElse(zero, x, hn::NegMulAdd(factor, a.get(k, j), x)));
      }
      for (int64_t j = 0; j < y.columns; ++j) y.set(i, j, hn::NegMulAdd(factor, y.get(k, j), y.get(i, j)));
    }
  }
  return found;
}

/// The solution of u x = y replaces y.
template <class T>
HWY_ATTR HWY_INLINE void solveUpper(const Rows<T>& u, const Rows<T>& y, int64_t n) {
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = 0; j < y.columns; ++j) {
      auto sum = y.get(i, j);
      for (int64_t k = n - 1; k > i; --k) sum = hn::NegMulAdd(u.get(i, k), y.get(k, j), sum);
      y.set(i, j, hn::Div(sum, u.get(i, i)));
    }
  }
}

// ---- what programs call

template <class T>
HWY_ATTR void pivotsGroup(const T* a, T* found, T* sign, T* work, int64_t n) {
  const Wide<T> d;
  toLanes(a, work, n * n);
  for (int64_t h = 0; h < kGroup<T>; h += kLanes<T>)
    hn::StoreU(eliminate<T>({work + h, n}, {nullptr, 0}, n).sign, d, sign + h);
  for (int64_t q = 0; q < kGroup<T>; ++q)
    for (int64_t i = 0; i < n; ++i) found[q * n + i] = work[(i * n + i) * kGroup<T> + q];
}

template <class T>
HWY_ATTR bool solveGroup(const T* a, const T* b, T* x, T* work, int64_t n, int64_t m) {
  const Wide<T> d;
  T *const u = work, *const y = work + n * n * kGroup<T>;
  toLanes(a, u, n * n);
  if (b) {
    toLanes(b, y, n * m);
  } else {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) std::fill_n(y + (i * m + j) * kGroup<T>, kGroup<T>, T(i == j));
  }
  for (int64_t h = 0; h < kGroup<T>; h += kLanes<T>) {
    const Rows<T> left{u + h, n}, right{y + h, m};
    if (!hn::AllFalse(d, eliminate(left, right, n).singular)) return false;
    solveUpper(left, right, n);
  }
  fromLanes(y, x, n * m);
  return true;
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument of the macro is a type.
#define TENC_FOR(T)                                                                                               \
  void pivotsGroupOf(const T* a, T* found, T* sign, T* work, int64_t n) { pivotsGroup(a, found, sign, work, n); } \
  bool solveGroupOf(const T* a, const T* b, T* x, T* work, int64_t n, int64_t m) {                                \
    return solveGroup(a, b, x, work, n, m);                                                                       \
  }
TENC_FOR(float)
TENC_FOR(double)
#undef TENC_FOR
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace HWY_NAMESPACE
}  // namespace tenc::rt::library
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenc::rt::library {

// NOLINTBEGIN(bugprone-macro-parentheses): the argument of the macro is a type.
#define TENC_FOR(T)                                                                                                \
  void smallPivotsGroup(const T* a, T* pivots, T* sign, T* work, int64_t n, Vectors v) {                           \
    wideVectors(v) ? N_AVX3::pivotsGroupOf(a, pivots, sign, work, n)                                               \
                   : N_AVX2::pivotsGroupOf(a, pivots, sign, work, n);                                              \
  }                                                                                                                \
  bool smallSolveGroup(const T* a, const T* b, T* x, T* work, int64_t n, int64_t m, Vectors v) {                   \
    return wideVectors(v) ? N_AVX3::solveGroupOf(a, b, x, work, n, m) : N_AVX2::solveGroupOf(a, b, x, work, n, m); \
  }
TENC_FOR(float)
TENC_FOR(double)
#undef TENC_FOR
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace tenc::rt::library
#endif  // HWY_ONCE
