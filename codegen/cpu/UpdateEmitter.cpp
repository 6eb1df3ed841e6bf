// Updates at run-time indices in parts: an item looks through the indices in vectors, a block of updates at a time,
// notes which of them go to its part, and makes these one after the other.
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/ScalarConvert.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/StageEmitter.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

constexpr int64_t kBlock = 1024;  // updates that are looked through together

class UpdateEmitter {
 public:
  UpdateEmitter(LoopFunction& f, const UpdateSchedule& schedule, Value* part)
      : f_(f),
        stage_(f.kernel.stages[0]),
        term_(stage_.stores[0].access.terms[schedule.term]),
        values_(schedule.values),
        var_(f.kernel.outer.size() + stage_.innerLo.size() - 1),
        each_(f, stage_, std::nullopt),
        together_(f, stage_, var_),
        mine_(f.stackArray(f.b.getInt32Ty(), kBlock + kLanes)) {
    const auto bound = [&](Value* p) {
      return f_.b.CreateUDiv(f_.b.CreateMul(p, f_.i64(values_)), f_.i64(schedule.parts));
    };
    first_ = bound(part);
    // The last part has what is out of range, too, and stops the program.
    Value* next = f_.b.CreateAdd(part, f_.i64(1));
    Value* end = f_.b.CreateSelect(f_.b.CreateICmpEQ(next, f_.i64(schedule.parts)), f_.i64(0), bound(next));
    count_ = f_.b.CreateSub(end, first_);
  }

  void emit() {
    if (isEmpty(stage_)) return;
    emitIf(f_.b, each_.inBox(std::nullopt), {}, [&]() -> Values {
      loops(0);
      return {};
    });
  }

 private:
  void loops(size_t inner);
  Value* look(Value* base, Value* end);
  Value* keep(Value* size, Value* offsets, Value* isMine);

  LoopFunction& f_;
  const Stage& stage_;
  const Access::Term& term_;
  const int64_t values_;  ///< of that index
  const size_t var_;      // the innermost one
  StageEmitter each_, together_;
  Value* mine_;                                // updates of the block that are to be made, counted from its first
  Value *first_ = nullptr, *count_ = nullptr;  // indices of the part
};

void UpdateEmitter::loops(size_t inner) {
  Value *lo = f_.i64(stage_.innerLo[inner]), *hi = f_.i64(stage_.innerHi[inner]);
  const size_t var = f_.kernel.outer.size() + inner;
  each_.exprs().emitInvariant();
  together_.exprs().emitInvariant();
  emitLoop(f_.b, lo, hi, var == var_ ? kBlock : 1, {}, [&](Value* at, const Values&) -> Values {
    if (var != var_) {
      for (StageEmitter* e : {&each_, &together_}) e->exprs().setVar(var, at);
      loops(inner + 1);
      for (StageEmitter* e : {&each_, &together_}) e->exprs().clearVar(var);
      return {};
    }
    Value* size = look(at, f_.endOf(at, kBlock, hi));
    emitLoop(f_.b, f_.i64(0), size, 1, {}, [&](Value* i, const Values&) -> Values {
      Value* offset = f_.b.CreateLoad(f_.b.getInt32Ty(), f_.b.CreateGEP(f_.b.getInt32Ty(), mine_, i));
      each_.exprs().setVar(var_, f_.b.CreateAdd(at, f_.b.CreateZExt(offset, f_.b.getInt64Ty())));
      each_.exprs().setVector(f_.i64(0), 1, nullptr);
      return each_.body(1, {});
    });
    each_.exprs().clearVar(var_);
    return {};
  });
}

/// Notes the updates of a block that go to the part; returns how many they are.
Value* UpdateEmitter::look(Value* base, Value* end) {
  llvm::IRBuilderBase& b = f_.b;
  ExprEmitter& exprs = together_.exprs();
  const auto splat = [&](Value* v) { return b.CreateVectorSplat(kLanes, v); };
  std::vector<uint32_t> lanes;
  for (uint32_t i = 0; i < kLanes; ++i) lanes.push_back(i);
  Value* iota = llvm::ConstantDataVector::get(b.getContext(), lanes);
  const VectorWalk walk{kLanes, 1, true, (stage_.innerHi.back() - stage_.innerLo.back()) % kLanes == 0};
  const Values size = emitVectorLoop(
      b, base, end, walk, {f_.i64(0)}, [&](Value* at, int, Value* mask, const Values& carried) -> Values {
        exprs.setVector(at, 1, mask);
        Scalar place = exprs.value(term_.index);
        if (place.repr != Repr::I64)
          place = emitCast(exprs.scalars(), place, stage_.exprs[term_.index].dtype, ir::DType::I64);
        Value* index = exprs.scalars().splat(LlvmScalars::value(place));
        if (term_.fromEnd && term_.extent >= 0) {
          Value* isNegative = b.CreateICmpSLT(index, llvm::Constant::getNullValue(index->getType()));
          index = b.CreateSelect(isNegative, b.CreateAdd(index, splat(f_.i64(values_))), index);
        }
        Value* isMine = b.CreateICmpULT(b.CreateSub(index, splat(first_)), splat(count_));
        if (mask != nullptr) isMine = b.CreateAnd(isMine, mask);
        Value* from = b.CreateTrunc(b.CreateSub(at, base), b.getInt32Ty());
        return {keep(carried[0], b.CreateAdd(splat(from), iota), isMine)};
      });
  exprs.clearVar(var_);
  return size[0];
}

/// Appends the lanes that are set; returns the new size.
Value* UpdateEmitter::keep(Value* size, Value* offsets, Value* isMine) {
  llvm::IRBuilderBase& b = f_.b;
  llvm::Type* i32 = b.getInt32Ty();
  if (usesAvx512(f_.module)) {
    Value* packed = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {offsets->getType()},
                                      {offsets, llvm::Constant::getNullValue(offsets->getType()), isMine});
    b.CreateAlignedStore(packed, b.CreateGEP(i32, mine_, size), llvm::Align(4));
    Value* bits = b.CreateBitCast(isMine, b.getIntNTy(kLanes));
    Value* count = b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    return b.CreateAdd(size, b.CreateZExt(count, b.getInt64Ty()));
  }
  for (int i = 0; i < kLanes; ++i) {
    b.CreateAlignedStore(b.CreateExtractElement(offsets, static_cast<uint64_t>(i)), b.CreateGEP(i32, mine_, size),
                         llvm::Align(4));
    Value* one = b.CreateExtractElement(isMine, static_cast<uint64_t>(i));
    size = b.CreateAdd(size, b.CreateZExt(one, b.getInt64Ty()));
  }
  return size;
}

}  // namespace

void emitItem(LoopFunction& f, const UpdateSchedule& schedule, Value* item) {
  Value* point = f.b.CreateUDiv(item, f.i64(schedule.parts));
  f.bindItem(point, std::nullopt, std::nullopt);
  f.forgetResults();
  UpdateEmitter(f, schedule, f.b.CreateURem(item, f.i64(schedule.parts))).emit();
}

}  // namespace tenc::codegen::cpu
