// Powers of f32 and f64.
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {

// 16 log2 c of the intervals of intervalOf in two parts, the first a multiple of 2^-12.
constexpr double kLogHigh32[16] = {
    -0x1.abep+2, -0x1.6e24p+2, -0x1.3714p+2, -0x1.fbcp+1, -0x1.84cp+1, -0x1.1ddp+1, -0x1.919p+0, -0x1.6bap-1,
    0,           0x1.7d6p+0,   0x1.564p+1,   0x1.f6p+1,   0x1.4f7p+2,  0x1.8a88p+2, 0x1.d7e8p+2, 0x1.0c6cp+3};
constexpr double kLogLow32[16] = {-0x1.8797f2p-14, 0x1.e3263p-14,   0x1.b315b4p-14,
                                  -0x1.6b9026p-15, -0x1.5e8178p-14, 0x1.734556p-14,
                                  0x1.7a46e8p-14,  -0x1.a6eb1ep-14, 0,
                                  0x1.25b3eep-18,  -0x1.1eb002p-14, -0x1.3ab7cep-14,
                                  -0x1.134c4ep-16, 0x1.80abfcp-14,  -0x1.3f543cp-14,
                                  0x1.55e18ap-14};
// 16 log2(1 + r) = (r - r^2 / 2) 16 / ln 2 + r^3 P(r), |r| <= 0.0345, to 2^-36
constexpr double kLogTail32[] = {0x1.ec7096p+2, -0x1.71546ap+2, 0x1.27d01cp+2, -0x1.ed339ep+1};
constexpr double kUnit32 = 0x1.715476p+4, kUnitLow32 = 0x1.4ae0cp-22;
// 2^(f / 16) = 1 + f P(f), |f| <= 2
constexpr double kExp2Sixteenth32[] = {0x1.62e42cp-5, 0x1.ebfbep-11, 0x1.c6e6dcp-17, 0x1.3b39c6p-23};
// 2^(i / 16) in two parts.
constexpr double kExp2High32[16] = {0x1p+0,        0x1.0b5586p+0, 0x1.172b84p+0, 0x1.2387a6p+0,
                                    0x1.306fep+0,  0x1.3dea64p+0, 0x1.4bfdaep+0, 0x1.5ab07ep+0,
                                    0x1.6a09e6p+0, 0x1.7a1148p+0, 0x1.8ace54p+0, 0x1.9c4918p+0,
                                    0x1.ae89fap+0, 0x1.c199bep+0, 0x1.d5818ep+0, 0x1.ea4afap+0};
constexpr double kExp2Low32[16] = {0,
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

// The same of f64. 1/c has so few bits that r = m / c - 1 is exact.
constexpr double kInverse64[16] = {0x1.58p+0, 0x1.48p+0, 0x1.38p+0, 0x1.3p+0, 0x1.28p+0, 0x1.18p+0, 0x1.1p+0, 0x1.08p+0,
                                   0x1p+0,    0x1.ep-1,  0x1.c8p-1, 0x1.bp-1, 0x1.98p-1, 0x1.88p-1, 0x1.7p-1, 0x1.6p-1};
// 16 log2 c, the first part a multiple of 2^-38.
constexpr double kLogHigh64[16] = {-0x1.b47ebf7388p+2, -0x1.6e221cd9d1p+2, -0x1.24407ab0ep+2,
                                   -0x1.fbc16b9026p+1, -0x1.acf5e2db4ep+1, -0x1.08c588cda8p+1,
                                   -0x1.663f6fac9p+0,  -0x1.6bad3758fp-1,  0,
                                   0x1.7d60496cfcp+0,  0x1.563dc29ffap+1,  0x1.f5fd8a9064p+1,
                                   0x1.4f6fbb2cecp+2,  0x1.8a8980abfcp+2,  0x1.e7df5fe539p+2,
                                   0x1.14c560fe688p+3};
constexpr double kLogLow64[16] = {-0x1.50520a377c7ecp-41, 0x1.90d43956fa5d8p-41, -0x1.ce60916e52e91p-40,
                                  -0x1.0144751b3314fp-40, -0x1.927dfc23d978p-40, 0x1.871a7610e40bdp-41,
                                  -0x1.3167ccc538261p-40, 0x1.3c6764fc87b4ap-44, 0,
                                  -0x1.2ce6312ebb81dp-42, 0x1.964190e41bca7p-40, -0x1.cb6f70109b0f1p-43,
                                  0x1.661e393a16b95p-40,  -0x1.66cccab240e9p-41, -0x1.532c412ba94dbp-40,
                                  0x1.7c407050799bfp-40};
// |r| <= 0.0342, to 2^-65 of the whole.
constexpr double kLogTail64[] = {0x1.ec709dc3a03fdp+2,  -0x1.71547652b8270p+2, 0x1.2776c50ef99a9p+2,
                                 -0x1.ec709dc6b8733p+1, 0x1.a61762ae57794p+1,  -0x1.71545115438e7p+1,
                                 0x1.484add1b49fc6p+1,  -0x1.281cb580dc2f0p+1, 0x1.0d55bbc01eae7p+1};
constexpr double kUnit64 = 0x1.71547652b82fep+4, kUnitLow64 = 0x1.777d0ffda0d24p-52;
// 2^(f / 16) = 1 + f P(f), |f| <= 1/2
constexpr double kExp2Sixteenth64[] = {0x1.62e42fefa39efp-5,  0x1.ebfbdff82c597p-11, 0x1.c6b08d704a0c8p-17,
                                       0x1.3b2ab6fadf3d4p-23, 0x1.5d87fe77cc129p-30, 0x1.430a67d3205f4p-37,
                                       0x1.ffce1208221dfp-45};
constexpr double kExp2High64[16] = {0x1p+0,
                                    0x1.0b5586cf9890fp+0,
                                    0x1.172b83c7d517bp+0,
                                    0x1.2387a6e756238p+0,
                                    0x1.306fe0a31b715p+0,
                                    0x1.3dea64c123422p+0,
                                    0x1.4bfdad5362a27p+0,
                                    0x1.5ab07dd485429p+0,
                                    0x1.6a09e667f3bcdp+0,
                                    0x1.7a11473eb0187p+0,
                                    0x1.8ace5422aa0dbp+0,
                                    0x1.9c49182a3f09p+0,
                                    0x1.ae89f995ad3adp+0,
                                    0x1.c199bdd85529cp+0,
                                    0x1.d5818dcfba487p+0,
                                    0x1.ea4afa2a490dap+0};
constexpr double kExp2Low64[16] = {0,
                                   0x1.8a62e4adc610bp-54,
                                   -0x1.19041b9d78a76p-55,
                                   0x1.9b07eb6c70573p-54,
                                   0x1.6f46ad23182e4p-55,
                                   0x1.ada0911f09ebcp-55,
                                   0x1.d4397afec42e2p-56,
                                   0x1.6324c054647adp-54,
                                   -0x1.bdd3413b26456p-54,
                                   -0x1.41577ee04992fp-55,
                                   0x1.6e9f156864b27p-54,
                                   0x1.c7c46b071f2bep-56,
                                   0x1.7a1cd345dcc81p-54,
                                   0x1.11065895048ddp-55,
                                   0x1.2ed02d75b3707p-55,
                                   -0x1.e9c23179c2893p-54};

/// pow where the base is not a positive normal number or the product leaves the range, from |x|^y of a normal x (C99
/// Annex F.9.4.4).
Scalar powSpecial(Scalar x, Scalar y, Scalar magnitude) {
  Scalar a = abs(x);
  // Bases 0 and infinity.
  Scalar edge = select(equal(a, 0) ^ (y > 0.0), infinity(x), like(x, 0));
  edge = select(compare(Predicate::Uno, x, y), nan(x), edge);
  magnitude = select((a > 0.0) & (a < infinity(x)), magnitude, edge);
  // Infinity is an even integer.
  Scalar half = y * 0.5;
  Scalar isInteger = equal(truncate(y), y), odd = isInteger & compare(Predicate::Une, truncate(half), half);
  Scalar negative = compare(Predicate::Slt, bitsOf(x), bits(bitsOf(x), 0));
  Scalar result = select(negative & odd, -magnitude, magnitude);
  result = select((x < 0.0) & logicalNot(isInteger) & (a < infinity(x)), nan(x), result);
  // 0 * infinity in the product: |x| = 1 and y infinite gives 1.
  result = select(equal(a, 1) & equal(abs(y), infinity(y)), 1.0, result);
  return select(equal(y, 0) | equal(x, 1), 1.0, result);
}

/// All but positive normal numbers.
Scalar isNotOrdinary(Scalar x) {
  Scalar p = bitsOf(x);
  const bool d = x.repr == Repr::F64;
  return compare(Predicate::Uge, p - bits(p, d ? uint64_t{1} << 52 : 1 << 23),
                 bits(p, d ? uint64_t{0x7fe0000000000000} : 0x7f000000));
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
  Scalar whole = fma(i.scaledExponent, 0x1p-19, b.lookup(kLogHigh32, i.index));  // exactly
  if (shift != 0) whole = whole - 16 * shift;
  Scalar sum = fma(u, kUnit32, whole);
  Scalar low = fma(r * r * r, polynomial(r, kLogTail32), b.lookup(kLogLow32, i.index));
  low = fma(uLow, kUnit32, fma(u, kUnitLow32, low));
  return {sum, low + fma(u, kUnit32, whole - sum)};
}

/// 16 log2(x 2^-shift) of a positive normal f64, to 2^-63 of itself; lo is up to a 2000th of hi.
Pair logOfDouble(Scalar x, double shift) {
  ScalarBuilder& b = *x.builder;
  // As intervalOf does, but for exponents, which are biased: AVX2 does not convert 64-bit integers.
  Scalar biased = bitsOf(x) + bits(bitsOf(x), 0x0008800000000000);  // from 47/64 to 2^0
  Scalar index = lshr(biased, 48);
  Scalar m = floatOfBits((biased & uint64_t{0x000fffffffffffff}) + bits(biased, 0x3fe7800000000000));
  Scalar e = floatOfBits(lshr(biased, 52) | uint64_t{0x4330000000000000}) - (0x1p52 + 1023 + shift);
  Scalar r = fma(m, b.lookup(kInverse64, index), -1.0);
  // u = r - r^2 / 2
  Scalar lessHalf = r * -0.5;
  Scalar u = fma(lessHalf, r, r);
  Scalar uLow = fma(lessHalf, r, r - u);
  Scalar whole = fma(e, 16.0, b.lookup(kLogHigh64, index));  // exactly
  Scalar sum = fma(u, kUnit64, whole);
  // All but the tail is little.
  Scalar low = fma(uLow, kUnit64, fma(u, kUnitLow64, b.lookup(kLogLow64, index))) + fma(u, kUnit64, whole - sum);
  return {sum, fma(r * r * r, polynomial(r, kLogTail64), low)};
}

/// 2^((t + low) / 16) of a normal result, to a sixth of a unit in the last place before it is rounded; |low| <= 2.
Scalar powerOf(Scalar t, Scalar low) {
  const bool d = t.repr == Repr::F64;
  ScalarBuilder& b = *t.builder;
  // The integer next to it is what adding a large number leaves in the low bits.
  const double large = d ? 0x1.8p52 : 0x1.8p23;
  Scalar shifted = (d ? t + low : t) + large;  // the polynomial of f32 reaches to 2
  Scalar integer = bitsOf(shifted);
  Scalar f = (t - (shifted - large)) + low;
  Scalar high = b.lookup(d ? kExp2High64 : kExp2High32, integer);
  Scalar p = d ? polynomial(f, kExp2Sixteenth64) : polynomial(f, kExp2Sixteenth32);
  Scalar power = high + fma(high, f * p, b.lookup(d ? kExp2Low64 : kExp2Low32, integer));
  Scalar exponent = d ? shl(integer, 48) & uint64_t{0xfff0000000000000} : shl(integer, 19) & uint64_t{0xff800000};
  return floatOfBits(bitsOf(power) + exponent);
}

}  // namespace

/// The logarithm is a pair and the power has a table in two parts, so that the last addition is nearly all that rounds.
Scalar functions::pow(Scalar x, Scalar y) {
  const bool d = x.repr == Repr::F64;
  auto logOf = [&](Scalar v, double shift) { return d ? logOfDouble(v, shift) : logOfFloat(v, shift); };
  Scalar a = abs(x);
  Pair log = logOf(a, 0);
  Scalar t = y * log.hi;
  Scalar magnitude = powerOf(t, fma(y, log.lo, fma(y, log.hi, -t)));
  Scalar inRange = abs(t) < (d ? 16336.0 : 2000.0);
  return x.builder->rarely(isNotOrdinary(x) | logicalNot(inRange), magnitude, [&] {
    const double leastNormal = d ? 0x1p-1022 : 0x1p-126;
    Scalar again = (a > 0.0) & (a < infinity(a)) & logicalNot(inRange & (a >= leastNormal));
    Scalar any = x.builder->rarely(again, magnitude, [&] {
      const double shift = d ? 54 : 25;
      Pair whole = select(a < leastNormal, logOf(a * (d ? 0x1p54 : 0x1p25), shift), log);
      Scalar product = y * whole.hi;
      // Beyond the range on both sides. NaN stays: lesser and greater return their second operand.
      const double most = d ? 20000 : 2560;
      Scalar bounded = greater(-most, lesser(most, product));
      Scalar low = select(equal(bounded, product), fma(y, whole.lo, fma(y, whole.hi, -product)), 0.0);
      Scalar n = roundEven(bounded * 0x1p-4);
      Scalar vanishes = bounded < (d ? -16.0 * 1076 : -16.0 * 151);
      return scaleOrZero(powerOf(fma(n, -16.0, bounded), low), n, vanishes);
    });
    return powSpecial(x, y, any);
  });
}

}  // namespace tenc::codegen::math
