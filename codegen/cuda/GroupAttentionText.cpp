#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {

// A warpgroup has 64 queries, and its block's groups share steps of keys and values, some of which are brought
// together. All of these stay in shared memory, where wgmma reads them; weights are in registers. (Queries would fit
// there, too, but ptxas 13.0 lost registers that one wgmma after another reads in a loop.) Of kTensorAttentionText,
// whose fragments these are, everything else holds.
const std::string_view kGroupAttentionText = R"cuda(
template <int kBytes, int kGroups, int kStep, int kHeld, int kStages, bool kCausal, bool kZero, int kVector, int kParts, class Products, class Q, class K, class V, class Score, class Store, class Save>
__device__ __forceinline__ void tenc_attention_groups(const Q& q, const K& k, const V& v, int first, float slope, float bias, const Score& score, const Store& store, const Save& save) {
  typedef typename Q::type type;
  constexpr int threads = 128 * kGroups, rows = 64 * kGroups, depth = (Q::columns + 15) / 16 * 16, wide = (V::columns + 15) / 16 * 16;
  constexpr int values = kHeld * 128 * ((depth + 63) / 64), stage = values + kHeld * 128 * ((wide + 63) / 64), steps = rows * 128 * ((depth + 63) / 64);
  constexpr int resultPitch = (wide < 64 ? wide : 64) + 8;
  extern __shared__ __align__(1024) unsigned char memory[];
  static_assert(kBytes >= steps + kStages * stage && kBytes >= 4 * rows * resultPitch, "");
  const unsigned shared = tenc_shared(memory);
  const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0), group = first + warp / 4 * 64, row = first + warp * 16 + lane / 4;
  const unsigned long long queries = tenc_tile(shared + warp / 4 * 64 * 128, 0);
  const int last = min(first + rows, Q::rows), until = kCausal ? min(last, K::rows) : K::rows;
  tenc_bring<rows, depth, threads, tenc_tiled<rows>>(memory, 0, q, first);
  #pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s * kHeld < until) {
      tenc_bring<kHeld, depth, threads, tenc_tiled<kHeld>>(memory, steps + s * stage, k, s * kHeld);
      tenc_bring<kHeld, wide, threads, tenc_tiled<kHeld>>(memory, steps + s * stage + values, v, s * kHeld);
    }
    tenc_commit();
  }
  const float unit = slope * 1.44269504f;
  float sum[wide / 8][4] = {};
  tenc_seen seen[2];
  #pragma unroll
  for (int h = 0; h < 2; ++h) seen[h] = {__uint_as_float(0xff800000), 0};
  int reading = 0;
  #pragma unroll 1
  for (int held = 0; held < until; held += kHeld) {
    tenc_wait<kStages - 2>();
    tenc_publish();
    __syncthreads();
    const int next = held + (kStages - 1) * kHeld, writing = reading == 0 ? kStages - 1 : reading - 1;
    if (next < until) {
      tenc_bring<kHeld, depth, threads, tenc_tiled<kHeld>>(memory, steps + writing * stage, k, next);
      tenc_bring<kHeld, wide, threads, tenc_tiled<kHeld>>(memory, steps + writing * stage + values, v, next);
    }
    tenc_commit();
    const unsigned from = shared + steps + reading * stage;
    reading = reading + 1 == kStages ? 0 : reading + 1;
    #pragma unroll 1
    for (int part = 0; part < kHeld / kStep; ++part) {
      const int start = held + part * kStep;
      if (start >= until || (kCausal && start >= group + 64)) break;
      float s[kStep / 8][4];
      Products::scores(s, queries, tenc_tile(from + part * kStep * 128, kHeld * 128));
      if (start + kStep <= K::rows && group + 64 <= Q::rows && (!kCausal || start + kStep <= group + 1))
        tenc_scores<false, Q::rows, K::rows, kCausal>(s, row, start + lane % 4 * 2, score);
      else
        tenc_scores<true, Q::rows, K::rows, kCausal>(s, row, start + lane % 4 * 2, score);
      float factor[2], base[2];
      #pragma unroll
      for (int h = 0; h < 2; ++h) {
        float most = seen[h].most;
        #pragma unroll
        for (int t = 0; t < kStep / 8; ++t) most = fmaxf(most, fmaxf(s[t][2 * h], s[t][2 * h + 1]));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        // Differences before they are scaled: masks may be as low as floats go.
        base[h] = most == __uint_as_float(0xff800000) ? 0 : most;
        factor[h] = tenc_exp2((seen[h].most - base[h]) * unit);
        seen[h] = {most, seen[h].total * factor[h]};
      }
      // The greatest score so far rises seldom.
      if (__any_sync(~0u, factor[0] != 1 || factor[1] != 1)) {
        #pragma unroll
        for (int n = 0; n < wide / 8; ++n)
          #pragma unroll
          for (int i = 0; i < 4; ++i) sum[n][i] *= factor[i / 2];
      }
      // Of two numbers for each, the weights of half of the keys are multiplied while those of the others are computed.
      constexpr int runs = kParts > 1 ? 2 : 1, keys = kStep / runs;
      #pragma unroll
      for (int run = 0; run < runs; ++run) {
        float (&own)[keys / 8][4] = *(float (*)[keys / 8][4])s[run * (keys / 8)];
        #pragma unroll
        for (int t = 0; t < keys / 8; ++t)
          #pragma unroll
          for (int i = 0; i < 4; ++i) {
            own[t][i] = tenc_exp2(__fmaf_rn(own[t][i] - base[i / 2], unit, bias));
            seen[i / 2].total += own[t][i];
          }
        unsigned w[keys / 16 * kParts][4];
        tenc_parts<kParts>(type(), w, own);
        Products::values(sum, w, tenc_tile(from + values + (part * kStep + run * keys) * 128, kHeld * 128));
      }
      tenc_done(sum);
    }
  }
  tenc_wait<0>();
  tenc_end_attention<kZero, kVector, Q::rows, V::columns>((float*)memory + warp * 16 * resultPitch, sum, seen, slope, bias, first + warp * 16, store, save);
}
)cuda";

}  // namespace tenc::codegen::cuda
