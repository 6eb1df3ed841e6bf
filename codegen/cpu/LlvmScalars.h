// ScalarBuilder on LLVM IR: a Scalar is an LLVM value, of one element or a vector of `lanes`; where the two meet, the
// single element is repeated. What does not depend on the lane stays a single element.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "codegen/ScalarBodies.h"
#include "codegen/ScalarBuilder.h"

namespace tenc::codegen::cpu {

/// How elements of a dtype are held in registers and in memory.
llvm::Type* registerType(llvm::LLVMContext& c, Repr r);
llvm::Type* memoryType(llvm::LLVMContext& c, ir::DType t);

class LlvmScalars : public ScalarBuilder {
 public:
  /// Emits at `b`'s insertion point (which moves when code branches). `fault`: the kernel's fault word, null if nothing
  /// can fault. `lanes` 1 or a power of 2.
  LlvmScalars(llvm::IRBuilderBase& b, llvm::Value* fault, int lanes) : b_(b), fault_(fault), lanes_(lanes) {}

  int lanes() const { return lanes_; }
  llvm::IRBuilderBase& irBuilder() { return b_; }
  /// Lanes that count when faults are set: <lanes x i1>, or null for all.
  void setMask(llvm::Value* mask) { mask_ = mask; }
  llvm::Value* mask() const { return mask_; }
  /// Whether mul and add of elementwise ops may be fused.
  bool contract = false;
  /// Short code rather than fast code, of the same bits: long pieces (exp, reductions across lanes) are functions of
  /// the module, and strided loads are gathered.
  bool shortCode = false;

  Scalar wrap(llvm::Value* v, Repr r) { return {this, v, r}; }
  static llvm::Value* value(Scalar s) { return static_cast<llvm::Value*>(s.handle); }
  /// As a vector of `lanes` (or itself with one lane).
  llvm::Value* splat(llvm::Value* v);
  /// From memory's form to the register form and back; `v` is an element or a vector.
  Scalar fromMemory(llvm::Value* v, ir::DType t);
  llvm::Value* toMemory(Scalar s, ir::DType t);
  /// An elementwise op, contracted when wanted.
  Scalar elementwise(ir::OpKind kind, ir::DType operand, ir::DType result, std::span<const Scalar> args,
                     uint32_t fault);

  Scalar floatConstant(Repr r, double v) override;
  Scalar intConstant(Repr r, uint64_t v) override;
  Scalar unary(UnaryInst op, Scalar a) override;
  Scalar binary(BinaryInst op, Scalar a, Scalar b) override;
  Scalar fma(Scalar a, Scalar b, Scalar c) override;
  Scalar compare(Predicate p, Scalar a, Scalar b) override;
  Scalar select(Scalar condition, Scalar a, Scalar b) override;
  Scalar convert(ConvertInst op, Scalar a, Repr to) override;
  Scalar scaleByPowerOf2(Scalar x, Scalar n) override;
  bool isUnderflowSlow() const override { return true; }
  Scalar lookup(std::span<const double, 16> table, Scalar index) override;
  Scalar halfBits(Scalar x) override;
  Scalar halfOfBits(Scalar bits) override;
  bool dividesCheaply(Scalar divisor) override;
  Scalar libraryCall(std::string_view name, std::initializer_list<Scalar> args, Scalar condition,
                     Scalar otherwise) override;
  Scalar rarely(Scalar condition, Scalar otherwise, const std::function<Scalar()>& body) override;
  void repeat(int times, std::span<Scalar> state, const std::function<void(std::span<Scalar>)>& step) override;
  void setFault(Scalar condition, uint32_t fault) override;

  /// An i64 index, or the first of `count`, that none of the `size` of dim `axis` is.
  struct BadIndex {
    Scalar index;
    int64_t count = 1, size = -1, axis = 0;
  };
  /// `bad` is asked where nothing runs when all is well. Gives `otherwise`, or after a fault `faulted`, if there are
  /// such.
  llvm::Value* setFault(Scalar outside, uint32_t fault, const std::function<BadIndex()>& bad,
                        llvm::Value* otherwise = nullptr, llvm::Value* faulted = nullptr);
  /// Whether faults happen in the program's order, so that the first is the one to be told.
  bool ordered = false;

 private:
  llvm::Module& module() { return *b_.GetInsertBlock()->getModule(); }
  /// Makes all of one shape.
  void unify(llvm::Value*& a, llvm::Value*& b);
  llvm::Type* typeLike(Repr r, llvm::Value* shape);
  llvm::Value* any(llvm::Value* condition);
  /// Instructions that take half of the lanes at a time.
  template <typename Body>
  llvm::Value* inHalves(std::initializer_list<llvm::Value*> operands, Body body);
  /// Of vectors of indices.
  llvm::Value* lookupFloats(llvm::ArrayRef<float> table, llvm::Value* index, unsigned lanes);
  llvm::Value* lookupDoubles(std::span<const double, 16> table, llvm::Value* index, unsigned lanes);
  llvm::Value* lookupInQuarters(llvm::ArrayRef<double> table, llvm::Value* index);
  Scalar maximum(Scalar a, Scalar b, bool isMax);
  Scalar maximumOfConstant(Scalar x, Scalar constant, bool isMax);
  llvm::Function* vectorHelper(std::string_view name, size_t args, llvm::Type* element);

  llvm::IRBuilderBase& b_;
  llvm::Value* fault_;
  int lanes_;
  llvm::Value* mask_ = nullptr;
};

}  // namespace tenc::codegen::cpu
