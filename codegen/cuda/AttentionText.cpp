#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {

const std::string_view kAttentionText = R"cuda(
struct tenc_f32 {
  typedef float element;
  static __device__ __forceinline__ float wide(float x) { return x; }
};
struct tenc_f16 {
  typedef unsigned short element;
  static __device__ __forceinline__ float wide(unsigned short x) { return tenc_half_of_bits(x); }
};
struct tenc_bf16 {
  typedef unsigned short element;
  static __device__ __forceinline__ float wide(unsigned short x) { return __uint_as_float((unsigned)x << 16); }
};
// A matrix where it lies. `kWidth` elements of a row can be loaded together.
template <class Type, class Position, int kRows, int kColumns, long long kRow, long long kColumn, int kWidth>
struct tenc_matrix {
  typedef Type type;
  typedef tenc_vector<typename Type::element, kWidth> piece;
  static constexpr int rows = kRows, columns = kColumns, width = kWidth;
  static constexpr Position apart = (Position)kRow;
  const typename Type::element* from;
  __device__ __forceinline__ const typename Type::element* at(int row, int column) const {
    return from + ((Position)row * (Position)kRow + (Position)column * (Position)kColumn);
  }
};
__device__ __forceinline__ float tenc_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// What a query knows of the keys before: their greatest score, and its part of the sum of their weights.
struct tenc_seen {
  float most, total;
};
// With the greatest score of more keys, what earlier sums are to be multiplied with. `base` is what scores are relative to: where
// all are -inf, anything.
__device__ __forceinline__ float tenc_rise(tenc_seen& s, float most, float& base) {
  most = fmaxf(s.most, most);
  base = most == __uint_as_float(0xff800000) ? 0 : most;
  const float factor = tenc_exp2((s.most - base) * 1.44269504f);
  s.most = most;
  s.total *= factor;
  return factor;
}
// The logarithm of the sum of exp(score), where that is 2^-bias times `total`, relative to `most`. Of nothing it is infinity, so
// that weights are 0 when they are computed from it.
__device__ __forceinline__ float tenc_logarithm(float most, float total, float bias) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(total));
  return total == 0 ? __int_as_float(0x7f800000) : __fmaf_rn(y - bias, 0.693147181f, most);
}
// Part of a matrix as floats in shared memory, zeros where there is nothing.
template <int kRows, int kColumns, int kPitch, int kThreads, class M>
__device__ __forceinline__ void tenc_fill(float* to, const M& m, int row, int column) {
  constexpr int w = M::width, perRow = kColumns / w;
  #pragma unroll 4
  for (int e = threadIdx.x; e < kRows * perRow; e += kThreads) {
    const int r = e / perRow, c = e % perRow * w;
    typename M::piece x = {};
    if (row + r < M::rows && column + c < M::columns) x = tenc_load<typename M::piece>(m.at(row + r, column + c));
    tenc_vector<float, w> y;
    #pragma unroll
    for (int i = 0; i < w; ++i) y.at[i] = M::type::wide(x.at[i]);
    tenc_store(to + r * kPitch + c, y);
  }
}
)cuda";

// Teams of 8 threads have R queries each, and of each R x 4 scores of 32 keys, and 4 columns of each 32 of the result.
const std::string_view kRowAttentionText = R"cuda(
template <int kRowsOfBlock, int kThreads, bool kCausal, bool kZero, int kVector, class Q, class K, class V, class Score, class Store, class Save>
__device__ __forceinline__ void tenc_attention_rows(const Q& q, const K& k, const V& v, int first, const Score& score, const Store& store, const Save& save) {
  constexpr int teams = kThreads / 8, R = kRowsOfBlock / teams, step = 32;
  constexpr int depth = (Q::columns + 3) / 4 * 4, slice = depth < 64 ? depth : 64, slices = (depth + slice - 1) / slice;
  constexpr int wide = (V::columns + 31) / 32, queryPitch = 4 * (depth / 4 | 1), pitch = 4 * (slice / 4 | 1), valuePitch = 68, weightPitch = 40;
  constexpr int piece = step * (pitch > valuePitch ? pitch : valuePitch);
  __shared__ __align__(16) float queries[kRowsOfBlock * queryPitch], tile[piece], weights[kRowsOfBlock * weightPitch];
  const int lane = threadIdx.x % 8, team = threadIdx.x / 8;
  tenc_fill<kRowsOfBlock, depth, queryPitch, kThreads>(queries, q, first, 0);
  tenc_seen seen[R];
  float sum[R][wide * 4] = {};
  #pragma unroll
  for (int i = 0; i < R; ++i) seen[i] = {__uint_as_float(0xff800000), 0};
  const int last = min(first + kRowsOfBlock, Q::rows), until = kCausal ? min(last, K::rows) : K::rows;
  #pragma unroll 1
  for (int start = 0; start < until; start += step) {
    float s[R][4] = {};
    #pragma unroll
    for (int part = 0; part < slices; ++part) {
      __syncthreads();
      tenc_fill<step, slice, pitch, kThreads>(tile, k, start, part * slice);
      __syncthreads();
      #pragma unroll 2
      for (int d = 0; d < (part + 1 < slices ? slice : depth - part * slice); d += 4) {
        float4 b[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) b[j] = *(const float4*)(tile + (j * 8 + lane) * pitch + d);
        #pragma unroll
        for (int i = 0; i < R; ++i) {
          const float4 a = *(const float4*)(queries + (i * teams + team) * queryPitch + part * slice + d);
          #pragma unroll
          for (int j = 0; j < 4; ++j)
            s[i][j] = __fmaf_rn(a.w, b[j].w, __fmaf_rn(a.z, b[j].z, __fmaf_rn(a.y, b[j].y, __fmaf_rn(a.x, b[j].x, s[i][j]))));
        }
      }
    }
    #pragma unroll
    for (int i = 0; i < R; ++i) {
      const int query = first + i * teams + team;
      float most = __uint_as_float(0xff800000);
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int key = start + j * 8 + lane;
        s[i][j] = key < K::rows && query < Q::rows && (!kCausal || key <= query) ? score(query, key, s[i][j]) : __uint_as_float(0xff800000);
        most = fmaxf(most, s[i][j]);
      }
      #pragma unroll
      for (int other = 4; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
      float base;
      const float factor = tenc_rise(seen[i], most, base);
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float w = tenc_exp2((s[i][j] - base) * 1.44269504f);
        seen[i].total += w;
        weights[(i * teams + team) * weightPitch + j * 8 + lane] = w;
      }
      #pragma unroll
      for (int e = 0; e < wide * 4; ++e) sum[i][e] *= factor;
    }
    __syncwarp();
    #pragma unroll
    for (int part = 0; part < (wide + 1) / 2; ++part) {
      constexpr int most = wide < 2 ? 32 : 64;
      __syncthreads();
      tenc_fill<step, most, valuePitch, kThreads>(tile, v, start, part * 64);
      __syncthreads();
      #pragma unroll 1
      for (int key = 0; key < step; key += 4) {
        float w[R][4];
        #pragma unroll
        for (int i = 0; i < R; ++i) {
          const float4 x = *(const float4*)(weights + (i * teams + team) * weightPitch + key);
          w[i][0] = x.x, w[i][1] = x.y, w[i][2] = x.z, w[i][3] = x.w;
        }
        #pragma unroll
        for (int n = 0; n < 4; ++n) {
          #pragma unroll
          for (int g = 0; g < (part * 2 + 1 < wide ? 2 : 1); ++g) {
            const float4 x = *(const float4*)(tile + (key + n) * valuePitch + g * 32 + lane * 4);
            #pragma unroll
            for (int i = 0; i < R; ++i) {
              float* const to = sum[i] + (part * 2 + g) * 4;
              to[0] = __fmaf_rn(w[i][n], x.x, to[0]);
              to[1] = __fmaf_rn(w[i][n], x.y, to[1]);
              to[2] = __fmaf_rn(w[i][n], x.z, to[2]);
              to[3] = __fmaf_rn(w[i][n], x.w, to[3]);
            }
          }
        }
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < R; ++i) {
    const int query = first + i * teams + team;
    float total = seen[i].total;
    #pragma unroll
    for (int other = 4; other > 0; other /= 2) total += __shfl_xor_sync(~0u, total, other);
    if (lane == 0 && query < Q::rows) save(query, tenc_logarithm(seen[i].most, total, 0));
    const float share = kZero && total == 0 ? 1 : 1 / total;
    #pragma unroll
    for (int g = 0; g < wide; ++g)
      #pragma unroll
      for (int e = 0; e < 4; e += kVector) {
        int column = g * 32 + lane * 4 + e;
        asm("" : "+r"(column));  // or NVVM would join the columns' addresses, and take the first vector apart
        tenc_vector<float, kVector> result;
        #pragma unroll
        for (int n = 0; n < kVector; ++n) result.at[n] = sum[i][g * 4 + e + n] * share;
        if (query < Q::rows && column < V::columns) store(query, column, result);
      }
  }
}
)cuda";

// What attention and its gradient share.
const std::string_view kTensorPartsText = R"cuda(
constexpr int tenc_power_of_two(int least) {
  int n = 1;
  while (n < least) n *= 2;
  return n;
}
// Where elements of 16 bits are in shared memory: rows with 8 more, so that those that are read together are in different banks.
template <int kPitch>
struct tenc_pitched {
  static constexpr int period = 1, bytes = 2 * kPitch;  // so many rows on, an element is as many times `bytes` on
  static __device__ __forceinline__ unsigned at(int row, int column) { return (row * kPitch + column) * 2; }
};
// A thread has the same columns of all of its rows. Columns up to kColumns are there, zeros where the matrix has none.
template <int kRows, int kColumns, int kThreads, class Place, class M>
__device__ __forceinline__ void tenc_bring(unsigned char* memory, unsigned at, const M& m, int row) {
  constexpr int w = M::width, perRow = tenc_power_of_two(kColumns / w) < kThreads ? tenc_power_of_two(kColumns / w) : kThreads;
  constexpr int atOnce = kThreads / perRow, passes = (kRows + atOnce - 1) / atOnce;
  const int r = threadIdx.x / perRow;
  #pragma unroll
  for (int c = threadIdx.x % perRow * w; c < kColumns; c += perRow * w) {
    const unsigned to = at + Place::at(r, c);
    const typename M::type::element* const from = m.at(row + r, c);
    #pragma unroll
    for (int i = 0; i < passes; ++i) {
      if (kRows % atOnce != 0 && r + i * atOnce >= kRows) break;
      const unsigned there = atOnce % Place::period == 0 ? to + i * (atOnce * Place::bytes) : at + Place::at(r + i * atOnce, c);
      const bool inside = row + r + i * atOnce < M::rows && (M::columns == kColumns || c < M::columns);
      if constexpr (w > 1)
        tenc_copy<2 * w>(tenc_shared(memory) + there, from + i * atOnce * M::apart, inside);
      else
        *(unsigned short*)(memory + there) = inside ? from[i * atOnce * M::apart] : 0;
    }
  }
}
__device__ __forceinline__ void tenc_mma(tenc_f16, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { tenc_mma_f16(c, a, b0, b1); }
__device__ __forceinline__ void tenc_mma(tenc_bf16, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { tenc_mma_bf16(c, a, b0, b1); }
// Two numbers rounded to 16 bits, the first in the low half; what is left of them.
__device__ __forceinline__ unsigned tenc_round(tenc_f16, float& a, float& b) {
  const unsigned short low = tenc_half_bits(a), high = tenc_half_bits(b);
  a -= tenc_half_of_bits(low), b -= tenc_half_of_bits(high);
  return low | (unsigned)high << 16;
}
__device__ __forceinline__ unsigned tenc_round(tenc_bf16, float& a, float& b) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
  a -= __uint_as_float(both << 16), b -= __uint_as_float(both & 0xffff0000u);
  return both;
}
// Numbers as left operands: each is the sum of `kParts` of 16 bits. What is left of them after that is in their place.
template <int kParts, int kFragments, int kTiles, class Type>
__device__ __forceinline__ void tenc_parts(Type type, unsigned (&w)[kFragments][4], float (&s)[kTiles][4]) {
  #pragma unroll
  for (int f = 0; f < kFragments; ++f)
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      float* const x = s[f / kParts * 2 + i / 2] + i % 2 * 2;
      w[f][i] = tenc_round(type, x[0], x[1]);
    }
}
// What becomes of the products of queries `row` and `row` + 8 with keys from `first` on, two of each eight.
template <bool kEdge, int kQueries, int kKeys, bool kCausal, int kTiles, class Score>
__device__ __forceinline__ void tenc_scores(float (&s)[kTiles][4], int row, int first, const Score& score) {
  #pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int query = row + h * 8, seen = query >= kQueries ? 0 : (kCausal ? min(query + 1, kKeys) : kKeys) - first;
    #pragma unroll
    for (int t = 0; t < kTiles; ++t)
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& x = s[t][2 * h + e];
        x = !kEdge || t * 8 + e < seen ? score(query, first + t * 8 + e, x) : __uint_as_float(0xff800000);
      }
  }
}
// Rows of a warp's part of a result, which go through shared memory, so that rows of them are stored. `to` is the warp's:
// 16 rows of up to 64 floats and 8 more.
template <int kVector, int kRows, int kColumns, int kTiles, class Store>
__device__ __forceinline__ void tenc_store_rows(float* to, const float (&sum)[kTiles][4], int row, const Store& store) {
  constexpr int chunk = kTiles * 8 < 64 ? kTiles * 8 : 64, pitch = chunk + 8;
  const int lane = threadIdx.x % 32;
  #pragma unroll
  for (int part = 0; part < kTiles * 8; part += chunk) {
    #pragma unroll
    for (int n = 0; n < chunk / 8; ++n)
      if (part + n * 8 < kTiles * 8) {
        float* const at = to + lane / 4 * pitch + n * 8 + lane % 4 * 2;
        tenc_put(at, sum[part / 8 + n][0], sum[part / 8 + n][1]);
        tenc_put(at + 8 * pitch, sum[part / 8 + n][2], sum[part / 8 + n][3]);
      }
    __syncwarp();
    #pragma unroll 2
    for (int p = lane; p < 16 * chunk / kVector; p += 32) {
      const int mine = p / (chunk / kVector), along = p % (chunk / kVector) * kVector;
      if (row + mine < kRows && part + along < kColumns) store(row + mine, part + along, tenc_load<tenc_vector<float, kVector>>(to + mine * pitch + along));
    }
    __syncwarp();
  }
}
// Ends attention of a warp's 16 queries from `row` on, of which weights are 2^bias times exp(score - most), and scores `slope`
// times what `most` is of.
template <bool kZero, int kVector, int kRows, int kColumns, int kTiles, class Store, class Save>
__device__ __forceinline__ void tenc_end_attention(float* to, float (&sum)[kTiles][4], const tenc_seen (&seen)[2], float slope, float bias, int row, const Store& store, const Save& save) {
  const int lane = threadIdx.x % 32;
  #pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int query = row + lane / 4 + h * 8;
    float total = seen[h].total;
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    if (lane % 4 == 0 && query < kRows) save(query, tenc_logarithm(seen[h].most * slope, total, bias));
    const float share = kZero && total == 0 ? 1 : 1 / total;
    #pragma unroll
    for (int n = 0; n < kTiles; ++n)
      #pragma unroll
      for (int e = 0; e < 2; ++e) sum[n][2 * h + e] *= share;
  }
  __syncthreads();
  tenc_store_rows<kVector, kRows, kColumns>(to, sum, row, store);
}
)cuda";

// A warp has 16 queries, in registers as the left operand of mma.sync, and all of their scores of a step of keys, which
// become a left operand where they are. Weights are multiplied as the sum of `kParts` numbers of 16 bits, and those of
// f16 are 2^14 times as large, so that small ones keep their bits.
const std::string_view kTensorAttentionText = R"cuda(
template <int kRowsOfBlock, int kStep, bool kCausal, bool kZero, int kVector, int kParts, class Q, class K, class V, class Score, class Store, class Save>
__device__ __forceinline__ void tenc_attention_tensor(const Q& q, const K& k, const V& v, int first, float bias, const Score& score, const Store& store, const Save& save) {
  typedef typename Q::type type;
  constexpr int threads = 2 * kRowsOfBlock, depth = (Q::columns + 15) / 16 * 16, wide = (V::columns + 15) / 16 * 16;
  constexpr int keyPitch = depth + 8, valuePitch = wide + 8, chunk = wide < 64 ? wide : 64, resultPitch = chunk + 8;
  constexpr int values = 2 * kStep * keyPitch, stage = values + 2 * kStep * valuePitch;
  constexpr int queryBytes = 2 * kRowsOfBlock * keyPitch, resultBytes = 4 * kRowsOfBlock * resultPitch;
  constexpr int bytes = 2 * stage > queryBytes ? 2 * stage : queryBytes;
  __shared__ __align__(16) unsigned char memory[bytes > resultBytes ? bytes : resultBytes];
  const unsigned shared = tenc_shared(memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = first + warp * 16 + lane / 4;
  tenc_bring<kRowsOfBlock, depth, threads, tenc_pitched<keyPitch>>(memory, 0, q, first);
  tenc_commit();
  tenc_wait<0>();
  __syncthreads();
  unsigned a[depth / 16][4];
  #pragma unroll
  for (int d = 0; d < depth / 16; ++d) tenc_matrices<false>(a[d], shared + ((warp * 16 + lane % 16) * keyPitch + d * 16 + lane / 16 * 8) * 2);
  __syncthreads();
  const int last = min(first + kRowsOfBlock, Q::rows), until = kCausal ? min(last, K::rows) : K::rows;
  tenc_bring<kStep, depth, threads, tenc_pitched<keyPitch>>(memory, 0, k, 0);
  tenc_bring<kStep, wide, threads, tenc_pitched<valuePitch>>(memory, values, v, 0);
  tenc_commit();
  float sum[wide / 8][4] = {};
  tenc_seen seen[2] = {{__uint_as_float(0xff800000), 0}, {__uint_as_float(0xff800000), 0}};
  unsigned reading = 0;
  #pragma unroll 1
  for (int start = 0; start < until; start += kStep) {
    tenc_wait<0>();
    __syncthreads();
    if (start + kStep < until) {
      tenc_bring<kStep, depth, threads, tenc_pitched<keyPitch>>(memory, stage - reading, k, start + kStep);
      tenc_bring<kStep, wide, threads, tenc_pitched<valuePitch>>(memory, stage - reading + values, v, start + kStep);
    }
    tenc_commit();
    float s[kStep / 8][4] = {};
    #pragma unroll
    for (int d = 0; d < depth / 16; ++d)
      #pragma unroll
      for (int j = 0; j < kStep / 16; ++j) {
        unsigned b[4];
        tenc_matrices<false>(b, shared + reading + ((j * 16 + lane / 16 * 8 + lane % 8) * keyPitch + d * 16 + lane / 8 % 2 * 8) * 2);
        tenc_mma(type(), s[2 * j], a[d], b[0], b[1]);
        tenc_mma(type(), s[2 * j + 1], a[d], b[2], b[3]);
      }
    // Nearly all blocks of scores are within the edges of both matrices, and below the diagonal. Long heads have no registers
    // for two ways.
    if (kStep > 16 && start + kStep <= K::rows && first + kRowsOfBlock <= Q::rows && (!kCausal || start + kStep <= first + 1))
      tenc_scores<false, Q::rows, K::rows, kCausal>(s, row, start + lane % 4 * 2, score);
    else
      tenc_scores<true, Q::rows, K::rows, kCausal>(s, row, start + lane % 4 * 2, score);
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      float most = __uint_as_float(0xff800000);
      #pragma unroll
      for (int t = 0; t < kStep / 8; ++t) most = fmaxf(most, fmaxf(s[t][2 * h], s[t][2 * h + 1]));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      float base;
      const float factor = tenc_rise(seen[h], most, base);
      #pragma unroll
      for (int t = 0; t < kStep / 8; ++t)
        #pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = s[t][2 * h + e];
          x = tenc_exp2(__fmaf_rn(x - base, 1.44269504f, bias));
          seen[h].total += x;
        }
      #pragma unroll
      for (int n = 0; n < wide / 8; ++n) sum[n][2 * h] *= factor, sum[n][2 * h + 1] *= factor;
    }
    #pragma unroll
    for (int j = 0; j < kStep / 16; ++j) {
      unsigned w[kParts][4];
      tenc_parts<kParts>(type(), w, *(float (*)[2][4])s[2 * j]);
      #pragma unroll
      for (int n = 0; n < wide / 16; ++n) {
        unsigned b[4];
        tenc_matrices<true>(b, shared + reading + values + ((j * 16 + lane % 16) * valuePitch + n * 16 + lane / 16 * 8) * 2);
        #pragma unroll
        for (int p = 0; p < kParts; ++p) {
          tenc_mma(type(), sum[2 * n], w[p], b[0], b[1]);
          tenc_mma(type(), sum[2 * n + 1], w[p], b[2], b[3]);
        }
      }
    }
    reading = stage - reading;
  }
  tenc_end_attention<kZero, kVector, Q::rows, V::columns>((float*)memory + warp * 16 * resultPitch, sum, seen, 1, bias, first + warp * 16, store, save);
}
)cuda";

}  // namespace tenc::codegen::cuda
