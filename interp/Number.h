// One element of any dtype and its exact arithmetic: every result is rounded (floats) or wrapped (integers) to its
// dtype.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/Ops.h"
#include "ir/Type.h"

namespace tenc::interp {

/// An element: `f` for floats (f64 holds every one of them), `i` for integers and bools (u64 as the same bits).
struct Number {
  double f = 0;
  int64_t i = 0;
};

Number load(const std::byte* data, ir::DType t, int64_t index);
/// Elements index, index + 1, ...
void load(const std::byte* data, ir::DType t, int64_t index, std::span<Number> out);
void store(std::byte* data, ir::DType t, int64_t index, Number x);
void store(std::byte* data, ir::DType t, int64_t index, std::span<const Number> in);

/// `x` rounded once to a float dtype, ties to even, overflow to infinity.
double roundTo(ir::DType t, long double x);
inline double roundTo(ir::DType t, double x) {
  if (t == ir::DType::F64) return x;
  return t == ir::DType::F32 ? static_cast<float>(x) : roundTo(t, static_cast<long double>(x));
}
/// `i` wrapped to the width of an integer dtype; bool is != 0.
int64_t wrapTo(ir::DType t, int64_t i);
/// `cast` of TL: float to integer truncates and saturates, NaN gives 0.
Number castTo(Number x, ir::DType from, ir::DType to);
/// -1, 0, 1, or 2 when unordered.
int compare(Number a, Number b, ir::DType t);

/// The larger or smaller of two elements, in either order the same: NaN when either is, -0 below +0 (the maximum and
/// minimum of IEEE 754-2019).
Number extremeOf(Number a, Number b, ir::DType t, bool largest);

enum class Fault : uint8_t { None, Division, NegativePower, UnknownOp };

/// The value of an elementwise op. `t` is the dtype of the operands (of operand 1 for `where`), `result` of the result.
Number apply(ir::OpKind kind, ir::DType t, ir::DType result, std::span<const Number> args, Fault& fault);

/// digamma(x), accurate to about 1e-18 relative away from its zeros (Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18).
long double digamma(long double x);

}  // namespace tenc::interp
