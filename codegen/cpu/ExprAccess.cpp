// Loads and stores of expressions: contiguous, strided, by run-time indices.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "codegen/cpu/CheckedIndex.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LoopCost.h"
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {
constexpr int64_t kNarrowElements = int64_t{1} << 30;  // positions and what may be added to them have 32 bits
}  // namespace

std::vector<bool> pastCaches(const Kernel& kernel) {
  // The third-level cache of a core complex of Zen 4 and Zen 5. What systems report in virtual machines may be that of
  // a whole socket.
  constexpr int64_t kCaches = 32 << 20, kLarge = 4 << 20;
  auto bytes = [&](uint32_t b) { return kernel.buffers[b].elements * ir::byteSize(kernel.buffers[b].dtype); };
  std::set<std::pair<uint32_t, std::vector<int64_t>>> walks;  // a transposed operand is walked through on its own
  std::vector<bool> written(kernel.buffers.size()), read(kernel.buffers.size());
  for (const Stage& stage : kernel.stages) {
    for (const Expr& e : stage.exprs) {
      if (e.kind != Expr::Kind::Load) continue;
      walks.emplace(e.access.buffer, e.access.strides);
      read[e.access.buffer] = true;
    }
    for (const Store& s : stage.stores) written[s.access.buffer] = true;
  }
  int64_t walked = 0;
  for (const auto& [buffer, strides] : walks) walked += bytes(buffer);
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b) walked += written[b] ? bytes(b) : 0;
  std::vector<bool> past(kernel.buffers.size());
  for (uint32_t b = 0; walked > kCaches && b < kernel.buffers.size(); ++b)
    past[b] = kernel.buffers[b].role == Buffer::Role::Output && written[b] && !read[b] && bytes(b) >= kLarge;
  if (std::find(past.begin(), past.end(), true) == past.end()) past.clear();
  return past;
}

void finishPastCaches(llvm::IRBuilderBase& b, const KernelArgs& args) {
  if (!args.pastCaches.empty()) b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

Value* ExprEmitter::laneOffsets(int64_t stride, llvm::Type* element) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes(); ++i)
    values.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(stride * i), true));
  return llvm::ConstantVector::get(values);
}

/// The index of a term: negative ones counted from the end, if they do; out of range sets the fault and gives 0. An
/// index that is the same for all lanes is checked once for all accesses and copies between two changes of variables.
ExprEmitter::TermIndex ExprEmitter::termIndex(const Access::Term& t, int copy, bool narrow) {
  const bool shared = !isVector(t.index) && (!fromReduced_[t.index] || !reducedPerCopy_);
  for (const TermIndex& c : checked_)
    if (shared && c.epoch == epoch_ && c.term->index == t.index && c.term->extent == t.extent &&
        c.term->size == t.size && c.term->fault == t.fault && c.term->fromEnd == t.fromEnd && c.narrow == narrow)
      return c;
  TermIndex c{&t, narrow, epoch_, value(t.index, copy), nullptr};
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

Value* ExprEmitter::terms(const Access& a, int copy, Value*& inRange) {
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
      std::any_of(a.terms.begin(), a.terms.end(), [&](const Access::Term& t) { return isVector(t.index); });
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

bool ExprEmitter::gathers(llvm::Type* element) const {
  return usesAvx512(*b_.GetInsertBlock()->getModule()) && element->getScalarSizeInBits() >= 32;
}

Value* ExprEmitter::gather(llvm::Type* element, Value* base, Value* index, Value* mask) {
  auto n = static_cast<unsigned>(lanes());
  auto* type = llvm::FixedVectorType::get(element, n);
  Value* pointers = b_.CreateGEP(element, base, index);
  if (gathers(element))
    return b_.CreateMaskedGather(type, pointers, llvm::Align(element->getScalarSizeInBits() / 8), mask,
                                 llvm::Constant::getNullValue(type));  // not poison: lanes that are off are divided too
  // Lanes that are off read the first element.
  if (mask != nullptr) pointers = b_.CreateSelect(mask, pointers, scalars_.splat(base));
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < n; ++i)
    result = b_.CreateInsertElement(result, b_.CreateLoad(element, b_.CreateExtractElement(pointers, i)), i);
  return result;
}

void ExprEmitter::scatter(Value* value, Value* base, Value* index, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  auto align = llvm::Align(element->getScalarSizeInBits() / 8);
  b_.CreateMaskedScatter(value, b_.CreateGEP(element, base, index), align, mask);
}

namespace {
/// How many leading lanes a constant mask has on, or 0 if it has others.
int leadingLanes(Value* mask, int lanes) {
  auto* c = llvm::dyn_cast<llvm::Constant>(mask);
  if (c == nullptr) return 0;
  int n = 0;
  for (int i = 0; i < lanes; ++i) {
    llvm::Constant* lane = c->getAggregateElement(static_cast<unsigned>(i));
    if (lane == nullptr) return 0;
    if (!lane->isOneValue()) continue;
    if (n != i) return 0;
    ++n;
  }
  return n;
}

/// Stores the first `n` lanes in pieces of 2^i. A masked store would hold up loads of what follows in memory, where the
/// processor looks at the whole vector's range.
void storeLeading(llvm::IRBuilderBase& b, Value* v, Value* at, llvm::Align align, int n) {
  llvm::Type* element = v->getType()->getScalarType();
  for (int from = 0, piece = 0; from < n; from += piece) {
    piece = 1;
    while (2 * piece <= n - from) piece *= 2;
    llvm::SmallVector<int, 16> lanes;
    for (int i = 0; i < piece; ++i) lanes.push_back(from + i);
    Value* part = piece == 1 ? b.CreateExtractElement(v, static_cast<uint64_t>(from)) : b.CreateShuffleVector(v, lanes);
    b.CreateAlignedStore(part, b.CreateConstGEP1_64(element, at, static_cast<uint64_t>(from)), align);
  }
}

Value* reversed(llvm::IRBuilderBase& b, Value* v, int lanes) {
  llvm::SmallVector<int, 16> order;
  for (int i = lanes; i-- > 0;) order.push_back(i);
  return b.CreateShuffleVector(v, order);
}
}  // namespace

/// One of `step` vectors side by side in memory that hold every `step`-th element of a vector of `n` lanes: it starts
/// with element `first`, and element i of it is lane `laneAt[i]`, or none of them (n).
struct ExprEmitter::StridedPart {
  int first;
  llvm::SmallVector<int, 16> laneAt;
  StridedPart(int n, int step, int part) : laneAt(static_cast<size_t>(n), n) {
    // The last vector ends with the last element.
    first = part + 1 < step ? part * n : (n - 1) * (step - 1);
    for (int lane = (part * n + step - 1) / step; lane < n && lane * step - first < n; ++lane)
      laneAt[static_cast<size_t>(lane * step - first)] = lane;
  }
  /// Which elements are lanes that are on in `mask`; null is all.
  Value* on(llvm::IRBuilderBase& b, Value* mask) const {
    const auto n = static_cast<unsigned>(laneAt.size());
    if (mask == nullptr) mask = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b.getInt1Ty(), n));
    return b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), laneAt);
  }
};

/// Every `step`-th element, from vectors that lie side by side; nothing beyond the last element is read.
Value* ExprEmitter::loadStrided(llvm::Type* element, Value* base, int step, Value* mask) {
  const int n = lanes();
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(n));
  auto align = llvm::Align(static_cast<uint64_t>(element->getScalarSizeInBits() / 8));
  Value* result = nullptr;
  for (int p = 0; p < step; ++p) {
    const StridedPart part(n, step, p);
    Value* from = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(part.first));
    Value* v = mask == nullptr
                   ? static_cast<Value*>(b_.CreateAlignedLoad(vector, from, align))
                   : b_.CreateMaskedLoad(vector, from, align, part.on(b_, mask), llvm::Constant::getNullValue(vector));
    llvm::SmallVector<int, 16> take(static_cast<size_t>(n));
    for (int lane = 0; lane < n; ++lane) take[static_cast<size_t>(lane)] = lane;
    for (int i = 0; i < n; ++i)
      if (const int lane = part.laneAt[static_cast<size_t>(i)]; lane < n)
        take[static_cast<size_t>(lane)] = result == nullptr ? i : n + i;
    result = result == nullptr ? b_.CreateShuffleVector(v, take) : b_.CreateShuffleVector(result, v, take);
  }
  return result;
}

/// To every `step`-th element; those between are not written, and nothing beyond the last is.
void ExprEmitter::storeStrided(Value* value, Value* base, int step, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  auto align = llvm::Align(static_cast<uint64_t>(element->getScalarSizeInBits() / 8));
  for (int p = 0; p < step; ++p) {
    const StridedPart part(lanes(), step, p);
    Value* spread = b_.CreateShuffleVector(value, llvm::PoisonValue::get(value->getType()), part.laneAt);
    b_.CreateMaskedStore(spread, b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(part.first)), align,
                         part.on(b_, mask));
  }
}

bool ExprEmitter::indexesNothing(const Access& a, int copy) {
  const bool nothing = std::any_of(a.terms.begin(), a.terms.end(), [](const auto& term) { return term.extent == 0; });
  Value* ignored = nullptr;
  if (nothing) terms(a, copy, ignored);
  return nothing;
}

ExprEmitter::Lanes ExprEmitter::lanesOf(const Access& a, llvm::Type* element, int copy) {
  Lanes at{};
  Value* run = terms(a, copy, at.inRange);
  at.base = address(a);
  at.step = vectorVar_ == kNoVar ? 0 : stride(a, vectorVar_);
  if (run != nullptr && run->getType()->isVectorTy()) {
    at.offsets = run;
  } else if (run != nullptr) {
    at.base = b_.CreateGEP(element, at.base, run);
  }
  if (at.step != 0) {
    at.base = b_.CreateGEP(element, at.base, b_.CreateMul(vectorBase_, b_.getInt64(static_cast<uint64_t>(at.step))));
    const auto ahead = static_cast<uint64_t>(at.step * copy * lanes());
    if (copy != 0) at.base = b_.CreateConstGEP1_64(element, at.base, ahead);
  }
  return at;
}

Scalar ExprEmitter::load(const Expr& e, int copy) {
  const Access& a = e.access;
  ir::DType t = kernel_.buffers[a.buffer].dtype;
  llvm::Type* element = memoryType(b_.getContext(), t);
  auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t)));
  if (indexesNothing(a, copy)) return scalars_.fromMemory(llvm::Constant::getNullValue(element), t);
  auto [base, offsets, step, inRange] = lanesOf(a, element, copy);  // out of range is index 0, which can be read
  if (offsets == nullptr && (step == 0 || lanes() == 1))
    return scalars_.fromMemory(b_.CreateAlignedLoad(element, base, align), t);

  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes()));
  Value* m = mask();
  Value* v = nullptr;
  if (offsets == nullptr && step == 1) {
    v = m == nullptr ? static_cast<Value*>(b_.CreateAlignedLoad(vector, base, align))
                     : b_.CreateMaskedLoad(vector, base, align, m, llvm::Constant::getNullValue(vector));
  } else if (offsets == nullptr && step == -1) {
    base = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(1 - lanes()));
    v = m == nullptr
            ? static_cast<Value*>(b_.CreateAlignedLoad(vector, base, align))
            : b_.CreateMaskedLoad(vector, base, align, reversed(b_, m, lanes()), llvm::Constant::getNullValue(vector));
    v = reversed(b_, v, lanes());
  } else if (offsets == nullptr && step > 1 && step <= kMostStride && !(scalars_.shortCode && gathers(element))) {
    v = loadStrided(element, base, static_cast<int>(step), m);
  } else {
    llvm::Type* indexType = kernel_.buffers[a.buffer].elements < kNarrowElements ? b_.getInt32Ty() : b_.getInt64Ty();
    Value* index = step == 0 ? nullptr : laneOffsets(step, indexType);
    if (offsets != nullptr) {
      Value* narrow =
          b_.CreateSExtOrTrunc(offsets, llvm::FixedVectorType::get(indexType, static_cast<unsigned>(lanes())));
      index = index == nullptr ? narrow : b_.CreateAdd(index, narrow);
    }
    v = gather(element, base, index, m);
  }
  return scalars_.fromMemory(v, t);
}

bool ExprEmitter::isAligned(const Access& a) const {
  auto whole = [&](int64_t elements) { return elements % lanes() == 0; };
  if (!a.terms.empty() || !whole(a.offset)) return false;
  for (size_t v = 0; v < a.strides.size(); ++v)
    if (v != vectorVar_ && !whole(a.strides[v])) return false;
  // Vectors start where the stage's part of the variable does.
  const size_t outer = kernel_.outer.size();
  if (vectorVar_ >= outer) return whole(stage_.innerLo[vectorVar_ - outer]);
  return stage_.outerLo.empty() || whole(stage_.outerLo[vectorVar_]);
}

void ExprEmitter::store(const Store& s, int copy) {
  const Access& a = s.access;
  ir::DType t = kernel_.buffers[a.buffer].dtype;
  llvm::Type* element = memoryType(b_.getContext(), t);
  auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t)));
  Value* v = scalars_.toMemory(value(s.value, copy), t);
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
  if (inRange != nullptr) m = m == nullptr ? scalars_.splat(inRange) : b_.CreateAnd(m, scalars_.splat(inRange));
  if (offsets == nullptr && step == 1) {
    if (m == nullptr) {
      const auto bytes = static_cast<uint64_t>(lanes() * ir::byteSize(t));
      const bool past = !args_.pastCaches.empty() && args_.pastCaches[a.buffer] && bytes >= 16 && isAligned(a);
      auto* written = b_.CreateAlignedStore(v, base, past ? llvm::Align(std::min<uint64_t>(bytes, 64)) : align);
      if (past)
        written->setMetadata(llvm::LLVMContext::MD_nontemporal,
                             llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    } else if (int n = leadingLanes(m, lanes()); n > 0) {
      storeLeading(b_, v, base, align, n);
    } else {
      b_.CreateMaskedStore(v, base, align, m);
    }
  } else if (offsets == nullptr && step == -1) {
    base = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(1 - lanes()));
    v = reversed(b_, v, lanes());
    if (m == nullptr) {
      b_.CreateAlignedStore(v, base, align);
    } else {
      b_.CreateMaskedStore(v, base, align, reversed(b_, m, lanes()));
    }
  } else if (offsets == nullptr && step > 1 && step <= kMostStride && usesAvx512(*b_.GetInsertBlock()->getModule())) {
    storeStrided(v, base, static_cast<int>(step), m);  // AVX2 has masked stores of some widths only, and slow ones
  } else {
    auto* i64 = b_.getInt64Ty();
    Value* index = step == 0 ? nullptr : laneOffsets(step, i64);
    if (offsets != nullptr) {
      Value* wide = b_.CreateSExtOrTrunc(offsets, llvm::FixedVectorType::get(i64, static_cast<unsigned>(lanes())));
      index = index == nullptr ? wide : b_.CreateAdd(index, wide);
    }
    scatter(v, base, index, m);
  }
}

}  // namespace tenc::codegen::cpu
