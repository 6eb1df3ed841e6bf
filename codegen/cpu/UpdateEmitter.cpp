// Updates at run-time indices in parts: an item looks through the indices in vectors, notes in a queue which updates go
// to its part, and makes these one after the other. It does both in short turns, so that the processor reads ahead in
// the indices while updates wait for their places.
#include <llvm/IR/IntrinsicsX86.h>

#include <functional>

#include "codegen/ScalarConvert.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/StageEmitter.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

constexpr int64_t kTurn = 64;      // updates that are looked through together
constexpr int64_t kSamples = 8;    // vectors of indices that tell how the updates are spread
constexpr int64_t kMade = kLanes;  // updates are made in multiples of so many: how often is hardly ever mispredicted

class UpdateEmitter {
 public:
  UpdateEmitter(LoopFunction& f, const UpdateSchedule& schedule, Value* part)
      : f_(f),
        part_(part),
        stage_(f.kernel.stages[0]),
        term_(stage_.stores[0].access.terms[schedule.term]),
        values_(schedule.values),
        parts_(schedule.parts),
        var_(f.kernel.outer.size() + stage_.innerLo.size() - 1),
        each_(f, stage_, std::nullopt),
        together_(f, stage_, var_),
        queue_(f.stackArray(f.b.getInt32Ty(), kMade + kTurn + kLanes)),
        most_(f.i64(-1)) {}

  void emit() {
    if (isEmpty(stage_)) return;
    emitIf(f_.b, each_.inBox(std::nullopt), {}, [&]() -> Values {
      if (stage_.innerLo.size() == 1) most_ = sampled();
      choosePart(part_);
      Value* isOthers = f_.b.CreateAnd(f_.b.CreateICmpSGE(most_, f_.i64(0)), f_.b.CreateICmpNE(most_, part_));
      emitIf(f_.b, f_.b.CreateNot(isOthers), {}, [&]() -> Values {
        loops(0);
        return {};
      });
      return {};
    });
  }

 private:
  void choosePart(Value* part);
  Value* sampled();
  void loops(size_t inner);
  Value* turn(Value* base, Value* last, Value* queued);
  Value* look(Value* base, Value* end, Value* queued);
  Value* goesToPart();
  Value* lanesOf(Value* mask);
  Value* keep(Value* size, Value* offsets, Value* isMine);
  void make(Value* base, Value* count, const std::function<Value*(Value*)>& offset);
  Value* slot(Value* i) { return f_.b.CreateGEP(f_.b.getInt32Ty(), queue_, i); }

  LoopFunction& f_;
  Value* part_;  ///< of the item
  const Stage& stage_;
  const Access::Term& term_;
  const int64_t values_;  ///< of that index
  const int64_t parts_;
  const size_t var_;  ///< the innermost one
  StageEmitter each_, together_;
  Value* queue_;                               ///< numbers of updates to be made, from the first of the turn on
  Value *first_ = nullptr, *count_ = nullptr;  ///< indices of the part
  Value* most_;                                ///< the part to which nearly all updates go, or -1
};

void UpdateEmitter::choosePart(Value* part) {
  const auto bound = [&](Value* p) { return f_.b.CreateUDiv(f_.b.CreateMul(p, f_.i64(values_)), f_.i64(parts_)); };
  first_ = bound(part);
  // The last part has what is out of range, too, and stops the program.
  Value* next = f_.b.CreateAdd(part, f_.i64(1));
  Value* end = f_.b.CreateSelect(f_.b.CreateICmpEQ(next, f_.i64(parts_)), f_.i64(0), bound(next));
  count_ = f_.b.CreateSub(end, first_);
}

/// The part to which most updates go, if any: its item makes all of them, and looks at no index twice. Every item comes
/// to that by the same samples.
Value* UpdateEmitter::sampled() {
  llvm::IRBuilderBase& b = f_.b;
  const int64_t first = stage_.innerLo[0], last = stage_.innerHi[0];
  const int64_t apart = std::max<int64_t>(kLanes, (last - first) / kSamples);
  together_.exprs().emitInvariant();
  return emitLoop(b, f_.i64(0), f_.i64(parts_), 1, {f_.i64(-1)}, [&](Value* part, const Values& most) -> Values {
    choosePart(part);
    const auto countSample = [&](Value* at, const Values& count) -> Values {
      together_.exprs().setVector(at, 1, nullptr);
      return {b.CreateAdd(count[0], lanesOf(goesToPart()))};
    };
    Value* end = f_.i64(first + apart * kSamples);
    Value* count = emitLoop(b, f_.i64(first), end, apart, {f_.i64(0)}, countSample)[0];
    together_.exprs().clearVar(var_);
    return {b.CreateSelect(b.CreateICmpSGT(count, f_.i64(kSamples * kLanes * 3 / 4)), part, most[0])};
  })[0];
}

void UpdateEmitter::loops(size_t inner) {
  const int64_t first = stage_.innerLo[inner], last = stage_.innerHi[inner];
  const size_t var = f_.kernel.outer.size() + inner;
  each_.exprs().emitInvariant();
  together_.exprs().emitInvariant();
  if (var == var_) {
    emitLoop(f_.b, f_.i64(first), f_.i64(last), kTurn, {f_.i64(0)},
             [&](Value* at, const Values& queued) -> Values { return {turn(at, f_.i64(last), queued[0])}; });
    return;
  }
  emitLoop(f_.b, f_.i64(first), f_.i64(last), 1, {}, [&](Value* at, const Values&) -> Values {
    for (StageEmitter* e : {&each_, &together_}) e->exprs().setVar(var, at);
    loops(inner + 1);
    for (StageEmitter* e : {&each_, &together_}) e->exprs().clearVar(var);
    return {};
  });
}

/// Looks through the updates from `base` on, and makes most of what is queued, or in the last turn all; returns how
/// many are left.
Value* UpdateEmitter::turn(Value* base, Value* last, Value* queued) {
  llvm::IRBuilderBase& b = f_.b;
  Value* end = f_.endOf(base, kTurn, last);
  Value* length = b.CreateSub(end, base);
  Value* size =
      emitIf(b, b.CreateICmpSLT(most_, f_.i64(0)), {length}, [&]() -> Values { return {look(base, end, queued)}; })[0];
  // All of them, as of indices in order: there is nothing to pick.
  Value* isWhole = b.CreateAnd(b.CreateICmpEQ(queued, f_.i64(0)), b.CreateICmpEQ(size, length));
  Value* left = emitIf(b, isWhole, {size}, [&]() -> Values {
    make(base, length, [](Value* i) { return i; });
    return {f_.i64(0)};
  })[0];
  return emitIf(b, b.CreateICmpNE(left, f_.i64(0)), {f_.i64(0)}, [&]() -> Values {
    Value* made = b.CreateSelect(b.CreateICmpEQ(end, last), left, b.CreateAnd(left, f_.i64(-kMade)));
    make(base, made, [&](Value* i) { return b.CreateSExt(b.CreateLoad(b.getInt32Ty(), slot(i)), b.getInt64Ty()); });
    Value* rest = b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getInt32Ty(), kLanes), slot(made), llvm::Align(4));
    rest = b.CreateSub(rest, b.CreateVectorSplat(kLanes, b.getInt32(kTurn)));
    b.CreateAlignedStore(rest, queue_, llvm::Align(4));
    return {b.CreateSub(left, made)};
  })[0];
}

/// Makes so many updates in order. `offset`: which one, by number.
void UpdateEmitter::make(Value* base, Value* count, const std::function<Value*(Value*)>& offset) {
  emitLoop(f_.b, f_.i64(0), count, 1, {}, [&](Value* i, const Values&) -> Values {
    each_.exprs().setVar(var_, f_.b.CreateAdd(base, offset(i)));
    each_.exprs().setVector(f_.i64(0), 1, nullptr);
    return each_.body(1, {});
  });
  each_.exprs().clearVar(var_);
}

/// Queues the updates of a turn that go to the part; returns how many are queued.
Value* UpdateEmitter::look(Value* base, Value* end, Value* queued) {
  llvm::IRBuilderBase& b = f_.b;
  ExprEmitter& exprs = together_.exprs();
  std::vector<uint32_t> lanes;
  for (uint32_t i = 0; i < kLanes; ++i) lanes.push_back(i);
  Value* iota = llvm::ConstantDataVector::get(b.getContext(), lanes);
  const VectorWalk walk{kLanes, 1, true, (stage_.innerHi.back() - stage_.innerLo.back()) % kLanes == 0};
  const Values size =
      emitVectorLoop(b, base, end, walk, {queued}, [&](Value* at, int, Value* mask, const Values& carried) -> Values {
        exprs.setVector(at, 1, mask);
        Value* isMine = goesToPart();
        if (mask != nullptr) isMine = b.CreateAnd(isMine, mask);
        Value* from = b.CreateTrunc(b.CreateSub(at, base), b.getInt32Ty());
        return {keep(carried[0], b.CreateAdd(b.CreateVectorSplat(kLanes, from), iota), isMine)};
      });
  exprs.clearVar(var_);
  return size[0];
}

/// Which lanes of a vector of updates have their index in the part.
Value* UpdateEmitter::goesToPart() {
  llvm::IRBuilderBase& b = f_.b;
  ExprEmitter& exprs = together_.exprs();
  const auto splat = [&](Value* v) { return b.CreateVectorSplat(kLanes, v); };
  Scalar place = exprs.value(term_.index);
  if (place.repr != Repr::I64)
    place = emitCast(exprs.scalars(), place, stage_.exprs[term_.index].dtype, ir::DType::I64);
  Value* index = exprs.scalars().splat(LlvmScalars::value(place));
  if (term_.fromEnd && term_.extent >= 0) {
    Value* isNegative = b.CreateICmpSLT(index, llvm::Constant::getNullValue(index->getType()));
    index = b.CreateSelect(isNegative, b.CreateAdd(index, splat(f_.i64(values_))), index);
  }
  return b.CreateICmpULT(b.CreateSub(index, splat(first_)), splat(count_));
}

/// How many lanes are set.
Value* UpdateEmitter::lanesOf(Value* mask) {
  Value* bits = f_.b.CreateBitCast(mask, f_.b.getIntNTy(kLanes));
  return f_.b.CreateZExt(f_.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), f_.b.getInt64Ty());
}

/// Appends the lanes that are set; returns the new size.
Value* UpdateEmitter::keep(Value* size, Value* offsets, Value* isMine) {
  llvm::IRBuilderBase& b = f_.b;
  if (usesAvx512(f_.module)) {
    Value* packed = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {offsets->getType()},
                                      {offsets, llvm::Constant::getNullValue(offsets->getType()), isMine});
    b.CreateAlignedStore(packed, slot(size), llvm::Align(4));
    return b.CreateAdd(size, lanesOf(isMine));
  }
  for (int i = 0; i < kLanes; ++i) {
    b.CreateAlignedStore(b.CreateExtractElement(offsets, static_cast<uint64_t>(i)), slot(size), llvm::Align(4));
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
