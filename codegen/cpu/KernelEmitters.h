// From kernels to LLVM IR: an emitter for each form of a schedule (Schedule.h), in a file of its own.
#pragma once
#include <string>

#include "codegen/Kernel.h"
#include "codegen/cpu/AssembledFunction.h"
#include "codegen/cpu/Schedule.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// What all emitters are given: they add the function `name`, of type abi::KernelFn over the schedule's items, to the
/// module.
struct KernelToEmit {
  const Kernel& kernel;
  llvm::Module& module;
  std::string name;
  Level level;
  bool contract;  ///< mul and add of the kernel may be fused
  llvm::TargetMachine& machine;
  AssembledForm assembled = AssembledForm::Code;
};

/// Returns what is not supported, or "".
std::string emitKernel(const KernelToEmit& kernel, const Schedule& schedule);

void emitLoopKernel(const KernelToEmit& kernel, const LoopSchedule& schedule);
void emitTiledProduct(const KernelToEmit& kernel, const TiledProduct& product);
void emitStreamedProduct(const KernelToEmit& kernel, const StreamedProduct& product);
void emitSmallProduct(const KernelToEmit& kernel, const SmallProduct& product);
void emitInterleavedProduct(const KernelToEmit& kernel, const InterleavedProduct& product);
void emitDepthwise(const KernelToEmit& kernel, const DepthwiseConvolution& convolution);
/// Return what is not supported, or "".
std::string emitNativeLoop(const KernelToEmit& kernel, const NativeLoop& loop);
std::string emitTensorLoop(const KernelToEmit& kernel, const TensorLoop& loop);

}  // namespace tenc::codegen::cpu
