#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

// Rotations of Jacobi in rounds of n / 2 disjoint pairs, which all threads share: the order is fixed by n (Brent and
// Luk 1985).
const std::string_view kSpectralText = R"cuda(
struct tenc_pair {
  int p, q;  // p < q; q is n where p has no partner
};

// Pair t of a round: the first of an even number of players stays, the others move on.
__device__ tenc_pair tenc_partners(int t, int round, int n) {
  const int players = n + (n & 1), last = players - 1;
  const int a = t == 0 ? 0 : 1 + (t - 1 + round) % last, b = 1 + (last - t - 1 + round) % last;
  return {min(a, b), max(a, b)};
}
__device__ int tenc_rounds(int n) { return n < 2 ? 0 : n + (n & 1) - 1; }

// A rotation by its sine and the tangent of half its angle (Rutishauser 1966): the cosine of a small angle rounds to 1, and
// thousands of rotations by it would lengthen what they turn.
template <class T>
struct tenc_rotation {
  T sine = 0, half = 0;

  __device__ void turn(T& p, T& q) const {
    const T y = p, z = q;
    p = y - sine * (z + half * y);
    q = z + sine * (y - half * z);
  }
};

// The rotation that makes the product of the two directions zero: by the difference of their squares and twice their product.
template <class T>
__device__ tenc_rotation<T> tenc_rotation_by(T difference, T twice) {
  const T zeta = difference / twice, size = tenc_size(zeta);
  T t = size * tenc_float<T>::epsilon() > 1 ? 1 / (2 * size) : 1 / (size + tenc_root(tenc_fma(zeta, zeta, (T)1)));
  if (zeta < 0) t = -t;
  const T c = 1 / tenc_root(tenc_fma(t, t, (T)1)), s = t * c;
  return {s, s / (1 + c)};
}

// A power of two that brings the largest of the n elements near 1; 1 where that is zero or not finite.
template <class T>
__device__ T tenc_unit(const T* x, long long n) {
  typedef decltype(tenc_float<T>::size(T())) Bits;
  tenc_largest<Bits> most = {0, 0};
  for TENC_EACH (i, 0, n) most.bits = max(most.bits, tenc_float<T>::size(x[i]));
  most = tenc_block_largest(most);
  if (most.bits == 0 || most.bits >= tenc_float<T>::infinity) return 1;
  const int bits = sizeof(T) == 4 ? 23 : 52, bias = sizeof(T) == 4 ? 127 : 1023;
  const int exponent = min(max((int)(most.bits >> bits) - bias, 2 - bias), bias - 2);
  return sizeof(T) == 4 ? (T)__uint_as_float((unsigned)(bias - exponent) << 23)
                        : (T)__longlong_as_double((long long)(bias - exponent) << 52);
}

const int tenc_most_sweeps = 60;

// a, symmetric, n x n, becomes diagonal; the rows of v its eigenvectors. False if it does not.
template <class T>
__device__ bool tenc_jacobi(const tenc_faults* faults, T* a, T* v, T* sines, T* halves, int n) {
  T sum = 0;
  for TENC_EACH (e, 0, (long long)n * n) {
    sum += a[e] * a[e];
    v[e] = e / n == e % n;
  }
  const T small = tenc_float<T>::epsilon() * tenc_root(tenc_block_sum(sum)) / n;
  const int pairs = (n + 1) / 2;
  for (int sweep = 0; sweep < tenc_most_sweeps; ++sweep) {
    bool rotated = false;
    for (int round = 0; round < tenc_rounds(n); ++round) {
      if (tenc_leaves(faults, round, n)) return true;
      bool any = false;
      for TENC_EACH (t, 0, pairs) {
        const tenc_pair x = tenc_partners((int)t, round, n);
        tenc_rotation<T> r;
        if (x.q < n && !(tenc_size(a[(long long)x.p * n + x.q]) <= small)) {
          any = true;
          r = tenc_rotation_by(a[(long long)x.q * n + x.q] - a[(long long)x.p * n + x.p], 2 * a[(long long)x.p * n + x.q]);
        }
        sines[t] = r.sine;
        halves[t] = r.half;
      }
      if (!__syncthreads_or(any)) continue;
      rotated = true;
      for TENC_WARPS (t, 0, pairs) {
        const tenc_rotation<T> r = {sines[t], halves[t]};
        if (r.sine == 0) continue;
        const tenc_pair x = tenc_partners(t, round, n);
        T *const p = a + (long long)x.p * n, *const q = a + (long long)x.q * n, *const vp = v + (long long)x.p * n, *const vq = v + (long long)x.q * n;
        for TENC_LANES (j, 0, n) {
          r.turn(p[j], q[j]);
          r.turn(vp[j], vq[j]);
        }
      }
      __syncthreads();
      for TENC_WARPS (i, 0, n) {
        T* const row = a + (long long)i * n;
        for TENC_LANES (t, 0, pairs) {
          const tenc_rotation<T> r = {sines[t], halves[t]};
          if (r.sine == 0) continue;
          const tenc_pair x = tenc_partners(t, round, n);
          r.turn(row[x.p], row[x.q]);
          if (i == x.q) row[x.p] = 0;
          if (i == x.p) row[x.q] = 0;
        }
      }
      __syncthreads();
    }
    if (!rotated) return true;
  }
  return false;
}

// Eigenvalues in ascending order and their vectors as columns, of the symmetric matrix of the lower triangle of x.
// Fault 3: not finite; 4: no convergence.
template <class T>
__device__ int tenc_eigh(const tenc_faults* faults, const T* x, T* values, T* vectors, T* a, T* v, T* sines, T* halves, int n) {
  bool finite = true;
  for TENC_WARPS (i, 0, n) for TENC_LANES (j, 0, i + 1)
      finite = finite && tenc_float<T>::size(x[(long long)i * n + j]) < tenc_float<T>::infinity;
  finite = __syncthreads_and(finite);
  for TENC_WARPS (i, 0, n) for TENC_LANES (j, 0, n)
      a[(long long)i * n + j] = finite ? x[(long long)max(i, j) * n + min(i, j)] : 0;
  __syncthreads();
  const T unit = tenc_unit(a, (long long)n * n);
  for TENC_EACH (e, 0, (long long)n * n) a[e] *= unit;
  __syncthreads();
  const bool found = tenc_jacobi(faults, a, v, sines, halves, n);
  for TENC_EACH (i, 0, n) {
    const T value = a[i * n + i];
    int rank = 0;
    for (int j = 0; j < n; ++j) {
      const T other = a[(long long)j * n + j];
      rank += other < value || (other == value && j < i);
    }
    values[rank] = value / unit;
    for (int j = 0; j < n; ++j) vectors[(long long)j * n + rank] = v[i * n + j];
  }
  __syncthreads();
  return !finite ? 3 : found ? 0 : 4;
}

// One-sided rotations (Hestenes): the m x n columns w become orthogonal, v their combinations as rows; v may be null.
template <class T>
__device__ bool tenc_orthogonalise(const tenc_faults* faults, T* w, T* v, long long m, int n) {
  const T close = tenc_float<T>::epsilon() * tenc_root((T)m), tiny = tenc_float<T>::tiny();
  if (v)
    for TENC_EACH (e, 0, (long long)n * n) v[e] = e / n == e % n;
  __syncthreads();
  const int pairs = (n + 1) / 2;
  for (int sweep = 0; sweep < tenc_most_sweeps; ++sweep) {
    bool rotated = false;
    for (int round = 0; round < tenc_rounds(n); ++round) {
      if (tenc_leaves(faults, round, (int)m)) return true;
      for TENC_WARPS (t, 0, pairs) {
        const tenc_pair x = tenc_partners(t, round, n);
        if (x.q >= n) continue;
        T *const p = w + x.p * m, *const q = w + x.q * m;
        T pp = 0, qq = 0, pq = 0;
        for (long long i = threadIdx.x % 32; i < m; i += 32) {
          pp = tenc_fma(p[i], p[i], pp);
          qq = tenc_fma(q[i], q[i], qq);
          pq = tenc_fma(p[i], q[i], pq);
        }
        pp = tenc_warp_sum(pp), qq = tenc_warp_sum(qq), pq = tenc_warp_sum(pq);
        if (!(tenc_size(pq) > close * tenc_root(pp) * tenc_root(qq)) || min(pp, qq) <= tiny * tiny) continue;
        rotated = true;
        const tenc_rotation<T> r = tenc_rotation_by(qq - pp, 2 * pq);
        for (long long i = threadIdx.x % 32; i < m; i += 32) r.turn(p[i], q[i]);
        if (!v) continue;
        T *const vp = v + (long long)x.p * n, *const vq = v + (long long)x.q * n;
        for TENC_LANES (i, 0, n) r.turn(vp[i], vq[i]);
      }
      __syncthreads();
    }
    if (!__syncthreads_or(rotated)) return true;
  }
  return false;
}

// What singular values are made of. The longer side of the matrix is that of the columns w.
template <class T>
struct tenc_svd {
  long long m;
  int n;          // m >= n
  T *w, *v;       // n columns of m elements, n rows of n
  T *sizes;       // of the columns
  int* order;     // of the columns by descending size
  int found;      // how many are not zero
};

// Fault 3: not finite; 4: no convergence. `values` may be null.
template <class T>
__device__ int tenc_singular(const tenc_faults* faults, const T* x, int rows, int columns, T* values, tenc_svd<T>& d) {
  const bool finite = tenc_all_finite(x, (long long)rows * columns);
  const T unit = tenc_unit(x, (long long)rows * columns);
  const bool tall = rows >= columns;
  for TENC_WARPS (i, 0, rows) for TENC_LANES (j, 0, columns)
      d.w[tall ? j * d.m + i : (long long)i * columns + j] = finite ? unit * x[(long long)i * columns + j] : 0;
  const bool orthogonal = tenc_orthogonalise(faults, d.w, d.v, d.m, d.n);
  for TENC_WARPS (j, 0, d.n) {
    T sum = 0;
    for (long long i = threadIdx.x % 32; i < d.m; i += 32) sum = tenc_fma(d.w[j * d.m + i], d.w[j * d.m + i], sum);
    sum = tenc_warp_sum(sum);
    if (threadIdx.x % 32 == 0) d.sizes[j] = tenc_root(sum);
  }
  for TENC_EACH (j, d.n, (d.n + 3) / 4 * 4) d.sizes[j] = 0;  // what a vector reads beside the others
  __syncthreads();
  int found = 0;
  for TENC_EACH (i, 0, d.n) {
    int rank = 0;
    for (int j = 0; j < d.n; ++j) rank += d.sizes[j] > d.sizes[i] || (d.sizes[j] == d.sizes[i] && j < i);
    d.order[rank] = (int)i;
    if (values) values[rank] = d.sizes[i] / unit;
  }
  __syncthreads();
  for (int j = 0; j < d.n; ++j) found += d.sizes[j] > tenc_float<T>::tiny();
  d.found = found;
  __syncthreads();
  return !finite ? 3 : orthogonal ? 0 : 4;
}

// The long vectors: `columns` orthonormal columns in q, those of singular values first. The others complete them, by reflections
// that make the first ones, copied to `factors`, a triangle.
template <class T>
__device__ void tenc_long_vectors(const tenc_faults* faults, const tenc_svd<T>& d, T* q, T* factors, T* scales, int columns) {
  if (d.found < columns) {
    for TENC_WARPS (r, 0, d.found)
      for (long long i = threadIdx.x % 32; i < d.m; i += 32) factors[r * d.m + i] = d.w[d.order[r] * d.m + i] / d.sizes[d.order[r]];
    __syncthreads();
    tenc_householder(faults, factors, scales, (int)d.m, d.found, d.found);
    tenc_reflections(faults, factors, scales, q, (int)d.m, d.found, columns);
  }
  for TENC_WARPS (r, 0, d.found)
    for (long long i = threadIdx.x % 32; i < d.m; i += 32) q[r * d.m + i] = d.w[d.order[r] * d.m + i] / d.sizes[d.order[r]];
  __syncthreads();
}

// U, rows x its columns, and V transposed of as many rows as asked for, from long vectors q.
template <class T>
__device__ void tenc_singular_vectors(const tenc_svd<T>& d, const T* q, T* u, T* vt, int rows, int columns, int ofU, int ofV) {
  const bool tall = rows >= columns;
  for TENC_WARPS (i, 0, rows) for TENC_LANES (r, 0, ofU)
      u[(long long)i * ofU + r] = tall ? q[r * d.m + i] : d.v[(long long)d.order[r] * d.n + i];
  for TENC_WARPS (r, 0, ofV) for TENC_LANES (i, 0, columns)
      vt[(long long)r * columns + i] = tall ? d.v[(long long)d.order[r] * d.n + i] : q[r * d.m + i];
  __syncthreads();
}

// x of least norm with the least |a x - b|, b of k columns; the rank, by the threshold that NumPy has.
template <class T>
__device__ void tenc_least_squares(const tenc_svd<T>& d, T unit, const T* b, T* x, long long* rank, T* products, int rows, int columns, int k) {
  const bool tall = rows >= columns;
  const T least = tenc_float<T>::epsilon() * (T)max(rows, columns) * (d.n > 0 ? d.sizes[d.order[0]] : 0);
  int kept = 0;
  while (kept < d.found && d.sizes[d.order[kept]] > least) ++kept;
  if (threadIdx.x == 0) *rank = kept;
  // The products of U's columns with those of b, over the singular values.
  for TENC_WARPS (r, 0, kept) {
    const int column = d.order[r];
    const T size = d.sizes[column];
    for (int j = 0; j < k; ++j) {
      T sum = 0;
      for TENC_LANES (i, 0, rows) {
        const T u = tall ? d.w[column * d.m + i] / size : d.v[(long long)column * d.n + i];
        sum = tenc_fma(u, b[(long long)i * k + j], sum);
      }
      sum = tenc_warp_sum(sum);
      if (threadIdx.x % 32 == 0) products[(long long)r * k + j] = sum / size * unit;
    }
  }
  __syncthreads();
  for TENC_WARPS (i, 0, columns) for TENC_LANES (j, 0, k) {
    T sum = 0;
    for (int r = 0; r < kept; ++r) {
      const int column = d.order[r];
      const T v = tall ? d.v[(long long)column * d.n + i] : d.w[column * d.m + i] / d.sizes[column];
      sum = tenc_fma(v, products[(long long)r * k + j], sum);
    }
    x[(long long)i * k + j] = sum;
  }
  __syncthreads();
}
)cuda";

}  // namespace tenc::codegen::cuda
