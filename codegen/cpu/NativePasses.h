// The passes over the code of native loops.
#pragma once
#include <llvm/IR/PassManager.h>

#include "codegen/cpu/CompileLevel.h"

namespace llvm {
class TargetMachine;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// Elements that are read again, or were just written, stay in registers, also from one trip to the next; loops whose
/// trips may run in any order are vectorised; recurrences are shortened. Results keep their bits.
void optimiseNative(llvm::Function& f, llvm::TargetMachine& machine, Level level);

/// What LLVM lets no one say per function. To be called once, before any code is compiled.
void setVectoriserOptions();

/// Of optimiseNative (NativeRecurrences.cpp).
void compareCarriedLast(llvm::Function& f);
void shortenRecurrences(llvm::Function& f, const llvm::TargetMachine& machine);
void widenCarried(llvm::Function& f);
void keepRowsApart(llvm::Function& f);
/// Of optimiseNative (NativeCounts.cpp).
void countNoBits(llvm::Function& f, llvm::FunctionAnalysisManager& functions);
/// Of optimiseNative (NativeUnrolling.cpp). Whether there were exits to be separated.
bool separateExits(llvm::Function& f, llvm::FunctionAnalysisManager& functions);
void chooseShortLoops(llvm::Function& f, llvm::FunctionAnalysisManager& functions);
void chooseUnrolling(llvm::Function& f, llvm::FunctionAnalysisManager& functions, const llvm::TargetMachine& machine);
/// Of optimiseNative (NativeAddresses.cpp).
void simplifyAddresses(llvm::Function& f, llvm::FunctionAnalysisManager& functions);
/// Of optimiseNative (NativeFills.cpp). Loops that fill a row become vectors and a rest of any length without a loop.
/// Whether there were any.
bool writeFills(llvm::Function& f, llvm::FunctionAnalysisManager& functions);
/// Marks a vectorised loop, and what is left of it, whose arrays may overlap.
inline constexpr const char* kMayOverlap = "tenc.may-overlap";
/// Marks a loop that is hardly ever run: one that checks its indices, of which there is another that does not.
inline constexpr const char* kRarelyRun = "tenc.rarely-run";
/// Of optimiseNative (NativeCarried.cpp).
void carryElements(llvm::Function& f, llvm::FunctionAnalysisManager& functions);
/// Of optimiseNative (NativeBytes.cpp).
void readBytes(llvm::Function& f, llvm::FunctionAnalysisManager& functions);
/// Of optimiseNative (NativeExtremes.cpp).
void expandExtremes(llvm::Function& f, const llvm::TargetMachine& machine);

}  // namespace tenc::codegen::cpu
