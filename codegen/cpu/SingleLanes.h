// Vectors of which single lanes are wanted.
#pragma once
#include <llvm/IR/Function.h>

namespace tenc::codegen::cpu {

/// Vectors of which known lanes alone are used are read lane by lane: memory whose elements are written one by one
/// cannot forward them to a read of several, and could not become registers.
void readSingleLanes(llvm::Function& f);

}  // namespace tenc::codegen::cpu
