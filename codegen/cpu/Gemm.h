// Product kernels on the CPU: matrix products with their epilogue, as LLVM IR.
#pragma once
#include <cstdint>
#include <string>

#include "codegen/Kernel.h"
#include "codegen/cpu/CompileLevel.h"

namespace llvm {
class Module;
class Function;
}  // namespace llvm

namespace tenc::codegen::cpu {

struct EmittedProduct {
  llvm::Function* function = nullptr;  ///< of type abi::KernelFn
  int64_t items = 1;                   ///< tasks
  int64_t grain = 1;
  uint64_t scratchBytes = 0;  ///< a thread
};

/// Adds a function `name` for the product kernel to `module`. `registerBytes` is the width of the host's vector
/// registers, 64 or 32. dtypes: f32 and f64 (others are loop kernels).
EmittedProduct emitProduct(const Kernel& kernel, llvm::Module& module, const std::string& name, int registerBytes,
                           int threads, Level level);

}  // namespace tenc::codegen::cpu
