// One body for every elementwise op of Ops.def, written against ScalarBuilder, and the random numbers.
#pragma once
#include <span>

#include "codegen/ScalarBuilder.h"
#include "codegen/ScalarConvert.h"
#include "ir/Ops.h"

namespace tenc::codegen {

/// The value of the elementwise op `kind`. `operand` is the dtype of its operands (of operand 1 for `where`), `result`
/// that of the result (they differ for casts and comparisons). `fault` numbers the kernel's fault that the op sets if
/// it can fault. The result is rounded to `result`.
Scalar emitElementwise(ScalarBuilder& b, ir::OpKind kind, ir::DType operand, ir::DType result,
                       std::span<const Scalar> args, uint32_t fault);

/// Elements of random tensors (language reference, random numbers): Philox 4x32-10 of (seed, draw) at flat index
/// `element`, all i64. `lo`, `hi` (of the result's representation) only for random_int.
Scalar emitRandom(ScalarBuilder& b, ir::OpKind kind, ir::DType result, Scalar seed, Scalar draw, Scalar element,
                  Scalar lo, Scalar hi);

/// A rough cost of an op in vector instructions, for schedules.
int elementwiseCost(ir::OpKind kind, ir::DType t);

}  // namespace tenc::codegen
