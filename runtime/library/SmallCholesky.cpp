// Compiled once for AVX2 and once for AVX-512 by Highway's foreach_target; which one runs is chosen at the end.
#include "runtime/library/SmallMatrix.h"

#undef HWY_DISABLED_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/library/SmallCholesky.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "runtime/library/TurnSquare.h"

HWY_BEFORE_NAMESPACE();
namespace tenc::rt::library {
namespace HWY_NAMESPACE {

constexpr int64_t kRows = 4;                                // of one matrix that are made together
constexpr int64_t kBlock = HWY_TARGET == HWY_AVX3 ? 4 : 3;  // rows and columns of a group's block in registers

template <class T>
HWY_ATTR HWY_INLINE T negMulAdd(T a, T b, T c) {
  if constexpr (sizeof(T) == 4)
    return __builtin_fmaf(-a, b, c);
  else
    return __builtin_fma(-a, b, c);
}

template <class T>
HWY_ATTR HWY_INLINE T squareRoot(T x) {
  const hn::CappedTag<T, 1> one;
  return hn::GetLane(hn::Sqrt(hn::Set(one, x)));
}

// ---- one matrix: rows of u, where a = u^T u, four at a time: what the rows before contribute, then the four among
// themselves

template <class T, int64_t R>
HWY_ATTR HWY_INLINE bool choleskyRows(T* HWY_RESTRICT u, int64_t j0, int64_t n) {
  const Wide<T> d;
  using V = hn::Vec<Wide<T>>;
  const int64_t step = paddedRow<T>(n), first = j0 / kLanes<T> * kLanes<T>;
  T* const rows = u + j0 * step;
  for (int64_t c = first; c < n; c += kLanes<T>) {
    V sum[R];
    for (int64_t r = 0; r < R; ++r) sum[r] = hn::Load(d, rows + r * step + c);
    for (int64_t k = 0; k < j0; ++k) {
      const V right = hn::Load(d, u + k * step + c);
      for (int64_t r = 0; r < R; ++r) sum[r] = hn::NegMulAdd(hn::Set(d, u[k * step + j0 + r]), right, sum[r]);
    }
    for (int64_t r = 0; r < R; ++r) hn::Store(sum[r], d, rows + r * step + c);
  }
  // The square on the diagonal, of which the rows then take their factors.
  T square[R][R];
  for (int64_t r = 0; r < R; ++r)
    for (int64_t q = r; q < R; ++q) square[r][q] = rows[r * step + j0 + q];
  for (int64_t r = 0; r < R; ++r) {
    if (!(square[r][r] > 0)) return false;
    square[r][r] = squareRoot(square[r][r]);
    for (int64_t q = r + 1; q < R; ++q) square[r][q] /= square[r][r];
    for (int64_t s = r + 1; s < R; ++s)
      for (int64_t q = s; q < R; ++q) square[s][q] = negMulAdd(square[r][s], square[r][q], square[s][q]);
  }
  for (int64_t c = first; c < n; c += kLanes<T>) {
    V row[R];
    for (int64_t r = 0; r < R; ++r) row[r] = hn::Load(d, rows + r * step + c);
    for (int64_t r = 0; r < R; ++r) {
      row[r] = hn::Div(row[r], hn::Set(d, square[r][r]));
      for (int64_t s = r + 1; s < R; ++s) row[s] = hn::NegMulAdd(hn::Set(d, square[r][s]), row[r], row[s]);
      hn::Store(row[r], d, rows + r * step + c);
    }
  }
  for (int64_t r = 0; r < R; ++r) rows[r * step + j0 + r] = square[r][r];
  return true;
}

template <class T>
HWY_ATTR bool cholesky(const T* HWY_RESTRICT a, T* HWY_RESTRICT l, T* HWY_RESTRICT u, int64_t n) {
  const int64_t step = paddedRow<T>(n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) u[j * step + i] = a[i * n + j];
  int64_t j = 0;
  for (; j + kRows <= n; j += kRows)
    if (!choleskyRows<T, kRows>(u, j, n)) return false;
  for (; j < n; ++j)
    if (!choleskyRows<T, 1>(u, j, n)) return false;
  for (int64_t i = 0; i < n; ++i) {
    for (j = 0; j <= i; ++j) l[i * n + j] = u[j * step + i];
    for (; j < n; ++j) l[i * n + j] = 0;
  }
  return true;
}

// ---- many matrices, one in each lane

constexpr int64_t row(int64_t i) { return i * (i + 1) / 2; }

/// The sums of the R x C block whose corner is (i, j), of which the products of the columns before j are taken.
template <class T, int64_t R, int64_t C>
HWY_ATTR HWY_INLINE void takeColumns(const T* HWY_RESTRICT w, int64_t i, int64_t j, hn::Vec<Wide<T>> (&sum)[R][C]) {
  const Wide<T> d;
  constexpr int64_t kStep = kGroup<T>;
  for (int64_t r = 0; r < R; ++r)
    for (int64_t c = 0; c < C; ++c) sum[r][c] = hn::Load(d, w + (row(i + r) + j + c) * kStep);
  const T *left[R], *right[C];
  for (int64_t r = 0; r < R; ++r) left[r] = w + row(i + r) * kStep;
  for (int64_t c = 0; c < C; ++c) right[c] = w + row(j + c) * kStep;
  for (int64_t k = 0; k < j * kStep; k += kStep) {
    hn::Vec<Wide<T>> b[C];
    for (int64_t c = 0; c < C; ++c) b[c] = hn::Load(d, right[c] + k);
    for (int64_t r = 0; r < R; ++r) {
      const auto a = hn::Load(d, left[r] + k);
      for (int64_t c = 0; c < C; ++c) sum[r][c] = hn::NegMulAdd(a, b[c], sum[r][c]);
    }
  }
}

template <class T, int64_t R, int64_t C>
HWY_ATTR HWY_INLINE void choleskyBelow(T* HWY_RESTRICT w, int64_t i, int64_t j,
                                       const hn::Vec<Wide<T>> (&diagonal)[C][C]) {
  const Wide<T> d;
  hn::Vec<Wide<T>> sum[R][C];
  takeColumns<T, R, C>(w, i, j, sum);
  for (int64_t c = 0; c < C; ++c) {
    for (int64_t r = 0; r < R; ++r) {
      for (int64_t q = 0; q < c; ++q) sum[r][c] = hn::NegMulAdd(sum[r][q], diagonal[c][q], sum[r][c]);
      sum[r][c] = hn::Div(sum[r][c], diagonal[c][c]);
      hn::Store(sum[r][c], d, w + (row(i + r) + j + c) * kGroup<T>);
    }
  }
}

template <class T, int64_t C>
HWY_ATTR HWY_INLINE bool choleskyColumns(T* HWY_RESTRICT w, int64_t j, int64_t n) {
  const Wide<T> d;
  hn::Vec<Wide<T>> square[C][C];
  {
    // Above the diagonal are elements of other rows, which nothing reads.
    takeColumns<T, C, C>(w, j, j, square);
    for (int64_t c = 0; c < C; ++c) {
      if (!hn::AllTrue(d, hn::Gt(square[c][c], hn::Zero(d)))) return false;
      square[c][c] = hn::Sqrt(square[c][c]);
      for (int64_t r = c + 1; r < C; ++r) square[r][c] = hn::Div(square[r][c], square[c][c]);
      for (int64_t r = c + 1; r < C; ++r)
        for (int64_t q = c + 1; q <= r; ++q) square[r][q] = hn::NegMulAdd(square[r][c], square[q][c], square[r][q]);
    }
    for (int64_t r = 0; r < C; ++r)
      for (int64_t c = 0; c <= r; ++c) hn::Store(square[r][c], d, w + (row(j + r) + j + c) * kGroup<T>);
  }
  int64_t i = j + C;
  for (; i + kBlock <= n; i += kBlock) choleskyBelow<T, kBlock, C>(w, i, j, square);
  for (; i < n; ++i) choleskyBelow<T, 1, C>(w, i, j, square);
  return true;
}

template <class T>
HWY_ATTR bool choleskyGroup(const T* HWY_RESTRICT a, T* HWY_RESTRICT l, T* HWY_RESTRICT w, int64_t n) {
  constexpr int64_t kSide = kSquare<T>, kStep = kGroup<T>;
  const int64_t size = n * n;
  // A square may reach beyond the diagonal, into what the next row then overwrites.
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t m = 0; m < kStep; m += kSide) {
      const T* from = a + m * size + i * n;
      T* to = w + row(i) * kStep + m;
      int64_t j = 0;
      for (; j <= i && j + kSide <= n; j += kSide) turnSquare(from + j, size, to + j * kStep, kStep);
      for (; j <= i; ++j)
        for (int64_t q = 0; q < kSide; ++q) to[j * kStep + q] = from[q * size + j];
    }
  }
  for (int64_t h = 0; h < kStep; h += kLanes<T>) {
    int64_t j = 0;
    for (; j + kBlock <= n; j += kBlock)
      if (!choleskyColumns<T, kBlock>(w + h, j, n)) return false;
    for (; j < n; ++j)
      if (!choleskyColumns<T, 1>(w + h, j, n)) return false;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t m = 0; m < kStep; m += kSide) {
      const T* from = w + row(i) * kStep + m;
      T* to = l + m * size + i * n;
      int64_t j = 0;
      for (; j + kSide <= i + 1; j += kSide) turnSquare(from + j * kStep, kStep, to + j, size);
      for (int64_t q = 0; q < kSide; ++q) {
        for (int64_t c = j; c <= i; ++c) to[q * size + c] = from[c * kStep + q];
        for (int64_t c = i + 1; c < n; ++c) to[q * size + c] = 0;
      }
    }
  }
  return true;
}

bool choleskyF32(const float* a, float* l, float* u, int64_t n) { return cholesky(a, l, u, n); }
bool choleskyF64(const double* a, double* l, double* u, int64_t n) { return cholesky(a, l, u, n); }
bool groupF32(const float* a, float* l, float* w, int64_t n) { return choleskyGroup(a, l, w, n); }
bool groupF64(const double* a, double* l, double* w, int64_t n) { return choleskyGroup(a, l, w, n); }

}  // namespace HWY_NAMESPACE
}  // namespace tenc::rt::library
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenc::rt::library {

#define TENC_CHOOSE(call) return wideVectors(v) ? N_AVX3::call : N_AVX2::call
bool smallCholesky(const float* a, float* l, float* work, int64_t n, Vectors v) {
  TENC_CHOOSE(choleskyF32(a, l, work, n));
}
bool smallCholesky(const double* a, double* l, double* work, int64_t n, Vectors v) {
  TENC_CHOOSE(choleskyF64(a, l, work, n));
}
bool smallCholeskyGroup(const float* a, float* l, float* work, int64_t n, Vectors v) {
  TENC_CHOOSE(groupF32(a, l, work, n));
}
bool smallCholeskyGroup(const double* a, double* l, double* work, int64_t n, Vectors v) {
  TENC_CHOOSE(groupF64(a, l, work, n));
}
#undef TENC_CHOOSE

}  // namespace tenc::rt::library
#endif  // HWY_ONCE
