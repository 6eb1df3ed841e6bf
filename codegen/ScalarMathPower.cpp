// Powers of f32 and f64.
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {

// 16 log2 c of the intervals of intervalOf in two parts, the first a multiple of 2^-12.
constexpr double kLogHigh[16] = {
    -0x1.abep+2, -0x1.6e24p+2, -0x1.3714p+2, -0x1.fbcp+1, -0x1.84cp+1, -0x1.1ddp+1, -0x1.919p+0, -0x1.6bap-1,
    0,           0x1.7d6p+0,   0x1.564p+1,   0x1.f6p+1,   0x1.4f7p+2,  0x1.8a88p+2, 0x1.d7e8p+2, 0x1.0c6cp+3};
constexpr double kLogLow[16] = {-0x1.8797f2p-14, 0x1.e3263p-14,   0x1.b315b4p-14,
                                -0x1.6b9026p-15, -0x1.5e8178p-14, 0x1.734556p-14,
                                0x1.7a46e8p-14,  -0x1.a6eb1ep-14, 0,
                                0x1.25b3eep-18,  -0x1.1eb002p-14, -0x1.3ab7cep-14,
                                -0x1.134c4ep-16, 0x1.80abfcp-14,  -0x1.3f543cp-14,
                                0x1.55e18ap-14};
// 16 log2(1 + r) = (r - r^2 / 2) 16 / ln 2 + r^3 P(r), |r| <= 0.0345, to 2^-36
constexpr double kLogTail[] = {0x1.ec7096p+2, -0x1.71546ap+2, 0x1.27d01cp+2, -0x1.ed339ep+1};
constexpr double kUnit = 0x1.715476p+4, kUnitLow = 0x1.4ae0cp-22;
// 2^(f / 16) = 1 + f P(f), |f| <= 2
constexpr double kExp2Sixteenth[] = {0x1.62e42cp-5, 0x1.ebfbep-11, 0x1.c6e6dcp-17, 0x1.3b39c6p-23};
// 2^(i / 16) in two parts.
constexpr double kExp2High[16] = {0x1p+0,        0x1.0b5586p+0, 0x1.172b84p+0, 0x1.2387a6p+0,
                                  0x1.306fep+0,  0x1.3dea64p+0, 0x1.4bfdaep+0, 0x1.5ab07ep+0,
                                  0x1.6a09e6p+0, 0x1.7a1148p+0, 0x1.8ace54p+0, 0x1.9c4918p+0,
                                  0x1.ae89fap+0, 0x1.c199bep+0, 0x1.d5818ep+0, 0x1.ea4afap+0};
constexpr double kExp2Low[16] = {0,
                                 0x1.9f3122p-25,
                                 -0x1.c15742p-27,
                                 0x1.ceac48p-25,
                                 0x1.4636e2p-25,
                                 0x1.824684p-25,
                                 -0x1.593abcp-25,
                                 -0x1.5bd5ecp-27,
                                 0x1.9fcef4p-26,
                                 -0x1.829fdp-25,
                                 0x1.15506ep-27,
                                 0x1.51f848p-27,
                                 -0x1.a94b14p-26,
                                 -0x1.3d56b2p-27,
                                 -0x1.822dbcp-27,
                                 0x1.52486cp-27};

/// The sign and the special cases of pow, from |x|^y (C99 Annex F.9.4.4).
Scalar powSpecial(Scalar x, Scalar y, Scalar magnitude) {
  Scalar isInteger = equal(truncate(y), y) & (abs(y) < infinity(y));
  Scalar half = y * 0.5;
  Scalar odd = isInteger & compare(Predicate::Une, truncate(half), half);
  Scalar negative = compare(Predicate::Slt, bitsOf(x), bits(bitsOf(x), 0));
  Scalar result = select(negative & odd, -magnitude, magnitude);
  result = select((x < 0.0) & logicalNot(isInteger) & (abs(x) < infinity(x)) & (abs(y) < infinity(y)), nan(x), result);
  // 0 * infinity in the product: |x| = 1 and y infinite gives 1.
  result = select(equal(abs(x), 1) & equal(abs(y), infinity(y)), 1.0, result);
  return select(equal(y, 0) | equal(x, 1), 1.0, result);
}

/// 16 log2(x 2^-shift) of a positive normal f32, to 2^-34 of itself; lo is up to a 1600th of hi.
Pair logOfFloat(Scalar x, double shift) {
  ScalarBuilder& b = *x.builder;
  Interval i = intervalOf(x);
  Scalar product = i.m * i.inverse;
  Scalar lost = fma(i.m, i.inverse, -product);
  Scalar r = product - 1.0;
  // u = r - r^2 / 2, and what r lost times the derivative of the logarithm.
  Scalar lessHalf = r * -0.5;
  Scalar u = fma(lessHalf, r, r);
  Scalar uLow = fma(fma(r, r, -r), lost, lost + fma(lessHalf, r, r - u));
  Scalar whole = fma(i.scaledExponent, 0x1p-19, b.lookup(kLogHigh, i.index));  // exactly
  if (shift != 0) whole = whole - 16 * shift;
  Scalar sum = fma(u, kUnit, whole);
  Scalar low = fma(r * r * r, polynomial(r, kLogTail), b.lookup(kLogLow, i.index));
  low = fma(uLow, kUnit, fma(u, kUnitLow, low));
  return {sum, low + fma(u, kUnit, whole - sum)};
}

/// 2^(y log / 16), `product` being y * log.hi.
Scalar powerOf(Scalar y, Pair log, Scalar product) {
  // Beyond the range of an f32 on both sides. NaN stays: lesser and greater return their second operand.
  Scalar t = greater(-2560.0, lesser(2560.0, product));
  // Less than 1.6 within that range. Above it may be anything but negative; NaN, of infinities, goes.
  Scalar low = fma(y, log.lo, fma(y, log.hi, -t));
  low = greater(low, like(y, -1.6));
  Scalar n = roundEven(t);
  Scalar f = (t - n) + low;
  Scalar index = convert(ConvertInst::FToSInt, n, Repr::I32);
  ScalarBuilder& b = *y.builder;
  Scalar high = b.lookup(kExp2High, index);
  Scalar power = high + fma(high, f * polynomial(f, kExp2Sixteenth), b.lookup(kExp2Low, index));
  return b.scaleByPowerOf2(power, floor(n * 0.0625));
}

/// The logarithm is a pair and the power has a table in two parts, so that the last addition is nearly all that rounds.
Scalar powOfFloats(Scalar x, Scalar y) {
  Scalar p = bitsOf(x);
  Pair log = logOfFloat(x, 0);
  Scalar product = y * log.hi;
  // All but positive normal bases; exponents that are NaN, or infinite where the base is 1.
  Scalar special = compare(Predicate::Uge, p - bits(p, 0x00800000), bits(p, 0x7f000000)) | isNan(product);
  return x.builder->rarely(special, powerOf(y, log, product), [&] {
    Scalar a = abs(x), tiny = a < 0x1p-126;
    Pair any = select(tiny, logOfFloat(a * 0x1p25, 25), logOfFloat(a, 0));
    // log 0; infinity and NaN are their own.
    Scalar ordinary = (a > 0.0) & (a < infinity(a));
    any.hi = select(ordinary, any.hi, select(equal(a, 0), -infinity(a), a));
    any.lo = select(ordinary, any.lo, 0.0);
    return powSpecial(x, y, powerOf(y, any, y * any.hi));
  });
}

/// e^(y log), `product` being y * log.hi.
Scalar expOfProduct(Scalar y, Pair log, Pair product) {
  Scalar inRange = abs(product.hi) < 800.0;
  Exponential e = expPair({product.hi, select(inRange, fma(log.lo, y, product.lo), 0.0)});
  return y.builder->scaleByPowerOf2(e.value.hi + e.value.lo, e.n);
}

Scalar powOfDoubles(Scalar x, Scalar y) {
  Pair log = logPairOfNormal(x, like(x, 0));
  Pair product = exactProduct(log.hi, y);
  Scalar ordinary = (x >= 0x1p-1022) & (x < infinity(x)) & logicalNot(isNan(product.hi));
  return x.builder->rarely(logicalNot(ordinary), expOfProduct(y, log, product), [&] {
    Scalar a = abs(x);
    Pair any = logPair(a);
    // log 0; infinity and NaN are their own.
    Scalar finite = (a > 0.0) & (a < infinity(a));
    any.hi = select(finite, any.hi, select(equal(a, 0), -infinity(a), a));
    any.lo = select(finite, any.lo, 0.0);
    return powSpecial(x, y, expOfProduct(y, any, exactProduct(any.hi, y)));
  });
}

}  // namespace

Scalar functions::pow(Scalar x, Scalar y) { return x.repr == Repr::F64 ? powOfDoubles(x, y) : powOfFloats(x, y); }

}  // namespace tenc::codegen::math
