// Elements of random tensors as functions of the module: their code is long, so kernels share it.
#pragma once
#include <span>

#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {

/// The random op `kind` on `args` (seed, draw, element index and, for random_int, lo and hi) by a call of a function of
/// the current module, which is made at the first use. The bits are those of emitRandom.
Scalar callRandom(LlvmScalars& scalars, ir::OpKind kind, ir::DType result, std::span<const Scalar> args);

}  // namespace tenc::codegen::cpu
