// Native loops as LLVM IR: the region of a fused op of kind "native", over rank-0 values and single elements.
#pragma once
#include <string>

#include "codegen/Kernel.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// Adds the function `name`, of type abi::KernelFn with one item, to the module. Returns what is not supported, or "".
std::string emitNativeKernel(const Kernel& kernel, llvm::Module& module, const std::string& name, bool contract);

}  // namespace tenc::codegen::cpu
