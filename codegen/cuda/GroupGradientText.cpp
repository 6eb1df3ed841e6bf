#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {

// A warpgroup has 64 rows, which stay in shared memory, as do steps of the others. What is multiplied with these again
// is in registers, in the fragments of kTensorGradientText, whose scales these are, too.
const std::string_view kGroupGradientText = R"cuda(
template <int kBytes, bool kOfKeys, int kGroups, int kStep, int kStages, int kParts, bool kScaled, bool kCausal, int kVector, class Products, class X1, class X2, class Y1, class Y2, class Totals, class Deltas, class Score, class Store1, class Store2>
__device__ __forceinline__ void tenc_gradient_groups(unsigned char* memory, const X1& x1, const X2& x2, const Y1& y1, const Y2& y2, const Totals& totals, const Deltas& deltas,
                                                     int first, float slope, const Score& score, const Store1& store1, const Store2& store2) {
  typedef typename X1::type type;
  constexpr int threads = 128 * kGroups, rows = 64 * kGroups, depth = (X1::columns + 15) / 16 * 16, wide = (X2::columns + 15) / 16 * 16;
  constexpr int deep = 128 * ((depth + 63) / 64), broad = 128 * ((wide + 63) / 64), steps = rows * (deep + broad);
  constexpr int second = kStep * deep, numbers = kStep * (deep + broad), stage = numbers + (8 * kStep + 1023) / 1024 * 1024;
  constexpr int longest = depth > wide ? depth : wide, resultPitch = (longest < 64 ? longest : 64) + 8;
  static_assert(kBytes >= steps + kStages * stage && kBytes >= 4 * rows * resultPitch, "");
  const unsigned shared = tenc_shared(memory);
  const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0), group = first + warp / 4 * 64, row = first + warp * 16 + lane / 4;
  const unsigned long long own1 = tenc_tile(shared + warp / 4 * 64 * 128, 0), own2 = tenc_tile(shared + rows * deep + warp / 4 * 64 * 128, 0);
  float total[2] = {}, delta[2] = {};
  #pragma unroll
  for (int h = 0; h < 2; ++h)
    if (!kOfKeys && row + h * 8 < X1::rows) total[h] = *totals.at(row + h * 8, 0), delta[h] = *deltas.at(row + h * 8, 0);
  const int begin = kOfKeys && kCausal ? first / kStep * kStep : 0;
  const int until = kOfKeys || !kCausal ? Y1::rows : min(min(first + rows, X1::rows), Y1::rows);
  const auto bring = [&](int number, int start) {
    const unsigned to = steps + number * stage;
    tenc_bring<kStep, depth, threads, tenc_tiled<kStep>>(memory, to, y1, start);
    tenc_bring<kStep, wide, threads, tenc_tiled<kStep>>(memory, to + second, y2, start);
    if (kOfKeys) {
      tenc_bring_lines<kStep, threads>(shared + to + numbers, totals, start);
      tenc_bring_lines<kStep, threads>(shared + to + numbers + 4 * kStep, deltas, start);
    }
  };
  tenc_bring<rows, depth, threads, tenc_tiled<rows>>(memory, 0, x1, first);
  tenc_bring<rows, wide, threads, tenc_tiled<rows>>(memory, rows * deep, x2, first);
  #pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (begin + s * kStep < until) bring(s, begin + s * kStep);
    tenc_commit();
  }
  float sum1[depth / 8][4] = {}, sum2[kOfKeys ? wide / 8 : 1][4] = {};
  int top = 14, reading = 0;
  #pragma unroll 1
  for (int start = begin; start < until; start += kStep) {
    tenc_wait<kStages - 2>();
    tenc_publish();
    __syncthreads();
    if (start + (kStages - 1) * kStep < until) bring(reading == 0 ? kStages - 1 : reading - 1, start + (kStages - 1) * kStep);
    tenc_commit();
    const unsigned at = steps + reading * stage;
    reading = reading + 1 == kStages ? 0 : reading + 1;
    if (kCausal && (kOfKeys ? start + kStep <= group : start >= group + 64)) continue;
    const unsigned long long other1 = tenc_tile(shared + at, kStep * 128), other2 = tenc_tile(shared + at + second, kStep * 128);
    float s[kStep / 8][4], d[kStep / 8][4];
    Products::scores(s, own1, other1);
    Products::changes(d, own2, other2);
    tenc_done(s);
    tenc_done(d);
    const float* const lines = (const float*)(memory + at + numbers) + lane % 4 * 2;
    if (group + 64 <= X1::rows && start + kStep <= Y1::rows && (!kCausal || (kOfKeys ? start + 1 >= group + 64 : start + kStep <= group + 1)))
      tenc_changes<false, kOfKeys, kScaled, kCausal, X1::rows, Y1::rows>(s, d, row, start + lane % 4 * 2, lines, total, delta, score);
    else
      tenc_changes<true, kOfKeys, kScaled, kCausal, X1::rows, Y1::rows>(s, d, row, start + lane % 4 * 2, lines, total, delta, score);
    if constexpr (kScaled) tenc_scale_changes(d, sum1, top);
    unsigned w[kStep / 16 * kParts][4];
    tenc_parts<kParts>(type(), w, d);
    Products::sums(sum1, w, other1);
    if constexpr (kOfKeys) {
      tenc_parts<kParts>(type(), w, s);
      Products::others(sum2, w, other2);
    }
  }
  tenc_wait<0>();
  tenc_end_gradient<kOfKeys, kScaled, kVector, X1, X2>((float*)memory + warp * 16 * resultPitch, sum1, sum2, top, slope, first + warp * 16, store1, store2);
}
)cuda";

}  // namespace tenc::codegen::cuda
