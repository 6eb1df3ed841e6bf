// Code that is assembled beforehand, not selected by LLVM.
#pragma once
#include <string>

namespace tenc::codegen::cpu {

/// The elements that vectors hold.
struct VectorForm {
  int registerBytes;  ///< 32, or 64 with AVX-512
  int elementBytes;   ///< 4 or 8
};

/// A function for x86-64, which runs wherever it is copied to, at a multiple of 64 bytes.
struct MachineCode {
  std::string bytes;
  std::string listing;  ///< for people, in the syntax of LLVM's assembler, where it was asked for
};

}  // namespace tenc::codegen::cpu
