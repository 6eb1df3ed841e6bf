// Small tensors of the frame that are read and written across vectors.
#pragma once
#include <llvm/IR/Function.h>

namespace tenc::codegen::cpu {

/// Memory of the frame that some vectors lie across is accessed in whole vectors at multiples of their size, of which
/// shuffles take and replace lanes: what is left can be registers. Memory whose vectors were just written one by one
/// cannot forward them to a read across two, which then waits for both to reach the cache. Memory that is accessed at
/// places that are no constants, or is large, stays as it is.
void useSlots(llvm::Function& f);

}  // namespace tenc::codegen::cpu
