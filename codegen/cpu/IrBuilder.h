// LLVM builders that leave out integer and address arithmetic that does nothing. LLVM would find it too, but later and
// for more time; in quick code nobody looks for it.
#pragma once
#include <llvm/IR/ConstantFolder.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

namespace tenc::codegen::cpu {

/// Folds constants as LLVM's builders do, and of integers also x * 1, x + 0, x - 0, x / 1, x % 1, steps of 0 from an
/// address, and the lesser and the greater of two constants. Floating-point operations are never touched.
class IntegerFolder final : public llvm::IRBuilderFolder {
  using Value = llvm::Value;
  using Ops = llvm::Instruction;

 public:
  Value* FoldBinOp(Ops::BinaryOps op, Value* x, Value* y) const override {
    Value* same = unchanged(op, x, y);
    return same != nullptr ? same : constants_.FoldBinOp(op, x, y);
  }
  Value* FoldExactBinOp(Ops::BinaryOps op, Value* x, Value* y, bool exact) const override {
    Value* same = unchanged(op, x, y);
    return same != nullptr ? same : constants_.FoldExactBinOp(op, x, y, exact);
  }
  Value* FoldNoWrapBinOp(Ops::BinaryOps op, Value* x, Value* y, bool nuw, bool nsw) const override {
    Value* same = unchanged(op, x, y);
    return same != nullptr ? same : constants_.FoldNoWrapBinOp(op, x, y, nuw, nsw);
  }
  Value* FoldGEP(llvm::Type* t, Value* p, llvm::ArrayRef<Value*> steps, llvm::GEPNoWrapFlags flags) const override {
    if (steps.size() == 1 && isInt(steps[0], 0)) return p;
    return constants_.FoldGEP(t, p, steps, flags);
  }
  Value* FoldBinaryIntrinsic(llvm::Intrinsic::ID id, Value* x, Value* y, llvm::Type* t,
                             llvm::Instruction* flags) const override {
    const auto *a = llvm::dyn_cast<llvm::ConstantInt>(x), *b = llvm::dyn_cast<llvm::ConstantInt>(y);
    if (a != nullptr && b != nullptr && (id == llvm::Intrinsic::smin || id == llvm::Intrinsic::smax))
      return a->getValue().slt(b->getValue()) == (id == llvm::Intrinsic::smin) ? x : y;
    return constants_.FoldBinaryIntrinsic(id, x, y, t, flags);
  }

  Value* FoldBinOpFMF(Ops::BinaryOps op, Value* x, Value* y, llvm::FastMathFlags flags) const override {
    return constants_.FoldBinOpFMF(op, x, y, flags);
  }
  Value* FoldUnOpFMF(Ops::UnaryOps op, Value* x, llvm::FastMathFlags flags) const override {
    return constants_.FoldUnOpFMF(op, x, flags);
  }
  Value* FoldCmp(llvm::CmpInst::Predicate p, Value* x, Value* y) const override { return constants_.FoldCmp(p, x, y); }
  Value* FoldSelect(Value* c, Value* x, Value* y) const override { return constants_.FoldSelect(c, x, y); }
  Value* FoldExtractValue(Value* x, llvm::ArrayRef<unsigned> at) const override {
    return constants_.FoldExtractValue(x, at);
  }
  Value* FoldInsertValue(Value* x, Value* y, llvm::ArrayRef<unsigned> at) const override {
    return constants_.FoldInsertValue(x, y, at);
  }
  Value* FoldExtractElement(Value* x, Value* at) const override { return constants_.FoldExtractElement(x, at); }
  Value* FoldInsertElement(Value* x, Value* y, Value* at) const override {
    return constants_.FoldInsertElement(x, y, at);
  }
  Value* FoldShuffleVector(Value* x, Value* y, llvm::ArrayRef<int> lanes) const override {
    return constants_.FoldShuffleVector(x, y, lanes);
  }
  Value* FoldCast(Ops::CastOps op, Value* x, llvm::Type* to) const override { return constants_.FoldCast(op, x, to); }
  Value* CreatePointerCast(llvm::Constant* c, llvm::Type* to) const override {
    return constants_.CreatePointerCast(c, to);
  }
  Value* CreatePointerBitCastOrAddrSpaceCast(llvm::Constant* c, llvm::Type* to) const override {
    return constants_.CreatePointerBitCastOrAddrSpaceCast(c, to);
  }

 private:
  static bool isInt(const Value* v, uint64_t n) {
    const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v);
    return c != nullptr && c->equalsInt(n);
  }
  /// The operand that is the operation's result, or its constant result, or null.
  static Value* unchanged(Ops::BinaryOps op, Value* x, Value* y) {
    if (!x->getType()->isIntegerTy()) return nullptr;
    switch (op) {
      case Ops::Add: return isInt(y, 0) ? x : isInt(x, 0) ? y : nullptr;
      case Ops::Sub: return isInt(y, 0) ? x : nullptr;
      case Ops::Mul: return isInt(y, 1) ? x : isInt(x, 1) ? y : isInt(y, 0) ? y : nullptr;
      case Ops::SDiv:
      case Ops::UDiv: return isInt(y, 1) ? x : nullptr;
      case Ops::SRem:
      case Ops::URem: return isInt(y, 1) ? llvm::ConstantInt::get(x->getType(), 0) : nullptr;
      default: return nullptr;
    }
  }

  llvm::ConstantFolder constants_;
};

using IrBuilder = llvm::IRBuilder<IntegerFolder>;

}  // namespace tenc::codegen::cpu
