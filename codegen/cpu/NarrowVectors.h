// The lanes of vectors that are wanted.
#pragma once
#include <llvm/IR/Function.h>

namespace tenc::codegen::cpu {

/// Computes no more lanes of a vector than are used in the end, in powers of two: small tensors and the last vectors of
/// larger ones are held in whole vectors, of which a processor may well compute half for half the price.
void narrowVectors(llvm::Function& f);

}  // namespace tenc::codegen::cpu
