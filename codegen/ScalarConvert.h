// Conversions between dtypes in registers, each rounded once.
#pragma once
#include "codegen/ScalarBuilder.h"
#include "ir/Ops.h"

namespace tenc::codegen {

inline bool isHalf(ir::DType t) { return t == ir::DType::F16 || t == ir::DType::BF16; }

/// a * b + c of f64 operands whose product is exact, rounded to odd: rounding it to 16 bits is one rounding in all.
Scalar fmaToOdd(Scalar a, Scalar b, Scalar c);

/// The bits of an element of dtype `t` as they stand in memory, and the element of such bits.
Scalar storedBits(Scalar x, ir::DType t);
Scalar fromStoredBits(Scalar x, ir::DType t);

/// Extended by the sign or by zeros, or cut.
Scalar intToInt(Scalar x, bool isSigned, Repr to);

/// An f32 or f64 value rounded to the floating dtype `t` (identity for f32 held as f32 and f64 held as f64).
Scalar roundTo(Scalar x, ir::DType t);

/// `cast` of TL, rounded to `to`.
Scalar emitCast(ScalarBuilder& b, Scalar x, ir::DType from, ir::DType to);

}  // namespace tenc::codegen
