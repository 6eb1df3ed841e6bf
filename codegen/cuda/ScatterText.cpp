#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {

// max and min by an operation that leaves the element alone where it stands as it would be: most updates do.
const std::string_view kScatterText = R"cuda(
template <bool greatest>
__device__ void tenc_atomic_extreme(float* to, float v) {
  unsigned* const bits = (unsigned*)to;
  unsigned seen = *(volatile unsigned*)bits;
  for (;;) {
    const float before = __uint_as_float(seen);
    const unsigned made = __float_as_uint(greatest ? tenc_maximum(before, v) : tenc_minimum(before, v));
    if (made == seen) return;
    const unsigned had = atomicCAS(bits, seen, made);
    if (had == seen) return;
    seen = had;
  }
}
template <bool greatest>
__device__ void tenc_atomic_extreme(double* to, double v) {
  unsigned long long* const bits = (unsigned long long*)to;
  unsigned long long seen = *(volatile unsigned long long*)bits;
  for (;;) {
    const double before = __longlong_as_double((long long)seen);
    const unsigned long long made = (unsigned long long)__double_as_longlong(greatest ? tenc_maximum(before, v) : tenc_minimum(before, v));
    if (made == seen) return;
    const unsigned long long had = atomicCAS(bits, seen, made);
    if (had == seen) return;
    seen = had;
  }
}
)cuda";

}  // namespace tenc::codegen::cuda
