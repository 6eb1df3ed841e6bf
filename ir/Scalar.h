// One element of any dtype, exactly: its bits, and its value as the widest of its kind.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ir/Module.h"

namespace tenc::ir {

/// An element as a number: floats (exact in f64), signed, unsigned (bool is 0 or 1).
struct Scalar {
  DType dtype = DType::F32;
  double f = 0;    ///< floats
  int64_t i = 0;   ///< signed
  uint64_t u = 0;  ///< unsigned and bool
};

/// `x` rounded to nearest, ties to even, in a float dtype; the bits are in the low bytes.
uint64_t floatBits(DType t, double x);
/// The value of float bits.
double floatValue(DType t, uint64_t bits);

/// Little-endian bits of an element (low bytes) and back.
uint64_t bitsOf(const Scalar& s);
Scalar scalarOf(DType t, uint64_t bits);

/// A scalar of dtype `t` from a number: floats round to nearest; integers wrap.
Scalar scalarFromInt(DType t, int64_t i);
/// A float rounds to nearest; for integers truncates and saturates, NaN gives 0; bool is != 0.
Scalar scalarFromFloat(DType t, double f);
/// `cast` of TL.
Scalar castScalar(const Scalar& s, DType t);

/// Reads element `index` of `data`.
uint64_t loadBits(const std::byte* data, DType t, int64_t index);
void storeBits(std::byte* data, DType t, int64_t index, uint64_t bits);

/// The float remainder of `%`, with the sign of the divisor; a zero has it too.
inline double floorMod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return std::signbit(r) != std::signbit(b) ? r + b : r;
}

/// The float `//`: the floor of the exact quotient, not of the rounded one (1.0 // 0.1 is 9). Past 2^24 (2^53 of f64),
/// where every float is whole, it is the quotient rounded to nearest.
template <typename Real>
Real floorQuotient(Real a, Real b) {
  if (b != 0 && std::isinf(a)) return std::numeric_limits<Real>::quiet_NaN();
  const Real q = std::floor(a / b);
  // A quotient too small for the type counts with its sign.
  if (q == 0 && ((a < 0 && b > 0) || (a > 0 && b < 0))) return -1;
  constexpr auto kAllWhole = static_cast<Real>(uint64_t{1} << std::numeric_limits<Real>::digits);
  if (!(std::fabs(q) <= kAllWhole)) return q;
  // Where a / b was rounded up to an integer, what remains has the wrong sign.
  const Real rest = std::fma(-q, b, a);
  return (rest < 0 && b > 0) || (rest > 0 && b < 0) ? q - 1 : q;
}

/// Constant data of one element.
Data scalarData(const Scalar& s);

/// The element of a rank-0 constant, or of a structural copy (broadcast, reshape, fill) of one; nullopt otherwise.
std::optional<Scalar> constantScalar(const Value* v);

/// The value of rank 0 that a broadcast or fill repeats; null of all else.
Value* repeatedScalar(const Value* v);

}  // namespace tenc::ir
