// Mathematical functions on f32 and f64 in terms of ScalarBuilder: at most 2 ULP, special values as in C99.
#pragma once
#include <limits>

#include "codegen/ScalarBuilder.h"
#include "codegen/ScalarPairs.h"

namespace tenc::codegen::math {

inline Scalar infinity(Scalar x) { return like(x, std::numeric_limits<double>::infinity()); }
inline Scalar nan(Scalar x) { return like(x, std::numeric_limits<double>::quiet_NaN()); }
Scalar exp(Scalar x);
Scalar expm1(Scalar x);
Scalar log(Scalar x);
Scalar log1p(Scalar x);
/// A positive normal f32 as m 2^e with m in [47/64, 94/64). m = c (1 + r) with the c of one of 16 intervals, |r| <=
/// 0.0345; 1/c has 9 bits.
struct Interval {
  Scalar m;
  Scalar scaledExponent;  ///< e 2^23
  Scalar index;           ///< of a table by intervals
  Scalar inverse;         ///< 1/c
};
Interval intervalOf(Scalar x);
/// The logarithm of a positive normal number.
Scalar logOfNormal(Scalar x);
/// log(x.hi) + x.lo of f32, x.lo a few units in the last place of x.hi, or of the result. Where `near`, x.hi is within
/// 2^-6 of 1, and `f` is x.hi - 1 before that was rounded.
Scalar logOfNormal(Pair x, Scalar near, Scalar f);
/// The cube root of a as a r^2, by r = a^(-1/3) of f32 or f64, to the last bit.
Scalar settledCbrt(Scalar a, Scalar r, double third);

/// The functions of Ops.def, on values held as F32 or F64; those above are some of them.
namespace functions {
Scalar exp2(Scalar x);
Scalar log2(Scalar x);
Scalar log10(Scalar x);
Scalar sin(Scalar x);
Scalar cos(Scalar x);
Scalar tan(Scalar x);
Scalar asin(Scalar x);
Scalar acos(Scalar x);
Scalar atan(Scalar x);
Scalar sinh(Scalar x);
Scalar cosh(Scalar x);
Scalar tanh(Scalar x);
Scalar asinh(Scalar x);
Scalar acosh(Scalar x);
Scalar atanh(Scalar x);
Scalar erf(Scalar x);
Scalar erfc(Scalar x);
Scalar cbrt(Scalar x);
Scalar lgamma(Scalar x);
Scalar digamma(Scalar x);
Scalar sigmoid(Scalar x);
Scalar pow(Scalar x, Scalar y);
Scalar atan2(Scalar y, Scalar x);
Scalar hypot(Scalar x, Scalar y);
Scalar logAddExp(Scalar x, Scalar y);
}  // namespace functions

/// Both at once share the reduction of the argument.
struct SinCos {
  Scalar sin, cos;
};
SinCos sinCos(Scalar x);
/// |x| <= 2^26 (f64) or 2^16 (f32).
Scalar tan(Scalar x);
/// e^x = (1 + r + more) 2^n, |r| <= ln(2) / 2.
struct ExponentialLessOne {
  Scalar r, more, n;
};
/// Of values held as F32.
namespace floats {
/// Of x + low, |x| <= 150.
ExponentialLessOne expLessOne(Scalar x, Scalar low);
Scalar atan2(Scalar y, Scalar x);
Scalar asin(Scalar x);
Scalar acos(Scalar x);
Scalar atan(Scalar x);
Scalar sinh(Scalar x);
Scalar cosh(Scalar x);
Scalar asinh(Scalar x);
Scalar acosh(Scalar x);
Scalar atanh(Scalar x);
Scalar cbrt(Scalar x);
Scalar log1p(Scalar x);
Scalar erfc(Scalar x);
Scalar hypot(Scalar x, Scalar y);
/// The square root, and what it lost; of `z` and what that lost.
Pair rootWithError(Scalar z, Scalar low);
}  // namespace floats
/// Of values held as F64 only: what `functions` computes in f64.
namespace doubles {
struct Hyperbolic {
  Scalar cosh, sinh;
};
Hyperbolic coshAndSinh(Scalar x);
Scalar tanh(Scalar x);
Scalar atan(Scalar x);
Scalar atan2(Scalar y, Scalar x);
Scalar asin(Scalar x);
Scalar acos(Scalar x);
Scalar asinh(Scalar x);
Scalar acosh(Scalar x);
Scalar atanh(Scalar x);
Scalar lgamma(Scalar x);
Scalar digamma(Scalar x);
}  // namespace doubles

}  // namespace tenc::codegen::math
