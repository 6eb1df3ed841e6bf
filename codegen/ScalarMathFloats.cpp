// Functions of f32 computed in f32: inverse and hyperbolic functions, cube roots and logarithms to other bases. What
// the steps before the last lose is kept where it would show.
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {

// asin s = s + s^3 P(s^2), |s| <= 1/2
constexpr double kAsin32[] = {0x1.5555cap-3, 0x1.33016ap-4, 0x1.748a2cp-5, 0x1.8bb536p-6, 0x1.59cc94p-5};
// atan q = q + q^3 P(q^2), 0 <= q <= 1, to 2^-28; of 1 it is pi / 4, rounded
constexpr double kAtan32[] = {-0x1.55553ep-2, 0x1.9991e4p-3,  -0x1.242086p-3, 0x1.c08c5p-4,   -0x1.580922p-4,
                              0x1.da29fcp-5,  -0x1.fd7d16p-6, 0x1.642214p-7,  -0x1.d3508cp-10};
// sinh x = x + x^3 P(x^2), |x| <= 1
constexpr double kSinh32[] = {0x1.555556p-3, 0x1.1110e2p-7, 0x1.a02156p-13, 0x1.75a6f6p-19};
// cosh r = 1 + r^2 P(r^2) and sinh r = r + r^3 Q(r^2), |r| <= ln(2)/2
constexpr double kEven32[] = {0x1p-1, 0x1.5554e6p-5, 0x1.6d4f1p-10};
constexpr double kOdd32[] = {0x1.55548ep-3, 0x1.123c06p-7};
// asinh x = x + x^3 P(x^2), |x| <= 1/2
constexpr double kAsinh32[] = {-0x1.555536p-3, 0x1.3324ecp-4, -0x1.6b94a4p-5, 0x1.cd52b8p-6, -0x1.b0ff74p-7};
constexpr double kHalfPi32 = 0x1.921fb6p+0, kHalfPiLow32 = -0x1.777a5cp-25;
constexpr double kLog2E = 0x1.71547652b82fep+0;

/// 1 / x of a positive normal number, right to a sixteenth: enough for what another step has lost.
Scalar nearInverse(Scalar x) {
  Scalar p = bitsOf(x);
  return floatOfBits(bits(p, 0x7ef00000) - p);
}

/// The same, right to 1/256.
Scalar nearerInverse(Scalar x) {
  Scalar inverse = nearInverse(x);
  return fma(inverse, fma(-x, inverse, like(x, 1)), inverse);
}

/// base + factor * (high + low): base is a multiple of pi / 2 and the larger, or 0, and factor 1 or 2 with a sign.
Scalar angle(Scalar base, Scalar factor, Scalar high, Scalar low) {
  Scalar sum = fma(high, factor, base);
  Scalar lost = fma(high, factor, base - sum);
  return sum + fma(low, factor, fma(base, kHalfPiLow32 / kHalfPi32, lost));
}

/// asin s as s + low, of s = |x| up to 1/2, and of s = sqrt((1 - |x|) / 2) beyond (`large`), where asin |x| is
/// pi / 2 - 2 asin s.
struct ArcSine {
  Scalar large, s, low;
};
ArcSine arcSine(Scalar x) {
  Scalar a = abs(x);
  Scalar large = a > 0.5;
  Scalar z = select(large, (1.0 - a) * 0.5, x * x);
  Scalar s = select(large, sqrt(z), a);
  return {large, s, s * z * polynomial(z, kAsin32)};
}

/// 1 + y.hi + y.lo as a number and what it lost, relative to it; y.hi > -1. Near 0 that is what y.hi lost, which itself
/// is what remains of the number.
struct OnePlus {
  Scalar u, lost, near;
};
OnePlus onePlus(Pair y) {
  Scalar u = y.hi + 1.0;
  Scalar lost = select(y.hi > 1.0, 1.0 - (u - y.hi), y.hi - (u - 1.0)) + y.lo;
  Scalar near = abs(y.hi) < 0x1p-6;
  return {u, select(near, y.lo, lost * nearerInverse(lesser(0x1p60, u))), near};
}

/// log(1 + y.hi + y.lo).
Scalar log1pOf(Pair y) {
  auto [u, lost, near] = onePlus(y);
  return logOfNormal({u, lost}, near, y.hi);
}

struct Hyperbolic {
  Scalar n;           ///< the result is 2^n times one of these
  Scalar cosh, sinh;  ///< the second of |x| from 1 on
};
Hyperbolic coshAndSinh(Scalar x) {
  // With x = n ln 2 + r: cosh x = B cosh r + A sinh r and sinh x = A cosh r + B sinh r, where A and B are half the
  // difference and the sum of 2^n and 2^-n, here of 1 and 4^-n.
  Scalar a = lesser(95.0, abs(x));
  Scalar n = roundEven(a * kLog2E);
  Scalar r = fma(n, -0x1.7f7d1cp-20, fma(n, -0x1.62e4p-1, a));
  Scalar z = r * r;
  Scalar coshLow = z * polynomial(z, kEven32), sinhLow = z * r * polynomial(z, kOdd32);
  Scalar down = x.builder->scaleByPowerOf2(like(x, 0.5), greater(-100.0, n * -2.0));
  Scalar difference = 0.5 - down;
  Pair sum = orderedSum(like(x, 0.5), down);
  auto combine = [&](Scalar large, Scalar small, Scalar low) {  // (large + low) * cosh r + small * sinh r
    return large + fma(small, r, fma(small, sinhLow, fma(large, coshLow, low)));
  };
  return {n, combine(sum.hi, difference, sum.lo), combine(difference, sum.hi, like(x, 0))};
}

/// Of 2^-100 on.
Scalar cbrtOfOrdinary(Scalar a) {
  // As in f64: r = a^(-1/3), from a third of the exponent, and one step of the fourth order.
  constexpr double kThird = 0x1.555556p-2;
  Scalar exponent = fma(convert(ConvertInst::SIntToF, bitsOf(a), Repr::F32), -kThird, 1419900843.0);
  Scalar r = floatOfBits(convert(ConvertInst::FToSInt, exponent, Repr::I32));
  Scalar h = fma(a * r, -(r * r), like(a, 1));
  r = fma(r * h, fma(h, fma(h, 14.0 / 81, 2.0 / 9), kThird), r);
  return settledCbrt(a, r, kThird);
}

}  // namespace

namespace floats {

Pair rootWithError(Scalar z, Scalar low) {
  Scalar root = sqrt(z);
  return {root, (fma(-root, root, z) + low) * (nearInverse(root) * 0.5)};
}

Scalar asin(Scalar x) {
  auto [large, s, low] = arcSine(x);
  return copySign(select(large, angle(like(x, kHalfPi32), like(x, -2), s, low), s + low), x);
}

Scalar acos(Scalar x) {
  auto [large, s, low] = arcSine(x);
  // 2 asin s, pi less it, or pi / 2 less asin x.
  Scalar negative = x < 0.0;
  Scalar factor = select(large, select(negative, -2.0, like(x, 2)), select(negative, 1.0, like(x, -1)));
  Scalar base = select(large, select(negative, kHalfPi32 * 2, like(x, 0)), kHalfPi32);
  return angle(base, factor, s, low);
}

Scalar atan(Scalar x) {
  Scalar a = abs(x);
  Scalar large = a > 1.0;
  Scalar q = select(large, 1.0 / a, a);
  Scalar z = q * q;
  Scalar low = q * z * polynomial(z, kAtan32);
  return copySign(select(large, angle(like(x, kHalfPi32), like(x, -1), q, low), q + low), x);
}

// In f32, where the larger of the two is within 2^60 of 1, and the smaller is at least 2^-60 or 0; elsewhere in f64.
Scalar atan2(Scalar y, Scalar x) {
  Scalar ay = abs(y), ax = abs(x);
  Scalar turned = ay > ax, behind = compare(Predicate::Slt, bitsOf(x), bits(bitsOf(x), 0));
  Scalar n = select(turned, ax, ay), d = select(turned, ay, ax);
  Scalar inverse = 1.0 / d;
  Scalar q = n * inverse;
  Scalar z = q * q;
  // What q lost counts by the derivative of atan, 1 / (1 + z), for which 1 - z / 2 is near enough.
  Scalar lost = fma(-q, d, n) * inverse;
  Scalar low = fma(q * z, polynomial(z, kAtan32), fma(lost * z, -0.5, lost));
  // a; pi / 2 - a when turned; pi - a when behind; pi / 2 + a when both.
  Scalar base = select(turned, kHalfPi32, select(behind, kHalfPi32 * 2, like(q, 0)));
  Scalar negative = turned ^ behind;
  Pair sum = orderedSum(base, select(negative, -q, q));
  low = fma(base, kHalfPiLow32 / kHalfPi32, select(negative, -low, low));
  Scalar result = copySign(sum.hi + (sum.lo + low), y);
  constexpr uint64_t kLeast = 0x21800000, kRange = 0x5d800000 - kLeast;  // 2^-60 and 2^60
  Scalar large = bitsOf(d), small = bitsOf(n);
  Scalar rare = compare(Predicate::Ugt, large - bits(large, kLeast), bits(large, kRange)) |
                compare(Predicate::Ult, small - bits(small, 1), bits(small, kLeast - 1));
  return x.builder->rarely(rare, result, [&] {
    Scalar wide = widen(x);
    return narrow(doubles::atan2(widen(y), wide));
  });
}

Scalar sinh(Scalar x) {
  Scalar z = x * x;
  Hyperbolic h = coshAndSinh(x);
  Scalar large = copySign(x.builder->scaleByPowerOf2(h.sinh, h.n), x);
  return select(abs(x) < 1.0, fma(x * z, polynomial(z, kSinh32), x), large);
}

Scalar cosh(Scalar x) {
  Hyperbolic h = coshAndSinh(x);
  return x.builder->scaleByPowerOf2(h.cosh, h.n);
}

Scalar log1p(Scalar x) {
  Scalar ordinary = (x > -1.0) & (x < infinity(x)) & logicalNot(equal(x, 0));
  return x.builder->rarely(logicalNot(ordinary), log1pOf({x, like(x, 0)}), [&] {
    Scalar result = select(equal(x, -1), -infinity(x), x);  // infinity, NaN and zeros
    return select(x < -1.0, nan(x), result);
  });
}

Scalar asinh(Scalar x) {
  Scalar a = abs(x);
  Scalar z = a * a;
  Scalar near = fma(a * z, polynomial(z, kAsinh32), a);
  // log(a + sqrt(a^2 + 1)), or log 2 + log a where that is the same.
  Scalar large = a > 0x1p30;
  Pair square = orderedSum(like(x, 1), z);
  Pair root = rootWithError(square.hi, square.lo);
  Pair u = orderedSum(root.hi, a);
  Scalar lost = (u.lo + root.lo) * nearInverse(u.hi);
  Pair argument = {select(large, a, u.hi), select(large, 0x1.62e43p-1, lost)};
  Scalar no = x.builder->intConstant(Repr::I1, 0);
  Scalar result = select(a < 0.5, near, logOfNormal(argument, no, u.hi));
  return select(a < infinity(a), copySign(result, x), x);
}

Scalar acosh(Scalar x) {
  // log1p(t + sqrt(2t + t^2)), or log 2 + log x where that is the same.
  Scalar t = x - 1.0;
  Scalar large = x > 0x1p30;
  Pair root = rootWithError(fma(t, t, t * 2.0), like(x, 0));
  Pair y = orderedSum(root.hi, t);
  y.lo = y.lo + root.lo;
  auto [u, lost, near] = onePlus(y);
  Scalar result = logOfNormal({select(large, x, u), select(large, 0x1.62e43p-1, lost)}, near, y.hi);
  Scalar ordinary = (x >= 1.0) & (x < infinity(x));
  return x.builder->rarely(logicalNot(ordinary), result, [&] { return select(x < 1.0, nan(x), x); });
}

Scalar atanh(Scalar x) {
  Scalar a = abs(x);
  Pair difference = orderedSum(like(x, 1), -a);
  Scalar quotient = a * 2.0 / difference.hi;
  Scalar rest = fma(-quotient, difference.hi, a * 2.0) - quotient * difference.lo;
  Scalar result = log1pOf({quotient, rest * nearInverse(difference.hi)}) * 0.5;
  return x.builder->rarely(logicalNot(a < 1.0), copySign(result, x),
                           [&] { return select(equal(a, 1), copySign(infinity(x), x), nan(x)); });
}

Scalar cbrt(Scalar x) {
  Scalar a = abs(x);
  Scalar ordinary = (a >= 0x1p-100) & (a < infinity(a));
  return x.builder->rarely(logicalNot(ordinary), copySign(cbrtOfOrdinary(a), x), [&] {
    Scalar y = cbrtOfOrdinary(a * 0x1p+60) * 0x1p-20;
    return select((a > 0.0) & (a < infinity(a)), copySign(y, x), x);
  });
}

}  // namespace floats
}  // namespace tenc::codegen::math
