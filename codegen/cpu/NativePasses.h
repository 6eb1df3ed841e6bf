// The passes over the code of native loops.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// Elements that are read again, or were just written, stay in registers, also from one trip to the next; recurrences
/// are shortened, and loops unrolled that ask for it. Nothing else of LLVM's optimiser has something to do here.
void optimiseNative(llvm::Function& f);

}  // namespace tenc::codegen::cpu
