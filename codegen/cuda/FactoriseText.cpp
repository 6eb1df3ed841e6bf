#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

const std::string_view kMatrixText = R"cuda(
template <class T>
struct tenc_float;
template <>
struct tenc_float<float> {
  static const unsigned infinity = 0x7f800000u;
  __device__ static unsigned size(float x) { return __float_as_uint(x) & 0x7fffffffu; }
  __device__ static float epsilon() { return __uint_as_float(0x34000000u); }
  __device__ static float tiny() { return __uint_as_float(0x26800000u); }  // 2^-50
};
template <>
struct tenc_float<double> {
  static const unsigned long long infinity = 0x7ff0000000000000ull;
  __device__ static unsigned long long size(double x) { return (unsigned long long)__double_as_longlong(x) & 0x7fffffffffffffffull; }
  __device__ static double epsilon() { return __longlong_as_double(0x3cb0000000000000ll); }
  __device__ static double tiny() { return __longlong_as_double(0x26f0000000000000ll); }  // 2^-400
};
__device__ __forceinline__ float tenc_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double tenc_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ __forceinline__ float tenc_root(float x) { return __fsqrt_rn(x); }
__device__ __forceinline__ double tenc_root(double x) { return __dsqrt_rn(x); }
__device__ __forceinline__ float tenc_size(float x) { return fabsf(x); }
__device__ __forceinline__ double tenc_size(double x) { return fabs(x); }

// x has so many elements: the thread's share of them, each so many apart.
#define TENC_EACH(i, from, n) (long long i = (from) + threadIdx.x; i < (n); i += blockDim.x)
#define TENC_WARPS(i, from, n) (int i = (from) + threadIdx.x / 32; i < (n); i += blockDim.x / 32)
#define TENC_LANES(i, from, n) (int i = (from) + threadIdx.x % 32; i < (n); i += 32)

// Sums go from lane to lane by halves, then from warp to warp in order: they repeat.
template <class T>
__device__ T tenc_warp_sum(T x) {
  for (int by = 16; by > 0; by /= 2) x += __shfl_xor_sync(~0u, x, by);
  return x;
}
template <class T>
__device__ T tenc_block_sum(T x) {
  __shared__ T partial[32];
  x = tenc_warp_sum(x);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = partial[0];
  for (int w = 1; w < (int)blockDim.x / 32; ++w) x += partial[w];
  __syncthreads();
  return x;
}

// The largest size (NaN is larger than any number) with its place, the first of equals.
template <class Bits>
struct tenc_largest {
  Bits bits;
  int place;
};
template <class Bits>
__device__ tenc_largest<Bits> tenc_larger(tenc_largest<Bits> a, tenc_largest<Bits> b) {
  return b.bits > a.bits || (b.bits == a.bits && b.place < a.place) ? b : a;
}
template <class Bits>
__device__ tenc_largest<Bits> tenc_block_largest(tenc_largest<Bits> x) {
  __shared__ tenc_largest<Bits> partial[32];
  for (int by = 16; by > 0; by /= 2) {
    const tenc_largest<Bits> other = {__shfl_xor_sync(~0u, x.bits, by), __shfl_xor_sync(~0u, x.place, by)};
    x = tenc_larger(x, other);
  }
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = partial[0];
  for (int w = 1; w < (int)blockDim.x / 32; ++w) x = tenc_larger(x, partial[w]);
  __syncthreads();
  return x;
}

// Whether the block is to leave a routine whose steps go over rows of n elements, as somebody has interrupted the call: all
// threads ask in every step, and look now and then. A step over few elements takes little longer than a look.
__device__ __forceinline__ bool tenc_leaves(const tenc_faults* faults, int step, int n) {
  return step % (1 + 512 / n) == 0 && tenc_block_interrupted(faults);
}

template <class T>
__device__ bool tenc_all_finite(const T* x, long long n) {
  bool finite = true;
  for TENC_EACH (i, 0, n) finite = finite && tenc_float<T>::size(x[i]) < tenc_float<T>::infinity;
  return __syncthreads_and(finite);
}
)cuda";

// Elements are changed in the order and with the roundings of the CPU's routines for small matrices.
const std::string_view kFactoriseText = R"cuda(
struct tenc_elimination {
  bool singular, odd;
};

// Gaussian elimination with the first of the largest as pivot: the factors replace a, of which row i was row order[i].
template <class T>
__device__ tenc_elimination tenc_lu(const tenc_faults* faults, T* a, int* order, int n) {
  typedef decltype(tenc_float<T>::size(T())) Bits;
  tenc_elimination result = {false, false};
  for TENC_EACH (i, 0, n) order[i] = (int)i;
  __syncthreads();
  for (int k = 0; k < n && !tenc_leaves(faults, k, n); ++k) {
    T* const top = a + (long long)k * n;
    tenc_largest<Bits> best = {0, n};
    for TENC_EACH (i, k, n) best = tenc_larger(best, {tenc_float<T>::size(a[i * n + k]), (int)i});
    best = tenc_block_largest(best);
    if (best.bits == 0) {
      result.singular = true;
      continue;
    }
    if (best.place != k) {
      result.odd = !result.odd;
      T* const other = a + (long long)best.place * n;
      for TENC_EACH (j, 0, n) {
        const T x = top[j];
        top[j] = other[j];
        other[j] = x;
      }
      if (threadIdx.x == 0) {
        const int x = order[k];
        order[k] = order[best.place];
        order[best.place] = x;
      }
      __syncthreads();
    }
    const T pivot = top[k];
    for TENC_EACH (i, k + 1, n) a[i * n + k] /= pivot;
    __syncthreads();
    for TENC_WARPS (i, k + 1, n) {
      T* const row = a + (long long)i * n;
      const T factor = -row[k];
      for TENC_LANES (j, k + 1, n) row[j] = tenc_fma(factor, top[j], row[j]);
    }
    __syncthreads();
  }
  return result;
}

// x becomes the solution of a triangle of a, n x n, with the k columns of x.
template <class T>
__device__ void tenc_substitute(const tenc_faults* faults, const T* a, T* x, int n, int k, bool lower, bool unit) {
  for (int s = 0; s < n && !tenc_leaves(faults, s, n); ++s) {
    const int i = lower ? s : n - 1 - s;
    T* const top = x + (long long)i * k;
    if (!unit) {
      const T pivot = a[(long long)i * n + i];
      for TENC_EACH (j, 0, k) top[j] /= pivot;
      __syncthreads();
    }
    if (k == 1) {
      for TENC_EACH (r, lower ? i + 1 : 0, lower ? n : i) x[r] = tenc_fma(-a[r * n + i], top[0], x[r]);
    } else {
      for TENC_WARPS (r, lower ? i + 1 : 0, lower ? n : i) {
        const T factor = -a[(long long)r * n + i];
        T* const row = x + (long long)r * k;
        for TENC_LANES (j, 0, k) row[j] = tenc_fma(factor, top[j], row[j]);
      }
    }
    __syncthreads();
  }
}

// x with a x = b; the identity without b. False where a is singular.
template <class T>
__device__ bool tenc_solve(const tenc_faults* faults, T* a, int* order, const T* b, T* x, int n, int k) {
  const bool singular = tenc_lu(faults, a, order, n).singular;
  for TENC_WARPS (i, 0, n) for TENC_LANES (j, 0, k)
      x[(long long)i * k + j] = b ? b[(long long)order[i] * k + j] : (T)(order[i] == j);
  __syncthreads();
  tenc_substitute(faults, a, x, n, k, true, true);
  tenc_substitute(faults, a, x, n, k, false, false);
  return !singular;
}

template <class T>
__device__ bool tenc_has_no_zero(const T* a, int n) {
  bool none = true;
  for TENC_EACH (i, 0, n) none = none && a[i * n + i] != 0;
  return __syncthreads_and(none);
}

// The lower factor in place of the lower triangle. False unless a is positive definite.
template <class T>
__device__ bool tenc_cholesky(const tenc_faults* faults, T* a, int n) {
  bool definite = true;
  for (int k = 0; k < n && !tenc_leaves(faults, k, n); ++k) {
    const T square = a[(long long)k * n + k], root = tenc_root(square);
    definite = definite && square > 0;
    __syncthreads();
    for TENC_EACH (i, k, n) a[i * n + k] = i == k ? root : a[i * n + k] / root;
    __syncthreads();
    for TENC_WARPS (i, k + 1, n) {
      T* const row = a + (long long)i * n;
      const T factor = -row[k];
      for TENC_LANES (j, k + 1, i + 1) row[j] = tenc_fma(factor, a[(long long)j * n + k], row[j]);
    }
    __syncthreads();
  }
  return definite;
}

// ---- Householder reflections; matrices of m rows in columns: element (i, j) is a[j * m + i]

// The factors of a: R on and above the diagonal, below it the vectors of the `least` reflections, whose first element is 1.
template <class T>
__device__ void tenc_householder(const tenc_faults* faults, T* a, T* scales, int m, int n, int least) {
  typedef decltype(tenc_float<T>::size(T())) Bits;
  for (int k = 0; k < least && !tenc_leaves(faults, k, m); ++k) {
    T* const column = a + (long long)k * m;
    tenc_largest<Bits> most = {0, m};
    for TENC_EACH (i, k + 1, m) most = tenc_larger(most, {tenc_float<T>::size(column[i]), (int)i});
    most = tenc_block_largest(most);
    const T first = column[k];
    T scale = 0, beta = first, factor = 0;
    if (most.bits != 0) {
      const T unit = max(tenc_size(column[most.place]), tenc_size(first));
      T sum = 0;
      for TENC_EACH (i, k, m) {
        const T x = column[i] / unit;
        sum += x * x;
      }
      beta = copysign(unit * tenc_root(tenc_block_sum(sum)), -first);
      scale = (beta - first) / beta;
      factor = 1 / (first - beta);
    }
    __syncthreads();
    for TENC_EACH (i, k, m) column[i] = i == k ? beta : column[i] * factor;
    if (threadIdx.x == 0) scales[k] = scale;
    __syncthreads();
    for TENC_WARPS (j, k + 1, n) {
      T* const other = a + (long long)j * m;
      T sum = 0;
      for TENC_LANES (i, k, m) sum = tenc_fma(i == k ? (T)1 : column[i], other[i], sum);
      sum = scale * tenc_warp_sum(sum);
      for TENC_LANES (i, k, m) other[i] = tenc_fma(-sum, i == k ? (T)1 : column[i], other[i]);
    }
    __syncthreads();
  }
}

// The first `columns` columns of the product of the reflections.
template <class T>
__device__ void tenc_reflections(const tenc_faults* faults, const T* a, const T* scales, T* q, int m, int least, int columns) {
  for TENC_WARPS (j, 0, columns) for TENC_LANES (i, 0, m) q[(long long)j * m + i] = i == j;
  __syncthreads();
  for (int k = least - 1; k >= 0 && !tenc_leaves(faults, least - 1 - k, m); --k) {
    const T* const column = a + (long long)k * m;
    for TENC_WARPS (j, k, columns) {
      T* const other = q + (long long)j * m;
      T sum = 0;
      for TENC_LANES (i, k, m) sum = tenc_fma(i == k ? (T)1 : column[i], other[i], sum);
      sum = scales[k] * tenc_warp_sum(sum);
      for TENC_LANES (i, k, m) other[i] = tenc_fma(-sum, i == k ? (T)1 : column[i], other[i]);
    }
    __syncthreads();
  }
}
)cuda";

}  // namespace tenc::codegen::cuda
