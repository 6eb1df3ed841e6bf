// The logarithm of the gamma function, and its derivative. Of f64 that are not positive they are a function of the
// host.
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {

// lgamma(2 + t) = t (t + 1) P(t), |t| <= 1 (Chebyshev interpolation)
constexpr double kLgamma[] = {
    0x1.b0ee6072093cep-2,   -0x1.9ae6509ea109fp-4,  0x1.0e0c9df2935cep-5,  -0x1.95ce223a9ccefp-7,
    0x1.479748539658fp-8,   -0x1.145121f98a3c7p-9,  0x1.dfebcf9e3a196p-11, -0x1.a96a401fda6e3p-12,
    0x1.7ed73069f642cp-13,  -0x1.5c86b33a29beep-14, 0x1.402f77c319948p-15, -0x1.2850b6e854fa0p-16,
    0x1.13dbddcd4c38ep-17,  -0x1.022884cee4d11p-18, 0x1.e63dd1f85f483p-20, -0x1.cac9f4fe7556fp-21,
    0x1.a91686d709253p-22,  -0x1.936479fb9046fp-23, 0x1.bf8db5e33a58dp-24, -0x1.ac03e6dbcadd4p-25,
    0x1.962bc62ce7761p-28,  -0x1.77288613c1092p-29, 0x1.16378b8e8e56cp-26, -0x1.0d77de0390873p-27,
    -0x1.285a3a5829dd0p-28, 0x1.206dee4c838a5p-29,  0x1.b0d6e55603b75p-30, -0x1.a3f97b5464f9ap-31};
// The same for f32: -1 <= t <= 1/2, to 2^-44
constexpr double kLgammaNear[] = {
    0x1.b0ee607209344p-2,  -0x1.9ae6509eaa73fp-4,  0x1.0e0c9df2f3d62p-5,   -0x1.95ce22173edf4p-7,
    0x1.479747c57a8b2p-8,  -0x1.145135cad0ef6p-9,  0x1.dfec0046b97f5p-11,  -0x1.a960423afd893p-12,
    0x1.7edd2da9b2b03p-13, -0x1.5dcfd009f6200p-14, 0x1.3d95d33b4310dp-15,  -0x1.13178f74b2844p-16,
    0x1.5da558b054a2fp-17, -0x1.8333ca3e57377p-18, -0x1.3ce676a27ad3bp-18, -0x1.925bc41f033ebp-19,
    0x1.c57638441d6bbp-18, 0x1.d3302174c42cbp-18,  0x1.539c82b1e9eafp-19};
// x times what is beside (x - 1/2) log x - x + log(2 pi) / 2 in lgamma(x), by 1 / x^2, for x >= 5/2, to 2^-46 of
// lgamma(x)
constexpr double kStirlingNear[] = {0x1.55555554e25c1p-4,   -0x1.6c16b82694de3p-9, 0x1.a0111ddd7a39cp-11,
                                    -0x1.36f985505895cp-11, 0x1.a48ca92f4ed59p-11, -0x1.783545a7696fcp-10,
                                    0x1.2f139d76f449bp-9,   -0x1.0de6bd2208b0bp-9};
// log c of the intervals of intervalOf in two parts; log(1 + r) = r P(r), |r| <= 0.0345
constexpr double kLogHigh[16] = {-0x1.2895a2p-2, -0x1.fb9186p-3, -0x1.af3c94p-3,
                                 -0x1.5ff308p-3, -0x1.0d77e8p-3, -0x1.8c345ep-4,
                                 -0x1.16536ep-4, -0x1.f829bp-6,  0,
                                 0x1.08598cp-4,  0x1.da7276p-4,  0x1.5bf406p-3,
                                 0x1.d1038p-3,   0x1.1178e8p-2,  0x1.4718dcp-2,
                                 0x1.741d88p-2};
constexpr double kLogLow[16] = {0x1.842f2cp-27,  -0x1.abc7c6p-28, -0x1.d017fep-28,
                                0x1.eb0d86p-28,  0x1.97b8d4p-30,  0x1.39cc9cp-29,
                                -0x1.d46f5cp-29, -0x1.cf066p-31,  0,
                                -0x1.4c38cp-29,  0x1.c22352p-31,  0x1.6a87b6p-28,
                                -0x1.b3543p-28,  0x1.13f23ep-29,  0x1.38e20ep-29,
                                -0x1.27308ap-27};
constexpr double kLogNear[] = {0x1.ffffffffffff0p-1,  -0x1.fffffffffff18p-2, 0x1.5555555627605p-2,
                               -0x1.0000000208196p-2, 0x1.99997ed58bc29p-3,  -0x1.55552c5d88cb7p-3,
                               0x1.251df52c663c2p-3,  -0x1.009d2d498ede3p-3};
// sin(pi f) = f P(f^2), |f| <= 1/2
constexpr double kSinPi[] = {0x1.921fb54442d17p+1,  -0x1.4abbce625bd5dp+2, 0x1.466bc67750ff7p+1,
                             -0x1.32d2cce17ac32p-1, 0x1.50783248e1047p-4,  -0x1.e30623661dce8p-8,
                             0x1.e89cd80830a55p-12, -0x1.626108567c0f2p-16};
// digamma(2 + t) = (2 + t - root) P(t), |t| <= 1
constexpr double kDigamma[] = {
    0x1.9213d46736ba4p-1,  -0x1.0aff270ca07a7p-2,  0x1.be76b26db7fcap-4,   -0x1.95ec0c3ba95ddp-5,
    0x1.802924f9b0c3bp-6,  -0x1.7389aa8092789p-7,  0x1.6bdf5e15c49cfp-8,   -0x1.6714cfe05e6f7p-9,
    0x1.64076129f23e4p-10, -0x1.620f06b3e5d14p-11, 0x1.60c660d83e804p-12,  -0x1.5fef17b5706cfp-13,
    0x1.5f65bb1232407p-14, -0x1.5f0817db8ceb0p-15, 0x1.5e8134df34222p-16,  -0x1.5e5813a66b869p-17,
    0x1.6193e91a427bcp-18, -0x1.6181bfa5b3882p-19, 0x1.4556bd683ac5ep-20,  -0x1.454eb2c8606dbp-21,
    0x1.efc9911beaaecp-22, -0x1.efc5fdb485822p-23, -0x1.e4ab7a5a224e9p-25, 0x1.e4ae934673553p-26,
    0x1.efa98b5daf9bbp-24, -0x1.efa957dc22aafp-25, -0x1.32b4ddf998a50p-25, 0x1.32b4e1f5089e7p-26,
    0x1.5e85bd733bf32p-27, -0x1.5e85b2d6eb610p-28};
constexpr double kDigammaRoot = 0x1.762d86356be3fp+0, kDigammaRootLow = 0x1.b86a722197829p-54;
// B_2k / (2k (2k - 1)) and B_2k / 2k of the asymptotic series (Abramowitz and Stegun 6.1.40, 6.3.18)
constexpr double kStirling[] = {0x1.5555555555555p-4,   -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
                                -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10,
                                0x1.a41a41a41a41ap-8,   -0x1.e4286cb0f5398p-6, 0x1.6fe96381e0680p-3};
constexpr double kDigammaSeries[] = {
    0x1.5555555555555p-4,  -0x1.1111111111111p-7, 0x1.0410410410410p-8,  -0x1.1111111111111p-8, 0x1.f07c1f07c1f08p-8,
    -0x1.5995995995996p-6, 0x1.5555555555555p-4,  -0x1.c5e5e5e5e5e5ep-2, 0x1.86e7f9b9fe6e8p+1,  -0x1.a74ca514ca515p+4};
constexpr double kHalfLog2Pi = 0x1.d67f1c864beb5p-1, kHalfLog2PiLow = -0x1.65b5a1b7ff5dfp-55;
/// From here on the asymptotic series.
constexpr int kAsymptotic = 8;

}  // namespace

namespace doubles {

Scalar lgamma(Scalar x) {
  Scalar small = x < 1.0, large = x >= double{kAsymptotic};
  // 3 <= x < 8: the factors that lead down to [2, 3).
  Scalar base = x, product = like(x, 1);
  for (int i = 1; i <= kAsymptotic - 3; ++i) {
    Scalar use = x >= double{i + 2.0}, less = x - double(i);
    product = select(use, product * less, product);
    base = select(use, less, base);
  }
  // Below 1: lgamma(x) = lgamma(1 + x) - log x.
  Scalar a = select(small, x, base - 1.0), b = select(small, x - 1.0, base - 2.0);
  Pair factor = orderedSum(like(x, kLgamma[0]), b * polynomial(b, std::span(kLgamma).subspan(1)));
  Pair near = exactProduct(a, b) * factor;
  Pair l = logPair(select(small | large, x, product));
  Pair step = {select(small, -l.hi, l.hi), select(small, -l.lo, l.lo)};
  Pair sum = exactSum(step.hi, near.hi);
  Scalar result = select((x >= 1.0) & (x < 3.0), near.hi + near.lo, sum.hi + (sum.lo + (step.lo + near.lo)));
  result = select(equal(x, 1) | equal(x, 2), 0.0, result);

  // (x - 1/2) log x - x + log(2 pi) / 2 + ...
  Scalar inverse = 1.0 / x;
  Scalar series = inverse * polynomial(inverse * inverse, kStirling);
  Scalar lessHalf = x - 0.5;
  Pair main = Pair{lessHalf, (x - lessHalf) - 0.5} * l;
  Pair first = exactSum(main.hi, -x), second = exactSum(first.hi, like(x, kHalfLog2Pi));
  Scalar asymptotic = second.hi + (second.lo + (first.lo + main.lo + (series + kHalfLog2PiLow)));
  result = select(large, asymptotic, result);
  Pair lessOne = exactSum(l.hi, like(x, -1));
  result = select(x > 0x1p100, fma(lessOne.hi, x, (lessOne.lo + l.lo) * x), result);
  result = select(x < std::numeric_limits<double>::infinity(), result, x);
  return x.builder->libraryCall("tenc_lgamma", {x}, x <= 0.0, result);
}

Scalar digamma(Scalar x) {
  Scalar small = x < 1.0, large = x >= double{kAsymptotic};
  // digamma(x) = digamma(x - k) + the sum of 1 / (x - i), here as one fraction; below 1 digamma(1 + x) - 1 / x.
  Scalar zero = like(x, 0);
  Scalar base = x;
  Pair numerator = {select(small, like(x, -1), 0.0), zero}, denominator = {select(small, x, 1.0), zero};
  for (int i = 1; i <= kAsymptotic - 3; ++i) {
    Scalar use = x >= double{i + 2.0}, less = x - double(i);
    Pair product = numerator * less;
    Pair sum = exactSum(product.hi, denominator.hi);
    numerator = select(use, Pair{sum.hi, sum.lo + (product.lo + denominator.lo)}, numerator);
    denominator = select(use, denominator * less, denominator);
    base = select(use, less, base);
  }
  Scalar t = select(small, x - 1.0, base - 2.0);
  Pair factor = orderedSum(like(x, kDigamma[0]), t * polynomial(t, std::span(kDigamma).subspan(1)));
  Pair distance = {select(small, x - (kDigammaRoot - 1), base - kDigammaRoot), like(x, -kDigammaRootLow)};
  Pair near = orderedSum(distance.hi, distance.lo) * factor;
  Pair fraction = numerator / denominator;
  Pair sum = exactSum(fraction.hi, near.hi);
  Scalar result = select(x < 0x1p-60, -1.0 / x, sum.hi + (sum.lo + (fraction.lo + near.lo)));

  Scalar inverse = 1.0 / x;
  Scalar z = inverse * inverse;
  Pair l = logPair(x);
  Scalar asymptotic = l.hi + (l.lo - fma(z, polynomial(z, kDigammaSeries), inverse * 0.5));
  result = select(large, asymptotic, result);
  result = select(x < std::numeric_limits<double>::infinity(), result, x);
  return x.builder->libraryCall("tenc_digamma", {x}, x <= 0.0, result);
}

}  // namespace doubles

namespace {

/// lgamma of a positive normal f32 as an f64, to some 2^-42, and the logarithm of x.
struct LogGamma {
  Scalar value, log;
};
LogGamma lgammaOfNormal(Scalar x) {
  ScalarBuilder& b = *x.builder;
  Interval i = intervalOf(x);
  Scalar r = fma(widen(i.m), widen(i.inverse), -1.0);
  Scalar constant = widen(b.lookup(kLogHigh, i.index)) + widen(b.lookup(kLogLow, i.index));
  constant = fma(widen(i.scaledExponent), 0x1.62e42fefa39efp-24, constant);  // ln 2 / 2^23
  Scalar log = fma(r, polynomial(r, kLogNear), constant);

  // Below 1: lgamma(x) = lgamma(1 + x) - log x.
  Scalar small = x < 1.0, wide = widen(x);
  Scalar a = select(small, wide, wide - 1.0), t = a - 1.0;
  Scalar near = fma(a * t, polynomial(t, kLgammaNear), select(small, -log, 0.0));

  Scalar y = widen(1.0 / x);
  y = fma(y, fma(-y, wide, 1.0), y);
  Scalar series = fma(y, polynomial(y * y, kStirlingNear), kHalfLog2Pi);
  return {select(x < 2.5, near, fma(wide - 0.5, log, series - wide)), log};
}

Scalar lgammaOfFloat(Scalar x) {
  Scalar a = abs(x), p = bitsOf(x);
  LogGamma positive = lgammaOfNormal(a);
  Scalar special = compare(Predicate::Uge, p - bits(p, 0x00800000), bits(p, 0x7f000000));
  return x.builder->rarely(special, narrow(positive.value), [&] {
    // lgamma(-a) = log(pi / (a |sin(pi a)|)) - lgamma(a); what is left of a difference that cancels is the host's.
    Scalar wide = widen(a), negative = x < 0.0;
    Scalar f = wide - roundEven(wide);
    Scalar sine = abs(f * polynomial(f * f, kSinPi));
    Scalar reflected = (0x1.250d048e7a1bdp+0 - (positive.log + logOfNormal(sine))) - positive.value;  // log pi
    reflected = select(equal(sine, 0), std::numeric_limits<double>::infinity(), reflected);
    Scalar cancelled = negative & (abs(reflected) < abs(positive.value) * 0x1p-8);
    reflected = x.builder->libraryCall("tenc_lgamma", {widen(x)}, cancelled, reflected);
    Scalar result = select(negative, reflected, positive.value);
    result = select(a < 0x1p-126, -log(wide), result);
    return narrow(select(a < std::numeric_limits<float>::infinity(), result, wide));
  });
}

}  // namespace

Scalar functions::lgamma(Scalar x) { return x.repr == Repr::F64 ? doubles::lgamma(x) : lgammaOfFloat(x); }

}  // namespace tenc::codegen::math
