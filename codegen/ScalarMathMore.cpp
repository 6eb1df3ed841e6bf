// Functions built from exp, log and sinCos: hyperbolic, inverse, error and power functions. The rarer f32 functions are
// computed in f64, which leaves nothing to compensate.
#include <cassert>
#include <cmath>
#include <limits>

#include "codegen/ScalarMath.h"

namespace tenc::codegen::math {
namespace {
using ir::OpKind;

bool isDouble(Scalar x) { return x.repr == Repr::F64; }
Scalar infinity(Scalar x) { return like(x, std::numeric_limits<double>::infinity()); }
Scalar nan(Scalar x) { return like(x, std::numeric_limits<double>::quiet_NaN()); }
Scalar always(Scalar x) { return x.builder->intConstant(Repr::I1, 1); }

// tanh x = x + x^3 P(x^2), |x| <= 0.55
constexpr double kTanh32[] = {-0x1.55554ap-2, 0x1.110d26p-3, -0x1.b92890p-5, 0x1.593d82p-6, -0x1.9b3208p-8};
constexpr double kTanh64[] = {-0x1.555555555554fp-2,  0x1.111111111079fp-3,  -0x1.ba1ba1b97d89ap-5,
                              0x1.664f485970c6fp-6,   -0x1.226e2f147e64ap-7, 0x1.d6d29b975084ap-9,
                              -0x1.7d8fd3b15ef0bp-10, 0x1.3483aea7012efp-11, -0x1.e96fc677de65fp-13,
                              0x1.5d745b206d68cp-14,  -0x1.47110b5dfc5d4p-16};
// atan x = x + x^3 P(x^2), |x| <= tan(pi/8)
constexpr double kAtan64[] = {-0x1.5555555555554p-2, 0x1.9999999999648p-3, -0x1.24924924754d1p-3, 0x1.c71c71b739c52p-4,
                              -0x1.745d14b75991ep-4, 0x1.3b136df812f9fp-4, -0x1.110c6fbe2d9f2p-4, 0x1.e171c50a7ef5ep-5,
                              -0x1.ab7c0c5366c3bp-5, 0x1.70e78173bf294p-5, -0x1.122aa0de857ddp-5, 0x1.f1b4c91aa98acp-7};
// asin x = x + x^3 P(x^2), |x| <= 1/2
constexpr double kAsin64[] = {0x1.5555555555577p-3, 0x1.333333332e08bp-4, 0x1.6db6db7219fecp-5, 0x1.f1c71a9219d0ap-6,
                              0x1.6e8bdf315c280p-6, 0x1.1c49ea954ad9ep-6, 0x1.ca201a7b4c8fcp-7, 0x1.7580f1b9e2de9p-7,
                              0x1.6156cbc6e1668p-7, 0x1.e46130f5f6cd9p-9, 0x1.6419d2135e112p-6, -0x1.58b2560823c23p-6,
                              0x1.0b805dc2f511dp-5};
// erf(k/4 + t) = sum_j kErf32[j][k] t^j, |t| <= 1/8; for k = 0 without the term t itself.
constexpr double kErf32[6][16] = {
    {0, 0x1.1af54ep-2, 0x1.0a7ef6p-1, 0x1.6c1c98p-1, 0x1.af767ap-1, 0x1.d8865ep-1, 0x1.eea556p-1, 0x1.f92d08p-1,
     0x1.fd9ae2p-1, 0x1.ff4048p-1, 0x1.ffcaa8p-1, 0x1.fff2dp-1, 0x1.fffd1ap-1, 0x1.ffff7p-1, 0x1.ffffe8p-1,
     0x1.fffffcp-1},
    {0x1.06eba8p-3, 0x1.0f5d18p+0, 0x1.c1efccp-1, 0x1.492e44p-1, 0x1.a911f2p-2, 0x1.e4653p-3, 0x1.e72372p-4,
     0x1.b0552ep-5, 0x1.529b9cp-6, 0x1.d41438p-8, 0x1.1d831ap-9, 0x1.3360dcp-11, 0x1.24091p-13, 0x1.e9b67p-16,
     0x1.6a5a2ap-18, 0x1.f0d80ep-21},
    {0x1.e3eap-23, -0x1.0f5baap-2, -0x1.c1eep-2, -0x1.edc46ep-2, -0x1.a9121ap-2, -0x1.2ecp-2, -0x1.6d5bfap-3,
     -0x1.7a4bd6p-4, -0x1.529bc2p-5, -0x1.0749b8p-6, -0x1.64dd6ep-8, -0x1.a695dp-10, -0x1.b5f20cp-12, -0x1.8dbca8p-14,
     -0x1.3cdfeep-16, -0x1.74698ap-19},
    {-0x1.812abcp-2, -0x1.3c9c9ep-2, -0x1.2bfcdcp-3, 0x1.b6c24ep-6, 0x1.1b5f34p-3, 0x1.571ce4p-3, 0x1.1c2aeap-3,
     0x1.714aaep-4, 0x1.8b0cep-5, 0x1.63f032p-6, 0x1.119c52p-7, 0x1.69c9p-9, 0x1.9da81p-11, 0x1.9a89f6p-13,
     0x1.62a86cp-15, 0x1.69bec6p-17},
    {0x1.0ec1ecp-12, 0x1.022274p-3, 0x1.748e9p-3, 0x1.3351f4p-3, 0x1.1bcff8p-4, -0x1.731864p-8, -0x1.69a6bap-5,
     -0x1.885488p-5, -0x1.1a14ep-5, -0x1.39c52ap-6, -0x1.1caef4p-7, -0x1.b024bp-9, -0x1.1654f4p-10, -0x1.330094p-12,
     -0x1.23bb8p-14, -0x1.22c58ap-17},
    {0x1.c702fap-4, 0x1.4b1612p-4, 0x1.0b5e4cp-7, -0x1.ade3fep-5, -0x1.1986ecp-4, -0x1.81eca4p-5, -0x1.ec93c4p-7,
     0x1.a58506p-8, 0x1.a97ccap-7, 0x1.5c8a9p-7, 0x1.92029p-8, 0x1.6bd9fep-9, 0x1.0daf8p-10, 0x1.4ea12p-12,
     0x1.60172ep-14, 0x1.3cd0f8p-16}};
// erf x = x + x P(x^2), small x
constexpr double kErfSmall64[] = {0x1.06eba8214db68p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b20p-4,
                                  -0x1.b82ce3128499bp-6,  0x1.565bcd0db022fp-8,   -0x1.c02db3d8e9d96p-11,
                                  0x1.f9a321a09d170p-14,  -0x1.f4d1df2d6fd64p-17, 0x1.b9def0ec98b78p-20,
                                  -0x1.5f1d302241678p-23, 0x1.f7a3c39e78807p-27,  -0x1.3869b98bfb661p-30,
                                  0x1.0576b08e78879p-34};
// (1 + 2x) exp(x^2) erfc(x) = P(t), t = (x - 4) / (x + 4), 0.45 <= x <= 28
constexpr double kErfc64[] = {
    0x1.3ba5916e9fd7fp+0,  -0x1.1df1ad154a271p-3,  0x1.f7f5df66f8208p-7,   0x1.16ecefcfa3907p-4,
    -0x1.9ddb23c3c2eb1p-4, 0x1.7fee004e4c9c3p-4,   -0x1.0fb06e019355ep-4,  0x1.3079edeeeb1f7p-5,
    -0x1.096237f15aaa5p-6, 0x1.49c674c3b419bp-8,   -0x1.8d4b11559bdafp-11, -0x1.a1e0c65adca1cp-13,
    0x1.3be7a07d7f09dp-13, -0x1.9928d6c9da6fep-16, -0x1.79a901db763dep-17, 0x1.7d5a35ee9f344p-18,
    0x1.71260da40fb6fp-22, -0x1.a58015f495e4cp-21, 0x1.0d7c54d0bd0f5p-25,  0x1.44051a72f384ep-24};

constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

Scalar tanh(Scalar x) {
  bool d = isDouble(x);
  Scalar z = x * x;
  Scalar small = fma(z * x, d ? polynomial(z, kTanh64) : polynomial(z, kTanh32), x);
  Scalar e = exp(abs(x) * 2.0);
  Scalar large = copySign(1.0 - 2.0 / (e + 1.0), x);
  Scalar result = select(abs(x) <= 0.55, small, large);
  return select(equal(x, 0), x, result);
}

Scalar sigmoid(Scalar x) {
  Scalar e = exp(-abs(x));
  return select(x >= 0.0, like(x, 1), e) / (e + 1.0);
}

Scalar sinh(Scalar x) {
  Scalar t = expm1(abs(x));
  Scalar small = (t + t / (t + 1.0)) * 0.5;
  // Beyond, exp(x) may overflow although half of it does not.
  Scalar halfway = exp(abs(x) * 0.5);
  Scalar large = (halfway * 0.5) * halfway;
  return copySign(select(abs(x) < 22.0, small, large), x);
}

Scalar cosh(Scalar x) {
  Scalar e = exp(abs(x));
  Scalar small = fma(e, 0.5, 0.5 / e);
  Scalar halfway = exp(abs(x) * 0.5);
  return select(abs(x) < 22.0, small, (halfway * 0.5) * halfway);
}

Scalar atan(Scalar x) {
  // One quotient for all ranges: a, (a - 1) / (a + 1), or their forms for 1 / a; with the error of the division.
  Scalar a = abs(x);
  Scalar inverse = a > 1.0;
  Scalar shifted = (a > 0x1.a827999fcef32p-2) & (a < 0x1.3504f333f9de6p+1);  // tan(pi/8), tan(3 pi/8)
  Scalar difference = a - 1.0, sum = a + 1.0;
  Scalar numerator = select(shifted, select(inverse, -difference, difference), select(inverse, 1.0, a));
  Scalar denominator = select(shifted, sum, select(inverse, a, 1.0));
  Scalar lost = select(shifted, select(inverse, 1.0 - (sum - a), a - (sum - 1.0)), 0.0);
  Scalar y = numerator / denominator;
  Scalar error = (fma(-y, denominator, numerator) - y * lost) / denominator;
  error = select(shifted, error, 0.0);
  Scalar z = y * y;
  Scalar low = fma(z * y, polynomial(z, kAtan64), error);
  Scalar core = y + low;
  core = select(shifted, kHalfPi / 2 + (y + (low + kHalfPiLow / 2)), core);
  Scalar result = select(inverse, kHalfPi - (core - kHalfPiLow), core);
  return copySign(result, x);
}

Scalar atan2(Scalar y, Scalar x) {
  Scalar ay = abs(y), ax = abs(x);
  Scalar bothInfinite = equal(ay, infinity(y)) & equal(ax, infinity(x));
  Scalar ratio = select(bothInfinite, 1.0, ay / ax);
  ratio = select(equal(ay, 0), 0.0, ratio);  // also 0 / 0
  Scalar negative = compare(Predicate::Slt, bitsOf(x), bits(bitsOf(x), 0));
  Scalar angle = atan(ratio);
  angle = select(negative, kHalfPi * 2 - (angle - kHalfPiLow * 2), angle);
  return select(compare(Predicate::Uno, x, y), x + y, copySign(angle, y));
}

Scalar asin(Scalar x) {
  Scalar a = abs(x);
  Scalar large = a > 0.5;
  Scalar z = select(large, (1.0 - a) * 0.5, x * x);
  Scalar s = select(large, sqrt(z), a);
  Scalar core = fma(s * z, polynomial(z, kAsin64), s);
  return copySign(select(large, kHalfPi - (core * 2.0 - kHalfPiLow), core), x);
}

Scalar acos(Scalar x) {
  Scalar a = abs(x);
  Scalar large = a > 0.5;
  Scalar z = select(large, (1.0 - a) * 0.5, x * x);
  Scalar s = select(large, sqrt(z), a);
  Scalar core = fma(s * z, polynomial(z, kAsin64), s);
  Scalar twice = core * 2.0;
  Scalar nearOne = select(x < 0.0, kHalfPi * 2 - (twice - kHalfPiLow * 2), twice);
  return select(large, nearOne, kHalfPi - (copySign(core, x) - kHalfPiLow));
}

Scalar asinh(Scalar x) {
  Scalar a = abs(x);
  Scalar square = a * a;
  Scalar small = log1p(a + square / (sqrt(square + 1.0) + 1.0));
  Scalar large = log(a) + std::log(2.0);
  return copySign(select(a < 0x1p28, small, large), x);
}

Scalar acosh(Scalar x) {
  Scalar t = x - 1.0;
  Scalar small = log1p(t + sqrt(t * 2.0 + t * t));
  return select(x < 1.0, nan(x), select(x < 0x1p28, small, log(x) + std::log(2.0)));
}

Scalar atanh(Scalar x) {
  Scalar a = abs(x);
  return copySign(log1p(a * 2.0 / (1.0 - a)) * 0.5, x);
}

/// f32 only: a polynomial for each interval of a quarter, its coefficients from tables.
Scalar erf32(Scalar x) {
  Scalar a = lesser(0x1.effffep+1, abs(x));  // from 3.875 on the result is 1; NaN stays
  // Adding 1.5 * 2^21 rounds to a multiple of 1/4, whose number stands in the lowest bits.
  constexpr double kRound = 0x1.8p+21;
  Scalar shifted = a + kRound;
  Scalar centre = shifted - kRound;
  Scalar interval = bitsOf(shifted);
  Scalar t = a - centre;
  auto coefficient = [&](int j) { return x.builder->lookup(kErf32[j], interval); };
  Scalar p = coefficient(5);
  for (int j = 4; j > 0; --j) p = fma(p, t, coefficient(j));
  p = fma(p, t, select(equal(centre, 0), t, coefficient(0)));
  return copySign(lesser(1.0, p), x);
}

/// erfc of x >= 0.45, by exp(-x^2) and a polynomial; x^2 with its rounding error.
Scalar erfcTail(Scalar x) {
  x = lesser(28.0, x);
  Scalar square = x * x;
  Scalar error = fma(x, x, -square);
  Scalar t = (x - 4.0) / (x + 4.0);
  Scalar scaled = polynomial(t, kErfc64) / fma(x, 2.0, 1.0);
  Scalar e = exp(-square);
  return fma(e * scaled, -error, e * scaled);
}

Scalar erf64(Scalar x) {
  Scalar a = abs(x);
  Scalar small = fma(x, polynomial(x * x, kErfSmall64), x);
  Scalar result = select(a <= 1.0, small, copySign(1.0 - erfcTail(a), x));
  return select(isNan(x), x, result);
}

Scalar erfc64(Scalar x) {
  Scalar a = abs(x);
  Scalar small = 1.0 - fma(x, polynomial(x * x, kErfSmall64), x);
  Scalar tail = erfcTail(a);
  Scalar result = select(a <= 0.5, small, select(x < 0.0, 2.0 - tail, tail));
  return select(isNan(x), x, result);
}

Scalar cbrt(Scalar x) {
  Scalar a = abs(x);
  Scalar tiny = a < 0x1p-1000;
  Scalar scaled = select(tiny, a * 0x1p+60, a);
  // A third of the exponent, then three steps of Halley's method, each of which triples the correct digits.
  Scalar high = convert(ConvertInst::Trunc, lshr(bitsOf(scaled), 32), Repr::I32);
  Scalar third =
      convert(ConvertInst::FToSInt, convert(ConvertInst::SIntToF, high, Repr::F64) * (1.0 / 3.0), Repr::I32) +
      715094163.0;
  Scalar y = floatOfBits(shl(convert(ConvertInst::ZExt, third, Repr::I64), 32));
  for (int i = 0; i < 3; ++i) {
    Scalar cube = y * y * y;
    y = y * ((cube + scaled * 2.0) / (cube * 2.0 + scaled));
  }
  // One Newton step with a fused residual settles the last bit.
  Scalar square = y * y;
  Scalar squareError = fma(y, y, -square);
  Scalar residual = fma(-square, y, scaled) - squareError * y;
  y = y + residual / (square * 3.0);
  y = select(tiny, y * 0x1p-20, y);
  Scalar ordinary = (a > 0.0) & (a < infinity(a));
  return select(ordinary, copySign(y, x), x);
}

/// f32 operands held as f64: log2 and exp2 in f64 have bits to spare.
Scalar powOfFloats(Scalar x, Scalar y) {
  Scalar logArgument = abs(x);
  Scalar l = log(logArgument);
  Scalar product = l * y;
  Scalar magnitude = exp(product);
  Scalar isInteger = equal(truncate(y), y) & (abs(y) < infinity(y));
  Scalar half = y * 0.5;
  Scalar odd = isInteger & compare(Predicate::Une, truncate(half), half);
  Scalar negative = compare(Predicate::Slt, bitsOf(x), bits(bitsOf(x), 0));
  Scalar result = select(negative & odd, -magnitude, magnitude);
  result = select((x < 0.0) & logicalNot(isInteger) & (abs(x) < infinity(x)) & (abs(y) < infinity(y)), nan(x), result);
  // 0 * infinity in the product: |x| = 1 and y infinite gives 1.
  result = select(equal(logArgument, 1) & equal(abs(y), infinity(y)), 1.0, result);
  return select(equal(y, 0) | equal(x, 1), 1.0, result);
}

Scalar hypot(Scalar x, Scalar y) {
  Scalar result = sqrt(fma(x, x, y * y));
  Scalar infinite = equal(abs(x), infinity(x)) | equal(abs(y), infinity(y));
  return select(infinite, infinity(x), result);
}

Scalar logAddExp(Scalar a, Scalar b) {
  Scalar most = greater(a, b), least = lesser(a, b);
  Scalar result = most + log1p(exp(least - most));
  result = select(equal(a, b), a + std::log(2.0), result);
  return select(compare(Predicate::Uno, a, b), a + b, result);
}

Scalar tan(Scalar x) {
  SinCos p = sinCos(x);
  return p.sin / p.cos;
}

/// Functions on f64 values that come from f32 ones.
Scalar wide(OpKind kind, Scalar x, std::span<const Scalar> v) {
  ScalarBuilder& b = *x.builder;
  switch (kind) {
    case OpKind::Tan: return b.libraryCall("tan", {x}, logicalNot(abs(x) <= 0x1p26), tan(x));
    case OpKind::Asin: return asin(x);
    case OpKind::Acos: return acos(x);
    case OpKind::Atan: return atan(x);
    case OpKind::Sinh: return sinh(x);
    case OpKind::Cosh: return cosh(x);
    case OpKind::Asinh: return asinh(x);
    case OpKind::Acosh: return acosh(x);
    case OpKind::Atanh: return atanh(x);
    case OpKind::Erfc: return erfc64(x);
    case OpKind::Cbrt: return cbrt(x);
    case OpKind::Pow: return powOfFloats(x, widen(v[1]));
    case OpKind::Atan2: return atan2(x, widen(v[1]));
    case OpKind::Hypot: return hypot(x, widen(v[1]));
    case OpKind::LogAddExp: return logAddExp(x, widen(v[1]));
    case OpKind::Lgamma: return b.libraryCall("tenc_lgamma", {x}, always(x), x);
    case OpKind::Digamma: return b.libraryCall("tenc_digamma", {x}, always(x), x);
    default: assert(false && "no body for this op"); return x;
  }
}

Scalar ofDoubles(OpKind kind, std::span<const Scalar> v) {
  Scalar x = v[0];
  ScalarBuilder& b = *x.builder;
  auto library = [&](std::string_view name) { return b.libraryCall(name, {x}, always(x), x); };
  auto library2 = [&](std::string_view name) { return b.libraryCall(name, {x, v[1]}, always(x), x); };
  switch (kind) {
    case OpKind::Asin: return asin(x);
    case OpKind::Atan: return atan(x);
    case OpKind::Erf: return erf64(x);
    case OpKind::Cbrt: return cbrt(x);
    case OpKind::LogAddExp: return logAddExp(x, v[1]);
    // Where this room's forms, meant for f32 arguments, would miss the bound of error.
    case OpKind::Tan: return library("tan");
    case OpKind::Acos: return library("acos");
    case OpKind::Sinh: return library("sinh");
    case OpKind::Cosh: return library("cosh");
    case OpKind::Asinh: return library("asinh");
    case OpKind::Acosh: return library("acosh");
    case OpKind::Atanh: return library("atanh");
    case OpKind::Erfc: return library("erfc");
    case OpKind::Pow: return library2("pow");
    case OpKind::Atan2: return library2("atan2");
    case OpKind::Hypot: return library2("hypot");
    case OpKind::Lgamma: return library("tenc_lgamma");
    case OpKind::Digamma: return library("tenc_digamma");
    default: assert(false && "no body for this op"); return x;
  }
}

}  // namespace

Scalar moreFunction(OpKind kind, std::span<const Scalar> v) {
  Scalar x = v[0];
  switch (kind) {
    case OpKind::Tanh: return tanh(x);
    case OpKind::Sigmoid: return sigmoid(x);
    case OpKind::Erf:
      if (!isDouble(x)) return erf32(x);
      break;
    default: break;
  }
  return isDouble(x) ? ofDoubles(kind, v) : narrow(wide(kind, widen(x), v));
}

}  // namespace tenc::codegen::math
