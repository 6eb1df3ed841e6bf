#include "codegen/cuda/CudaPrelude.h"

namespace tenc::codegen::cuda {

// Laid out as CudaBlock of runtime/cuda/CudaRun.h, behind which the scalars of launches follow. Of several faults that
// of the first launch (`order`: the low 40 bits count from `base`, the others are the number of the kernel), of the
// first trip where trips of a loop are threads, and with the least number is kept, of these the first axis and the
// least index on it, whichever thread was first. Loops look at it while it changes (tenc_stopped): what they see
// together is then the fault before or the new one, or the order of the one before and the trip of the new one, which
// is earlier.
const std::string_view kPrelude = R"cuda(struct tenc_faults {
  unsigned number, busy;
  unsigned long long order;
  long long index, count, size, axis;
  unsigned long long trip, kernel, base;
};

__device__ __noinline__ void tenc_report(tenc_faults* f, unsigned long long launch, unsigned number, long long index, long long count, long long size,
                                         long long axis, unsigned long long trip = 0) {
  const unsigned long long order = f->base + (launch & 0xffffffffffull);
  bool done = false;
  while (!done) {  // lanes of a warp take the lock one after the other
    if (atomicCAS(&f->busy, 0u, 1u) == 0u) {
      __threadfence();
      volatile tenc_faults* v = f;
      const unsigned kept = v->number;
      const bool same = order == v->order;
      const bool sameTrip = same && trip == v->trip;
      if (kept == 0 || order < v->order || (same && trip < v->trip) || (sameTrip && number < kept) ||
          (sameTrip && number == kept && (axis < v->axis || (axis == v->axis && index < v->index)))) {
        v->trip = trip;
        __threadfence();
        v->order = order;
        v->kernel = launch >> 40;
        v->index = index;
        v->count = count;
        v->size = size;
        v->axis = axis;
        __threadfence();
        v->number = number;
      }
      __threadfence();
      atomicExch(&f->busy, 0u);
      done = true;
    }
  }
}

// Whether somebody has interrupted the call: the host writes that as a fault.
__device__ __forceinline__ bool tenc_interrupted(const tenc_faults* f) { return *(const volatile unsigned*)&f->number == ~0u; }
// The same of a block, all of whose threads ask.
__device__ __forceinline__ bool tenc_block_interrupted(const tenc_faults* f) { return __syncthreads_or(threadIdx.x == 0 && tenc_interrupted(f)); }

// Whether a loop is to end: somebody has interrupted the call, or an earlier launch has faulted, and what is read instead of
// an element that is not there could keep a loop running for ever; or an earlier trip has, after which none is run.
__device__ __forceinline__ bool tenc_stopped(const tenc_faults* f, unsigned long long launch, unsigned long long trip = 0) {
  const volatile tenc_faults* v = f;
  const unsigned number = v->number;
  if (number == 0 || number == ~0u) return number != 0;
  const unsigned long long order = v->order, own = v->base + (launch & 0xffffffffffull);
  return order < own || (order == own && v->trip < trip);
}

// Elements side by side, which one access moves.
template <class T, int N>
struct alignas(sizeof(T) * N) tenc_vector {
  T at[N];
};
// Those of bf16, which are loaded as words: a float is then one of them, shifted or masked.
template <int N>
struct tenc_bfloats : tenc_vector<unsigned short, N> {};
template <class V>
inline constexpr int tenc_in_words = 0;
template <int N>
inline constexpr int tenc_in_words<tenc_bfloats<N>> = N / 2;
template <class V, class T>
__device__ __forceinline__ V tenc_load(const T* from) {
  if constexpr (tenc_in_words<V> == 0) {
    return *reinterpret_cast<const V*>(from);
  } else {
    tenc_vector<unsigned, tenc_in_words<V>> words;
    memcpy(&words, __builtin_assume_aligned(from, sizeof(V)), sizeof(V));
    V v;
    #pragma unroll
    for (int i = 0; i < tenc_in_words<V>; ++i) {
      v.at[2 * i] = (unsigned short)words.at[i];
      v.at[2 * i + 1] = (unsigned short)(words.at[i] >> 16);
    }
    return v;
  }
}
template <class V, class T>
__device__ __forceinline__ void tenc_store(T* to, const V& v) {
  *reinterpret_cast<V*>(to) = v;
}
// The same to the device's memory. Of floats as PTX: NVVM looks long for stores that it could join.
template <class V, class T>
__device__ __forceinline__ void tenc_write(T* to, const V& v) {
  tenc_store(to, v);
}
__device__ __forceinline__ void tenc_write(float* to, const tenc_vector<float, 4>& v) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v.at[0]), "f"(v.at[1]), "f"(v.at[2]), "f"(v.at[3]) : "memory");
}
__device__ __forceinline__ void tenc_write(float* to, const tenc_vector<float, 2>& v) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(v.at[0]), "f"(v.at[1]) : "memory");
}
// In shared memory.
__device__ __forceinline__ unsigned tenc_shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void tenc_take(float* to, const float* from) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "r"(tenc_shared(from)) : "memory");
}
__device__ __forceinline__ void tenc_put(float* to, const float* from) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(tenc_shared(to)), "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3]) : "memory");
}
__device__ __forceinline__ void tenc_put(float* to, float a, float b) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(tenc_shared(to)), "f"(a), "f"(b) : "memory");
}
// The same where only elements 0 to `extent` are there, of which the first here is number `first`. Others are not read.
template <class V, class T>
__device__ __forceinline__ V tenc_load_inside(const T* from, bool whole, int first, int extent) {
  constexpr int width = sizeof(V) / sizeof(T);
  V v;
  if (whole) {
    v = tenc_load<V>(from);
  } else {
    #pragma unroll
    for (int i = 0; i < width; ++i)
      if ((unsigned)(first + i) < (unsigned)extent) v.at[i] = from[i];
  }
  return v;
}
// The same without a branch, which would keep loads apart. `atStart`, `atEnd`: whether some may be outside, as constants.
// Those are the nearest element.
template <class V, class T>
__device__ __forceinline__ V tenc_load_near(const T* from, bool atStart, bool atEnd, int first, int extent) {
  constexpr int width = sizeof(V) / sizeof(T);
  if (!atStart && !atEnd) return tenc_load<V>(from);
  V v;
  #pragma unroll
  for (int i = 0; i < width; ++i) {
    int at = first + i;
    if (atStart && i < width - 1) at = max(at, 0);
    if (atEnd) at = min(at, extent - 1);
    v.at[i] = from[at - first];
  }
  return v;
}
template <class V, class T>
__device__ __forceinline__ void tenc_write_inside(T* to, const V& v, bool whole, int first, int extent) {
  constexpr int width = sizeof(V) / sizeof(T);
  if (whole) {
    tenc_write(to, v);
  } else {
    #pragma unroll
    for (int i = 0; i < width; ++i)
      if ((unsigned)(first + i) < (unsigned)extent) to[i] = v.at[i];
  }
}

__device__ __forceinline__ unsigned short tenc_half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ float tenc_half_of_bits(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
// Of a NaN the hardware gives one and the same; sign and payload are the host's.
__device__ __forceinline__ unsigned short tenc_bfloat_bits(float x) {
  const unsigned p = __float_as_uint(x);
#if __CUDA_ARCH__ >= 800
  unsigned short nearest;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(x));
#else
  const unsigned short nearest = p + 0x7fff + (p >> 16 & 1) >> 16;
#endif
  return x == x ? nearest : (unsigned short)(p >> 16 | 0x40);
}
// The same of what arithmetic came to, whose NaN is that one.
__device__ __forceinline__ unsigned short tenc_bfloat_result_bits(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned short nearest;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(x));
  return nearest;
#else
  return tenc_bfloat_bits(x);
#endif
}
// That rounded, in one instruction, which puts it into the high half.
__device__ __forceinline__ float tenc_bfloat_result(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x), "f"(0.0f));
  return __uint_as_float(bits);
#else
  return __uint_as_float((unsigned)tenc_bfloat_result_bits(x) << 16);
#endif
}
// No inline PTX, though that is an instruction less for some elements: NVVM has to see that stages compute the same of it.
__device__ __forceinline__ float tenc_bfloat_of_bits(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// IEEE 754-2019 maximum and minimum: NaN when either is NaN, -0 below +0.
__device__ __forceinline__ float tenc_maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  if (a != a || b != b) return __int_as_float(0x7fc00000);
  return a == b ? __uint_as_float(__float_as_uint(a) & __float_as_uint(b)) : a > b ? a : b;
#endif
}
__device__ __forceinline__ float tenc_minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  if (a != a || b != b) return __int_as_float(0x7fc00000);
  return a == b ? __uint_as_float(__float_as_uint(a) | __float_as_uint(b)) : a < b ? a : b;
#endif
}
__device__ __forceinline__ double tenc_maximum(double a, double b) {
  if (a != a || b != b) return __longlong_as_double(0x7ff8000000000000ll);
  return a == b ? __longlong_as_double(__double_as_longlong(a) & __double_as_longlong(b)) : a > b ? a : b;
}
__device__ __forceinline__ double tenc_minimum(double a, double b) {
  if (a != a || b != b) return __longlong_as_double(0x7ff8000000000000ll);
  return a == b ? __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b)) : a < b ? a : b;
}

// exp(x) as a weight of a sum (OnlineSums.h).
__device__ __forceinline__ float tenc_weight(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 0x1.715476p+0f));
  return y;
}

// x * 2^n in two steps, of which only the second can round. n as the low bits of a large number, whose other bits are
// shifted out: a conversion takes four times as long as an addition.
__device__ __forceinline__ float tenc_scale(float x, float n) {
  const unsigned all = __float_as_uint(n + 0x1.8p23f), first = all >> 1, second = all - first;
  return x * __uint_as_float((first << 23) + 0x3f800000u) * __uint_as_float((second << 23) + 0x3f800000u);
}
__device__ __forceinline__ double tenc_scale(double x, double n) {
  const double first = rint(n * 0.5), second = n - first;
  return x * __longlong_as_double(((long long)first + 1023) << 52) * __longlong_as_double(((long long)second + 1023) << 52);
}

// The low half, in a way that lets nobody compute in 16 bits what leads there: ptxas (12.9, 13.0) takes -x and |x| of 16 bits as if x were
// never -32768, and keeps 32768 where such a value is extended or compared.
__device__ __forceinline__ unsigned short tenc_short(unsigned x) {
  unsigned short r;
  asm("cvt.u16.u32 %0, %1;" : "=h"(r) : "r"(x));
  return r;
}

__device__ __forceinline__ int tenc_signed_byte(unsigned char x) {
  int r;
  asm("cvt.s32.s8 %0, %1;" : "=r"(r) : "r"((unsigned)x));
  return r;
}

__device__ __noinline__ unsigned long long tenc_integer_power(unsigned long long base, unsigned long long exponent) {
  unsigned long long result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

// How often a loop from lo to hi by step runs.
__device__ __forceinline__ unsigned long long tenc_trips(long long lo, long long hi, long long step) {
  if (step > 0) return lo < hi ? ((unsigned long long)hi - (unsigned long long)lo - 1) / (unsigned long long)step + 1 : 0;
  if (step < 0) return lo > hi ? ((unsigned long long)lo - (unsigned long long)hi - 1) / (0 - (unsigned long long)step) + 1 : 0;
  return 0;
}

__device__ __noinline__ double tenc_lgamma(double x) { return lgamma(x); }

// For x <= 0: reflection, the recurrence up to 16, then the asymptotic series (Abramowitz and Stegun 6.3.7, 6.3.5,
// 6.3.18).
__device__ __noinline__ double tenc_digamma(double x) {
  if (x != x) return x;
  if (x == 0) return copysign(__longlong_as_double(0x7ff0000000000000ll), -x);
  if (floor(x) == x) return __longlong_as_double(0x7ff8000000000000ll);
  const double pi = 3.14159265358979323846;
  double y = 1 - x, sum = -pi / tan(pi * (x - rint(x)));
  for (; y < 16; y += 1) sum -= 1 / y;
  const double z = 1 / (y * y);
  return sum + log(y) - 0.5 / y -
         z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
}
)cuda";

}  // namespace tenc::codegen::cuda
