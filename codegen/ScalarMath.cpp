// The exponential and logarithmic families, written once for f32 and f64; coefficients are minimax
// (Remez) for the two precisions. Sine and cosine are in ScalarMathTrigonometric.cpp, families built from these in
// ScalarMathMore.cpp.
#include "codegen/ScalarMath.h"

#include <cmath>
#include <limits>

namespace tenc::codegen::math {
namespace {

using Coefficients = std::span<const double>;

bool isDouble(Scalar x) { return x.repr == Repr::F64; }

/// A polynomial as E(x^2) + x O(x^2), which takes half as many steps one after the other.
template <size_t N>
Scalar byHalves(Scalar x, Scalar square, const double (&c)[N]) {
  double even[(N + 1) / 2], odd[N / 2];
  for (size_t i = 0; i < N; ++i) (i % 2 == 0 ? even : odd)[i / 2] = c[i];
  return fma(x, polynomial(square, odd), polynomial(square, even));
}

// e^r = 1 + r + r^2 P(r), |r| <= ln(2)/2
constexpr double kExp32[] = {0x1p-1, 0x1.555556p-3, 0x1.55549ep-5, 0x1.11101cp-7, 0x1.6d84c2p-10, 0x1.a2a696p-13};
constexpr double kExp32Short[] = {0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558f8p-5, 0x1.123b02p-7, 0x1.6a2256p-10};
constexpr double kExp64[] = {0x1p-1,
                             0x1.555555555555bp-3,
                             0x1.5555555555503p-5,
                             0x1.111111110ec5ep-7,
                             0x1.6c16c16c30521p-10,
                             0x1.a01a01b37debp-13,
                             0x1.a01a01366954ap-16,
                             0x1.71ddf0214daacp-19,
                             0x1.27e5b48b7a914p-22,
                             0x1.af6be751a2a0dp-26,
                             0x1.1e3cd07bb6f51p-29};
// e^r = 1 + r + r^2/2 + r^3 P(r)
constexpr double kExpm164[] = {0x1.5555555555555p-3,  0x1.5555555555557p-5,  0x1.1111111111106p-7,
                               0x1.6c16c16c156dbp-10, 0x1.a01a01a0207f4p-13, 0x1.a01a01ab4678ap-16,
                               0x1.71de3a3c1d44ap-19, 0x1.27e4d0d9b086bp-22, 0x1.ae64a2d4a948fp-26,
                               0x1.1f848228b33b1p-29, 0x1.61162f32ed275p-33};
// 2^r = 1 + r P(r), |r| <= 1/2
constexpr double kExp2[] = {0x1.62e432p-1, 0x1.ebfbe2p-3, 0x1.c6ae6ep-5, 0x1.3b2706p-7, 0x1.5f7486p-10, 0x1.470fa4p-13};
// log(1 + f) = f - f^2/2 + f^3 P(f), sqrt(1/2) - 1 <= f <= sqrt(2) - 1
constexpr double kLog32[] = {0x1.555548p-2,  -0x1.000006p-2, 0x1.99a4b4p-3,  -0x1.555c5p-3, 0x1.233778p-3,
                             -0x1.fc21a6p-4, 0x1.e6ef6cp-4,  -0x1.de3e56p-4, 0x1.145c48p-4};
// By intervals of a sixteenth, the first at 47/64: 1/c, and log c in two parts, the first a multiple of 2^-16.
constexpr double kLogInverse32[16] = {0x1.56p+0, 0x1.48p+0, 0x1.3cp+0, 0x1.3p+0, 0x1.24p+0, 0x1.1ap+0,
                                      0x1.12p+0, 0x1.08p+0, 0x1p+0,    0x1.ep-1, 0x1.c8p-1, 0x1.bp-1,
                                      0x1.98p-1, 0x1.88p-1, 0x1.74p-1, 0x1.64p-1};
constexpr double kLogHigh32[16] = {-0x1.2894p-2, -0x1.fb9p-3, -0x1.af4p-3, -0x1.5ffp-3, -0x1.0d78p-3, -0x1.8c3p-4,
                                   -0x1.165p-4,  -0x1.f84p-6, 0,           0x1.086p-4,  0x1.da7p-4,   0x1.5bf8p-3,
                                   0x1.d1p-3,    0x1.1178p-2, 0x1.4718p-2, 0x1.741cp-2};
constexpr double kLogLow32[16] = {-0x1.a13de8p-18, -0x1.86d5e4p-19, 0x1.b58bfap-18,
                                  -0x1.83853cp-18, 0x1.832f72p-23,  -0x1.1758c6p-18,
                                  -0x1.b7751cp-19, 0x1.64f188p-18,  0,
                                  -0x1.9d2988p-18, 0x1.3b1c22p-19,  -0x1.fca55ep-18,
                                  0x1.bf932ap-18,  0x1.d044fcp-19,  0x1.b84e38p-19,
                                  0x1.876c68p-18};
// log(1 + r) = r + r^2 P(r), |r| <= 0.034
constexpr double kLogNear32[] = {-0x1.fffffcp-2, 0x1.55552ep-2, -0x1.00377cp-2, 0x1.9b9f3ep-3};
// log(1 + f) = 2s + s^3 P(s^2), s = f / (2 + f)
constexpr double kLog64[] = {0x1.5555555555592p-1, 0x1.999999997fe1ep-2, 0x1.24924941ece42p-2, 0x1.c71c520bc2468p-3,
                             0x1.74663e9f187b9p-3, 0x1.39a1bd1bbf7d6p-3, 0x1.2f057b35c5674p-3};
// log(1 + f) = 2s + s^3 (2/3 + s^2 P(s^2)), s = f / (2 + f)
constexpr double kLogTail64[] = {0x1.999999999999ap-2, 0x1.2492492492491p-2, 0x1.c71c71c71cfe7p-3,
                                 0x1.745d1745124c7p-3, 0x1.3b13b1bd0eafcp-3, 0x1.1110df7e2aea6p-3,
                                 0x1.e1f80a4c5564ap-4, 0x1.ac492702876b6p-4, 0x1.b8e0c09d966c5p-4};
constexpr double kLog2E = 0x1.71547652b82fep+0;
// ln 2 and log10 2 with trailing zeros, so that n times the high part is exact.
constexpr double kLn2High32 = 0x1.62e4p-1, kLn2Low32 = 0x1.7f7d1cp-20;
constexpr double kLn2High64 = 0x1.62e42fefa3800p-1, kLn2Low64 = 0x1.ef35793c76730p-45;

/// x = n ln 2 + r.
struct Reduced {
  Scalar n, r;
};
Reduced reduceByLn2(Scalar x) {
  Scalar n = roundEven(x * kLog2E);
  bool d = isDouble(x);
  Scalar r = fma(n, d ? -kLn2High64 : -kLn2High32, x);
  return {n, fma(n, d ? -kLn2Low64 : -kLn2Low32, r)};
}

/// Limits beyond which exp overflows or vanishes whatever follows; keeps n in the range of scaleByPowerOf2.
Scalar clampExponent(Scalar x, double least, double most) {
  // NaN stays: lesser and greater return their second operand.
  return greater(least, lesser(most, x));
}

/// m in [sqrt(1/2), sqrt(2)) and e with x = m 2^e for positive normal x.
struct Split {
  Scalar m, e;
};
Split splitExponent(Scalar x) {
  bool d = isDouble(x);
  int mantissa = d ? 52 : 23;
  uint64_t rootHalf = d ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Scalar p = bitsOf(x);
  Scalar shifted = p - bits(p, rootHalf);
  Scalar m = floatOfBits((shifted & ((uint64_t{1} << mantissa) - 1)) + bits(p, rootHalf));
  if (!d) return {m, convert(ConvertInst::SIntToF, ashr(shifted, 23), Repr::F32)};
  // AVX2 neither converts 64-bit integers nor shifts them with their sign: e + 1023 becomes the low bits of 2^52 + ...
  Scalar biased = lshr(shifted + bits(p, uint64_t{1023} << 52), 52);
  return {m, floatOfBits(biased | uint64_t{0x4330000000000000}) - (0x1p52 + 1023)};
}

/// log(1 + f) = f + low, |f| within [sqrt(1/2) - 1, sqrt(2) - 1]. `ratio` becomes f / (2 + f), of f64.
Scalar logLow(Scalar f, Scalar* ratio = nullptr) {
  Scalar half = f * f * 0.5;
  if (!isDouble(f)) return fma(f * f * f, polynomial(f, kLog32), -half);
  Scalar s = f / (f + 2.0);
  if (ratio != nullptr) *ratio = s;
  Scalar z = s * s;
  Scalar r = z * polynomial(z, kLog64);
  return fma(s, half + r, -half);
}

/// Everything but positive normal numbers.
Scalar isNotOrdinary(Scalar x) {
  if (isDouble(x)) return logicalNot((x >= 0x1p-1022) & (x < infinity(x)));
  Scalar p = bitsOf(x);
  return compare(Predicate::Uge, p - bits(p, 0x00800000), bits(p, 0x7f000000));
}

/// Results for x <= 0, infinity and NaN.
Scalar logSpecial(Scalar x, Scalar result) {
  result = select(x < infinity(x), result, x);  // +inf and NaN
  result = select(equal(x, 0), -infinity(x), result);
  return select(x < 0.0, nan(x), result);
}

/// The logarithm of f64 to a base: e * (high + low) + log(1+f) * (scaleHigh + scaleLow).
struct Base {
  double unitHigh, unitLow, scaleHigh, scaleLow;
};

/// Of a positive normal number, plus that of 2^shift.
Scalar logToBaseOfNormal(Scalar x, const Base& base, double shift) {
  Split parts = splitExponent(x);
  Scalar e = parts.e + shift;
  Scalar f = parts.m - 1.0;
  Scalar low = logLow(f);
  Scalar small = fma(e, base.unitLow, fma(low, base.scaleHigh, (f + low) * base.scaleLow));
  // The two large terms are summed with their error.
  Scalar a = e * base.unitHigh;
  Scalar b = f * base.scaleHigh;
  Scalar bError = fma(f, base.scaleHigh, -b);
  Scalar sum = a + b;
  Scalar error = select(equal(e, 0), 0.0, b - (sum - a));
  return sum + (small + (bError + error));
}

Scalar logToBase(Scalar x, const Base& base) {
  return x.builder->rarely(isNotOrdinary(x), logToBaseOfNormal(x, base, 0),
                           [&] { return logSpecial(x, logToBaseOfNormal(x * 0x1p54, base, -54)); });
}

/// The same of f32, as e * (high + low) + log c + r * (scaleHigh + scaleLow) + r^2 P(r), by the intervals of log.
struct Base32 {
  double unitHigh, unitLow, scaleHigh, scaleLow;
  double high[16], low[16];  ///< log c, the first a multiple of 2^-16
  double near[4];
};
constexpr Base32 kBase2 = {
    1,
    0,
    0x1.715476p+0,
    0x1.4ae0cp-26,
    {-0x1.abep-2, -0x1.6e24p-2, -0x1.3714p-2, -0x1.fbcp-3, -0x1.84cp-3, -0x1.1ddp-3, -0x1.919p-4, -0x1.6bap-5, 0,
     0x1.7d6p-4, 0x1.564p-3, 0x1.f6p-3, 0x1.4f7p-2, 0x1.8a88p-2, 0x1.d7e8p-2, 0x1.0c6cp-1},
    {-0x1.8797f2p-18, 0x1.e3263p-18, 0x1.b315b4p-18, -0x1.6b9026p-19, -0x1.5e8178p-18, 0x1.734556p-18, 0x1.7a46e8p-18,
     -0x1.a6eb1ep-18, 0, 0x1.25b3eep-22, -0x1.1eb002p-18, -0x1.3ab7cep-18, -0x1.134c4ep-20, 0x1.80abfcp-18,
     -0x1.3f543cp-18, 0x1.55e18ap-18},
    {-0x1.715472p-1, 0x1.ec7096p-2, -0x1.71b866p-2, 0x1.27cdfcp-2}};
constexpr Base32 kBase10 = {
    0x1.344p-2,
    0x1.3509f8p-18,
    0x1.bcb7b2p-2,
    -0x1.5b235ep-27,
    {-0x1.01ap-3, -0x1.b8ep-4, -0x1.769p-4, -0x1.31bp-4, -0x1.d42p-5, -0x1.582p-5, -0x1.e38p-6, -0x1.b6p-7, 0,
     0x1.cb4p-6, 0x1.9c2p-5, 0x1.2e4p-4, 0x1.93ep-4, 0x1.db1p-4, 0x1.1c2p-3, 0x1.4338p-3},
    {0x1.eafcdap-18, 0x1.b2c54cp-20, -0x1.40a252p-20, -0x1.82ae24p-19, 0x1.574d82p-20, -0x1.c7759ap-20, -0x1.ab2f42p-24,
     0x1.6f714ep-19, 0, -0x1.c0cc9ep-20, -0x1.a1504p-19, -0x1.62fd22p-18, 0x1.f783fp-18, 0x1.ed766ap-20,
     -0x1.8b3552p-18, -0x1.c643f2p-20},
    {-0x1.bcb7acp-3, 0x1.287a7p-3, -0x1.bd30fp-4, 0x1.643aa8p-4}};

Scalar logToBaseOfNormal(Scalar x, const Base32& base) {
  Interval i = intervalOf(x);
  ScalarBuilder& b = *x.builder;
  Scalar r = fma(i.m, i.inverse, -1.0);
  Scalar low = fma(r, base.scaleLow, b.lookup(base.low, i.index));
  if (base.unitLow != 0) low = fma(i.scaledExponent, base.unitLow * 0x1p-23, low);
  low = fma(r * r, polynomial(r, base.near), low);
  return fma(i.scaledExponent, base.unitHigh * 0x1p-23, b.lookup(base.high, i.index)) + fma(r, base.scaleHigh, low);
}

Scalar logToBase(Scalar x, const Base32& base) {
  return x.builder->rarely(isNotOrdinary(x), logToBaseOfNormal(x, base), [&] {
    return logSpecial(x, logToBaseOfNormal(x * 0x1p25, base) - 25 * (base.unitHigh + base.unitLow));
  });
}

Scalar log2(Scalar x) {
  if (!isDouble(x)) return logToBase(x, kBase2);
  return logToBase(x, Base{1, 0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
}

Scalar log10(Scalar x) {
  if (!isDouble(x)) return logToBase(x, kBase10);
  return logToBase(x, Base{0x1.34413509f78p-2, 0x1.fef311f12b358p-46, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}

Scalar exp2(Scalar x) {
  bool d = isDouble(x);
  x = clampExponent(x, d ? -1100 : -160, d ? 1100 : 160);
  Scalar n = roundEven(x);
  Scalar r = x - n;
  Scalar p;
  if (d) {
    Scalar t = r * 0x1.62e42fefa39efp-1;
    Scalar low = fma(r, 0x1.62e42fefa39efp-1, -t) + r * 0x1.abc9e3b39803fp-56;
    p = 1.0 + (t + fma(t * t, polynomial(t, kExp64), low));
  } else {
    p = fma(r, polynomial(r, kExp2), 1.0);
  }
  return scaleOrZero(p, n, x < (d ? -1075.0 : -150.0));
}

}  // namespace

Scalar scaleOrZero(Scalar x, Scalar n, Scalar vanishes) {
  ScalarBuilder& b = *x.builder;
  return b.scaleByPowerOf2(b.isUnderflowSlow() ? select(vanishes, like(x, 0), x) : x, n);
}

Scalar exp(Scalar x) {
  bool d = isDouble(x);
  x = clampExponent(x, d ? -760 : -110, d ? 715 : 95);
  Reduced a = reduceByLn2(x);
  Scalar p;
  if (d) {
    p = 1.0 + fma(a.r * a.r, polynomial(a.r, kExp64), a.r);
  } else {
    p = 1.0 + fma(a.r * a.r, polynomial(a.r, kExp32Short), a.r);
  }
  return scaleOrZero(p, a.n, x < (d ? -745.2 : -104.0));
}

Pair expWithError(Scalar x) {
  Reduced a = reduceByLn2(clampExponent(x, -760, 715));
  Pair e = orderedSum(like(x, 1), fma(a.r * a.r, polynomial(a.r, kExp64), a.r));
  Scalar scale = x.builder->scaleByPowerOf2(like(x, 1), a.n);
  return {e.hi * scale, e.lo * scale};
}

Scalar expm1(Scalar x) {
  bool d = isDouble(x);
  Scalar clamped = clampExponent(x, d ? -40 : -20, d ? 709.9 : 88.8);
  Reduced a = reduceByLn2(clamped);
  // What rounding r lost matters where the result is near 0: there n = 0 and r is exact.
  Scalar square = a.r * a.r;
  Scalar low = d ? fma(square * a.r, polynomial(a.r, kExpm164), square * 0.5) : like(x, 0);
  Scalar m = d ? a.r + low : fma(square, polynomial(a.r, kExp32), a.r);
  // 2^n (m + 1) - 1 by halves, since 2^n may overflow where the result does not.
  Scalar half = x.builder->scaleByPowerOf2(like(x, 0.5), a.n);
  Scalar result;
  if (d) {
    Pair sum = exactSum(half - 0.5, half * a.r);
    result = (sum.hi + fma(half, low, sum.lo)) * 2.0;
  } else {
    result = fma(half, m, half - 0.5) * 2.0;
  }
  result = select(equal(a.n, 0), m, result);
  return select(equal(x, 0), x, result);
}

Interval intervalOf(Scalar x) {
  Scalar p = bitsOf(x);
  Scalar shifted = p - bits(p, 0x3f3c0000);  // 47/64
  Scalar index = lshr(shifted, 19);
  Scalar exponent = shifted & uint64_t{0xff800000};
  return {floatOfBits(p - exponent), convert(ConvertInst::SIntToF, exponent, x.repr), index,
          x.builder->lookup(kLogInverse32, index)};
}

namespace {
/// log(m 2^e) of an f64.
Scalar logOfSplit(Scalar m, Scalar e) {
  Scalar f = m - 1.0;
  return fma(e, kLn2High64, f + fma(e, kLn2Low64, logLow(f)));
}
}  // namespace

namespace {
/// e ln 2 + log c + (r + r^2 P(r)) + lost of f32; r is as good as exact, and the high parts of e ln 2 + log c are.
Scalar logOfInterval(const Interval& i, Scalar r, const Scalar* lost) {
  ScalarBuilder& b = *r.builder;
  Scalar low = fma(i.scaledExponent, kLn2Low32 * 0x1p-23, b.lookup(kLogLow32, i.index));
  if (lost != nullptr) low = low + *lost;
  low = fma(r * r, polynomial(r, kLogNear32), low);
  return fma(i.scaledExponent, kLn2High32 * 0x1p-23, b.lookup(kLogHigh32, i.index)) + (r + low);
}
}  // namespace

Scalar logOfNormal(Scalar x) {
  if (isDouble(x)) {
    Split parts = splitExponent(x);
    return logOfSplit(parts.m, parts.e);
  }
  Interval i = intervalOf(x);
  return logOfInterval(i, fma(i.m, i.inverse, -1.0), nullptr);
}

Scalar logOfNormal(Pair x, Scalar near, Scalar f) {
  Interval i = intervalOf(x.hi);  // that of 1 reaches from 63/64 to 33/32
  return logOfInterval(i, select(near, f, fma(i.m, i.inverse, -1.0)), &x.lo);
}

namespace {
Scalar log32(Scalar x) {
  return x.builder->rarely(isNotOrdinary(x), logOfNormal(x),
                           [&] { return logSpecial(x, logOfNormal(x * 0x1p25) - 25 * 0x1.62e42fefa39efp-1); });
}
}  // namespace

Scalar log(Scalar x) {
  if (!isDouble(x)) return log32(x);
  return x.builder->rarely(isNotOrdinary(x), logOfNormal(x), [&] {
    Split parts = splitExponent(x * 0x1p54);  // subnormal, or any special value
    return logSpecial(x, logOfSplit(parts.m, parts.e - 54.0));
  });
}

namespace {

/// log(2^e (m + lost)) of f64, m in [sqrt(1/2), sqrt(2)) and f = m - 1, for a `lost` of some units in the last place of
/// m.
Scalar logOfSum(Scalar e, Scalar f, Scalar lost) {
  Scalar s;
  Scalar low = logLow(f, &s);
  // 1 / m = (1 - s) / (1 + s), of which a hundredth may be missing.
  low = fma(lost, fma(s, fma(s, 2.0, -2.0), 1.0), low);
  return fma(e, kLn2High64, f + fma(e, kLn2Low64, low));
}

/// log(1 + x + *more) of f64, where x + 1 is positive and finite; of -0 it is 0. Where *twice is 1, the logarithm of
/// twice that number.
Scalar log1pOf(Scalar x, const Scalar* more, const Scalar* twice) {
  Scalar u = x + 1.0;
  // What u lost, relative to the larger of the two terms.
  Scalar lost = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0));
  if (more != nullptr) lost = lost + *more;
  Split parts = splitExponent(u);
  // Near 0, x itself is what remains of u, and has lost nothing.
  Scalar near = equal(parts.e, 0);
  Scalar scaled = x.builder->scaleByPowerOf2(lost, -parts.e);
  Scalar e = twice != nullptr ? parts.e + *twice : parts.e;
  scaled = select(near, more != nullptr ? *more : like(x, 0), scaled);
  return logOfSum(e, select(near, x, parts.m - 1.0), scaled);
}

}  // namespace

Scalar log1p(Scalar x) {
  if (!isDouble(x)) return floats::log1p(x);
  Scalar ordinary = (x > -1.0) & (x < infinity(x)) & logicalNot(equal(x, 0));
  return x.builder->rarely(logicalNot(ordinary), log1pOf(x, nullptr, nullptr), [&] {
    Scalar result = select(equal(x, 0) | isNan(x), x, log1pOf(x, nullptr, nullptr));
    result = select(equal(x, infinity(x)), x, result);
    result = select(equal(x, -1), -infinity(x), result);
    return select(x < -1.0, nan(x), result);
  });
}

Scalar log1pOfOrdinary(Pair y, Scalar twice) { return log1pOf(y.hi, &y.lo, &twice); }

Scalar logOfOrdinary(Pair x, Scalar twice) {
  Split parts = splitExponent(x.hi);
  Scalar scaled = x.hi.builder->scaleByPowerOf2(x.lo, -parts.e);
  return logOfSum(parts.e + twice, parts.m - 1.0, scaled);
}

Exponential expPair(Pair x) {
  Scalar clamped = clampExponent(x.hi, -760, 715);
  Scalar low = select(equal(clamped, x.hi), x.lo, 0.0);
  Scalar n = roundEven(clamped * kLog2E);
  Scalar first = fma(n, -kLn2High64, clamped);
  Scalar near = fma(n, -kLn2Low64, first);
  auto [r, more] = exactSum(near, low + fma(n, -kLn2Low64, first - near));
  low = more;
  Scalar rest = fma(r * r, polynomial(r, kExp64), fma(low, r, low));
  Pair value = orderedSum(like(r, 1), r);
  return {orderedSum(value.hi, value.lo + rest), n};
}

ExponentialLessOne floats::expLessOne(Scalar x, Scalar low) {
  Scalar n = roundEven(x * kLog2E);
  Scalar r = fma(n, -kLn2High32, x) + fma(n, -kLn2Low32, low);
  return {r, r * r * polynomial(r, kExp32), n};
}

doubles::Hyperbolic doubles::coshAndSinh(Scalar x) {
  // With x = n ln 2 + r: cosh x = B cosh r + A sinh r and sinh x = A cosh r + B sinh r, where A and B are half the
  // difference and the sum of 2^n and 2^-n. The even and odd parts of e^r's polynomial are cosh r and sinh r.
  Scalar a = lesser(712.0, abs(x));
  Scalar n = roundEven(a * kLog2E);
  Scalar first = fma(n, -kLn2High64, a);
  Scalar r = fma(n, -kLn2Low64, first);
  Scalar low = fma(n, -kLn2Low64, first - r);
  Scalar z = r * r;
  constexpr double kEven[] = {kExp64[0], kExp64[2], kExp64[4], kExp64[6], kExp64[8], kExp64[10]};
  constexpr double kOdd[] = {kExp64[1], kExp64[3], kExp64[5], kExp64[7], kExp64[9]};
  Scalar coshLow = fma(z, polynomial(z, kEven), low * r);
  Scalar sinhLow = fma(z * r, polynomial(z, kOdd), low);
  // An eighth of the powers, which cannot overflow where the result does not.
  Scalar up = x.builder->scaleByPowerOf2(like(x, 0x1p-4), n), down = x.builder->scaleByPowerOf2(like(x, 0x1p-4), -n);
  Scalar difference = up - down, sum = up + down;
  auto combine = [&](Scalar large, Scalar small) {  // large * cosh r + small * sinh r
    Pair product = exactProduct(small, r);
    Pair total = orderedSum(large, product.hi);
    return (total.hi + (total.lo + product.lo + fma(large, coshLow, small * sinhLow))) * 8.0;
  };
  Scalar sinh = select(abs(x) < 0x1p-28, x, copySign(combine(difference, sum), x));
  return {select(isNan(x), x, combine(sum, difference)), select(isNan(x), x, sinh)};
}

Scalar doubles::tanh(Scalar x) {
  // (e^2a - 1) / (e^2a + 1), where e^2a = 2^n (1 + r + low); from 22 on that is 1.
  Scalar a = lesser(44.0, abs(x) * 2.0);
  Scalar n = roundEven(a * kLog2E);
  Scalar first = fma(n, -kLn2High64, a);
  Scalar r = fma(n, -kLn2Low64, first);
  Scalar z = r * r;
  Scalar low = fma(z, byHalves(r, z, kExp64), fma(n, -kLn2Low64, first - r));
  Pair p = orderedSum(r, low);
  // Both by 2^-n.
  Scalar down = x.builder->scaleByPowerOf2(like(x, 1), -n);
  Pair sum = orderedSum(like(x, 1), down);
  Pair numerator = orderedSum(1.0 - down, p.hi), divisor = orderedSum(sum.hi, p.hi);
  numerator.lo = numerator.lo + p.lo;
  divisor.lo = divisor.lo + (p.lo + sum.lo);
  return copySign(ratio(numerator, divisor), x);
}

Pair logPair(Scalar x) {
  Scalar tiny = x < 0x1p-1022;
  return logPairOfNormal(select(tiny, x * 0x1p54, x), select(tiny, 54.0, like(x, 0)));
}

Pair logPairOfNormal(Scalar x, Scalar shift) {
  Split parts = splitExponent(x);
  Scalar e = parts.e - shift;
  // log m = 2 atanh(s) = 2s + s^3 (2/3 + s^2 P(s^2)), s = (m - 1) / (m + 1)
  Scalar f = parts.m - 1.0, d = parts.m + 1.0;
  Pair s = Pair{f, like(f, 0)} / Pair{d, parts.m - (d - 1.0)};
  Pair z = s * s;
  Scalar tail = z.hi * polynomial(z.hi, kLogTail64);
  Pair third = orderedSum(like(x, 0x1.5555555555555p-1), tail);
  third.lo = third.lo + 0x1.5555555555555p-55;
  Pair cube = (s * z) * third;
  Pair sum = orderedSum(s.hi * 2.0, cube.hi);
  Scalar low = sum.lo + fma(s.lo, 2.0, cube.lo);
  Pair total = orderedSum(e * kLn2High64, sum.hi);
  return orderedSum(total.hi, total.lo + fma(e, kLn2Low64, low));
}

namespace {
/// The library's full reduction for the rare large arguments.
Scalar rareLibrary(std::string_view name, Scalar x, Scalar result) {
  bool d = isDouble(x);
  Scalar rare = logicalNot(abs(x) <= (d ? 0x1p26 : 0x1p16));
  if (d) return x.builder->libraryCall(name, {x}, rare, result);
  return x.builder->rarely(rare, result,
                           [&] { return narrow(x.builder->libraryCall(name, {widen(x)}, rare, widen(result))); });
}
}  // namespace

namespace functions {

Scalar exp2(Scalar x) { return math::exp2(x); }
Scalar log2(Scalar x) { return math::log2(x); }
Scalar log10(Scalar x) { return math::log10(x); }
Scalar sin(Scalar x) { return rareLibrary("sin", x, sinCos(x).sin); }
Scalar cos(Scalar x) { return rareLibrary("cos", x, sinCos(x).cos); }
Scalar tan(Scalar x) { return rareLibrary("tan", x, math::tan(x)); }

}  // namespace functions
}  // namespace tenc::codegen::math
