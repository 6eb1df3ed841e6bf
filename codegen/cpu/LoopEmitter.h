// The emitters of the strategies of loop schedules (LoopSchedule.h), each in a file of its own. LoopEmitter.cpp has the
// loop over work items that is around them.
#pragma once
#include "codegen/cpu/LoopSchedule.h"

namespace llvm {
class Value;
}  // namespace llvm

namespace tenc::codegen::cpu {

struct LoopFunction;

/// Emits work item number `item`, in the loop over items.
void emitItem(LoopFunction& f, const RowSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const ColumnSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const WideColumnSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const TransposeSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const ImplicitProductSchedule& schedule, llvm::Value* item);
void emitItem(LoopFunction& f, const UpdateSchedule& schedule, llvm::Value* item);

}  // namespace tenc::codegen::cpu
