// Sums of two numbers of one float type, the second at most half a unit in the last place of the first: about twice the
// precision, for the steps of a function whose rounding would show (Dekker 1971; Shewchuk 1997).
#pragma once
#include "codegen/ScalarBuilder.h"

namespace tenc::codegen::math {

struct Pair {
  Scalar hi, lo;
};

/// a + b exactly, where |a| >= |b| or a is 0.
inline Pair orderedSum(Scalar a, Scalar b) {
  Scalar sum = a + b;
  return {sum, (a - sum) + b};
}

/// a + b exactly.
inline Pair exactSum(Scalar a, Scalar b) {
  Scalar sum = a + b;
  Scalar part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// a * b exactly.
inline Pair exactProduct(Scalar a, Scalar b) {
  Scalar product = a * b;
  return {product, fma(a, b, -product)};
}

inline Pair operator*(Pair a, Scalar b) {
  Pair p = exactProduct(a.hi, b);
  return {p.hi, fma(a.lo, b, p.lo)};
}

inline Pair operator*(Pair a, Pair b) {
  Pair p = a * b.hi;
  return {p.hi, fma(a.hi, b.lo, p.lo)};
}

/// a / b, with one division, as quotient + rest * inverse.
struct Division {
  Scalar inverse, quotient, rest;
};
inline Division divide(Pair a, Pair b) {
  Scalar inverse = 1.0 / b.hi;
  Scalar quotient = a.hi * inverse;
  return {inverse, quotient, fma(-quotient, b.hi, a.hi) + fma(-quotient, b.lo, a.lo)};
}
inline Pair operator/(Pair a, Pair b) {
  Division d = divide(a, b);
  return {d.quotient, d.rest * d.inverse};
}

/// a / b as one number.
inline Scalar ratio(Pair a, Pair b) {
  Division d = divide(a, b);
  return fma(d.rest, d.inverse, d.quotient);
}

/// The square root of a positive number.
inline Pair sqrt(Pair a) {
  Scalar root = sqrt(a.hi);
  return {root, (fma(-root, root, a.hi) + a.lo) / (root * 2.0)};
}

inline Pair select(Scalar c, Pair a, Pair b) { return {select(c, a.hi, b.hi), select(c, a.lo, b.lo)}; }

/// log(x) of a positive number, and log(x 2^-shift) of a positive normal one, right to about 2^-64; f64 only.
Pair logPair(Scalar x);
Pair logPairOfNormal(Scalar x, Scalar shift);
/// log(2^twice (1 + y.hi + y.lo)) of a finite y.hi > -1, and log(2^twice (x.hi + x.lo)) of a positive normal x.hi that
/// is not near 1, as one number; `twice` is 0 or 1. Of -0 the first is 0.
Scalar log1pOfOrdinary(Pair y, Scalar twice);
Scalar logOfOrdinary(Pair x, Scalar twice);
/// e^x with what rounding it lost, right to about 2^-54; f64 only, x of at most 709.
Pair expWithError(Scalar x);
/// e^(x.hi + x.lo) = value * 2^n; f64 only.
struct Exponential {
  Pair value;
  Scalar n;
};
Exponential expPair(Pair x);
/// x 2^n, as scaleByPowerOf2 gives it, where that is 0 for all that `vanishes`: there x is 0 before, so that no
/// instruction underflows.
Scalar scaleOrZero(Scalar x, Scalar n, Scalar vanishes);

}  // namespace tenc::codegen::math
