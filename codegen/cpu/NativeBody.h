// The emitter of native loops: the ops of a region one after the other (NativeEmitter.cpp), and control flow
// (NativeControl.cpp): single elements become phi nodes, tensors stay where they are. Internal to them; the entry is
// emitNativeLoop.
#pragma once
#include <string>
#include <vector>

#include "codegen/cpu/NativeElements.h"

namespace tenc::codegen::cpu {

class NativeEmitter : NativeElements {
 public:
  NativeEmitter(const Kernel& kernel, llvm::Module& module, bool contract)
      : NativeElements(kernel, module), contract_(contract) {}

  /// "" or why there is no code.
  std::string emit(const std::string& name);

 private:
  using Slots = std::vector<NativeValue>;
  void body(const ir::Region& region);
  void emitOp(const ir::Op& op);

  Slots slotsOf(const ir::Op& op, size_t from);
  Slots carriedPhis(const Slots& start, llvm::BasicBlock* from);
  void closePhis(const Slots& carried, const Slots& next, llvm::BasicBlock* latch);
  Slots mergedSlots(const Slots& a, llvm::BasicBlock* fromA, const Slots& b, llvm::BasicBlock* fromB);
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  void bindArgs(const ir::Region& region, const Slots& values, size_t skip);
  llvm::Value* unlessStopped(llvm::Value* more);
  bool isShort(const ir::Op& op);
  void tell(size_t offset, Scalar value);
  /// An index that grows by `slope` while the variable of its loop grows by 1.
  struct Linear {
    const ir::Value* index;
    int64_t extent, slope;
  };
  std::vector<Linear> linearIndices(const ir::Op& loop, const ir::Region& region);
  Scalar indexAt(const ir::Value* v, const ir::Op& loop, Scalar at);
  Scalar areInRange(const ir::Op& loop, const std::vector<Linear>& indices, Scalar lo, Scalar last, bool forward);
  Scalar lastTrip(Scalar lo, Scalar hi, Range steps);
  void forLoop(const ir::Op& op);
  Slots trips(const ir::Op& op, const Slots& start, Scalar lo, Scalar hi, Scalar step, bool forward);
  void whileLoop(const ir::Op& op);
  bool isSafeRead(const ir::Op& op);
  static bool isIntegerDivision(const ir::Op& op);
  llvm::Value* byPowerOf2(const ir::Op& op, Scalar a);
  Scalar divide(const ir::Op& op, Scalar a, Scalar b);
  bool decidesExit(const ir::Region& region, size_t i);
  bool mayLeave(const ir::Op& op);
  bool mayAlwaysRun(const ir::Region& region, int& budget);
  void choose(const ir::Op& op, Scalar condition);
  void branch(const ir::Op& op);

  bool contract_;
  llvm::Value* fault_ = nullptr;
  NativeValue state_;  ///< the scopes of what `fault_` points to
  int loops_ = 0;      ///< around what is emitted
};

}  // namespace tenc::codegen::cpu
