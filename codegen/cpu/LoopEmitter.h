// Loop kernels as LLVM IR.
#pragma once
#include "codegen/Kernel.h"
#include "codegen/cpu/Schedule.h"

namespace llvm {
class Module;
class Function;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// Adds the function `name`, of type abi::KernelFn over the schedule's items, to the module. `contract`: mul and add of
/// the kernel may be fused.
llvm::Function* emitLoopKernel(const Kernel& kernel, const Schedule& schedule, llvm::Module& module,
                               const std::string& name, bool contract);

}  // namespace tenc::codegen::cpu
