// LLVM's optimiser on loops over small tensors.
#pragma once
#include <llvm/IR/Instructions.h>
#include <llvm/Target/TargetMachine.h>

#include <vector>

#include "codegen/cpu/WholeVectors.h"

namespace tenc::codegen::cpu {

struct PartsToInline {
  struct Call {
    llvm::CallInst* call;
    std::vector<llvm::Value*> addresses;  ///< what its first argument, an array of its own, holds
  };
  std::vector<Call> calls;
  PaddedMemory padded;
  std::vector<llvm::Value*> constant;  ///< addresses of memory that nothing writes while the function runs
  bool isLong = false;                 ///< it is worth more code
};

/// Puts the called parts into the function, and makes registers of its memory where that is accessed in whole vectors.
/// No result changes.
void optimiseTensorLoop(llvm::Function& f, const PartsToInline& parts, llvm::TargetMachine& machine);

}  // namespace tenc::codegen::cpu
