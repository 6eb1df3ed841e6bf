// The elementwise ops whose bodies take more than an instruction, but for mathematical functions (ScalarMath.h).
// Operands are values in registers; `t` is their dtype, `kind` one of the ops named.
#pragma once
#include "codegen/ScalarBuilder.h"
#include "codegen/ScalarConvert.h"
#include "ir/Ops.h"

namespace tenc::codegen {

/// TruncDiv, FloorDiv, Fmod, Mod. A divisor of 0 sets the fault.
Scalar integerDivision(ir::OpKind kind, Scalar a, Scalar b, bool isSigned, uint32_t fault);
Scalar floatDivision(ir::OpKind kind, Scalar a, Scalar b);
/// A negative power sets the fault.
Scalar integerPower(Scalar a, Scalar b, ir::DType t, uint32_t fault);
/// Shl, Shr; by the width and more everything is shifted out.
Scalar shift(ir::OpKind kind, Scalar a, Scalar b, bool isSigned);
/// By less than the width.
Scalar shiftWithin(ir::OpKind kind, Scalar a, Scalar b, bool isSigned);
Scalar nextAfter(Scalar a, Scalar b, ir::DType t);
/// Max, Min.
Scalar maxMin(ir::OpKind kind, Scalar a, Scalar b, ir::DType t);
/// Eq, Ne, Lt, Le, Gt, Ge.
Scalar comparison(ir::OpKind kind, Scalar a, Scalar b, ir::DType t);
Scalar sign(Scalar x, ir::DType t);

}  // namespace tenc::codegen
