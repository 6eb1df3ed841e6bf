// The order of independent vector operations.
#pragma once
#include <llvm/IR/Function.h>

namespace tenc::codegen::cpu {

/// Chains of vector arithmetic of one block that do not need each other are put side by side, an operation of each in
/// turn, as far as the registers go: a chain waits for each of its results, and processors whose units take two cycles
/// for a whole register keep them busier with several operations of a kind in a row.
void interleaveChains(llvm::Function& f);

}  // namespace tenc::codegen::cpu
