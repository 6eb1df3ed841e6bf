// The values of a native loop while it is emitted: elements in registers, tensors in memory.
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
struct NativeValue {
  llvm::Value* element = nullptr;  ///< of the register type; also for tensors of one element
  llvm::Value* base = nullptr;     ///< of a tensor: address of element (0, 0, ...)
  std::vector<int64_t> strides;
  llvm::MDNode *scope = nullptr, *others = nullptr;  ///< of a tensor: its buffer's alias scope, and all others'
};

class NativeValues {
 protected:
  NativeValues(const Kernel& kernel, llvm::Module& module)
      : kernel_(kernel), module_(module), b_(module.getContext()) {}

  void fail(const std::string& what) {
    if (error_.empty()) error_ = "native loop: " + what;
  }
  NativeValue element(Scalar s) { return {LlvmScalars::value(s), nullptr, {}}; }
  Scalar scalar(const ir::Value* v);
  Scalar index(const ir::Value* v);
  llvm::Type* memory(ir::DType t) { return memoryType(b_.getContext(), t); }
  std::vector<llvm::MDNode*> makeScopes();
  void tag(llvm::Instruction* access, const NativeValue& slot);
  Scalar read(const NativeValue& slot, llvm::Value* at, ir::DType t);
  NativeValue loaded(const NativeValue& slot, const ir::Type& t) { return element(read(slot, slot.base, t.dtype)); }
  void put(const NativeValue& slot, llvm::Value* at, Scalar v, ir::DType t);
  uint32_t fault(const ir::Op& op) const;
  void bind(const ir::Value* result, const NativeValue& slot);

  const Kernel& kernel_;
  llvm::Module& module_;
  IrBuilder b_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;  ///< where a loop is left that cannot go on
  std::optional<LlvmScalars> s_;
  std::unordered_map<const ir::Value*, NativeValue> slots_;
  std::unordered_map<const ir::Op*, uint32_t> faults_;
  IndexRanges ranges_;
  llvm::MDNode* group_ = nullptr;  ///< the accesses of a loop whose trips do not depend on each other, in its body
  std::string error_;
};

}  // namespace tenc::codegen::cpu
