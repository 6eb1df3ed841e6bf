#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

// Matrices of scripts have their rows side by side, those of cuSOLVER their columns: what is copied is turned.
const std::string_view kSolverText = R"cuda(
// Of the blocks of a grid those of one matrix.
struct tenc_share {
  long long matrix;
  unsigned block, blocks;
};
__device__ tenc_share tenc_share_of(unsigned blocks) { return {blockIdx.x / blocks, blockIdx.x % blocks, blocks}; }
__device__ unsigned char* tenc_aligned(unsigned char* p) { return p + ((0 - (unsigned long long)p) & 255); }

// Parts of a matrix, two of them with a diagonal of ones.
const int tenc_whole = 0, tenc_lower = 1, tenc_upper = 2, tenc_unit_lower = 3, tenc_unit_upper = 4;
__device__ bool tenc_keeps(int part, long long i, long long j) {
  return part == tenc_whole || (part == tenc_lower || part == tenc_unit_lower ? i >= j : i <= j);
}
__device__ bool tenc_is_one(int part, long long i, long long j) { return i == j && part >= tenc_unit_lower; }
template <class T>
__device__ bool tenc_is_finite(T x) {
  return tenc_float<T>::size(x) < tenc_float<T>::infinity;
}

template <class T>
__device__ T tenc_nan() {
  return (T)__uint_as_float(0x7fc00000u);
}

// `to`, columns x rows, is `from`, rows x columns, transposed; 0 where a part of it is not kept. Rows of `from` are
// `leading` elements apart. False if an element that is kept is not finite, which is 0 where `clean`.
template <int part, bool clean, class T>
__device__ bool tenc_turn(const tenc_share& share, const T* from, T* to, long long rows, long long columns, long long leading) {
  __shared__ T tile[32][33];
  const long long across = (columns + 31) / 32, tiles = (rows + 31) / 32 * across;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  bool finite = true;
  for (long long t = share.block; t < tiles; t += share.blocks) {
    const long long top = t / across * 32, left = t % across * 32;
    for (int r = y; r < 32; r += 8) {
      const long long i = top + r, j = left + x;
      T value = 0;
      if (i < rows && j < columns && tenc_keeps(part, i, j)) {
        value = tenc_is_one(part, i, j) ? (T)1 : from[i * leading + j];
        finite = finite && tenc_is_finite(value);
        if (clean && !tenc_is_finite(value)) value = 0;
      }
      tile[r][x] = value;
    }
    __syncthreads();
    for (int r = y; r < 32; r += 8)
      if (left + r < columns && top + x < rows) to[(left + r) * rows + top + x] = tile[x][r];
    __syncthreads();
  }
  return finite;
}

// The same without turning it: rows x columns.
template <int part, bool clean, class T>
__device__ bool tenc_put(const tenc_share& share, const T* from, T* to, long long rows, long long columns) {
  bool finite = true;
  for (long long e = (long long)share.block * blockDim.x + threadIdx.x; e < rows * columns; e += (long long)share.blocks * blockDim.x) {
    T value = 0;
    const long long i = e / columns, j = e % columns;
    if (tenc_keeps(part, i, j)) {
      value = tenc_is_one(part, i, j) ? (T)1 : from[e];
      finite = finite && tenc_is_finite(value);
      if (clean && !tenc_is_finite(value)) value = 0;
    }
    to[e] = value;
  }
  return finite;
}

// Elements of a vector, or of a diagonal: by the first block.
#define TENC_FIRST(i, n) (long long i = share.block == 0 ? threadIdx.x : (n); i < (n); i += blockDim.x)

// Each block notes what it found in its part.
__device__ void tenc_note(const tenc_share& share, unsigned* flags, bool finite) {
  finite = __syncthreads_and(finite);
  if (threadIdx.x == 0) flags[share.block] = !finite;
}
__device__ bool tenc_was_finite(const tenc_share& share, const unsigned* flags) {
  bool finite = true;
  for TENC_EACH (i, 0, share.blocks) finite = finite && flags[i] == 0;
  return __syncthreads_and(finite);
}

template <class T>
__device__ void tenc_fill(const tenc_share& share, T* to, long long elements, T value) {
  for (long long e = (long long)share.block * blockDim.x + threadIdx.x; e < elements; e += (long long)share.blocks * blockDim.x) to[e] = value;
}
template <class T>
__device__ void tenc_identity(const tenc_share& share, T* to, long long n) {
  for (long long e = (long long)share.block * blockDim.x + threadIdx.x; e < n * n; e += (long long)share.blocks * blockDim.x) to[e] = e / n == e % n;
}

// Pivots of an elimination and the sign of its exchanges. `info`: the first pivot that was zero, from 1 on, where the
// library may have stopped; the product is zero all the same, or NaN where an operand may have hidden the largest.
template <class T>
__device__ void tenc_pivots(const tenc_share& share, const T* a, const long long* rows, int info, bool finite, T* pivots, T* sign, int n) {
  if (share.block != 0) return;
  int exchanges = 0;
  for TENC_EACH (i, 0, n) {
    pivots[i] = info > 0 && i + 1 >= info ? (finite ? (T)0 : tenc_nan<T>()) : a[i * n + i];
    exchanges += info <= 0 && rows[i] != i + 1;
  }
  exchanges = tenc_block_sum(exchanges);
  if (threadIdx.x == 0) *sign = exchanges % 2 ? -1 : 1;
}

template <class T>
__device__ bool tenc_is_definite(const T* a, int n) {
  bool definite = true;
  for TENC_EACH (i, 0, n) definite = definite && a[i * n + i] > 0;
  return __syncthreads_and(definite);
}
)cuda";

}  // namespace tenc::codegen::cuda
