// Code that is assembled beforehand, not selected by LLVM.
#pragma once
#include <string>

namespace tenc::codegen::cpu {

/// A function for x86-64, which runs wherever it is copied to, at a multiple of 64 bytes.
struct MachineCode {
  std::string bytes;
  std::string listing;  ///< for people, in the syntax of LLVM's assembler, where it was asked for
};

}  // namespace tenc::codegen::cpu
