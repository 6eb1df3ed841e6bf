// Sine, cosine and tangent, written once for f32 and f64; coefficients are minimax (Remez) for the two precisions.
#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {

using Coefficients = std::span<const double>;

bool isDouble(Scalar x) { return x.repr == Repr::F64; }

// sin r = r + r^3 P(r^2), cos r = 1 - r^2/2 + r^4 Q(r^2), |r| <= pi/4
constexpr double kSin32[] = {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00f5ep-13, 0x1.6cca34p-19};
constexpr double kCos32[] = {0x1.555556p-5, -0x1.6c16b8p-10, 0x1.a010c2p-16, -0x1.2418cp-22};
constexpr double kSin64[] = {-0x1.5555555555548p-3, 0x1.111111110f713p-7,   -0x1.a01a019be534ap-13,
                             0x1.71de355182d97p-19, -0x1.ae5e4878820f0p-26, 0x1.5d8a67c7dadaap-33};
constexpr double kCos64[] = {0x1.555555555554ap-5,   -0x1.6c16c16c14eb3p-10, 0x1.a01a019c6dff1p-16,
                             -0x1.27e4f7da38a57p-22, 0x1.1ee9cc3041c1cp-29,  -0x1.8f9e81a66302dp-37};

// tan r = r + r^3 P(r^2), |r| <= pi/4
constexpr double kTan32[] = {0x1.55556p-2,  0x1.110da8p-3,  0x1.bad738p-5, 0x1.5cdedep-6,
                             0x1.6225c2p-7, 0x1.03dbbep-13, 0x1.1dbb7cp-8};

/// x less n quarter turns, as r + tail, and the quarter: n modulo 4 in the low bits.
struct Reduced {
  Scalar r, tail, quarter;
};
Reduced reduce(Scalar x) {
  bool d = isDouble(x);
  // Cody-Waite reduction by pi/2 in three parts. x - n P1 is exact while n is moderate; what is lost adding n P2 must
  // be kept, since near a multiple of pi/2 the two nearly cancel.
  Scalar n = roundEven(x * 0x1.45f306dc9c883p-1);
  Scalar first = fma(n, d ? -0x1.921fb54442d18p+0 : -0x1.921fb6p+0, x);
  Pair second = exactProduct(n, like(x, d ? -0x1.1a62633145c07p-54 : 0x1.777a5cp-25));
  auto [r, lost] = exactSum(first, second.hi);
  Scalar tail = fma(n, d ? 0x1.f1976b7ed8fbcp-110 : 0x1.ee59dap-50, second.lo + lost);
  // n as the low bits of a large number's significand.
  return {r, tail, bitsOf(n + (d ? 0x1.8p52 : 0x1.8p23))};
}

/// sin and cos of that, unrounded.
struct Turned {
  Pair sin, cos;
  Scalar quarter;
};
Turned turn(Scalar x) {
  bool d = isDouble(x);
  auto [r, tail, quarter] = reduce(x);
  Scalar z = r * r;
  Scalar sinLow = fma(z * r, polynomial(z, d ? Coefficients(kSin64) : Coefficients(kSin32)), tail);
  Scalar half = z * 0.5;
  Scalar one = 1.0 - half;
  Scalar cosLow =
      fma(z * z, polynomial(z, d ? Coefficients(kCos64) : Coefficients(kCos32)), (1.0 - one) - fma(r, tail, half));
  return {{r, sinLow}, {one, cosLow}, quarter};
}
}  // namespace

namespace {
Scalar tan32(Scalar x) {
  auto [r, tail, quarter] = reduce(x);
  Scalar z = r * r;
  Pair t = orderedSum(r, fma(r * z, polynomial(z, kTan32), tail));
  // -1 / t in every other quarter.
  Scalar inverse = -1.0 / t.hi;
  Scalar rest = fma(inverse, t.lo, fma(inverse, t.hi, 1.0));
  Scalar swap = logicalNot(equal(quarter & uint64_t{1}, 0));
  return select(equal(x, 0), x, select(swap, fma(inverse, rest, inverse), t.hi));
}
}  // namespace

SinCos sinCos(Scalar x) {
  Turned t = turn(x);
  Scalar s = t.sin.hi + t.sin.lo, c = t.cos.hi + t.cos.lo;
  Scalar swap = logicalNot(equal(t.quarter & uint64_t{1}, 0));
  uint64_t mantissaTop = isDouble(x) ? 62 : 30;
  Scalar sinSign = shl(t.quarter & uint64_t{2}, mantissaTop);
  Scalar cosSign = shl((t.quarter + 1) & uint64_t{2}, mantissaTop);
  Scalar sinValue = floatOfBits(bitsOf(select(swap, c, s)) ^ sinSign);
  Scalar cosValue = floatOfBits(bitsOf(select(swap, s, c)) ^ cosSign);
  return {select(equal(x, 0), x, sinValue), cosValue};
}

Scalar tan(Scalar x) {
  if (!isDouble(x)) return tan32(x);
  Turned t = turn(x);
  Scalar swap = logicalNot(equal(t.quarter & uint64_t{1}, 0));
  Pair s = orderedSum(t.sin.hi, t.sin.lo), c = orderedSum(t.cos.hi, t.cos.lo);
  Scalar result = ratio(select(swap, c, s), select(swap, s, c));
  return select(equal(x, 0), x, select(swap, -result, result));
}

}  // namespace tenc::codegen::math
