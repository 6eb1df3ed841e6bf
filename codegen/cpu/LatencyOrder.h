// Instructions in an order that hides latencies, for functions that ask for it.
#pragma once

namespace llvm {
class Function;
class TargetPassConfig;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// Asks for it: the code generator orders the instructions of each block of the function by the latencies of the
/// processor once they have registers, as LLVM does at its higher levels. Otherwise they stand as they were emitted.
void orderByLatency(llvm::Function& f);

/// Adds that to a pipeline for full code; to be called before its passes are added.
void addLatencyOrder(llvm::TargetPassConfig& config);

}  // namespace tenc::codegen::cpu
