#include "codegen/cpu/NarrowTerms.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {

namespace {
constexpr uint32_t kShift = 0x80808080;  // 128 in each byte
}  // namespace

NarrowTerms::NarrowTerms(IrBuilder& b, const Product& product, Terms terms, int64_t lanes)
    : b_(b),
      product_(product),
      terms_(terms),
      lanes_(static_cast<unsigned>(lanes)),
      bits_(b.getIntNTy(8 * static_cast<unsigned>(ir::byteSize(product.operands)))),
      sums_(llvm::FixedVectorType::get(memoryType(b.getContext(), product.dtype), lanes_)) {}

NarrowTerms::Val NarrowTerms::splat(Val x) { return b_.CreateVectorSplat(lanes_, x); }

llvm::Type* NarrowTerms::like(Val shape, llvm::Type* element) {
  auto* v = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType());
  return v == nullptr ? element : llvm::FixedVectorType::get(element, v->getNumElements());
}
llvm::Align NarrowTerms::alignment() const {
  return llvm::Align(static_cast<uint64_t>(ir::byteSize(product_.operands)));
}

/// Elements of 16 bits, one or a vector, as f32.
NarrowTerms::Val NarrowTerms::widened(Val bits) {
  if (product_.operands == ir::DType::F16)
    return b_.CreateFPExt(b_.CreateBitCast(bits, like(bits, b_.getHalfTy())), like(bits, b_.getFloatTy()));
  return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(bits, like(bits, b_.getInt32Ty())), 16),
                          like(bits, b_.getFloatTy()));
}

/// Elements, one or a vector, with the bits that each has of a joined one.
NarrowTerms::Val NarrowTerms::fitted(Val bits) {
  llvm::Type* to = like(bits, b_.getIntNTy(32 / static_cast<unsigned>(steps())));
  return ir::isUnsigned(product_.operands) ? b_.CreateZExt(bits, to) : b_.CreateSExt(bits, to);
}

/// The elements of one step side by side in 32 bits, the first lowest.
NarrowTerms::Val NarrowTerms::joined(const Values& rows) {
  if (!rows[0]->getType()->isVectorTy()) {
    Val all = nullptr;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto place = static_cast<uint64_t>(32 / steps()) * i;
      Val part = b_.CreateShl(b_.CreateZExt(fitted(rows[i]), b_.getInt32Ty()), place);
      all = all == nullptr ? part : b_.CreateOr(all, part);
    }
    return b_.CreateBitCast(all, sums_->getElementType());
  }
  Values parts;
  for (Val r : rows) parts.push_back(fitted(r));
  while (static_cast<int64_t>(parts.size()) < steps())
    parts.push_back(llvm::Constant::getNullValue(parts[0]->getType()));
  const int n = static_cast<int>(lanes_), count = static_cast<int>(parts.size());
  std::vector<int> whole, order;
  for (int i = 0; i < 2 * n; ++i) whole.push_back(i);
  for (int i = 0; i < n; ++i)
    for (int part = 0; part < count; ++part) order.push_back(part * n + i);
  if (count == 4)
    parts = {b_.CreateShuffleVector(parts[0], parts[1], whole), b_.CreateShuffleVector(parts[2], parts[3], whole)};
  return b_.CreateBitCast(b_.CreateShuffleVector(parts[0], parts[1], order), sums_);
}

/// The element `number` steps of k from `p`.
NarrowTerms::Val NarrowTerms::elementOfA(Val p, int64_t number) {
  const auto bytes = static_cast<uint64_t>(number * product_.a.col * ir::byteSize(product_.operands));
  return element(bytes == 0 ? p : b_.CreateConstGEP1_64(b_.getInt8Ty(), p, bytes));
}

/// The elements of A of one step as `joined` gives them.
NarrowTerms::Val NarrowTerms::joinedOfA(Val p, int64_t present) {
  const bool fills = bits_->getIntegerBitWidth() * steps() == 32;
  if (fills && product_.a.col == 1 && present == steps())
    return b_.CreateAlignedLoad(sums_->getElementType(), p, alignment());
  Values elements;
  for (int64_t i = 0; i < present; ++i) elements.push_back(elementOfA(p, i));
  return joined(elements);
}

NarrowTerms::Val NarrowTerms::ofA(size_t part, Val p, int64_t present) {
  if (isZero(part, present)) return nullptr;
  if (!isShifted(terms_)) return splat(termOfA(part, p, present));
  return b_.CreateXor(splat(joinedOfA(p, present)), shift());  // of whole vectors, one instruction with the load
}

NarrowTerms::Val NarrowTerms::termOfA(size_t part, Val p, int64_t present) {
  if (isZero(part, present)) return nullptr;
  if (!areJoined(terms_)) return widened(elementOfA(p, placeOf(part)));
  Val x = joinedOfA(p, present);
  return isShifted(terms_) ? b_.CreateXor(x, b_.getInt32(kShift)) : x;
}

NarrowTerms::Val NarrowTerms::shift() { return splat(b_.getInt32(kShift)); }

Values NarrowTerms::ofB(const Values& rows) {
  if (areJoined(terms_)) return {joined(rows)};
  if (terms_ == Terms::Widened) return {widened(rows[0])};
  Val second = rows.size() == 2 ? rows[1] : llvm::Constant::getNullValue(rows[0]->getType());
  return {widened(second), widened(rows[0])};
}

NarrowTerms::Val NarrowTerms::add(Val x, Val y, Val sum) {
  if (x == nullptr) return b_.CreateFAdd(sum, llvm::Constant::getNullValue(sums_));
  const auto pairsOf = [&](llvm::Type* element, Val v) {
    return b_.CreateBitCast(v, llvm::FixedVectorType::get(element, 2 * lanes_));
  };
  switch (terms_) {
    case Terms::Pairs:
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                {sum, pairsOf(b_.getBFloatTy(), x), pairsOf(b_.getBFloatTy(), y)});
    case Terms::Quads: return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {sum, x, y});
    case Terms::IntegerPairs: {
      const auto multiply =
          lanes_ == 16 ? llvm::Intrinsic::x86_avx512_pmaddw_d_512 : llvm::Intrinsic::x86_avx2_pmadd_wd;
      return b_.CreateAdd(sum,
                          b_.CreateIntrinsic(multiply, {}, {pairsOf(b_.getInt16Ty(), x), pairsOf(b_.getInt16Ty(), y)}));
    }
    default: return b_.CreateIntrinsic(llvm::Intrinsic::fma, {sums_}, {x, y, sum});
  }
}

NarrowTerms::Val NarrowTerms::load(Val p, Val mask) {
  auto* row = llvm::FixedVectorType::get(bits_, lanes_);
  if (mask == nullptr) return b_.CreateAlignedLoad(row, p, alignment());
  return b_.CreateMaskedLoad(row, p, alignment(), mask, llvm::Constant::getNullValue(row));
}

NarrowTerms::Val NarrowTerms::loadAlong(Val p) {
  if (!areJoined(terms_)) return widened(load(p, nullptr));
  auto* side = llvm::FixedVectorType::get(bits_, lanes_ * static_cast<unsigned>(steps()));
  return b_.CreateBitCast(fitted(b_.CreateAlignedLoad(side, p, alignment())), sums_);
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
