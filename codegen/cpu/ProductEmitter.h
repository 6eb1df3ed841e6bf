// What the emitters of matrix products and of depthwise convolutions share: types, addresses, loops.
#pragma once
#include <llvm/IR/Module.h>

#include "codegen/Kernel.h"
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/Loops.h"

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

  /// All functions of the product use whole registers, as the entry does.
  void widenAll() const {
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
