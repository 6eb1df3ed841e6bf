// CUDA C++ of the kinds of kernels that a tensor compiler emits, some with a switch that plants a mistake.
#pragma once

namespace tenc::ptx::testing {

constexpr const char* kKernels = R"cuda(
typedef unsigned u32;
typedef unsigned long long u64;
struct bf16 { unsigned short bits; };
__device__ float load(bf16 b) { return __uint_as_float((u32)b.bits << 16); }
__device__ bf16 narrow(float f) { bf16 b; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(f)); return b; }
#define KERNEL extern "C" __global__ void

KERNEL axpy(const float4* __restrict__ x, const float4* __restrict__ y, float4* __restrict__ out, float a, int n) {
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    float4 p = x[i], q = y[i];
    out[i] = make_float4(__fmaf_rn(a, p.x, q.x), __fmaf_rn(a, p.y, q.y), __fmaf_rn(a, p.z, q.z), __fmaf_rn(a, p.w, q.w));
  }
  int tail = n / 4 * 4 + threadIdx.x;
  if (blockIdx.x == 0 && tail < n) ((float*)out)[tail] = __fmaf_rn(a, ((const float*)x)[tail], ((const float*)y)[tail]);
}

template <bool kFirst, bool kSecond, class F>
__device__ float reduceBlock(float* parts, float v, float neutral, F f) {
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int d = 16; d; d /= 2) v = f(v, __shfl_xor_sync(~0u, v, d));
  if (kFirst) __syncthreads();  // the parts of a reduction before this one have been read
  if (lane == 0) parts[warp] = v;
  if (kSecond) __syncthreads();
  v = lane < blockDim.x / 32 ? parts[lane] : neutral;
  for (int d = 16; d; d /= 2) v = f(v, __shfl_xor_sync(~0u, v, d));
  return v;
}
template <bool kFirst, bool kSecond>
__device__ void softmaxRow(const float* x, float* out, int columns) {
  __shared__ float parts[32];
  x += (u64)blockIdx.x * columns;
  out += (u64)blockIdx.x * columns;
  float most = __uint_as_float(0xff800000), sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, x[i]);
  most = reduceBlock<kFirst, kSecond>(parts, most, __uint_as_float(0xff800000), [](float a, float b) { return fmaxf(a, b); });
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(x[i] - most);
  sum = reduceBlock<kFirst, kSecond>(parts, sum, 0.f, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = expf(x[i] - most) / sum;
}
KERNEL softmax(const float* x, float* out, int columns) { softmaxRow<true, true>(x, out, columns); }
KERNEL softmaxFirstBarrierMissing(const float* x, float* out, int columns) { softmaxRow<false, true>(x, out, columns); }
KERNEL softmaxSecondBarrierMissing(const float* x, float* out, int columns) { softmaxRow<true, false>(x, out, columns); }

template <int kPad>
__device__ void transposeTile(const float* x, float* out, int rows, int columns) {
  __shared__ float tile[32][32 + kPad];
  int c = blockIdx.x * 32, r = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8) {
    if (r + j < rows && c + threadIdx.x < columns) tile[j][threadIdx.x] = x[(r + j) * columns + c + threadIdx.x];
  }
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) {
    if (c + j < columns && r + threadIdx.x < rows) out[(c + j) * rows + r + threadIdx.x] = tile[threadIdx.x][j];
  }
}
KERNEL transpose(const float* x, float* out, int rows, int columns) { transposeTile<1>(x, out, rows, columns); }
KERNEL transposeUnpadded(const float* x, float* out, int rows, int columns) { transposeTile<0>(x, out, rows, columns); }

KERNEL philox(uint4* out, u32 low, u32 high, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32 c0 = i, c1 = 0, c2 = 0, c3 = 0;
  for (int round = 0; round < 10; ++round) {
    u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ low;
    c1 = l1;
    c2 = h0 ^ c3 ^ high;
    c3 = l0;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  out[i] = make_uint4(c0, c1, c2, c3);
}

KERNEL sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int depth) {
  __shared__ float sa[16][32], sb[16][32];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32, column = blockIdx.x * 32;
  float sum[2][2] = {};
  for (int k = 0; k < depth; k += 16) {
    for (int h = 0; h < 2; ++h) {
      sa[x][y + 16 * h] = a[(row + y + 16 * h) * depth + k + x];
      sb[y][x + 16 * h] = b[(k + y) * n + column + x + 16 * h];
    }
    __syncthreads();
    for (int q = 0; q < 16; ++q) {
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) sum[i][j] = __fmaf_rn(sa[q][y + 16 * i], sb[q][x + 16 * j], sum[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) c[(row + y + 16 * i) * n + column + x + 16 * j] = sum[i][j];
  }
}

// A warp computes 16 x 16 of c = a b; four warps share tiles of 32 x 16 and 16 x 32, which come by cp.async one step ahead.
template <bool kWait>
__device__ void matrixTile(const bf16* a, const bf16* b, float* c, int n, int depth) {
  __shared__ __align__(16) bf16 sa[2][32][24], sb[2][16][40];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, row = blockIdx.y * 32, column = blockIdx.x * 32;
  float d[2][4] = {};
  auto fetch = [&](int stage, int k) {
    bool left = t < 64;
    int i = t % 64;
    const bf16* from = left ? a + (row + i / 2) * depth + k + i % 2 * 8 : b + (k + i / 4) * n + column + i % 4 * 8;
    u32 to = (u32)__cvta_generic_to_shared(left ? &sa[stage][i / 2][i % 2 * 8] : &sb[stage][i / 4][i % 4 * 8]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch(0, 0);
  for (int k = 0, stage = 0; k < depth; k += 16, stage ^= 1) {
    if (k + 16 < depth) {
      fetch(stage ^ 1, k + 16);
      if (kWait) asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    u32 fa[4], fb[4];
    u32 pa = (u32)__cvta_generic_to_shared(&sa[stage][warp / 2 * 16 + lane % 16][lane / 16 * 8]);
    u32 pb = (u32)__cvta_generic_to_shared(&sb[stage][lane % 16][warp % 2 * 16 + lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3]) : "r"(pb));
    for (int j = 0; j < 2; ++j) {
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                   : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                   : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[2 * j]), "r"(fb[2 * j + 1]));
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 4; ++i) {
      c[(row + warp / 2 * 16 + lane / 4 + i / 2 * 8) * n + column + warp % 2 * 16 + j * 8 + lane % 4 * 2 + i % 2] = d[j][i];
    }
  }
}
KERNEL matrix(const bf16* a, const bf16* b, float* c, int n, int depth) { matrixTile<true>(a, b, c, n, depth); }
KERNEL matrixWaitMissing(const bf16* a, const bf16* b, float* c, int n, int depth) { matrixTile<false>(a, b, c, n, depth); }

KERNEL histogram(const int* x, u32* counts, int bins, int n) {
  extern __shared__ u32 own[];
  for (int i = threadIdx.x; i < bins; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(own + x[i], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(counts + i, own[i]);
}

KERNEL collatz(const u32* x, u32* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32 v = x[i], s = 0;
  while (v != 1) {
    if (v % 2) v = 3 * v + 1;
    else v /= 2;
    ++s;
  }
  steps[i] = s;
}

template <bool kFence>
__device__ void sumAll(const float* x, float* sums, u32* arrived, float* out, int n) {
  __shared__ float parts[32];
  __shared__ bool last;
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  s = reduceBlock<true, true>(parts, s, 0.f, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = s;
    if (kFence) __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (kFence) __threadfence();
  s = threadIdx.x < gridDim.x ? sums[threadIdx.x] : 0;
  s = reduceBlock<true, true>(parts, s, 0.f, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) *out = s;
}
KERNEL sum(const float* x, float* sums, u32* arrived, float* out, int n) { sumAll<true>(x, sums, arrived, out, n); }
KERNEL sumFencesMissing(const float* x, float* sums, u32* arrived, float* out, int n) { sumAll<false>(x, sums, arrived, out, n); }

KERNEL functions(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], p = fabsf(v) + 1e-3f;
  out[i] = expf(v);
  out[n + i] = logf(p);
  out[2 * n + i] = tanhf(v);
  out[3 * n + i] = erff(v);
  out[4 * n + i] = sinf(v);
  out[5 * n + i] = powf(p, 1.7f);
  out[6 * n + i] = sqrtf(p) / p;
  out[7 * n + i] = (float)(exp((double)v) * 0.5);
  out[8 * n + i] = load(narrow(v));
  out[9 * n + i] = (float)((i * 7919 - 40000) / 7 % 13) + (float)(int)v + rintf(v);
}

KERNEL addOneTooMany(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] += 1;
}
KERNEL vectorsFromTheSecond(const float* x, float4* out) { out[threadIdx.x] = *(const float4*)(x + 1 + 4 * threadIdx.x); }
KERNEL accumulateWithoutAtomics(const float* x, float* out) { out[threadIdx.x] += x[blockIdx.x * blockDim.x + threadIdx.x]; }
KERNEL shuffleAfterReturn(float* x, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  x[i] = __shfl_xor_sync(~0u, x[i], 1);
}
KERNEL halfOfShared(float* out) {
  __shared__ float s[64];
  if (threadIdx.x < 32) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
KERNEL barrierInBranch(float* x) {
  if (threadIdx.x % 2) {
    x[threadIdx.x] = 1;
    __syncthreads();
  } else {
    __syncthreads();
    x[threadIdx.x] += 2;
  }
}
)cuda";

}  // namespace tenc::ptx::testing
