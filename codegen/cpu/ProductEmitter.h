// What the emitters of matrix products and of depthwise convolutions share: types, addresses, loops.
#pragma once
#include <llvm/IR/Module.h>

#include "codegen/Kernel.h"
#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/KernelFunction.h"
#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/ProductSchedule.h"

namespace tenc::codegen::cpu {

class ProductEmitter {
 protected:
  using Val = llvm::Value*;

  /// `lanes`: elements of a vector.
  ProductEmitter(const Product& product, llvm::Module& module, std::string name, int64_t lanes)
      : p_(product),
        m_(module),
        c_(module.getContext()),
        b_(c_),
        name_(std::move(name)),
        size_(ir::byteSize(product.dtype)),
        operandSize_(ir::byteSize(product.operands)),
        pointer_(llvm::PointerType::get(c_, 0)),
        i64_(llvm::Type::getInt64Ty(c_)),
        element_(memoryType(c_, product.dtype)),
        vector_(llvm::FixedVectorType::get(element_, static_cast<unsigned>(lanes))) {}

  const Product& p_;
  llvm::Module& m_;
  llvm::LLVMContext& c_;
  IrBuilder b_;
  std::string name_;
  int64_t size_;         ///< bytes of a sum, and of what is packed
  int64_t operandSize_;  ///< of an element of A and B
  llvm::PointerType* pointer_;
  llvm::Type* i64_;
  llvm::Type* element_;
  llvm::FixedVectorType* vector_;
  llvm::Function* entry_ = nullptr;

  /// Where the operands begin, and the result if sums are stored straight to it: `direct` is the epilogue then.
  struct Operands {
    Val a, b, out;
    const GemmEpilogue* direct;
  };
  /// Begins the kernel's function.
  Operands openEntry(const GemmEpilogue* direct) {
    entry_ = createKernelFunction(m_, name_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", entry_));
    auto buffer = [&](uint32_t i) {
      return b_.CreateLoad(pointer_, b_.CreateConstGEP1_64(pointer_, entry_->getArg(0), i));
    };
    Val a = operandAt(buffer(p_.a.buffer), p_.a.offset), b = operandAt(buffer(p_.b.buffer), p_.b.offset);
    return {a, b, direct != nullptr ? at(buffer(direct->outBuffer()), direct->outOffset()) : nullptr, direct};
  }

  /// From there to a matrix of the batch, in elements.
  struct Offsets {
    Val a, b, out;
  };
  /// The indices of matrix number `number` of the batch; adds its offsets. Dim `skipped`, if any, does not count and
  /// has index 0.
  std::vector<Val> batchOf(Val number, Offsets& offsets, const Operands& operands, size_t skipped = ~size_t{0}) {
    std::vector<Val> batch(p_.batch.size(), int64(0));
    for (size_t d = p_.batch.size(); d-- > 0;) {
      if (d == skipped) continue;
      batch[d] = d == 0 ? number : b_.CreateSRem(number, int64(p_.batch[d]));
      number = b_.CreateSDiv(number, int64(p_.batch[d]));
      offsets.a = b_.CreateAdd(offsets.a, b_.CreateMul(batch[d], int64(p_.a.batch[d])));
      offsets.b = b_.CreateAdd(offsets.b, b_.CreateMul(batch[d], int64(p_.b.batch[d])));
      if (operands.direct != nullptr)
        offsets.out = b_.CreateAdd(offsets.out, b_.CreateMul(batch[d], int64(operands.direct->batchStride(d))));
    }
    return batch;
  }

  /// Ends the kernel's function. All functions of the product use whole registers, as the entry does.
  void finish() {
    b_.CreateRetVoid();
    for (llvm::Function& f : m_) {
      if (f.isDeclaration() || !f.getName().starts_with(name_)) continue;
      for (const char* name : {"prefer-vector-width", "min-legal-vector-width"}) {
        if (entry_->hasFnAttribute(name)) f.addFnAttr(entry_->getFnAttribute(name));
      }
    }
  }

  Val int64(int64_t v) { return llvm::ConstantInt::get(i64_, static_cast<uint64_t>(v), true); }
  Val bytes(Val base, Val elements) { return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(elements, int64(size_))); }
  Val at(Val base, int64_t elements) { return offset(base, elements * size_); }
  /// The same from an element of A or B, in elements of those.
  Val operandBytes(Val base, Val elements) {
    return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(elements, int64(operandSize_)));
  }
  Val operandAt(Val base, int64_t elements) { return offset(base, elements * operandSize_); }
  Val offset(Val base, int64_t bytes) {
    return bytes ? b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(bytes)) : base;
  }
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(size_)); }
  Val minimum(Val x, Val y) { return b_.CreateSelect(b_.CreateICmpSLT(x, y), x, y); }
  Val maximum(Val x, Val y) { return b_.CreateSelect(b_.CreateICmpSGT(x, y), x, y); }

  /// A vector at `p`; with a mask only its lanes, the others are 0.
  Val load(Val p, Val mask = nullptr) {
    if (mask == nullptr) return b_.CreateAlignedLoad(vector_, p, align());
    return b_.CreateMaskedLoad(vector_, p, align(), mask, llvm::Constant::getNullValue(vector_));
  }
  void store(Val v, Val p, Val mask = nullptr) {
    if (mask == nullptr)
      b_.CreateAlignedStore(v, p, align());
    else
      b_.CreateMaskedStore(v, p, align(), mask);
  }

  /// `near`: 3 is the first-level cache, 2 the second.
  void prefetch(Val p, bool write, uint32_t near) {
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer_},
                       {p, b_.getInt32(write ? 1 : 0), b_.getInt32(near), b_.getInt32(1)});
  }

  /// The first thing in block `i`.
  Val start(const Blocks& blocks, Val i) {
    return b_.CreateAdd(b_.CreateMul(i, int64(blocks.size)), minimum(i, int64(blocks.larger)));
  }

  /// The first of `lanes` lanes.
  Val tailMask(int64_t lanes, int64_t tail) {
    std::vector<llvm::Constant*> bits;
    for (int i = 0; i < lanes; ++i) bits.push_back(b_.getInt1(i < tail));
    return llvm::ConstantVector::get(bits);
  }
  /// A vector of the element at `p`.
  Val splat(Val p) {
    return b_.CreateVectorSplat(vector_->getNumElements(), b_.CreateAlignedLoad(element_, p, align()));
  }

  /// The first tap that meets an element at one of the places from `first` to `last`, and the end of those.
  std::pair<Val, Val> tapsAt(const ir::WindowDim& w, Val first, Val last) {
    auto taps = [&](Val place, int64_t beyond, Val least) {  // ceil(distance / dilation), in range
      Val distance = b_.CreateSub(int64(w.lo + beyond), b_.CreateMul(place, int64(w.stride)));
      Val up = b_.CreateSDiv(b_.CreateAdd(maximum(distance, int64(0)), int64(w.dilation - 1)), int64(w.dilation));
      return minimum(maximum(up, least), int64(w.taps));
    };
    Val begin = taps(last, 0, int64(0));
    return {begin, taps(first, w.extent, begin)};
  }

  /// What steps along with a sum: an address, by so many elements, or a number.
  struct Walk {
    Val start;
    int64_t step;
  };
  /// The loop of a sum over k = lo, ..., hi - 1: body(k, where the walks are, sums) gives the next sums, which go
  /// through it in registers. `mayBeNone`: lo < hi has to be tested.
  template <typename F>
  Values sumLoop(Val lo, Val hi, bool mayBeNone, const std::vector<Walk>& walks, const Values& sums, F body) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* head = llvm::BasicBlock::Create(c_, "k", before->getParent());
    auto* done = llvm::BasicBlock::Create(c_, "done", before->getParent());
    if (mayBeNone)
      b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), head, done);
    else
      b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto carry = [&](Val start) {
      auto* phi = b_.CreatePHI(start->getType(), 2);
      phi->addIncoming(start, before);
      return phi;
    };
    auto* k = carry(lo);
    std::vector<llvm::PHINode*> at, kept;
    for (const Walk& w : walks) at.push_back(carry(w.start));
    for (Val s : sums) kept.push_back(carry(s));
    Values next = body(k, Values(at.begin(), at.end()), Values(kept.begin(), kept.end()));
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    for (size_t n = 0; n < kept.size(); ++n) kept[n]->addIncoming(next[n], latch);
    Val following = b_.CreateAdd(k, int64(1));
    k->addIncoming(following, latch);
    for (size_t n = 0; n < at.size(); ++n) {
      const bool address = at[n]->getType()->isPointerTy();
      at[n]->addIncoming(address ? this->at(at[n], walks[n].step) : b_.CreateAdd(at[n], int64(walks[n].step)), latch);
    }
    b_.CreateCondBr(b_.CreateICmpSLT(following, hi), head, done);
    b_.SetInsertPoint(done);
    if (!mayBeNone) return next;
    for (size_t n = 0; n < next.size(); ++n) {
      auto* either = b_.CreatePHI(vector_, 2);
      either->addIncoming(sums[n], before);
      either->addIncoming(next[n], latch);
      next[n] = either;
    }
    return next;
  }

  /// for (i = lo; i < hi; i += step) body(i)
  template <typename F>
  void loop(Val lo, Val hi, int64_t step, F body) {
    emitLoop(b_, lo, hi, step, {}, [&](Val i, const Values&) {
      body(i);
      return Values();
    });
  }
};

}  // namespace tenc::codegen::cpu
