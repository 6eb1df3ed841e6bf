#include "codegen/cpu/NativeValues.h"

#include <llvm/IR/MDBuilder.h>

#include <limits>

#include "codegen/ScalarConvert.h"

namespace tenc::codegen::cpu {
using llvm::Value;

Scalar NativeValues::scalar(const ir::Value* v) {
  const NativeValue& slot = slots_[v];
  Repr r = reprOf(v->type.dtype);
  if (slot.element != nullptr) return s_->wrap(slot.element, r);
  if (slot.base != nullptr && v->type.size() == 1) return s_->wrap(loaded(slot, v->type).element, r);
  fail("a tensor where a single element is needed");
  return s_->constant(r, 0);
}

/// For each buffer its alias scope and the list of all others'; last those of the kernel's state. Buffers that the loop
/// works in do not overlap; only results, which are written after it, may stand where an operand did.
std::vector<llvm::MDNode*> NativeValues::makeScopes() {
  llvm::MDBuilder make(b_.getContext());
  llvm::MDNode* domain = make.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (size_t i = 0; i <= kernel_.buffers.size(); ++i) scopes.push_back(make.createAnonymousAliasScope(domain));
  std::vector<llvm::MDNode*> lists;
  for (size_t i = 0; i < scopes.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<long>(i));
    lists.push_back(llvm::MDNode::get(b_.getContext(), {scopes[i]}));
    lists.push_back(llvm::MDNode::get(b_.getContext(), others));
  }
  return lists;
}

void NativeValues::tag(llvm::Instruction* access, const NativeValue& slot) {
  if (group_ != nullptr) access->setMetadata(llvm::LLVMContext::MD_access_group, group_);
  if (slot.scope == nullptr) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, slot.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, slot.others);
}

Scalar NativeValues::read(const NativeValue& slot, Value* at, ir::DType t) {
  auto* load = b_.CreateAlignedLoad(memory(t), at, llvm::Align(static_cast<uint64_t>(ir::byteSize(t))));
  tag(load, slot);
  return s_->fromMemory(load, t);
}

void NativeValues::put(const NativeValue& slot, Value* at, Scalar v, ir::DType t) {
  tag(b_.CreateAlignedStore(s_->toMemory(v, t), at, llvm::Align(static_cast<uint64_t>(ir::byteSize(t)))), slot);
}

uint32_t NativeValues::fault(const ir::Op& op) const {
  auto it = faults_.find(&op);
  return it == faults_.end() ? 0 : it->second;
}

/// As i64; a large u64 is the largest, not a negative one that would count from the end.
Scalar NativeValues::index(const ir::Value* v) {
  Scalar at = scalar(v);
  if (v->type.dtype == ir::DType::U64)
    at = s_->wrap(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, LlvmScalars::value(at),
                                           b_.getInt64(std::numeric_limits<int64_t>::max())),
                  Repr::I64);
  return emitCast(*s_, at, v->type.dtype, ir::DType::I64);
}

void NativeValues::bind(const ir::Value* result, const NativeValue& slot) {
  slots_[result] = slot.element == nullptr && result->type.rank() == 0 ? loaded(slot, result->type) : slot;
}

}  // namespace tenc::codegen::cpu
