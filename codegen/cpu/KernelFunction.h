// The functions that kernels are: their arguments, scratch memory and stores past the caches.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "codegen/Kernel.h"

namespace tenc::codegen::cpu {

/// The arguments of the function being emitted.
struct KernelArgs {
  std::vector<llvm::Value*> buffers;  ///< start of each buffer of the kernel
  std::vector<llvm::Value*> scalars;  ///< in memory form
  llvm::Value* fault = nullptr;
  llvm::Value* scratch = nullptr;
  std::vector<bool> pastCaches;  ///< of each buffer; empty: none
};

/// Loads the arguments of `function`, of type abi::KernelFn, at `b`. Scratch buffers follow each other in the thread's
/// scratch memory.
KernelArgs loadArguments(llvm::IRBuilderBase& b, llvm::Function* function, const Kernel& kernel);
/// Bytes of scratch that loadArguments lays out, and of one buffer in it.
uint64_t scratchBytes(const Kernel& kernel);

/// Which buffers of a loop kernel are written past the caches: large outputs that it does not read, when it walks
/// through more memory than caches hold. Lines of the output are then not fetched to be overwritten. Such stores are
/// ordered by no release: the function ends with a fence (finishPastCaches).
std::vector<bool> pastCaches(const Kernel& kernel);
void finishPastCaches(llvm::IRBuilderBase& b, const KernelArgs& args);

/// What every emitted function that holds vectors is to be compiled with.
void setCodeAttributes(llvm::Function& f);
/// A function that only this module calls, always by a call. Its first `apart` arguments are addresses of memory that
/// no other argument reaches.
llvm::Function* createLocalFunction(llvm::Module& m, const std::string& name, llvm::ArrayRef<llvm::Type*> arguments,
                                    unsigned apart);
/// An abi::KernelFn without body.
llvm::Function* createKernelFunction(llvm::Module& m, const std::string& name);

}  // namespace tenc::codegen::cpu
