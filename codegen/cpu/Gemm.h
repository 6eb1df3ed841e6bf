// Product kernels on the CPU: matrix products with their epilogue, as LLVM IR.
#pragma once
#include <cstdint>
#include <string>

#include "codegen/Kernel.h"
#include "codegen/cpu/CompileLevel.h"
#include "codegen/cpu/VectorUnit.h"

namespace llvm {
class Module;
class Function;
}  // namespace llvm

namespace tenc::codegen::cpu {

struct EmittedProduct {
  llvm::Function* function = nullptr;  ///< of type abi::KernelFn
  int64_t items = 1;                   ///< tasks
  int64_t grain = 1;
};

/// What a thread works in.
uint64_t productScratchBytes(const Kernel& kernel, const VectorUnit& unit, int threads, Level level);

/// Adds a function `name` for the product kernel to `module`. dtypes: f32 and f64 (others are loop kernels).
EmittedProduct emitProduct(const Kernel& kernel, llvm::Module& module, const std::string& name, const VectorUnit& unit,
                           int threads, Level level);

}  // namespace tenc::codegen::cpu
