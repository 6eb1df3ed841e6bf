// Loop kernels as LLVM IR. Each strategy of a schedule (Schedule.h) has an emitter in a file of its own.
#pragma once
#include "codegen/Kernel.h"
#include "codegen/cpu/Schedule.h"

namespace llvm {
class Module;
class Function;
class Value;
}  // namespace llvm

namespace tenc::codegen::cpu {

/// Adds the function `name`, of type abi::KernelFn over the schedule's items, to the module. `contract`: mul and add of
/// the kernel may be fused.
llvm::Function* emitLoopKernel(const Kernel& kernel, const LoopSchedule& schedule, llvm::Module& module,
                               const std::string& name, bool contract);

struct LoopFunction;

/// Emits work item number `item`, in the loop over items.
void emitItem(LoopFunction& f, const RowSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const ColumnSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const WideColumnSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const TransposeSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const TileProductSchedule& schedule, llvm::Value* item);

}  // namespace tenc::codegen::cpu
