// Functions of a module whose code is assembled, not selected by LLVM.
#pragma once
#include <llvm/IR/Function.h>

#include <cstdint>
#include <functional>

#include "codegen/cpu/Assembler.h"

namespace tenc::codegen::cpu {

/// How the parts of products that can be assembled stand in a module.
enum class AssembledForm : uint8_t {
  Code,     ///< as bytes
  Listing,  ///< as text, for people
  None      ///< nothing is assembled: LLVM sees the IR of all
};

/// Gives a function without body what `write` assembles; `form` is not None. Arguments arrive and registers are kept as
/// in C.
void assembleFunction(llvm::Function& f, AssembledForm form, VectorForm vectors,
                      const std::function<void(Assembler&)>& write);

}  // namespace tenc::codegen::cpu
