// What the emitters of matrix products and of depthwise convolutions share: types, addresses, loops.
#pragma once
#include <llvm/IR/Module.h>

#include "codegen/Kernel.h"
#include "codegen/cpu/GemmEpilogue.h"
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/KernelFunction.h"
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
        pointer_(llvm::PointerType::get(c_, 0)),
        i64_(llvm::Type::getInt64Ty(c_)),
        element_(product.dtype == ir::DType::F64 ? llvm::Type::getDoubleTy(c_) : llvm::Type::getFloatTy(c_)),
        vector_(llvm::FixedVectorType::get(element_, static_cast<unsigned>(lanes))) {}

  const Product& p_;
  llvm::Module& m_;
  llvm::LLVMContext& c_;
  IrBuilder b_;
  std::string name_;
  int64_t size_;  ///< bytes of an element
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
    auto buffer = [&](uint32_t i, int64_t offset) {
      return at(b_.CreateLoad(pointer_, b_.CreateConstGEP1_64(pointer_, entry_->getArg(0), i)), offset);
    };
    Val a = buffer(p_.a.buffer, p_.a.offset), b = buffer(p_.b.buffer, p_.b.offset);
    return {a, b, direct != nullptr ? buffer(direct->outBuffer(), direct->outOffset()) : nullptr, direct};
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
      batch[d] = b_.CreateSRem(number, int64(p_.batch[d]));
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
  Val at(Val base, int64_t elements) {
    return elements ? b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(elements * size_)) : base;
  }
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(size_)); }
  Val minimum(Val x, Val y) { return b_.CreateSelect(b_.CreateICmpSLT(x, y), x, y); }
  Val maximum(Val x, Val y) { return b_.CreateSelect(b_.CreateICmpSGT(x, y), x, y); }

  /// The first thing in block `i`.
  Val start(const Blocks& blocks, Val i) {
    return b_.CreateAdd(b_.CreateMul(i, int64(blocks.size)), minimum(i, int64(blocks.larger)));
  }

  /// The first of `lanes` lanes.
  Val tailMask(int lanes, int tail) {
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
