// Functions built from exp, log and sinCos: hyperbolic and error functions, roots. The rarest f32 functions are
// computed in f64, which leaves nothing to compensate; others of f32 are in ScalarMathFloats.cpp. Inverse functions are
// in ScalarMathInverse.cpp, powers in ScalarMathPower.cpp.
#include <cmath>
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {
bool isDouble(Scalar x) { return x.repr == Repr::F64; }

// tanh x = x + x^3 P(x^2), |x| <= 0.55
constexpr double kTanh32[] = {-0x1.55554ap-2, 0x1.110d26p-3, -0x1.b92890p-5, 0x1.593d82p-6, -0x1.9b3208p-8};
// erf x = x + x P(x^2), |x| < 1.15
constexpr double kErfSmall32[] = {0x1.06ebacp-3, -0x1.812746p-2,  0x1.ce2ea4p-4,  -0x1.b82132p-6,
                                  0x1.55d038p-8, -0x1.b903c8p-11, 0x1.c438dcp-14, -0x1.1991b2p-17};
// erfc x = P(x)^4, 1.15 <= x <= 4
constexpr double kErfcRoot32[] = {0x1.011fcep+0,  -0x1.36ca8ap-2, -0x1.300b26p-4,  -0x1.380e8ep-5, 0x1.d66c84p-5,
                                  -0x1.2d3ba6p-6, 0x1.20d198p-9,  -0x1.979432p-16, -0x1.4fa58cp-17};
// (2 + x) exp(x^2) erfc(x) = P(1 / (2 + x) - kErfcCenter32), 1/2 <= x <= 10.5, to 2^-26
constexpr double kErfc32[] = {0x1.fe30bcp-1,  0x1.554922p+1, 0x1.19d89p+2,  0x1.43e942p+1, -0x1.4b8ep+2,
                              -0x1.d237bap+2, 0x1.6d557ap+3, 0x1.edb6a2p+3, -0x1.fd6136p+4};
constexpr double kErfcCenter32 = 0x1.edp-3;
// erf x = x + x P(x^2), small x
constexpr double kErfSmall64[] = {0x1.06eba8214db68p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b20p-4,
                                  -0x1.b82ce3128499bp-6,  0x1.565bcd0db022fp-8,   -0x1.c02db3d8e9d96p-11,
                                  0x1.f9a321a09d170p-14,  -0x1.f4d1df2d6fd64p-17, 0x1.b9def0ec98b78p-20,
                                  -0x1.5f1d302241678p-23, 0x1.f7a3c39e78807p-27,  -0x1.3869b98bfb661p-30,
                                  0x1.0576b08e78879p-34};
// (1 + 2x) exp(x^2) erfc(x) = P(t), t = (x - 4) / (x + 4), 0.45 <= x <= 28
constexpr double kErfc64[] = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a290p-3,  0x1.f7f5df66fd59ep-7,   0x1.16ecefcfa5541p-4,
    -0x1.9ddb23c3e7e3cp-4,  0x1.7fee004e0ea67p-4,   -0x1.0fb06dfe6930bp-4,  0x1.3079edf6f5ae3p-5,
    -0x1.0962387e0d2a4p-6,  0x1.49c67268fdc06p-8,   -0x1.8d4aa11b5bdc2p-11, -0x1.a1df1591806ffp-13,
    0x1.3be0d0726b1d5p-13,  -0x1.995a3c1460d3ap-16, -0x1.78a2ca33db1ecp-17, 0x1.7f2643c92dd4dp-18,
    0x1.4177223a40005p-22,  -0x1.ba258f4ae94a7p-21, 0x1.2080af3ce8f12p-24,  0x1.c935ed14f9ef4p-24,
    -0x1.a5e22cb77c1ecp-27, -0x1.70be526c23573p-27};

Scalar tanh32(Scalar x) {
  Scalar z = x * x;
  Scalar small = fma(z * x, polynomial(z, kTanh32), x);
  Scalar e = exp(abs(x) * 2.0);
  Scalar large = copySign(1.0 - 2.0 / (e + 1.0), x);
  Scalar result = select(abs(x) <= 0.55, small, large);
  return select(equal(x, 0), x, result);
}

Scalar sigmoid(Scalar x) {
  if (isDouble(x)) {
    // e^-|x| / (1 + e^-|x|), or 1 over it, in pairs: the two roundings of e and 1 + e would add up.
    Pair e = expWithError(-abs(x));
    Pair sum = orderedSum(like(x, 1), e.hi);
    sum.lo = sum.lo + e.lo;
    Scalar positive = x >= 0.0;
    return ratio({select(positive, 1.0, e.hi), select(positive, 0.0, e.lo)}, sum);
  }
  Scalar e = exp(-abs(x));
  Scalar sum = e + 1.0;
  Scalar lost = (1.0 - sum) + e;
  Scalar quotient = select(x >= 0.0, like(x, 1), e) / sum;
  // The sum's rounding error, times the derivative; it matters below 0, where 1 / sum is 1 - quotient.
  return fma(quotient * -lost, 1.0 - quotient, quotient);
}

/// f32 only: near 0 a polynomial; elsewhere from one for the fourth root of erfc, which falls far more slowly. Both are
/// cheaper than tables, which a GPU would have to load from.
Scalar erf32(Scalar x) {
  Scalar small = fma(x, polynomial(x * x, kErfSmall32), x);
  Scalar root = polynomial(lesser(4.0, abs(x)), kErfcRoot32);  // from 4 on the result is 1; NaN stays
  Scalar square = root * root;
  Scalar large = fma(-square, square, like(x, 1));
  return select(abs(x) < 1.15, small, copySign(large, x));
}

// `fine` below: the value stays an f64. What becomes an f32 needs no care for the last bits.

/// erfc of x >= 0.45, by exp(-x^2) and a polynomial, with the errors of all their roundings.
Scalar erfcTail(Scalar x) {
  x = lesser(28.0, x);
  Pair square = exactProduct(x, x);
  Scalar t = (x - 4.0) / (x + 4.0);
  Pair scaled = exactProduct(t, polynomial(t, std::span(kErfc64).subspan(1)));
  Pair numerator = orderedSum(like(x, kErfc64[0]), scaled.hi);
  numerator.lo = numerator.lo + scaled.lo;
  Pair divisor = exactSum(x * 2.0, like(x, 1));
  Exponential e = expPair({-square.hi, -square.lo});
  return scaleOrZero(ratio(e.value * numerator, divisor), e.n, x > 27.3);  // erfc 27.3 is 2^-1080
}

Scalar erf64(Scalar x) {
  Scalar a = abs(x);
  Scalar small = fma(x, polynomial(x * x, kErfSmall64), x);
  Scalar result = select(a <= 1.0, small, copySign(1.0 - erfcTail(a), x));
  return select(isNan(x), x, result);
}

/// erfc x = 1 - erf x, x <= 1/2; `p` is P of erf. From 1/4 on by halves, where the difference would round twice.
Scalar erfcNear(Scalar x, Scalar p) { return select(x < 0.25, 1.0 - fma(x, p, x), 0.5 - fma(x, p, x - 0.5)); }

Scalar erfc64(Scalar x) {
  Scalar a = abs(x);
  Scalar small = erfcNear(x, polynomial(x * x, kErfSmall64));
  Scalar tail = erfcTail(a);
  Scalar result = select(a <= 0.5, small, select(x < 0.0, 2.0 - tail, tail));
  return select(isNan(x), x, result);
}

/// Of f64, from 2^-1014 to 2^1000; without divisions, by way of r = a^(-1/3).
Scalar cbrtOfOrdinary(Scalar a) {
  // A third of the exponent, negative, by an integer in the low bits of a number from 2^52 on: r is right to 4 %.
  Scalar high = floatOfBits(lshr(bitsOf(a), 32) | uint64_t{0x4330000000000000});
  constexpr double kThird = 0x1.5555555555555p-2;
  Scalar third = fma(high, -kThird, 0x1p52 + 0x1p52 * kThird + 1430186400.0);
  Scalar r = floatOfBits(shl(bitsOf(third), 32));
  // (1 - h)^(-1/3) = 1 + h / 3 + 2 h^2 / 9 + 14 h^3 / 81 + ..., where h = 1 - a r^3.
  Scalar h = fma(a * r, -(r * r), like(a, 1));
  r = fma(r * h, fma(h, fma(h, 14.0 / 81, 2.0 / 9), kThird), r);
  h = fma(a * r, -(r * r), like(a, 1));
  r = fma(r * h, fma(h, 2.0 / 9, kThird), r);
  return settledCbrt(a, r, kThird);
}

Scalar cbrt(Scalar x) {
  Scalar a = abs(x);
  Scalar ordinary = (a >= 0x1p-1000) & (a <= 0x1p+1000);
  return x.builder->rarely(logicalNot(ordinary), copySign(cbrtOfOrdinary(a), x), [&] {
    Scalar small = a < 1.0;
    Scalar y = cbrtOfOrdinary(a * select(small, 0x1p+60, like(a, 0x1p-60)));
    y = y * select(small, 0x1p-20, like(a, 0x1p+20));
    return select((a > 0.0) & (a < infinity(a)), copySign(y, x), x);
  });
}

/// Of f64 values; `fine`: the result stays an f64.
Scalar hypot(Scalar x, Scalar y, bool fine) {
  Scalar infinite = equal(abs(x), infinity(x)) | equal(abs(y), infinity(y));
  if (!fine) return select(infinite, infinity(x), sqrt(fma(x, x, y * y)));
  Scalar swap = abs(x) < abs(y);
  Scalar most = select(swap, abs(y), abs(x)), least = select(swap, abs(x), abs(y));
  Scalar large = most > 0x1p500, small = most < 0x1p-450;
  Scalar down = select(large, like(x, 0x1p-600), select(small, like(x, 0x1p600), 1.0));
  Scalar up = select(large, like(x, 0x1p600), select(small, like(x, 0x1p-600), 1.0));
  Pair a = exactProduct(most * down, most * down), b = exactProduct(least * down, least * down);
  Pair sum = orderedSum(a.hi, b.hi);
  Pair root = sqrt(Pair{sum.hi, sum.lo + (a.lo + b.lo)});
  Scalar result = select(equal(most, 0), 0.0, root.hi + root.lo) * up;
  return select(infinite, infinity(x), select(compare(Predicate::Uno, x, y), x + y, result));
}

/// Where the sum of the exponentials is near 1 its logarithm cancels: the error is then relative to the larger operand.
Scalar logAddExp(Scalar a, Scalar b) {
  Scalar most = greater(a, b), least = lesser(a, b);
  Scalar result = most + log1p(exp(least - most));
  result = select(equal(a, b), a + std::log(2.0), result);
  return select(compare(Predicate::Uno, a, b), a + b, result);
}

/// f(x, fine) of f64 values; `fine`: the result stays an f64. Functions of f32 values are computed in f64 too.
template <typename F>
Scalar inDoubles(Scalar x, F f) {
  return isDouble(x) ? f(x, true) : narrow(f(widen(x), false));
}

}  // namespace

Scalar settledCbrt(Scalar a, Scalar r, double third) {
  // One Newton step with a fused residual.
  Scalar inverseSquare = r * r;
  Scalar y = a * inverseSquare;
  Scalar square = y * y;
  Scalar squareError = fma(y, y, -square);
  Scalar residual = fma(-square, y, a) - squareError * y;
  return fma(residual, inverseSquare * third, y);
}

// In f32, where the larger of the two is within 2^60 of 1, so that no square that counts leaves the range, or 0;
// elsewhere in f64.
Scalar floats::hypot(Scalar x, Scalar y) {
  Scalar most = greater(abs(x), abs(y)), least = lesser(abs(x), abs(y));
  Pair square = exactProduct(least, least);
  Scalar sum = fma(most, most, square.hi);
  Scalar lost = fma(most, most, square.hi - sum) + square.lo;
  Pair root = rootWithError(sum, lost);
  constexpr uint64_t kLeast = 0x21800000, kRange = 0x5d800000 - kLeast;  // 2^-60 and 2^60
  Scalar large = bitsOf(most);
  Scalar rare = compare(Predicate::Ugt, large - bits(large, kLeast), bits(large, kRange)) & logicalNot(equal(most, 0));
  return x.builder->rarely(rare | isNan(x), root.hi + root.lo, [&] {
    const Scalar wideY = widen(y);
    return narrow(math::hypot(widen(x), wideY, false));
  });
}

Scalar floats::erfc(Scalar x) {
  Scalar a = lesser(10.5, abs(x));  // from there on the result is 0; NaN stays
  Scalar sum = a + 2.0;
  Scalar w = 1.0 / sum;
  // What w has lost, relative to it; the product changes by 1 + 2.75 w of that.
  Scalar lost = fma(-w, a - (sum - 2.0), fma(-w, sum, 1.0));
  lost = fma(lost * 2.75, w, lost);
  Scalar t = w - kErfcCenter32, slope = polynomial(t, std::span(kErfc32).subspan(1));
  Scalar p = fma(t, slope, kErfc32[0]), lostOfP = fma(t, slope, kErfc32[0] - p);
  Scalar product = w * p, square = a * a;
  ExponentialLessOne e = expLessOne(-square, fma(-a, a, square));
  Scalar low = fma(product, lost, fma(w, lostOfP, fma(w, p, -product)));
  Scalar rest = fma(product, e.r, fma(product, e.more, fma(low, e.r + e.more, low)));
  Scalar tail = scaleOrZero(product + rest, e.n, a > 10.2);  // erfc 10.2 is 2^-154
  Scalar large = select(x < 0.0, 2.0 - tail, tail);
  return select(a <= 0.5, erfcNear(x, polynomial(x * x, kErfSmall32)), large);
}

namespace functions {

Scalar tanh(Scalar x) { return isDouble(x) ? doubles::tanh(x) : tanh32(x); }
Scalar sigmoid(Scalar x) { return math::sigmoid(x); }
Scalar erf(Scalar x) { return isDouble(x) ? erf64(x) : erf32(x); }
Scalar erfc(Scalar x) { return isDouble(x) ? erfc64(x) : floats::erfc(x); }
Scalar asin(Scalar x) { return isDouble(x) ? doubles::asin(x) : floats::asin(x); }
Scalar acos(Scalar x) { return isDouble(x) ? doubles::acos(x) : floats::acos(x); }
Scalar asinh(Scalar x) { return isDouble(x) ? doubles::asinh(x) : floats::asinh(x); }
Scalar acosh(Scalar x) { return isDouble(x) ? doubles::acosh(x) : floats::acosh(x); }
Scalar atanh(Scalar x) { return isDouble(x) ? doubles::atanh(x) : floats::atanh(x); }
Scalar atan(Scalar x) { return isDouble(x) ? doubles::atan(x) : floats::atan(x); }
Scalar sinh(Scalar x) { return isDouble(x) ? doubles::coshAndSinh(x).sinh : floats::sinh(x); }
Scalar cosh(Scalar x) { return isDouble(x) ? doubles::coshAndSinh(x).cosh : floats::cosh(x); }
Scalar cbrt(Scalar x) { return isDouble(x) ? math::cbrt(x) : floats::cbrt(x); }
Scalar digamma(Scalar x) {
  return inDoubles(x, [](Scalar v, bool) { return doubles::digamma(v); });
}
Scalar hypot(Scalar x, Scalar y) { return isDouble(x) ? math::hypot(x, y, true) : floats::hypot(x, y); }
Scalar logAddExp(Scalar x, Scalar y) { return math::logAddExp(x, y); }

}  // namespace functions
}  // namespace tenc::codegen::math
