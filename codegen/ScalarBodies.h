// One body for every elementwise op of Ops.def, written against ScalarBuilder. Random numbers: ScalarRandom.h.
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

/// A rough cost of an op in vector instructions, for schedules.
int elementwiseCost(ir::OpKind kind, ir::DType t);

}  // namespace tenc::codegen
