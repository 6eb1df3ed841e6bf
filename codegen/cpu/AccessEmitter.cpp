#include "codegen/cpu/AccessEmitter.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <limits>

#include "codegen/KernelShape.h"
#include "codegen/cpu/CheckedIndex.h"
#include "codegen/cpu/Cost.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {
constexpr int64_t kNarrowElements = int64_t{1} << 30;  // positions and what may be added to them have 32 bits
}  // namespace

AccessEmitter::AccessEmitter(ExprEmitter& values, const KernelArgs& args, const Kernel& kernel, const Stage& stage,
                             const BoundVars& vars, AccessAddresses& addresses)
    : values_(values),
      scalars_(values.scalars()),
      b_(values.builder()),
      args_(args),
      kernel_(kernel),
      stage_(stage),
      facts_(values.facts()),
      vars_(vars),
      addresses_(addresses),
      memory_(b_, scalars_.lanes()) {}

AccessEmitter::TermIndex AccessEmitter::termIndex(const Access::Term& t, int copy, bool narrow) {
  const bool shared = values_.isOneForAllCopies(t.index);
  for (const TermIndex& c : checked_)
    if (shared && c.epoch == epoch_ && c.term->index == t.index && c.term->extent == t.extent &&
        c.term->size == t.size && c.term->fault == t.fault && c.term->fromEnd == t.fromEnd && c.narrow == narrow)
      return c;
  TermIndex c{&t, narrow, epoch_, values_.value(t.index, copy), nullptr};
  const Scalar asked = c.index;
  const ir::DType from = stage_.exprs[t.index].dtype;
  if (!narrow) {
    if (c.index.repr != Repr::I64) c.index = emitCast(scalars_, c.index, from, ir::DType::I64);
  } else if (ir::byteSize(from) == 8) {
    // What 32 bits do not hold is out of range still when it is the nearest that they hold.
    Value* v = LlvmScalars::value(c.index);
    auto bound = [&](int64_t n) { return llvm::ConstantInt::get(v->getType(), static_cast<uint64_t>(n), true); };
    auto most = std::numeric_limits<int32_t>::max();
    if (t.extent >= 0 && ir::isSigned(from)) {
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, bound(std::numeric_limits<int32_t>::min()));
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, bound(most));
    } else if (t.extent >= 0) {
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v, bound(most));
    }
    c.index = scalars_.wrap(b_.CreateTrunc(v, v->getType()->getWithNewBitWidth(32)), Repr::I32);
  } else if (c.index.repr != Repr::I32 || !ir::isSigned(from)) {
    c.index = emitCast(scalars_, c.index, from, ir::DType::I64);
    Value* v = LlvmScalars::value(c.index);
    if (ir::byteSize(from) == 4)  // u32
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v,
                                   llvm::ConstantInt::get(v->getType(), std::numeric_limits<int32_t>::max()));
    c.index = scalars_.wrap(b_.CreateTrunc(v, v->getType()->getWithNewBitWidth(32)), Repr::I32);
  }
  if (t.extent >= 0) {
    const IndexRule rule{t.extent, t.size != 0 ? t.size : t.extent, t.axis, t.fault, t.fromEnd};
    const CheckedIndex checked =
        checkIndex(scalars_, c.index, rule, [&] { return emitCast(scalars_, asked, from, ir::DType::I64); });
    c.index = checked.index;
    c.inside = LlvmScalars::value(logicalNot(checked.outside));
  }
  if (shared) checked_.push_back(c);
  return c;
}

Value* AccessEmitter::terms(const Access& a, int copy, Value*& inRange) {
  Value* sum = nullptr;
  auto both = [&](Value* x, Value* y, auto make) -> Value* {
    if (x->getType()->isVectorTy() || y->getType()->isVectorTy()) {
      x = scalars_.splat(x);
      y = scalars_.splat(y);
    }
    return make(x, y);
  };
  // Vectors of positions in a small buffer are of 32 bits.
  const bool narrow =
      lanes() > 1 && kernel_.buffers[a.buffer].elements < kNarrowElements &&
      std::any_of(a.terms.begin(), a.terms.end(), [&](const Access::Term& t) { return facts_.isVector(t.index); });
  for (const auto& t : a.terms) {
    const TermIndex at = termIndex(t, copy, narrow);
    if (at.inside != nullptr)
      inRange = inRange == nullptr ? at.inside
                                   : both(inRange, at.inside, [&](Value* x, Value* y) { return b_.CreateAnd(x, y); });
    Value* part = LlvmScalars::value(at.index * like(at.index, static_cast<double>(t.stride)));
    sum = sum == nullptr ? part : both(sum, part, [&](Value* x, Value* y) { return b_.CreateAdd(x, y); });
  }
  return sum;
}

bool AccessEmitter::indexesNothing(const Access& a, int copy) {
  const bool nothing = std::any_of(a.terms.begin(), a.terms.end(), [](const auto& term) { return term.extent == 0; });
  Value* ignored = nullptr;
  if (nothing) terms(a, copy, ignored);
  return nothing;
}

AccessEmitter::Lanes AccessEmitter::lanesOf(const Access& a, llvm::Type* element, int copy) {
  Lanes at{};
  Value* run = terms(a, copy, at.inRange);
  at.base = addresses_.of(a);
  at.step = strideOf(a, facts_.vectorVar());
  if (run != nullptr && run->getType()->isVectorTy()) {
    at.offsets = run;
  } else if (run != nullptr) {
    at.base = b_.CreateGEP(element, at.base, run);
  }
  if (at.step != 0) {
    at.base =
        b_.CreateGEP(element, at.base, b_.CreateMul(vars_.vectorBase, b_.getInt64(static_cast<uint64_t>(at.step))));
    const auto ahead = static_cast<uint64_t>(at.step * copy * lanes());
    if (copy != 0) at.base = b_.CreateConstGEP1_64(element, at.base, ahead);
  }
  return at;
}

Scalar AccessEmitter::load(const Expr& e, int copy) {
  const Access& a = e.access;
  ir::DType t = kernel_.buffers[a.buffer].dtype;
  llvm::Type* element = memoryType(b_.getContext(), t);
  auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t)));
  if (Value* place = elsewhere_ ? elsewhere_(a, copy) : nullptr)
    return scalars_.fromMemory(memory_.load(element, place, nullptr), t);
  if (indexesNothing(a, copy)) return scalars_.fromMemory(llvm::Constant::getNullValue(element), t);
  auto [base, offsets, step, inRange] = lanesOf(a, element, copy);  // out of range is index 0, which can be read
  if (offsets == nullptr && (step == 0 || lanes() == 1))
    return scalars_.fromMemory(b_.CreateAlignedLoad(element, base, align), t);

  Value* m = mask();
  Value* v = nullptr;
  if (offsets == nullptr && step == 1) {
    const bool again = stage_.ordered && facts_.isStored(a.buffer);
    v = again ? memory_.loadStored(element, base, m) : memory_.load(element, base, m);
  } else if (offsets == nullptr && step == -1) {
    v = memory_.loadReversed(element, base, m);
  } else if (offsets == nullptr && step > 1 && step <= kMostStride &&
             !(scalars_.shortCode && memory_.gathers(element))) {
    v = memory_.loadStrided(element, base, static_cast<int>(step), m);
  } else {
    llvm::Type* indexType = kernel_.buffers[a.buffer].elements < kNarrowElements ? b_.getInt32Ty() : b_.getInt64Ty();
    Value* index = step == 0 ? nullptr : memory_.laneOffsets(step, indexType);
    if (offsets != nullptr) {
      Value* narrow =
          b_.CreateSExtOrTrunc(offsets, llvm::FixedVectorType::get(indexType, static_cast<unsigned>(lanes())));
      index = index == nullptr ? narrow : b_.CreateAdd(index, narrow);
    }
    v = memory_.gather(element, base, index, m);
  }
  return scalars_.fromMemory(v, t);
}

bool AccessEmitter::isAligned(const Access& a) const {
  const size_t vectorVar = facts_.vectorVar();
  auto whole = [&](int64_t elements) { return elements % lanes() == 0; };
  if (!a.terms.empty() || !whole(a.offset)) return false;
  for (size_t v = 0; v < a.strides.size(); ++v)
    if (v != vectorVar && !whole(a.strides[v])) return false;
  // Vectors start where the stage's part of the variable does.
  const size_t outer = kernel_.outer.size();
  if (vectorVar >= outer) return whole(stage_.innerLo[vectorVar - outer]);
  return stage_.outerLo.empty() || whole(stage_.outerLo[vectorVar]);
}

void AccessEmitter::store(const Store& s, int copy) {
  const Access& a = s.access;
  ir::DType t = kernel_.buffers[a.buffer].dtype;
  llvm::Type* element = memoryType(b_.getContext(), t);
  auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t)));
  Value* v = scalars_.toMemory(values_.value(s.value, copy), t);
  if (Value* place = elsewhere_ ? elsewhere_(a, copy) : nullptr)
    return memory_.store(scalars_.splat(v), place, nullptr);
  if (indexesNothing(a, copy)) return;
  auto [base, offsets, step, inRange] = lanesOf(a, element, copy);
  if (lanes() == 1 || (offsets == nullptr && step == 0)) {
    if (v->getType()->isVectorTy()) v = b_.CreateExtractElement(v, static_cast<uint64_t>(lanes() - 1));
    auto storeOne = [&] { b_.CreateAlignedStore(v, base, align); };
    if (inRange == nullptr) return storeOne();
    if (inRange->getType()->isVectorTy())
      inRange = b_.CreateExtractElement(inRange, static_cast<uint64_t>(lanes() - 1));
    // Out of range nothing is stored; the branch is foreseen.
    emitIf(b_, inRange, {}, [&] {
      storeOne();
      return Values();
    });
    return;
  }
  v = scalars_.splat(v);
  Value* m = mask();
  const Lanes lanes{base, offsets, step, inRange};
  if (inRange == nullptr || inRange->getType()->isVectorTy()) {
    if (inRange != nullptr) m = m == nullptr ? inRange : b_.CreateAnd(m, inRange);
    return storeLanes(a, v, lanes, m);
  }
  // All lanes share the place: the branch is foreseen, and stores of whole vectors need no mask, which AVX2 takes
  // apart.
  emitIf(b_, inRange, {}, [&] {
    storeLanes(a, v, lanes, m);
    return Values();
  });
}

/// The lanes of `v` that are on in `m`; null is all of them.
void AccessEmitter::storeLanes(const Access& a, Value* v, const Lanes& at, Value* m) {
  const ir::DType t = kernel_.buffers[a.buffer].dtype;
  auto [base, offsets, step, inRange] = at;
  if (offsets == nullptr && step == 1) {
    if (m == nullptr) {
      const auto bytes = static_cast<uint64_t>(lanes() * ir::byteSize(t));
      const bool past = !args_.pastCaches.empty() && args_.pastCaches[a.buffer] && bytes >= 16 && isAligned(a);
      auto align = llvm::Align(past ? std::min<uint64_t>(bytes, 64) : static_cast<uint64_t>(ir::byteSize(t)));
      auto* written = b_.CreateAlignedStore(v, base, align);
      if (past)
        written->setMetadata(llvm::LLVMContext::MD_nontemporal,
                             llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    } else {
      memory_.store(v, base, m);
    }
  } else if (offsets == nullptr && step == -1) {
    memory_.storeReversed(v, base, m);
  } else if (offsets == nullptr && step > 1 && step <= kMostStride && usesAvx512(*b_.GetInsertBlock()->getModule())) {
    memory_.storeStrided(v, base, static_cast<int>(step),
                         m);  // AVX2 has masked stores of some widths only, and slow ones
  } else {
    auto* i64 = b_.getInt64Ty();
    Value* index = step == 0 ? nullptr : memory_.laneOffsets(step, i64);
    if (offsets != nullptr) {
      Value* wide = b_.CreateSExtOrTrunc(offsets, llvm::FixedVectorType::get(i64, static_cast<unsigned>(lanes())));
      index = index == nullptr ? wide : b_.CreateAdd(index, wide);
    }
    memory_.scatter(v, base, index, m);
  }
}

}  // namespace tenc::codegen::cpu
