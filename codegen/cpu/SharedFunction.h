// Long pieces of code as functions of a module, which all its kernels call.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {

/// A call of the function `name` of the current module on `args`, elements or vectors of `scalars.lanes()`. At the
/// first use the function is made from `body`, which is given a builder and the parameters and returns the result, of
/// type `result`. What it does must depend on nothing but the name and the arguments' types, and sets no faults; all
/// lanes count.
llvm::Value* callShared(LlvmScalars& scalars, const std::string& name, const std::vector<llvm::Value*>& args,
                        llvm::Type* result,
                        const std::function<llvm::Value*(LlvmScalars&, const std::vector<llvm::Value*>&)>& body);

/// callShared on scalars, for a result of representation `result`.
Scalar callOp(LlvmScalars& scalars, const std::string& name, Repr result, std::span<const Scalar> args,
              const std::function<Scalar(LlvmScalars&, const std::vector<Scalar>&)>& emit);

/// The elementwise op `kind`, which cannot fault, by a shared function.
Scalar callElementwise(LlvmScalars& scalars, ir::OpKind kind, ir::DType operand, ir::DType result,
                       std::span<const Scalar> args);

/// The random op `kind` on `args` (seed, draw, element index and, for random_int, lo and hi) by a shared function. The
/// bits are those of emitRandom.
Scalar callRandom(LlvmScalars& scalars, ir::OpKind kind, ir::DType result, std::span<const Scalar> args);

}  // namespace tenc::codegen::cpu
