// One element of any dtype, exactly: its bits, and its value as the widest of its kind.
#pragma once
#include <cstddef>
#include <cstdint>

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

/// Constant data of one element.
Data scalarData(const Scalar& s);

/// The element of a rank-0 constant, or of a structural copy (broadcast, reshape, fill) of one; nullopt otherwise.
std::optional<Scalar> constantScalar(const Value* v);

}  // namespace tenc::ir
