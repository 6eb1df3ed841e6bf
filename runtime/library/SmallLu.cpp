// Compiled once for AVX2 and once for AVX-512 by Highway's foreach_target; which one runs is chosen at the end.
#include "runtime/library/SmallMatrix.h"

#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/library/SmallLu.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "runtime/library/TurnSquare.h"

HWY_BEFORE_NAMESPACE();
namespace tenc::rt::library {
namespace HWY_NAMESPACE {

/// What elimination with partial pivoting (the first of the largest) found.
struct Elimination {
  bool odd = false;       ///< the permutation of the rows
  bool singular = false;  ///< some pivot is 0
};

/// Rows of n elements become padded ones.
template <class T>
HWY_ATTR HWY_INLINE void padRow(const T* HWY_RESTRICT from, T* HWY_RESTRICT to, int64_t n) {
  const Wide<T> d;
  int64_t j = 0;
  for (; j + kLanes<T> <= n; j += kLanes<T>) hn::Store(hn::LoadU(d, from + j), d, to + j);
  if (j < n) hn::Store(hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n - j)), d, from + j), d, to + j);
}

/// Padded rows become rows of n elements, in order: a whole vector may reach into the row after.
template <class T>
HWY_ATTR HWY_INLINE void packRows(const T* HWY_RESTRICT from, T* HWY_RESTRICT to, int64_t m, int64_t n) {
  const Wide<T> d;
  const int64_t step = paddedRow<T>(n), size = m * n;
  for (int64_t at = 0; at < size; at += n, from += step) {
    for (int64_t j = 0; j < n; j += kLanes<T>) {
      if (at + j + kLanes<T> <= size) {
        hn::StoreU(hn::Load(d, from + j), d, to + at + j);
      } else {
        for (int64_t q = j; q < n && q < j + kLanes<T>; ++q) to[at + q] = from[q];
      }
    }
  }
}

/// Where the size of the column's elements from k on is largest, in whole vectors; NaN is larger than any number. The
/// elements before k are 0.
template <class T>
HWY_ATTR HWY_INLINE int64_t largestOf(const T* HWY_RESTRICT column, int64_t k, int64_t n) {
  const Wide<T> d;
  const hn::RebindToSigned<Wide<T>> di;
  // Sizes are in the order of their bits.
  auto best = hn::Zero(di);
  const int64_t first = k / kLanes<T> * kLanes<T>;
  for (int64_t i = first; i < n; i += kLanes<T>)
    best = hn::Max(best, hn::BitCast(di, hn::Abs(hn::Load(d, column + i))));
  best = hn::MaxOfLanes(di, best);
  for (int64_t i = first; i < n; i += kLanes<T>) {
    const auto sizes = hn::BitCast(di, hn::Abs(hn::Load(d, column + i)));
    const intptr_t at = hn::FindFirstTrue(di, hn::Eq(sizes, best));
    if (at >= 0) return i + at > k ? i + at : k;
  }
  return k;
}

template <class T>
HWY_ATTR HWY_INLINE void swapRows(T* HWY_RESTRICT x, T* HWY_RESTRICT y, int64_t begin, int64_t end) {
  const Wide<T> d;
  for (int64_t c = begin; c < end; c += kLanes<T>) {
    const auto vx = hn::Load(d, x + c), vy = hn::Load(d, y + c);
    hn::Store(vy, d, x + c);
    hn::Store(vx, d, y + c);
  }
}

/// p a = l u of an n x n matrix in padded rows: u replaces a on and above the diagonal, and l, which may be null, holds
/// the multipliers below its own. Row i of p a is row order[i] of a.
template <class T>
HWY_ATTR HWY_INLINE Elimination lu(T* HWY_RESTRICT a, T* HWY_RESTRICT l, int* HWY_RESTRICT order, int64_t n) {
  const Wide<T> d;
  const int64_t step = paddedRow<T>(n);
  alignas(64) T column[kMostSmall] = {}, factors[kMostSmall];
  Elimination found;
  for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int>(i);
  for (int64_t k = 0; k < n; ++k) {
    const int64_t first = k / kLanes<T> * kLanes<T>;
    for (int64_t i = k; i < n; ++i) column[i] = a[i * step + k];
    const int64_t p = largestOf(column, k, n);
    if (column[p] == 0) {
      found.singular = true;
      if (l)
        for (int64_t i = k + 1; i < n; ++i) l[i * step + k] = 0;
      continue;
    }
    if (p != k) {
      found.odd = !found.odd;
      swapRows(a + k * step, a + p * step, first, n);
      if (l) swapRows(l + k * step, l + p * step, 0, k);
      const int was = order[k];
      order[k] = order[p], order[p] = was;
      const T x = column[k];
      column[k] = column[p], column[p] = x;
    }
    const auto pivot = hn::Set(d, column[k]);
    for (int64_t i = first; i < n; i += kLanes<T>) hn::Store(hn::Div(hn::Load(d, column + i), pivot), d, factors + i);
    // Lanes up to k of the rows below hold nothing any more.
    const T* const top = a + k * step;
    for (int64_t c = first; c < n; c += kLanes<T>) {
      const auto row = hn::Load(d, top + c);
      for (int64_t i = k + 1; i < n; ++i) {
        T* const at = a + i * step + c;
        hn::Store(hn::NegMulAdd(hn::Set(d, factors[i]), row, hn::Load(d, at)), d, at);
      }
    }
    if (l)
      for (int64_t i = k + 1; i < n; ++i) l[i * step + k] = factors[i];
    column[k] = 0;
  }
  return found;
}

// ---- triangular systems, four rows and two vectors at a time; an upper one goes from its last row and column

template <class T, int64_t R, int64_t C>
HWY_ATTR HWY_INLINE void solveRows(const T* HWY_RESTRICT t, int64_t rowStep, int64_t way, bool unit, T* HWY_RESTRICT x,
                                   int64_t xStep, int64_t i0) {
  const Wide<T> d;
  hn::Vec<Wide<T>> sum[R][C];
  for (int64_t r = 0; r < R; ++r)
    for (int64_t c = 0; c < C; ++c) sum[r][c] = hn::Load(d, x + (i0 + r) * xStep + c * kLanes<T>);
  const T* const rows = t + i0 * rowStep;
  for (int64_t k = 0; k < i0; ++k) {
    for (int64_t c = 0; c < C; ++c) {
      const auto known = hn::Load(d, x + k * xStep + c * kLanes<T>);
      for (int64_t r = 0; r < R; ++r)
        sum[r][c] = hn::NegMulAdd(hn::Set(d, rows[r * rowStep + k * way]), known, sum[r][c]);
    }
  }
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t c = 0; c < C; ++c) {
      for (int64_t s = 0; s < r; ++s)
        sum[r][c] = hn::NegMulAdd(hn::Set(d, rows[r * rowStep + (i0 + s) * way]), sum[s][c], sum[r][c]);
      if (!unit) sum[r][c] = hn::Div(sum[r][c], hn::Set(d, rows[r * rowStep + (i0 + r) * way]));
      hn::Store(sum[r][c], d, x + (i0 + r) * xStep + c * kLanes<T>);
    }
  }
}

template <class T, int64_t C>
HWY_ATTR HWY_INLINE void solveColumns(const Triangle<T>& t, T* HWY_RESTRICT x, int64_t step) {
  constexpr int64_t kRows = 4;
  const int64_t last = t.lower ? 0 : t.n - 1, way = t.lower ? 1 : -1;
  const T* const from = t.at + last * (t.rowStep + 1);
  x += last * step;
  int64_t i = 0;
  for (; i + kRows <= t.n; i += kRows) solveRows<T, kRows, C>(from, way * t.rowStep, way, t.unit, x, way * step, i);
  for (; i < t.n; ++i) solveRows<T, 1, C>(from, way * t.rowStep, way, t.unit, x, way * step, i);
}

/// t x = b in place: x holds b, in padded rows of m elements.
template <class T>
HWY_ATTR HWY_INLINE void solveTriangle(const Triangle<T>& t, T* HWY_RESTRICT x, int64_t m) {
  const int64_t step = paddedRow<T>(m);
  int64_t c = 0;
  for (; c + kLanes<T> < m; c += 2 * kLanes<T>) solveColumns<T, 2>(t, x + c, step);
  if (c < m) solveColumns<T, 1>(t, x + c, step);
}

// ---- what programs call

template <class T>
HWY_ATTR void pivots(const T* a, T* found, T* sign, T* work, int64_t n) {
  const int64_t step = paddedRow<T>(n);
  for (int64_t i = 0; i < n; ++i) padRow(a + i * n, work + i * step, n);
  int order[kMostSmall];
  *sign = lu<T>(work, nullptr, order, n).odd ? T{-1} : T{1};
  for (int64_t i = 0; i < n; ++i) found[i] = work[i * step + i];
}

template <class T>
HWY_ATTR bool solve(const T* a, const T* b, T* x, T* work, int64_t n, int64_t m) {
  const int64_t step = paddedRow<T>(n), xStep = paddedRow<T>(m);
  T *const u = work, *const l = u + n * step, *const y = l + n * step;
  for (int64_t i = 0; i < n; ++i) padRow(a + i * n, u + i * step, n);
  int order[kMostSmall];
  if (lu(u, l, order, n).singular) return false;
  for (int64_t i = 0; i < n; ++i) {
    if (b) {
      padRow(b + order[i] * m, y + i * xStep, m);
    } else {
      for (int64_t j = 0; j < m; ++j) y[i * xStep + j] = 0;
      y[i * xStep + order[i]] = 1;
    }
  }
  solveTriangle(Triangle<T>{l, n, step, true, true}, y, m);
  solveTriangle(Triangle<T>{u, n, step, false, false}, y, m);
  packRows(y, x, n, m);
  return true;
}

template <class T>
HWY_ATTR void triangular(const Triangle<T>& t, const T* b, T* x, T* work, int64_t m) {
  const int64_t step = paddedRow<T>(m);
  for (int64_t i = 0; i < t.n; ++i) padRow(b + i * m, work + i * step, m);
  solveTriangle(t, work, m);
  packRows(work, x, t.n, m);
}

/// Some columns at a time become padded rows and columns again.
template <class T>
HWY_ATTR void triangularColumns(const Triangle<T>& t, T* x, int64_t step, int64_t m) {
  constexpr int64_t kColumns = 2 * kGroup<T>, kEach = kSquare<T>;
  alignas(64) T work[kMostSmall * kColumns];
  const int64_t whole = t.n / kEach * kEach;
  for (int64_t begin = 0; begin < m; begin += kColumns) {
    T* const columns = x + begin * step;
    const int64_t width = m - begin < kColumns ? m - begin : kColumns, squares = width / kEach * kEach;
    for (int64_t j = 0; j < squares; j += kEach)
      for (int64_t i = 0; i < whole; i += kEach)
        turnSquare(columns + j * step + i, step, work + i * kColumns + j, kColumns);
    for (int64_t j = 0; j < width; ++j)
      for (int64_t i = j < squares ? whole : 0; i < t.n; ++i) work[i * kColumns + j] = columns[j * step + i];
    // What pads a row is computed, too, and read by nothing.
    for (int64_t j = width; j < kColumns; ++j)
      for (int64_t i = 0; i < t.n; ++i) work[i * kColumns + j] = 0;
    solveTriangle(t, work, kColumns);
    for (int64_t j = 0; j < squares; j += kEach)
      for (int64_t i = 0; i < whole; i += kEach)
        turnSquare(work + i * kColumns + j, kColumns, columns + j * step + i, step);
    for (int64_t j = 0; j < width; ++j)
      for (int64_t i = j < squares ? whole : 0; i < t.n; ++i) columns[j * step + i] = work[i * kColumns + j];
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument of the macro is a type.
#define TENC_FOR(T)                                                                                                \
  void pivotsOf(const T* a, T* found, T* sign, T* work, int64_t n) { pivots(a, found, sign, work, n); }            \
  bool solveOf(const T* a, const T* b, T* x, T* work, int64_t n, int64_t m) { return solve(a, b, x, work, n, m); } \
  void triangularOf(const Triangle<T>& t, const T* b, T* x, T* work, int64_t m) { triangular(t, b, x, work, m); }  \
  void triangularColumnsOf(const Triangle<T>& t, T* x, int64_t step, int64_t m) { triangularColumns(t, x, step, m); }
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
#define TENC_FOR(T)                                                                                           \
  void smallPivots(const T* a, T* pivots, T* sign, T* work, int64_t n, Vectors v) {                           \
    wideVectors(v) ? N_AVX3::pivotsOf(a, pivots, sign, work, n) : N_AVX2::pivotsOf(a, pivots, sign, work, n); \
  }                                                                                                           \
  bool smallSolve(const T* a, const T* b, T* x, T* work, int64_t n, int64_t m, Vectors v) {                   \
    return wideVectors(v) ? N_AVX3::solveOf(a, b, x, work, n, m) : N_AVX2::solveOf(a, b, x, work, n, m);      \
  }                                                                                                           \
  void smallTriangular(const Triangle<T>& t, const T* b, T* x, T* work, int64_t m, Vectors v) {               \
    wideVectors(v) ? N_AVX3::triangularOf(t, b, x, work, m) : N_AVX2::triangularOf(t, b, x, work, m);         \
  }                                                                                                           \
  void smallTriangularColumns(const Triangle<T>& t, T* x, int64_t step, int64_t m, Vectors v) {               \
    wideVectors(v) ? N_AVX3::triangularColumnsOf(t, x, step, m) : N_AVX2::triangularColumnsOf(t, x, step, m); \
  }
TENC_FOR(float)
TENC_FOR(double)
#undef TENC_FOR
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace tenc::rt::library
#endif  // HWY_ONCE
