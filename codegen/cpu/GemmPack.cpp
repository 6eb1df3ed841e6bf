#include "codegen/cpu/GemmPack.h"

#include <llvm/IR/Module.h>

#include <numeric>
#include <vector>

#include "codegen/cpu/IrBuilder.h"

namespace tenc::codegen::cpu {
namespace {

using Val = llvm::Value*;

class PackEmitter {
 public:
  PackEmitter(llvm::Function* f, const Product& p, const GemmPlan& plan, int64_t width, int64_t columns)
      : f_(f),
        c_(f->getContext()),
        b_(c_),
        p_(p),
        lanes_(plan.lanes),
        width_(width),
        columns_(columns),
        size_(ir::byteSize(p.dtype)),
        element_(p.dtype == ir::DType::F64 ? llvm::Type::getDoubleTy(c_) : llvm::Type::getFloatTy(c_)),
        vector_(llvm::FixedVectorType::get(element_, static_cast<unsigned>(lanes_))) {}

  void emit(PackB how) {
    auto* entry = llvm::BasicBlock::Create(c_, "entry", f_);
    b_.SetInsertPoint(entry);
    if (how == PackB::Transpose) {
      const int64_t whole = p_.k / lanes_ * lanes_;
      loop(0, whole, lanes_, [&](Val k) {
        loop(0, columns_ / lanes_ * lanes_, lanes_, [&](Val j) { transposed(k, j, lanes_); });
        if (columns_ % lanes_) transposed(k, number(columns_ / lanes_ * lanes_), columns_ % lanes_);
      });
      loop(whole, p_.k, 1, [&](Val k) { elements(k); });
    } else if (how == PackB::Elements) {
      loop(0, p_.k, 1, [&](Val k) { elements(k); });
    } else {
      loop(0, p_.k, 1, [&](Val k) { row(k); });
    }
    b_.CreateRetVoid();
  }

 private:
  llvm::Function* f_;
  llvm::LLVMContext& c_;
  IrBuilder b_;
  const Product& p_;
  int64_t lanes_, width_, columns_;
  int size_;
  llvm::Type* element_;
  llvm::FixedVectorType* vector_;

  Val source(Val k, Val j) {
    Val row = b_.CreateMul(k, number(p_.b.row));
    return address(f_->getArg(0), b_.CreateAdd(row, b_.CreateMul(j, number(p_.b.col))));
  }
  Val target(Val k, Val j) { return address(f_->getArg(1), b_.CreateAdd(b_.CreateMul(k, number(width_ * lanes_)), j)); }
  Val number(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  Val address(Val base, Val elements) {
    return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(elements, number(size_)));
  }
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(size_)); }

  template <typename F>
  void loop(int64_t begin, int64_t end, int64_t step, F body) {
    if (begin >= end) return;
    auto* before = b_.GetInsertBlock();
    auto* inside = llvm::BasicBlock::Create(c_, "k", f_);
    auto* after = llvm::BasicBlock::Create(c_, "after", f_);
    b_.CreateBr(inside);
    b_.SetInsertPoint(inside);
    auto* k = b_.CreatePHI(b_.getInt64Ty(), 2);
    k->addIncoming(number(begin), before);
    body(k);
    Val next = b_.CreateAdd(k, number(step));
    k->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, number(end)), inside, after);
    b_.SetInsertPoint(after);
  }

  void row(Val k) {
    for (int64_t v = 0; v < width_; ++v) {
      const int64_t left = columns_ - v * lanes_;
      Val x = nullptr;
      if (left >= lanes_) {
        x = b_.CreateAlignedLoad(vector_, source(k, number(v * lanes_)), align());
      } else {
        std::vector<llvm::Constant*> bits;
        for (int64_t i = 0; i < lanes_; ++i) bits.push_back(b_.getInt1(i < left));
        x = b_.CreateMaskedLoad(vector_, source(k, number(v * lanes_)), align(), llvm::ConstantVector::get(bits),
                                llvm::Constant::getNullValue(vector_));
      }
      b_.CreateAlignedStore(x, target(k, number(v * lanes_)), align());
    }
  }

  /// One k, element by element: for strides of any kind.
  void elements(Val k) {
    loop(0, columns_, 1, [&](Val j) {
      b_.CreateAlignedStore(b_.CreateAlignedLoad(element_, source(k, j), align()), target(k, j), align());
    });
    if (columns_ < width_ * lanes_) {
      loop(columns_, width_ * lanes_, 1,
           [&](Val j) { b_.CreateAlignedStore(llvm::Constant::getNullValue(element_), target(k, j), align()); });
    }
  }

  /// `lanes` steps of k by `lanes` columns, `used` of them in the matrix, where k is contiguous: vectors along k,
  /// turned in registers by interleaving halves log2(lanes) times (the perfect-shuffle transpose).
  void transposed(Val k, Val j, int64_t used) {
    std::vector<Val> x;
    for (int64_t i = 0; i < lanes_; ++i) {
      x.push_back(i < used
                      ? static_cast<Val>(b_.CreateAlignedLoad(vector_, source(k, b_.CreateAdd(j, number(i))), align()))
                      : llvm::Constant::getNullValue(vector_));
    }
    std::vector<int> low, high;
    for (int64_t i = 0; i < lanes_ / 2; ++i) {
      low.push_back(static_cast<int>(i));
      low.push_back(static_cast<int>(lanes_ + i));
      high.push_back(static_cast<int>(lanes_ / 2 + i));
      high.push_back(static_cast<int>(lanes_ + lanes_ / 2 + i));
    }
    for (int64_t step = 1; step < lanes_; step *= 2) {
      std::vector<Val> y(x.size());
      for (int64_t i = 0; i < lanes_ / 2; ++i) {
        Val a = x[static_cast<size_t>(i)], c = x[static_cast<size_t>(i + lanes_ / 2)];
        y[static_cast<size_t>(2 * i)] = b_.CreateShuffleVector(a, c, low);
        y[static_cast<size_t>(2 * i + 1)] = b_.CreateShuffleVector(a, c, high);
      }
      x = std::move(y);
    }
    for (int64_t i = 0; i < lanes_; ++i)
      b_.CreateAlignedStore(x[static_cast<size_t>(i)], target(b_.CreateAdd(k, number(i)), j), align());
  }
};

}  // namespace

llvm::Function* packPanel(llvm::Module& module, const std::string& prefix, const Product& product, const GemmPlan& plan,
                          int64_t width, int64_t columns) {
  const std::string name = prefix + ".pack" + std::to_string(width) + "x" + std::to_string(columns);
  if (llvm::Function* f = module.getFunction(name)) return f;
  auto* pointer = llvm::PointerType::get(module.getContext(), 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), {pointer, pointer}, false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  PackEmitter(f, product, plan, width, columns).emit(plan.pack);
  return f;
}

}  // namespace tenc::codegen::cpu
