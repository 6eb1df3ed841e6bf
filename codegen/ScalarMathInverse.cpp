// Inverse trigonometric and hyperbolic functions of f64 values.
#include <cmath>
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {

// atan x = x + x^3 P(x^2), |x| <= tan(pi/8)
constexpr double kAtan64[] = {-0x1.5555555555554p-2, 0x1.9999999999648p-3, -0x1.24924924754d1p-3, 0x1.c71c71b739c52p-4,
                              -0x1.745d14b75991ep-4, 0x1.3b136df812f9fp-4, -0x1.110c6fbe2d9f2p-4, 0x1.e171c50a7ef5ep-5,
                              -0x1.ab7c0c5366c3bp-5, 0x1.70e78173bf294p-5, -0x1.122aa0de857ddp-5, 0x1.f1b4c91aa98acp-7};
// asin x = x + x^3 P(x^2), |x| <= 1/2
constexpr double kAsin64[] = {0x1.5555555555577p-3, 0x1.333333332e08bp-4, 0x1.6db6db7219fecp-5, 0x1.f1c71a9219d0ap-6,
                              0x1.6e8bdf315c280p-6, 0x1.1c49ea954ad9ep-6, 0x1.ca201a7b4c8fcp-7, 0x1.7580f1b9e2de9p-7,
                              0x1.6156cbc6e1668p-7, 0x1.e46130f5f6cd9p-9, 0x1.6419d2135e112p-6, -0x1.58b2560823c23p-6,
                              0x1.0b805dc2f511dp-5};
// asinh x = x + x^3 P(x^2), |x| <= 1/2
constexpr double kAsinh64[] = {-0x1.5555555555555p-3, 0x1.3333333332f5fp-4,  -0x1.6db6db6d5b365p-5,
                               0x1.f1c71c3bee026p-6,  -0x1.6e8b9ab4638efp-6, 0x1.1c4e072f36dc7p-6,
                               -0x1.c983b8d12e853p-7, 0x1.79b0dbdcdfc75p-7,  -0x1.3a4aeece7e69cp-7,
                               0x1.f38921b605d54p-8,  -0x1.4733e5158e0e1p-8, 0x1.ee3fd77d44d42p-10};
constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

/// atan(n / d), 0 <= n <= d, as a sum of base (0 or pi / 4) and what it returns.
Pair atanOfRatio(Scalar n, Scalar d, Scalar& shifted) {
  // Beyond tan(pi / 8): atan(n / d) = pi / 4 + atan((n - d) / (n + d)).
  shifted = n > d * 0x1.a827999fcef32p-2;
  Pair difference = orderedSum(-d, n), sum = orderedSum(d, n);
  Pair zero = {like(n, 0), like(n, 0)};
  Pair y = select(shifted, difference, {n, zero.lo}) / select(shifted, sum, {d, zero.lo});
  Scalar z = y.hi * y.hi;
  // The derivative of atan is 1 / (1 + z): y.lo counts by that much.
  return {y.hi, fma(z * y.hi, polynomial(z, kAtan64), fma(-z, y.lo, y.lo))};
}

/// base + sign * (part.hi + part.lo) where base is k pi / 4 and larger, or 0.
Scalar addAngle(Scalar base, Scalar baseLow, Pair part) {
  Pair sum = orderedSum(base, part.hi);
  return sum.hi + (sum.lo + (part.lo + baseLow));
}

/// The angle of (x, y) in the first octant's terms: `turned` when y > x was exchanged, `behind` for x < 0.
Scalar angle(Scalar n, Scalar d, Scalar turned, Scalar behind) {
  Scalar shifted;
  Pair part = atanOfRatio(n, d, shifted);
  // a; pi / 2 - a when turned; pi - a when behind; pi / 2 + a when both.
  Scalar negative = turned ^ behind;
  auto base = [&](double quarter) {
    Scalar start = select(turned, 2 * quarter, select(behind, 4 * quarter, like(n, 0)));
    return start + select(shifted, select(negative, -quarter, like(n, quarter)), 0.0);
  };
  Pair signedPart = {select(negative, -part.hi, part.hi), select(negative, -part.lo, part.lo)};
  return addAngle(base(kHalfPi / 2), base(kHalfPiLow / 2), signedPart);
}

}  // namespace

namespace doubles {

Scalar atan(Scalar x) {
  // Of a = |x|: itself; pi / 4 + atan((a - 1) / (a + 1)) from tan(pi / 8) on; pi / 2 + atan(-1 / a) from tan(3 pi / 8)
  // on.
  Scalar a = abs(x);
  Scalar middle = a > 0x1.a827999fcef32p-2, large = a > 0x1.3504f333f9de6p+1;
  Pair difference = orderedSum(like(x, -1), a), sum = orderedSum(like(x, 1), a);
  auto choose = [&](Scalar below, Scalar between, Scalar above) {
    return select(large, above, select(middle, between, below));
  };
  Scalar n = choose(a, difference.hi, like(x, -1)), d = choose(like(x, 1), sum.hi, lesser(0x1p200, a));
  Scalar inverse = 1.0 / d;
  Scalar q = n * inverse;
  Scalar lost = select(middle, fma(-q, sum.lo, difference.lo), 0.0);
  Scalar rest = (fma(-q, d, n) + select(large, 0.0, lost)) * inverse;
  Scalar z = q * q;
  // The derivative of atan is 1 / (1 + z).
  Scalar low = fma(z * q, polynomial(z, kAtan64), fma(-z, rest, rest));
  Scalar base = choose(like(x, 0), like(x, kHalfPi / 2), like(x, kHalfPi));
  return copySign(addAngle(base, base * (kHalfPiLow / kHalfPi), {q, low}), x);
}

Scalar atan2(Scalar y, Scalar x) {
  Scalar ay = abs(y), ax = abs(x);
  Scalar turned = ay > ax;
  Scalar n = select(turned, ax, ay), d = select(turned, ay, ax);
  Scalar infinite = equal(d, infinity(d));
  n = select(infinite, select(equal(n, infinity(n)), like(n, 1), 0.0), n);
  d = select(infinite | equal(d, 0), 1.0, d);
  if (x.repr == Repr::F64) {
    // Away from the ends of the range, so that the rests of the division are exact.
    Scalar scale = select(d > 0x1p900, like(d, 0x1p-200), select(d < 0x1p-700, like(d, 0x1p300), 1.0));
    n = n * scale;
    d = d * scale;
  }
  Scalar behind = compare(Predicate::Slt, bitsOf(x), bits(bitsOf(x), 0));
  Scalar result = angle(n, d, turned, behind);
  // Quotients whose reciprocal or rest leaves the range.
  Scalar plain = logicalNot(turned | behind) & (n < d * 0x1p-30);
  result = select(plain, n / d, result);
  return select(compare(Predicate::Uno, x, y), x + y, copySign(result, y));
}

namespace {

/// asin(sqrt z) less sqrt z, from the pair s = sqrt z.
Scalar asinLow(Pair s, Scalar z) { return fma(s.hi * z, polynomial(z, kAsin64), s.lo); }

/// asin s as s.hi + low, of s = |x| up to 1/2, and of s = sqrt((1 - |x|) / 2) beyond (`large`), where asin |x| is
/// pi / 2 - 2 asin s.
struct ArcSine {
  Scalar large;
  Pair s;
  Scalar low;
};
ArcSine arcSine(Scalar x) {
  Scalar a = abs(x);
  Scalar large = a > 0.5;
  Scalar z = select(large, (1.0 - a) * 0.5, x * x);
  Pair root = sqrt(Pair{z, like(z, 0)});
  Pair s = {select(large, root.hi, a), select(large & (z > 0.0), root.lo, 0.0)};
  return {large, s, asinLow(s, z)};
}

}  // namespace

Scalar asin(Scalar x) {
  auto [large, s, low] = arcSine(x);
  // pi / 2 - 2 asin(sqrt z)
  Scalar result = addAngle(like(x, kHalfPi), like(x, kHalfPiLow), {s.hi * -2.0, low * -2.0});
  return copySign(select(large, result, s.hi + low), x);
}

Scalar acos(Scalar x) {
  auto [large, s, low] = arcSine(x);
  // 2 asin(sqrt z), pi less it, or pi / 2 less asin x.
  Scalar negative = x < 0.0;
  Scalar factor = select(large, select(negative, -2.0, like(x, 2)), select(negative, 1.0, like(x, -1)));
  Scalar base = select(large, select(negative, kHalfPi * 2, like(x, 0)), kHalfPi);
  Scalar baseLow = select(large, select(negative, kHalfPiLow * 2, like(x, 0)), kHalfPiLow);
  return addAngle(base, baseLow, {s.hi * factor, low * factor});
}

Scalar asinh(Scalar x) {
  Scalar a = abs(x);
  Scalar z = a * a;
  Scalar near = fma(a * z, polynomial(z, kAsinh64), a);
  // log(a + sqrt(a^2 + 1)), or log 2a where that is the same.
  Scalar large = a > 0x1p60;
  Scalar twice = select(large, 1.0, like(x, 0));
  Pair square = exactProduct(a, a);
  Pair sum = exactSum(square.hi, like(x, 1));
  Pair root = sqrt(Pair{sum.hi, sum.lo + square.lo});
  Pair argument = orderedSum(root.hi, a);
  argument.lo = select(large, 0.0, argument.lo + root.lo);
  argument.hi = select(large, a, argument.hi);
  Scalar result = select(a < 0.5, near, logOfOrdinary(argument, twice));
  return select(a < infinity(a), copySign(result, x), x);
}

Scalar acosh(Scalar x) {
  // log1p(t + sqrt(2t + t^2)), or log 2x where that is the same.
  Scalar t = x - 1.0;
  Scalar large = x > 0x1p60;
  Scalar twice = select(large, 1.0, like(x, 0));
  Pair square = exactProduct(t, t);
  Pair sum = exactSum(t * 2.0, square.hi);
  Pair root = sqrt(Pair{sum.hi, sum.lo + square.lo});
  Pair argument = exactSum(t, root.hi);
  argument.lo = select(large, 0.0, argument.lo + root.lo);
  argument.hi = select(large, x, argument.hi);
  Scalar ordinary = (x > 1.0) & (x < infinity(x));
  return x.builder->rarely(logicalNot(ordinary), log1pOfOrdinary(argument, twice),
                           [&] { return select(x < 1.0, nan(x), select(equal(x, 1), 0.0, x)); });
}

Scalar atanh(Scalar x) {
  Scalar a = abs(x);
  Pair difference = orderedSum(like(x, 1), -a);
  Pair quotient = Pair{a * 2.0, like(x, 0)} / difference;
  Scalar result = log1pOfOrdinary(quotient, like(x, 0)) * 0.5;
  result = select(a > 0x1p-28, copySign(result, x), x);
  return x.builder->rarely(logicalNot(a < 1.0), result,
                           [&] { return select(equal(a, 1), copySign(infinity(x), x), nan(x)); });
}

}  // namespace doubles

Scalar functions::atan2(Scalar y, Scalar x) { return x.repr == Repr::F64 ? doubles::atan2(y, x) : floats::atan2(y, x); }

}  // namespace tenc::codegen::math
