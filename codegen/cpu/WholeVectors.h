// The last vectors of tensors in the frame of a function, which need no masks.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <cstdint>

namespace tenc::codegen::cpu {

/// Memory of a frame for tensors, with the bytes that they have of it; what is behind them, up to whole vectors, is
/// theirs, too.
using PaddedMemory = llvm::SmallDenseMap<const llvm::Value*, int64_t>;

/// Reads and writes the last vectors of such tensors as a whole. Emitters mask them, or write them in pieces, as other
/// tensors could stand behind them. Whatever a mask leaves out lies in the same memory; memory that is accessed so
/// becomes no register.
void useWholeVectors(llvm::Function& f, const PaddedMemory& padded);
/// Only writes: once LLVM has combined instructions, a masked read may stand for zeros that are wanted.
void writeWholeVectors(llvm::Function& f, const PaddedMemory& padded);

}  // namespace tenc::codegen::cpu
