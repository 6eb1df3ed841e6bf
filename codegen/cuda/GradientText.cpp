#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {

// A block has rows of one side: keys with their values (x1, x2), or queries with the cotangents of their results. It
// goes through the other side (y1, y2), and computes of a score s its weight p and d = p * (x2 y2 - delta). The
// gradients are sums of d y1, times `slope`, and for keys' values of p y2. Sums are in the order of the other side.
// Teams of 8 threads have R rows each, and of each R x C scores of a step, and 4 columns of each 32 of the gradients.
const std::string_view kRowGradientText = R"cuda(
template <int R, int C, int kDepth, int kPitch, int kTeams>
__device__ __forceinline__ void tenc_gradient_products(float (&s)[R][C], const float* x, const float* y) {
  const int lane = threadIdx.x % 8, team = threadIdx.x / 8;
  #pragma unroll 2
  for (int d = 0; d < kDepth; d += 4) {
    float4 b[C];
    #pragma unroll
    for (int j = 0; j < C; ++j) b[j] = *(const float4*)(y + (j * 8 + lane) * kPitch + d);
    #pragma unroll
    for (int i = 0; i < R; ++i) {
      const float4 a = *(const float4*)(x + (i * kTeams + team) * kPitch + d);
      #pragma unroll
      for (int j = 0; j < C; ++j)
        s[i][j] = __fmaf_rn(a.w, b[j].w, __fmaf_rn(a.z, b[j].z, __fmaf_rn(a.y, b[j].y, __fmaf_rn(a.x, b[j].x, s[i][j]))));
    }
  }
}
template <int R, int kWide, int kStep, int kWeightPitch, int kPitch, int kTeams>
__device__ __forceinline__ void tenc_gradient_sums(float (&sum)[R][kWide * 4], const float* weights, const float* y) {
  const int lane = threadIdx.x % 8, team = threadIdx.x / 8;
  #pragma unroll 1
  for (int j = 0; j < kStep; j += 4) {
    float w[R][4];
    #pragma unroll
    for (int i = 0; i < R; ++i) {
      const float4 x = *(const float4*)(weights + (i * kTeams + team) * kWeightPitch + j);
      w[i][0] = x.x, w[i][1] = x.y, w[i][2] = x.z, w[i][3] = x.w;
    }
    #pragma unroll
    for (int n = 0; n < 4; ++n)
      #pragma unroll
      for (int g = 0; g < kWide; ++g) {
        const float4 x = *(const float4*)(y + (j + n) * kPitch + g * 32 + lane * 4);
        #pragma unroll
        for (int i = 0; i < R; ++i) {
          float* const to = sum[i] + g * 4;
          to[0] = __fmaf_rn(w[i][n], x.x, to[0]);
          to[1] = __fmaf_rn(w[i][n], x.y, to[1]);
          to[2] = __fmaf_rn(w[i][n], x.z, to[2]);
          to[3] = __fmaf_rn(w[i][n], x.w, to[3]);
        }
      }
  }
}
template <int kVector, int kRows, int kColumns, int kTeams, int R, int kSums, class Store>
__device__ __forceinline__ void tenc_gradient_store(const float (&sum)[R][kSums], float factor, int first, const Store& store) {
  const int lane = threadIdx.x % 8, team = threadIdx.x / 8;
  #pragma unroll
  for (int i = 0; i < R; ++i) {
    const int row = first + i * kTeams + team;
    #pragma unroll
    for (int e = 0; e < kSums; e += kVector) {
      int column = e / 4 * 32 + lane * 4 + e % 4;
      asm("" : "+r"(column));  // as in tenc_attention_rows
      tenc_vector<float, kVector> result;
      #pragma unroll
      for (int n = 0; n < kVector; ++n) result.at[n] = sum[i][e + n] * factor;
      if (row < kRows && column < kColumns) store(row, column, result);
    }
  }
}
template <bool kOfKeys, int kRowsOfBlock, int kStep, int kThreads, bool kCausal, int kVector, int kBytes, class X1, class X2, class Y1, class Y2, class Totals, class Deltas, class Score, class Store1, class Store2>
__device__ __forceinline__ void tenc_gradient_rows(unsigned char (&memory)[kBytes], const X1& x1, const X2& x2, const Y1& y1, const Y2& y2, const Totals& totals, const Deltas& deltas,
                                                   int first, float slope, const Score& score, const Store1& store1, const Store2& store2) {
  constexpr int teams = kThreads / 8, R = kRowsOfBlock / teams, C = kStep / 8, wide1 = (X1::columns + 31) / 32, wide2 = (X2::columns + 31) / 32;
  constexpr int pitch1 = wide1 * 32 + 4, pitch2 = wide2 * 32 + 4, weightPitch = kStep + 8, depth1 = (X1::columns + 3) / 4 * 4, depth2 = (X2::columns + 3) / 4 * 4;
  static_assert(kBytes >= 4 * ((kRowsOfBlock + kStep) * (pitch1 + pitch2) + 2 * kRowsOfBlock * weightPitch + 2 * kStep), "");
  float* const rows1 = (float*)memory;
  float* const rows2 = rows1 + kRowsOfBlock * pitch1;
  float* const step1 = rows2 + kRowsOfBlock * pitch2;
  float* const step2 = step1 + kStep * pitch1;
  float* const weights = step2 + kStep * pitch2;
  float* const changes = weights + kRowsOfBlock * weightPitch;
  float* const lines = changes + kRowsOfBlock * weightPitch;
  const int lane = threadIdx.x % 8, team = threadIdx.x / 8;
  tenc_fill<kRowsOfBlock, wide1 * 32, pitch1, kThreads>(rows1, x1, first, 0);
  tenc_fill<kRowsOfBlock, wide2 * 32, pitch2, kThreads>(rows2, x2, first, 0);
  float total[R], delta[R];
  #pragma unroll
  for (int i = 0; i < R; ++i) {
    const int row = first + i * teams + team;
    total[i] = delta[i] = 0;
    if (!kOfKeys && row < X1::rows) total[i] = *totals.at(row, 0), delta[i] = *deltas.at(row, 0);
  }
  float sum1[R][wide1 * 4] = {}, sum2[R][kOfKeys ? wide2 * 4 : 1] = {};
  const int begin = kOfKeys && kCausal ? first / kStep * kStep : 0;
  const int until = kOfKeys || !kCausal ? Y1::rows : min(min(first + kRowsOfBlock, X1::rows), Y1::rows);
  #pragma unroll 1
  for (int start = begin; start < until; start += kStep) {
    __syncthreads();
    tenc_fill<kStep, wide1 * 32, pitch1, kThreads>(step1, y1, start, 0);
    tenc_fill<kStep, wide2 * 32, pitch2, kThreads>(step2, y2, start, 0);
    if (kOfKeys && threadIdx.x < kStep) {
      const int query = start + threadIdx.x;
      lines[threadIdx.x] = query < Y1::rows ? *totals.at(query, 0) : 0;
      lines[kStep + threadIdx.x] = query < Y1::rows ? *deltas.at(query, 0) : 0;
    }
    __syncthreads();
    float s[R][C] = {}, d[R][C] = {};
    tenc_gradient_products<R, C, depth1, pitch1, teams>(s, rows1, step1);
    tenc_gradient_products<R, C, depth2, pitch2, teams>(d, rows2, step2);
    #pragma unroll
    for (int i = 0; i < R; ++i)
      #pragma unroll
      for (int j = 0; j < C; ++j) {
        const int mine = first + i * teams + team, other = start + j * 8 + lane;
        const int query = kOfKeys ? other : mine, key = kOfKeys ? mine : other, to = (i * teams + team) * weightPitch + j * 8 + lane;
        const bool inside = mine < X1::rows && other < Y1::rows && (!kCausal || key <= query);
        const float x = inside ? score(query, key, s[i][j]) : __uint_as_float(0xff800000);
        const float p = tenc_exp2((x - (kOfKeys ? lines[j * 8 + lane] : total[i])) * 1.44269504f);
        if (kOfKeys) weights[to] = p;
        changes[to] = p * (d[i][j] - (kOfKeys ? lines[kStep + j * 8 + lane] : delta[i]));
      }
    __syncwarp();
    tenc_gradient_sums<R, wide1, kStep, weightPitch, pitch1, teams>(sum1, changes, step1);
    if constexpr (kOfKeys) tenc_gradient_sums<R, wide2, kStep, weightPitch, pitch2, teams>(sum2, weights, step2);
  }
  tenc_gradient_store<kVector, X1::rows, X1::columns, teams>(sum1, slope, first, store1);
  if constexpr (kOfKeys) tenc_gradient_store<kVector, X2::rows, X2::columns, teams>(sum2, 1, first, store2);
}
)cuda";

// A warp has 16 rows, in registers as left operands of mma.sync. p and d become left operands where they are, as sums
// of `kParts` numbers of 16 bits. Those of f16 are scaled by powers of two: weights by 2^14, so that small ones keep
// their bits, and d, of any size, so that the largest so far is a little less than 2^14; sums so far are scaled with
// it.
const std::string_view kTensorGradientText = R"cuda(
// Products of a warp's rows with a step of others.
template <int kStep, int kTiles, class Type>
__device__ __forceinline__ void tenc_gradient_products(Type type, float (&s)[kStep / 8][4], const unsigned (&a)[kTiles][4], unsigned from) {
  const int lane = threadIdx.x % 32;
  #pragma unroll
  for (int d = 0; d < kTiles; ++d)
    #pragma unroll
    for (int j = 0; j < kStep / 16; ++j) {
      unsigned b[4];
      tenc_matrices<false>(b, from + ((j * 16 + lane / 16 * 8 + lane % 8) * (kTiles * 16 + 8) + d * 16 + lane / 8 % 2 * 8) * 2);
      tenc_mma(type, s[2 * j], a[d], b[0], b[1]);
      tenc_mma(type, s[2 * j + 1], a[d], b[2], b[3]);
    }
}
// Adds products of weights with the same step, across it.
template <int kParts, int kStep, int kTiles, class Type>
__device__ __forceinline__ void tenc_gradient_sums(Type type, float (&sum)[kTiles][4], float (&s)[kStep / 8][4], unsigned from) {
  const int lane = threadIdx.x % 32;
  #pragma unroll
  for (int j = 0; j < kStep / 16; ++j) {
    unsigned w[kParts][4];
    tenc_parts<kParts>(type, w, *(float (*)[2][4])s[2 * j]);
    #pragma unroll
    for (int n = 0; n < kTiles / 2; ++n) {
      unsigned b[4];
      tenc_matrices<true>(b, from + ((j * 16 + lane % 16) * (kTiles * 8 + 8) + n * 16 + lane / 16 * 8) * 2);
      #pragma unroll
      for (int p = 0; p < kParts; ++p) {
        tenc_mma(type, sum[2 * n], w[p], b[0], b[1]);
        tenc_mma(type, sum[2 * n + 1], w[p], b[2], b[3]);
      }
    }
  }
}
template <int kTiles>
__device__ __forceinline__ void tenc_scale(float (&sum)[kTiles][4], float by) {
  #pragma unroll
  for (int n = 0; n < kTiles; ++n)
    #pragma unroll
    for (int i = 0; i < 4; ++i) sum[n][i] *= by;
}
__device__ __forceinline__ float tenc_power(int exponent) { return __int_as_float(exponent < -126 ? 0 : (exponent + 127) << 23); }
// Scales numbers as said above. `top` is the exponent of the largest so far, as it stands in a float.
template <int kScores, int kTiles>
__device__ __forceinline__ void tenc_scale_changes(float (&d)[kScores][4], float (&sum)[kTiles][4], int& top) {
  float most = 0;
  #pragma unroll
  for (int t = 0; t < kScores; ++t)
    #pragma unroll
    for (int i = 0; i < 4; ++i) most = fmaxf(most, fabsf(d[t][i]));
  #pragma unroll
  for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
  const int exponent = __float_as_int(most) >> 23;
  if (exponent > top) {
    tenc_scale(sum, tenc_power(top - exponent));
    top = exponent;
  }
  tenc_scale(d, tenc_power(140 - top));
}
// Of scores `s`, and of products `d` of cotangents and values: weights, and by what scores change. Rows are `row` and `row` + 8,
// others from `first` on, two of each eight; `lines` has two numbers of each query where rows are keys.
template <bool kEdge, bool kOfKeys, bool kScaled, bool kCausal, int kRows, int kOthers, int kTiles, class Score>
__device__ __forceinline__ void tenc_changes(float (&s)[kTiles][4], float (&d)[kTiles][4], int row, int first, const float* lines, const float (&total)[2], const float (&delta)[2], const Score& score) {
  #pragma unroll
  for (int t = 0; t < kTiles; ++t)
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int mine = row + i / 2 * 8, other = first + t * 8 + i % 2;
      const int query = kOfKeys ? other : mine, key = kOfKeys ? mine : other;
      const bool inside = !kEdge || (mine < kRows && other < kOthers && (!kCausal || key <= query));
      const float x = inside ? score(query, key, s[t][i]) : __uint_as_float(0xff800000);
      const float p = tenc_exp2((x - (kOfKeys ? lines[t * 8 + i % 2] : total[i / 2])) * 1.44269504f);
      d[t][i] = p * (d[t][i] - (kOfKeys ? lines[kTiles * 8 + t * 8 + i % 2] : delta[i / 2]));
      s[t][i] = kScaled ? p * 16384 : p;
    }
}
// Stores both sums of a warp's 16 rows from `row` on, without their scales.
template <bool kOfKeys, bool kScaled, int kVector, class X1, class X2, int kTiles1, int kTiles2, class Store1, class Store2>
__device__ __forceinline__ void tenc_end_gradient(float* to, float (&sum1)[kTiles1][4], float (&sum2)[kTiles2][4], int top, float slope, int row, const Store1& store1, const Store2& store2) {
  __syncthreads();
  tenc_scale(sum1, kScaled ? slope * tenc_power(top - 140) : slope);
  tenc_store_rows<kVector, X1::rows, X1::columns>(to, sum1, row, store1);
  if constexpr (kOfKeys) {
    if (kScaled) tenc_scale(sum2, 1.f / 16384);
    tenc_store_rows<kVector, X2::rows, X2::columns>(to, sum2, row, store2);
  }
}
// What `kOfKeys` sees of queries: two numbers of each.
template <int kStep, int kThreads, class M>
__device__ __forceinline__ void tenc_bring_lines(unsigned shared, const M& m, int start) {
  for (int e = threadIdx.x; e < kStep; e += kThreads) tenc_copy<4>(shared + 4 * e, m.at(start + e, 0), start + e < M::rows);
}
template <bool kOfKeys, int kRowsOfBlock, int kStep, int kParts, bool kScaled, bool kCausal, int kVector, int kBytes, class X1, class X2, class Y1, class Y2, class Totals, class Deltas, class Score, class Store1, class Store2>
__device__ __forceinline__ void tenc_gradient_tensor(unsigned char (&memory)[kBytes], const X1& x1, const X2& x2, const Y1& y1, const Y2& y2, const Totals& totals, const Deltas& deltas,
                                                     int first, float slope, const Score& score, const Store1& store1, const Store2& store2) {
  typedef typename X1::type type;
  constexpr int threads = 2 * kRowsOfBlock, depth = (X1::columns + 15) / 16 * 16, wide = (X2::columns + 15) / 16 * 16;
  constexpr int pitch1 = depth + 8, pitch2 = wide + 8, second = 2 * kStep * pitch1, numbers = second + 2 * kStep * pitch2, stage = numbers + 8 * kStep;
  constexpr int longest = depth > wide ? depth : wide, resultPitch = (longest < 64 ? longest : 64) + 8;
  static_assert(kBytes >= 2 * stage && kBytes >= 2 * kRowsOfBlock * (pitch1 + pitch2) && kBytes >= 4 * kRowsOfBlock * resultPitch, "");
  const unsigned shared = tenc_shared(memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = first + warp * 16 + lane / 4;
  tenc_bring<kRowsOfBlock, depth, threads, tenc_pitched<pitch1>>(memory, 0, x1, first);
  tenc_bring<kRowsOfBlock, wide, threads, tenc_pitched<pitch2>>(memory, 2 * kRowsOfBlock * pitch1, x2, first);
  tenc_commit();
  tenc_wait<0>();
  __syncthreads();
  unsigned a[depth / 16][4], c[wide / 16][4];
  #pragma unroll
  for (int d = 0; d < depth / 16; ++d) tenc_matrices<false>(a[d], shared + ((warp * 16 + lane % 16) * pitch1 + d * 16 + lane / 16 * 8) * 2);
  #pragma unroll
  for (int d = 0; d < wide / 16; ++d) tenc_matrices<false>(c[d], shared + ((kRowsOfBlock * pitch1) + (warp * 16 + lane % 16) * pitch2 + d * 16 + lane / 16 * 8) * 2);
  __syncthreads();
  float total[2] = {}, delta[2] = {};
  #pragma unroll
  for (int h = 0; h < 2; ++h)
    if (!kOfKeys && row + h * 8 < X1::rows) total[h] = *totals.at(row + h * 8, 0), delta[h] = *deltas.at(row + h * 8, 0);
  const int begin = kOfKeys && kCausal ? first / kStep * kStep : 0;
  const int until = kOfKeys || !kCausal ? Y1::rows : min(min(first + kRowsOfBlock, X1::rows), Y1::rows);
  const auto bring = [&](unsigned to, int start) {
    tenc_bring<kStep, depth, threads, tenc_pitched<pitch1>>(memory, to, y1, start);
    tenc_bring<kStep, wide, threads, tenc_pitched<pitch2>>(memory, to + second, y2, start);
    if (kOfKeys) {
      tenc_bring_lines<kStep, threads>(shared + to + numbers, totals, start);
      tenc_bring_lines<kStep, threads>(shared + to + numbers + 4 * kStep, deltas, start);
    }
    tenc_commit();
  };
  bring(0, begin);
  float sum1[depth / 8][4] = {}, sum2[kOfKeys ? wide / 8 : 1][4] = {};
  int top = 14;
  unsigned reading = 0;
  #pragma unroll 1
  for (int start = begin; start < until; start += kStep) {
    tenc_wait<0>();
    __syncthreads();
    if (start + kStep < until) bring(stage - reading, start + kStep);
    float s[kStep / 8][4] = {}, d[kStep / 8][4] = {};
    tenc_gradient_products<kStep>(type(), s, a, shared + reading);
    tenc_gradient_products<kStep>(type(), d, c, shared + reading + second);
    const float* const lines = (const float*)(memory + reading + numbers) + lane % 4 * 2;
    // Nearly all steps are within the edges of both matrices, and below the diagonal.
    if (first + kRowsOfBlock <= X1::rows && start + kStep <= Y1::rows && (!kCausal || (kOfKeys ? start + 1 >= first + kRowsOfBlock : start + kStep <= first + 1)))
      tenc_changes<false, kOfKeys, kScaled, kCausal, X1::rows, Y1::rows>(s, d, row, start + lane % 4 * 2, lines, total, delta, score);
    else
      tenc_changes<true, kOfKeys, kScaled, kCausal, X1::rows, Y1::rows>(s, d, row, start + lane % 4 * 2, lines, total, delta, score);
    if constexpr (kScaled) tenc_scale_changes(d, sum1, top);
    tenc_gradient_sums<kParts, kStep>(type(), sum1, d, shared + reading);
    if constexpr (kOfKeys) tenc_gradient_sums<kParts, kStep>(type(), sum2, s, shared + reading + second);
    reading = stage - reading;
  }
  tenc_wait<0>();
  tenc_end_gradient<kOfKeys, kScaled, kVector, X1, X2>((float*)memory + warp * 16 * resultPitch, sum1, sum2, top, slope, first + warp * 16, store1, store2);
}
)cuda";

}  // namespace tenc::codegen::cuda
