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
Scalar lgamma(Scalar x);
Scalar digamma(Scalar x);

}  // namespace tenc::codegen::math
