// The emitter of native loops, in two parts: elements and updates (NativeEmitter.cpp), control flow
// (NativeControl.cpp). Internal to them; the entry is emitNativeKernel.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/IndexRanges.h"
#include "codegen/Kernel.h"
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {

/// What a value of the region is here: an element in a register, or a view of a buffer.
struct Slot {
  llvm::Value* element = nullptr;  ///< of the register type; also for tensors of one element
  llvm::Value* base = nullptr;     ///< of a tensor: address of element (0, 0, ...)
  std::vector<int64_t> strides;
  llvm::MDNode *scope = nullptr, *others = nullptr;  ///< of a tensor: its buffer's alias scope, and all others'
};

class NativeEmitter {
 public:
  NativeEmitter(const Kernel& kernel, llvm::Module& module, bool contract)
      : kernel_(kernel), module_(module), b_(module.getContext()), contract_(contract) {}

  /// "" or why there is no code.
  std::string emit(const std::string& name);

 private:
  using Slots = std::vector<Slot>;
  // ---- elements and updates
  void fail(const std::string& what) {
    if (error_.empty()) error_ = "native loop: " + what;
  }
  Slot element(Scalar s) { return {LlvmScalars::value(s), nullptr, {}}; }
  Scalar scalar(const ir::Value* v);
  Scalar index(const ir::Value* v);
  llvm::Type* memory(ir::DType t) { return memoryType(b_.getContext(), t); }
  std::vector<llvm::MDNode*> makeScopes();
  void tag(llvm::Instruction* access, const Slot& slot);
  Scalar read(const Slot& slot, llvm::Value* at, ir::DType t);
  Slot loaded(const Slot& slot, const ir::Type& t) { return element(read(slot, slot.base, t.dtype)); }
  void put(const Slot& slot, llvm::Value* at, Scalar v, ir::DType t);
  void body(const ir::Region& region);
  void emitOp(const ir::Op& op);
  uint32_t fault(const ir::Op& op) const;
  llvm::Value* locate(const ir::Op& op, const Slot& slot, const ir::Type& t, const std::vector<int64_t>& axes,
                      size_t first, const std::vector<int64_t>* sizes, llvm::Value* aside);
  llvm::Value* aside();
  llvm::Value* offset(llvm::Value* base, ir::DType t, Scalar at, int64_t stride);
  Scalar yes() { return s_->intConstant(Repr::I1, 1); }
  void bind(const ir::Value* result, Slot slot);
  void gather(const ir::Op& op);
  void dynamicSlice(const ir::Op& op);
  void update(const Slot& slot, llvm::Value* at, ir::DType t, Scalar v, const std::string& mode);
  void scatter(const ir::Op& op);
  void dynamicUpdate(const ir::Op& op);
  void updateSlice(const ir::Op& op);
  void view(const ir::Op& op);
  Slot local(const ir::Op& op);
  void copies(const ir::Op& op);
  void literal(const ir::Op& op);

  // ---- control flow: single elements become phi nodes, tensors stay where they are
  Slots slotsOf(const ir::Op& op, size_t from);
  Slots carriedPhis(const Slots& start, llvm::BasicBlock* from);
  void closePhis(const Slots& carried, const Slots& next, llvm::BasicBlock* latch);
  Slots mergedSlots(const Slots& a, llvm::BasicBlock* fromA, const Slots& b, llvm::BasicBlock* fromB);
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  void bindArgs(const ir::Region& region, const Slots& values, size_t skip);
  llvm::Value* unlessStopped(llvm::Value* more);
  bool isShort(const ir::Op& op);
  void tell(size_t offset, Scalar value);
  void unroll(llvm::BranchInst* jump);
  void forLoop(const ir::Op& op);
  Slots trips(const ir::Op& op, const Slots& start, Scalar lo, Scalar hi, Scalar step, bool forward);
  void whileLoop(const ir::Op& op);
  bool isSafeRead(const ir::Op& op);
  bool mayAlwaysRun(const ir::Region& region, int& budget);
  void choose(const ir::Op& op, Scalar condition);
  void branch(const ir::Op& op);

  const Kernel& kernel_;
  llvm::Module& module_;
  IrBuilder b_;
  bool contract_;
  llvm::Function* function_ = nullptr;
  llvm::Value* fault_ = nullptr;
  int loops_ = 0;  ///< around what is emitted
  std::optional<LlvmScalars> s_;
  std::unordered_map<const ir::Value*, Slot> slots_;
  std::unordered_map<const ir::Op*, uint32_t> faults_;
  IndexRanges ranges_;
  llvm::Value* aside_ = nullptr;
  std::unordered_map<const ir::Op*, llvm::Value*> locals_;
  std::string error_;
};

}  // namespace tenc::codegen::cpu
