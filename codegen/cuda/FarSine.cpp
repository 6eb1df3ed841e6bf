#include "codegen/cuda/FarSine.h"

namespace tenc::codegen::cuda {

// The product with 2 / pi, of which as many bits count as it takes (Payne and Hanek, "Radian reduction for
// trigonometric functions", 1983), then the polynomials of fdlibm. That is a third of what NVRTC has for doubles, and
// sine and cosine share it.
const std::string_view kFarSine = R"cuda(
__device__ const unsigned tenc_two_by_pi[9] = {0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
__device__ __noinline__ float tenc_far_sine(float x, int quarters) {
  const unsigned bits = __float_as_uint(x), m = (bits & 0x7fffffu) | 0x800000u;
  const int at = (int)(bits >> 23 & 255u) - 120;
  if (at > 134) return x - x;
  unsigned long long sum = 0;
  unsigned part[4];
  #pragma unroll
  for (int i = 3; i >= 0; --i) {
    const unsigned long long pair = (unsigned long long)tenc_two_by_pi[at / 32 + i] << 32 | tenc_two_by_pi[at / 32 + i + 1];
    sum = (sum >> 32) + (unsigned long long)m * (unsigned)(pair << (at % 32) >> 32);
    part[i] = (unsigned)sum;
  }
  const unsigned long long high = (unsigned long long)part[0] << 32 | part[1], low = (unsigned long long)part[2] << 32 | part[3];
  const long long fraction = (long long)(high << 2 | low >> 62);
  const double t = ((double)fraction * 0x1p-64 + (double)(low << 2) * 0x1p-128) * 0x1.921fb54442d18p+0;
  const unsigned quadrant = (unsigned)(high >> 62) + (fraction < 0 ? 1u : 0u);
  const unsigned turned = (bits >> 31 ? 0u - quadrant : quadrant) + (unsigned)quarters;
  const double z = t * t;
  double y;
  if (turned & 1u) {
    y = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  } else {
    y = t + t * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    if (bits >> 31) y = -y;
  }
  return (float)(turned & 2u ? -y : y);
}
)cuda";

}  // namespace tenc::codegen::cuda
