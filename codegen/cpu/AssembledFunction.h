// Functions of a module whose code is assembled, not selected by LLVM.
#pragma once
#include <llvm/IR/Function.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "codegen/cpu/MachineCode.h"

namespace tenc::codegen::cpu {

/// How the parts of products that can be assembled stand in a module.
enum class AssembledForm : uint8_t {
  Code,     ///< as bytes
  Listing,  ///< as text, for people
  None      ///< nothing is assembled: LLVM sees the IR of all
};

/// Gives a function without body what `assembled` makes for a listing of a name, or for none; `form` is not None.
/// Arguments arrive and registers are kept as in C.
void giveCode(llvm::Function& f, AssembledForm form, const std::function<MachineCode(std::string_view)>& assembled);

}  // namespace tenc::codegen::cpu
