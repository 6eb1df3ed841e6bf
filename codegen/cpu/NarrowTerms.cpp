#include "codegen/cpu/NarrowTerms.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

namespace tenc::codegen::cpu {

namespace {
llvm::Align alignment() { return llvm::Align(2); }
}  // namespace

NarrowTerms::NarrowTerms(IrBuilder& b, const Product& product, Terms terms, int64_t lanes)
    : b_(b),
      product_(product),
      terms_(terms),
      lanes_(static_cast<unsigned>(lanes)),
      floats_(llvm::FixedVectorType::get(b.getFloatTy(), lanes_)) {}

NarrowTerms::Val NarrowTerms::splat(Val x) { return b_.CreateVectorSplat(lanes_, x); }

/// Elements of 16 bits, one or a vector, as f32.
NarrowTerms::Val NarrowTerms::widened(Val bits) {
  auto like = [&](llvm::Type* element) -> llvm::Type* {
    auto* v = llvm::dyn_cast<llvm::FixedVectorType>(bits->getType());
    return v == nullptr ? element : llvm::FixedVectorType::get(element, v->getNumElements());
  };
  if (product_.operands == ir::DType::F16)
    return b_.CreateFPExt(b_.CreateBitCast(bits, like(b_.getHalfTy())), like(b_.getFloatTy()));
  return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(bits, like(b_.getInt32Ty())), 16), like(b_.getFloatTy()));
}

/// 16 bits, `number` steps of k from `p`.
NarrowTerms::Val NarrowTerms::elementOfA(Val p, int64_t number) {
  const auto bytes = static_cast<uint64_t>(number * product_.a.col * 2);
  return b_.CreateAlignedLoad(b_.getInt16Ty(), bytes == 0 ? p : b_.CreateConstGEP1_64(b_.getInt8Ty(), p, bytes),
                              alignment());
}

NarrowTerms::Val NarrowTerms::ofA(size_t part, Val p, bool last) {
  if (terms_ == Terms::Pairs) {
    auto element = [&](int64_t number) { return b_.CreateZExt(elementOfA(p, number), b_.getInt32Ty()); };
    Val pair = last                  ? element(0)
               : product_.a.col == 1 ? b_.CreateAlignedLoad(b_.getInt32Ty(), p, alignment())
                                     : b_.CreateOr(element(0), b_.CreateShl(element(1), 16));
    return splat(b_.CreateBitCast(pair, b_.getFloatTy()));
  }
  const bool second = terms_ == Terms::WidenedPairs && part == 0;
  if (second && last) return nullptr;
  return splat(widened(elementOfA(p, second ? 1 : 0)));
}

Values NarrowTerms::ofB(Val first, Val second) {
  if (terms_ == Terms::Widened) return {widened(first)};
  if (second == nullptr) second = llvm::Constant::getNullValue(first->getType());
  if (terms_ == Terms::WidenedPairs) return {widened(second), widened(first)};
  auto* rows = llvm::dyn_cast<llvm::FixedVectorType>(first->getType());
  if (rows == nullptr) {
    Val low = b_.CreateZExt(first, b_.getInt32Ty()), high = b_.CreateZExt(second, b_.getInt32Ty());
    return {b_.CreateBitCast(b_.CreateOr(low, b_.CreateShl(high, 16)), b_.getFloatTy())};
  }
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(lanes_); ++i) order.insert(order.end(), {i, i + static_cast<int>(lanes_)});
  return {b_.CreateBitCast(b_.CreateShuffleVector(first, second, order), floats_)};
}

NarrowTerms::Val NarrowTerms::add(Val x, Val y, Val sum) {
  if (x == nullptr) return b_.CreateFAdd(sum, llvm::Constant::getNullValue(floats_));
  if (terms_ != Terms::Pairs) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {floats_}, {x, y, sum});
  auto* pairs = llvm::FixedVectorType::get(b_.getBFloatTy(), 2 * lanes_);
  return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                            {sum, b_.CreateBitCast(x, pairs), b_.CreateBitCast(y, pairs)});
}

NarrowTerms::Val NarrowTerms::load(Val p, Val mask) {
  auto* row = llvm::FixedVectorType::get(b_.getInt16Ty(), lanes_);
  if (mask == nullptr) return b_.CreateAlignedLoad(row, p, alignment());
  return b_.CreateMaskedLoad(row, p, alignment(), mask, llvm::Constant::getNullValue(row));
}

NarrowTerms::Val NarrowTerms::loadAlong(Val p) {
  return terms_ == Terms::Pairs ? b_.CreateAlignedLoad(floats_, p, alignment()) : widened(load(p, nullptr));
}

NarrowTerms::Val NarrowTerms::beginSums() {
  if (terms_ != Terms::WidenedPairs) return nullptr;
  constexpr uint32_t kSubnormalsAreZero = 0x8040;  // flush to zero, denormals are zero
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  Val state = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(b_.getInt32Ty());
  Val sums = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(b_.getInt32Ty());
  b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {state});
  b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), state), kSubnormalsAreZero), sums);
  b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {sums});
  return state;
}

void NarrowTerms::endSums(Val state) {
  if (state != nullptr) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {state});
}

}  // namespace tenc::codegen::cpu
