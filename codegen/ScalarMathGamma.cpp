// The logarithm of the gamma function, and its derivative, which of f64 that are not positive is a function of the
// host.
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {

// lgamma(2 + t) = t (t + 1) (A + t (B + t P(t))), -1 <= t <= 1/2; A and B in two parts (Chebyshev interpolation)
constexpr double kLgammaFirst[4] = {0x1.b0ee6072093cep-2, 0x1.6cb90701fbfabp-58, -0x1.9ae6509ea109fp-4,
                                    -0x1.0ae9a4bd73f7dp-58};
constexpr double kLgamma[] = {
    0x1.0e0c9df293532p-5,   -0x1.95ce223a9cbc5p-7,  0x1.47974853aa08ep-8,  -0x1.145121f99c53bp-9,
    0x1.dfebcf8eb926ep-11,  -0x1.a96a40127e2a3p-12, 0x1.7ed7338689c66p-13, -0x1.5c86b5b84ca80p-14,
    0x1.402f1d8656a09p-15,  -0x1.28506b28e0626p-16, 0x1.13e17e9589832p-17, -0x1.0230bb9494147p-18,
    0x1.e5fc28f201660p-20,  -0x1.c8e1fdff98dbdp-21, 0x1.a63f8b688e62fp-22, -0x1.bfcf2fe4872d7p-23,
    0x1.e7a3f01149a5fp-24,  0x1.8d37109efd6cbp-26,  0x1.b44795a54701cp-26, -0x1.1800dde7f70ebp-23,
    -0x1.c13844be2e95fp-24, 0x1.75dfd6cbd46fep-25,  0x1.230de76581d77p-23, 0x1.7124e651c5ad9p-24,
    0x1.6053e2b065477p-26};
// lgamma(2 + t) = t (t + 1) P(t) for f32: -1 <= t <= 1/2, to 2^-44
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
// sin(pi u) / u and cos(pi u) = A + u^2 (B + u^2 P(u^2)), |u| <= 1/4, to 2^-60; A and B in two parts
constexpr double kSinPiFirst[4] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.4abbce625be53p+2,
                                   0x1.05511c68476a8p-52};
constexpr double kCosPiFirst[4] = {1, 0, -0x1.3bd3cc9be45dep+2, -0x1.692b71366cc04p-52};
constexpr double kSinPiTail[] = {0x1.466bc6775aae2p+1,  -0x1.32d2cce62bd86p-1, 0x1.50783487ee656p-4,
                                 -0x1.e3074fde17d60p-8, 0x1.e8f4338e3da05p-12, -0x1.6fabe19f346c7p-16,
                                 0x1.a83c71861efcap-21};
constexpr double kCosPiTail[] = {0x1.03c1f081b5ac4p+2,  -0x1.55d3c7e3cbffap+0, 0x1.e1f506891b730p-3,
                                 -0x1.a6d1f2a15a7d6p-6, 0x1.f9d38850ffaacp-10, -0x1.b6df8573b963bp-14,
                                 0x1.1ebe69cdc7e63p-18};
constexpr double kLogPi = 0x1.250d048e7a1bdp+0, kLogPiLow = 0x1.7abf2ad8d5088p-57;
// lgamma(-r - t) = A + B t + t^2 P(t), |t| <= 1/32, where -r is next to a root between -3 and -2; r, A, and B in two
// parts
constexpr double kRootFirst[2][4] = {
    {0x1.3a7fc9600f86cp+1, 0x1.0323b6d1fe86dp-54, -0x1.83fe966af5360p+0, -0x1.c1b01fde8a683p-54},
    {0x1.5fb410a1bd901p+1, 0x1.8fb8530ba7689p-53, 0x1.ea12da904b194p+0, 0x1.7d1b8b4eb0a27p-56}};
constexpr double kRootTail[2][13] = {
    {0x1.36eebb002f55dp+2, -0x1.694a6058a785ep+0, 0x1.1718d7ca09e73p+3, -0x1.7339fe04b2a26p+2, 0x1.8d32f682935e3p+4,
     -0x1.809f04ed0ff11p+4, 0x1.48eaa863a2af2p+6, -0x1.9297b26270f06p+6, 0x1.286f3963ca447p+8, -0x1.a9263daf60973p+8,
     0x1.1b00d6c5a62c4p+10, -0x1.cb061cae9f9eap+10, 0x1.f8287134d5a0bp+11},
    {0x1.3267f3c265a55p+3, 0x1.4185ac30c8bc6p+4, 0x1.f504accc9f0f8p+5, 0x1.858845823411fp+7, 0x1.4373f7cca3c4ep+9,
     0x1.12239b853a77fp+11, 0x1.dba65d71fc869p+12, 0x1.a2d2e726912cdp+14, 0x1.7582070610687p+16, 0x1.502dce92e7e4ap+18,
     0x1.31535c7d1535ep+20, 0x1.23df07e2e1280p+22, 0x1.0cc203afd1cbbp+24}};
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

/// lgamma of a positive f64 as a sum.
Pair lgammaOfPositive(Scalar x) {
  Scalar small = x < 1.0, large = x >= double{kAsymptotic};
  // 5/2 <= x < 8: the factors that lead down to [3/2, 5/2).
  Scalar base = x;
  Pair product = {like(x, 1), like(x, 0)};
  for (int i = 1; i <= kAsymptotic - 2; ++i) {
    Scalar use = x >= double{i + 1.5}, less = x - double(i);
    product = select(use, product * less, product);
    base = select(use, less, base);
  }
  // Below 1: lgamma(x) = lgamma(1 + x) - log x.
  Scalar a = select(small, x, base - 1.0), b = select(small, x - 1.0, base - 2.0);
  Pair inner = orderedSum(like(x, kLgammaFirst[2]), b * polynomial(b, kLgamma));
  inner.lo = inner.lo + kLgammaFirst[3];
  Pair scaled = inner * b;
  Pair factor = orderedSum(like(x, kLgammaFirst[0]), scaled.hi);
  factor.lo = factor.lo + (scaled.lo + kLgammaFirst[1]);
  Pair near = exactProduct(a, b) * factor;
  Pair l = logPair(select(small | large, x, product.hi));
  l.lo = l.lo + select(small | large, 0.0, product.lo / product.hi);
  Pair step = {select(small, -l.hi, l.hi), select(small, -l.lo, l.lo)};
  Pair sum = exactSum(step.hi, near.hi);
  Pair result = select((x >= 1.0) & (x < 2.5), near, Pair{sum.hi, sum.lo + (step.lo + near.lo)});
  result.hi = select(equal(x, 1) | equal(x, 2), 0.0, result.hi);

  // (x - 1/2) log x - x + log(2 pi) / 2 + ...
  Scalar inverse = 1.0 / x;
  Scalar series = inverse * polynomial(inverse * inverse, kStirling);
  Scalar lessHalf = x - 0.5;
  Pair main = Pair{lessHalf, (x - lessHalf) - 0.5} * l;
  Pair first = exactSum(main.hi, -x), second = exactSum(first.hi, like(x, kHalfLog2Pi));
  Pair asymptotic = {second.hi, second.lo + (first.lo + main.lo + (series + kHalfLog2PiLow))};
  result = select(large, asymptotic, result);
  Pair lessOne = exactSum(l.hi, like(x, -1));
  Scalar huge = x > 0x1p100, rest = fma(lessOne.hi, x, (lessOne.lo + l.lo) * x);
  result = {select(huge, rest, result.hi), select(huge, 0.0, result.lo)};
  Scalar finite = x < std::numeric_limits<double>::infinity();
  return {select(finite, result.hi, x), select(finite, result.lo, 0.0)};
}

/// |sin(pi f)| as a pair, |f| <= 1/2.
Pair sinPi(Scalar f) {
  Scalar t = abs(f), far = t > 0.25;
  Scalar u = select(far, 0.5 - t, t);
  Pair z = exactProduct(u, u);
  auto choose = [&](const double* cosine, const double* sine) { return select(far, *cosine, like(f, *sine)); };
  Scalar tail = like(f, 0);
  for (size_t i = std::size(kSinPiTail); i-- > 0;) tail = fma(tail, z.hi, choose(kCosPiTail + i, kSinPiTail + i));
  Pair inner = orderedSum(choose(kCosPiFirst + 2, kSinPiFirst + 2), z.hi * tail);
  inner.lo = inner.lo + choose(kCosPiFirst + 3, kSinPiFirst + 3);
  Pair product = inner * z;
  Pair sum = orderedSum(choose(kCosPiFirst, kSinPiFirst), product.hi);
  sum.lo = sum.lo + (product.lo + choose(kCosPiFirst + 1, kSinPiFirst + 1));
  return sum * select(far, 1.0, u);
}

/// lgamma(-r - distance), r the first or the `other` one of kRootFirst.
Scalar lgammaAtRoot(Scalar other, Scalar distance) {
  auto choose = [&](double one, double two) { return select(other, two, like(distance, one)); };
  auto first = [&](int i) { return choose(kRootFirst[0][i], kRootFirst[1][i]); };
  Scalar tail = like(distance, 0);
  for (size_t i = std::size(kRootTail[0]); i-- > 0;)
    tail = fma(tail, distance, choose(kRootTail[0][i], kRootTail[1][i]));
  Pair main = exactProduct(distance, first(2));
  Scalar rest = fma(distance, first(3), main.lo + first(1));
  return main.hi + fma(distance * distance, tail, rest);
}

/// lgamma(-a) of a >= 0, from lgamma(a).
Scalar reflectedLgamma(Scalar a, Pair positive) {
  // log(pi / (a |sin(pi a)|)) - lgamma(a); near 0 that is -log a.
  Scalar f = a - roundEven(a), tiny = a < 0x1p-60;
  Pair sine = sinPi(f);
  Pair argument = select(tiny, Pair{a, like(a, 0)}, sine * a);
  Pair l = logPair(argument.hi);
  l.lo = l.lo + argument.lo / argument.hi;
  Pair first = exactSum(select(tiny, 0.0, like(a, kLogPi)), -l.hi);
  Pair second = exactSum(first.hi, select(tiny, 0.0, -positive.hi));
  Scalar low = select(tiny, 0.0, kLogPiLow - positive.lo) - l.lo;
  Scalar result = second.hi + (second.lo + (first.lo + low));
  // What is left of differences that cancel is the host's, but for two roots that are not close to poles.
  Scalar other = a > 2.6;
  Scalar distance = a - select(other, kRootFirst[1][0], like(a, kRootFirst[0][0])), atRoot = abs(distance) < 0x1p-5;
  Scalar cancelled = logicalNot(atRoot | tiny) & (abs(result) < greater(0.04, abs(positive.hi) * 0x1p-6));
  result = a.builder->rarely(atRoot, result, [&] { return lgammaAtRoot(other, distance); });
  result = a.builder->libraryCall("tenc_lgamma", {-a}, cancelled, result);
  result = select(equal(f, 0), std::numeric_limits<double>::infinity(), result);
  return select(a < std::numeric_limits<double>::infinity(), result, a);
}

}  // namespace

namespace doubles {

Scalar lgamma(Scalar x) {
  Scalar a = abs(x);
  Pair positive = lgammaOfPositive(a);
  return x.builder->rarely(x <= 0.0, positive.hi + positive.lo, [&] { return reflectedLgamma(a, positive); });
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
