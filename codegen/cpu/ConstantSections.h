// Constants of machine code in sections of their own.
#pragma once

namespace llvm {
class FunctionPass;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// A pass of the code generator, to run before an object file is written: makes each constant of whole AVX-512
/// registers a global variable, which has a section of its own. The code generator would put those of all functions
/// into one section, to which relocations point by number alone: how far from there a function reads could not be told,
/// so that no function could be cut out without all of them (CutPieces.cpp). Smaller constants have symbols.
llvm::FunctionPass* constantSectionsPass();

}  // namespace tenc::codegen::cpu
