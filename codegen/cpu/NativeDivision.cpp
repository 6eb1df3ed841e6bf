// Division of integers in native loops. `//` and `%` round toward minus infinity, a divisor of 0 is a fault, and the
// least integer divided by -1 wraps: all of that stands aside where both numbers are surely, or usually, positive.
#include <llvm/IR/MDBuilder.h>

#include "codegen/cpu/NativeBody.h"
#include "ir/Scalar.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

bool NativeEmitter::isIntegerDivision(const ir::Op& op) {
  const bool divides =
      op.kind == OpKind::FloorDiv || op.kind == OpKind::TruncDiv || op.kind == OpKind::Mod || op.kind == OpKind::Fmod;
  return divides && !ir::isFloat(op.result()->type.dtype);
}

/// By a power of 2, rounded toward minus infinity: a shift or a mask. Null if it is no such division.
Value* NativeEmitter::byPowerOf2(const ir::Op& op, Scalar a) {
  const auto divisor = ir::constantScalar(op.operand(1));
  if (!divisor || (ir::isSigned(divisor->dtype) && divisor->i < 0)) return nullptr;
  const uint64_t by = ir::isSigned(divisor->dtype) ? static_cast<uint64_t>(divisor->i) : divisor->u;
  if (!llvm::isPowerOf2_64(by)) return nullptr;
  if (op.kind == OpKind::Mod) return LlvmScalars::value(a & (by - 1));
  if (op.kind != OpKind::FloorDiv) return nullptr;
  const uint64_t n = llvm::Log2_64(by);
  const bool isSigned = ir::isSigned(divisor->dtype) && ranges_.of(op.operand(0)).least < 0;
  return LlvmScalars::value(isSigned ? ashr(a, n) : lshr(a, n));
}

Scalar NativeEmitter::divide(const ir::Op& op, Scalar a, Scalar b) {
  const ir::DType t = op.result()->type.dtype;
  if (Value* quick = byPowerOf2(op, a)) return s_->wrap(quick, a.repr);
  const bool quotient = op.kind == OpKind::FloorDiv || op.kind == OpKind::TruncDiv;
  auto inFull = [&] {
    const Scalar args[] = {a, b};
    return s_->elementwise(op.kind, t, t, args, fault(op));
  };
  auto usual = [&] {
    Value *x = LlvmScalars::value(a), *y = LlvmScalars::value(b);
    return s_->wrap(quotient ? b_.CreateUDiv(x, y) : b_.CreateURem(x, y), a.repr);
  };
  // What a u64 beyond i64 looks like as a range means nothing here: it has no sign.
  const Range x = ranges_.of(op.operand(0)), y = ranges_.of(op.operand(1));
  const bool positive = !ir::isSigned(t) || (x.least >= 0 && y.least >= 0);
  if (positive && y.least > 0) return usual();
  // Narrow numbers divided by a constant are vectors, where a jump would not do.
  const bool byConstant = llvm::isa<llvm::Constant>(LlvmScalars::value(b));
  if (byConstant && (y.least <= 0 || ir::byteSize(t) < 8)) return inFull();
  const Scalar rare = byConstant ? a < 0.0 : positive ? equal(b, 0) : (a | b | (b - 1.0)) < 0.0;
  auto *aside = block("aside"), *straight = block("straight"), *joined = block("joined");
  b_.CreateCondBr(LlvmScalars::value(rare), aside, straight,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 4000));
  b_.SetInsertPoint(aside);
  Value* slow = LlvmScalars::value(inFull());
  auto* fromAside = b_.GetInsertBlock();
  b_.CreateBr(joined);
  b_.SetInsertPoint(straight);
  Value* fast = LlvmScalars::value(usual());
  b_.CreateBr(joined);
  b_.SetInsertPoint(joined);
  auto* result = b_.CreatePHI(fast->getType(), 2);
  result->addIncoming(slow, fromAside);
  result->addIncoming(fast, straight);
  return s_->wrap(result, a.repr);
}

}  // namespace tenc::codegen::cpu
