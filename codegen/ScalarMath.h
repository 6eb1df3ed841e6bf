// Mathematical functions on f32 and f64 in terms of ScalarBuilder: at most 2 ULP, special values as in C99.
#pragma once
#include <span>

#include "codegen/ScalarBuilder.h"
#include "codegen/ScalarPairs.h"
#include "ir/Ops.h"

namespace tenc::codegen::math {

/// exp, log, sin, erf, pow, ... of Ops.def on values held as F32 or F64.
Scalar function(ir::OpKind kind, std::span<const Scalar> args);

Scalar exp(Scalar x);
Scalar expm1(Scalar x);
Scalar log(Scalar x);
Scalar log1p(Scalar x);
/// The functions that are built from those above (ScalarMathMore.cpp); a part of `function`.
Scalar moreFunction(ir::OpKind kind, std::span<const Scalar> args);
/// Both at once share the reduction of the argument.
struct SinCos {
  Scalar sin, cos;
};
SinCos sinCos(Scalar x);
/// |x| <= 2^26; f64 only.
Scalar tan(Scalar x);
/// f64 only.
struct Hyperbolic {
  Scalar cosh, sinh;
};
Hyperbolic coshAndSinh(Scalar x);
/// Of f64 only, as are those below (ScalarMathInverse.cpp). `fine`: the value stays an f64; what becomes an f32 needs
/// no care for the last bits.
Scalar atan(Scalar x);
Scalar atan2(Scalar y, Scalar x);
Scalar asin(Scalar x, bool fine);
Scalar acos(Scalar x, bool fine);
Scalar asinh(Scalar x, bool fine);
Scalar acosh(Scalar x, bool fine);
Scalar atanh(Scalar x, bool fine);
Scalar lgamma(Scalar x);
Scalar digamma(Scalar x);

}  // namespace tenc::codegen::math
