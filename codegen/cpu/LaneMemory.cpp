#include "codegen/cpu/LaneMemory.h"

#include <llvm/IR/Module.h>

#include <functional>

#include "codegen/cpu/Jit.h"

namespace tenc::codegen::cpu {
using llvm::Value;

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

/// body(from, piece) of pieces of 2^i lanes that make up the first `n`.
void forPieces(int n, const std::function<void(int, int)>& body) {
  for (int from = 0, piece = 0; from < n; from += piece) {
    piece = 1;
    while (2 * piece <= n - from) piece *= 2;
    body(from, piece);
  }
}

/// Stores the first `n` lanes in pieces. A masked store would hold up loads of what follows in memory, where the
/// processor looks at the whole vector's range.
void storeLeading(llvm::IRBuilderBase& b, Value* v, Value* at, llvm::Align align, int n) {
  llvm::Type* element = v->getType()->getScalarType();
  forPieces(n, [&](int from, int piece) {
    llvm::SmallVector<int, 16> lanes;
    for (int i = 0; i < piece; ++i) lanes.push_back(from + i);
    Value* part = piece == 1 ? b.CreateExtractElement(v, static_cast<uint64_t>(from)) : b.CreateShuffleVector(v, lanes);
    b.CreateAlignedStore(part, b.CreateConstGEP1_64(element, at, static_cast<uint64_t>(from)), align);
  });
}

Value* reversed(llvm::IRBuilderBase& b, Value* v, int lanes) {
  llvm::SmallVector<int, 16> order;
  for (int i = lanes; i-- > 0;) order.push_back(i);
  return b.CreateShuffleVector(v, order);
}

llvm::Align alignOf(llvm::Type* element) { return llvm::Align(element->getScalarSizeInBits() / 8); }

/// One of `step` vectors side by side in memory that hold every `step`-th element of a vector of `n` lanes: it starts
/// with element `first`, and element i of it is lane `laneAt[i]`, or none of them (n).
struct StridedPart {
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
}  // namespace

Value* LaneMemory::load(llvm::Type* element, Value* base, Value* mask) {
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  if (mask == nullptr) return b_.CreateAlignedLoad(vector, base, alignOf(element));
  return b_.CreateMaskedLoad(vector, base, alignOf(element), mask, llvm::Constant::getNullValue(vector));
}

Value* LaneMemory::loadStored(llvm::Type* element, Value* base, Value* mask) {
  const int n = mask == nullptr ? 0 : leadingLanes(mask, lanes_);
  if (n == 0) return load(element, base, mask);
  Value* all = llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_)));
  forPieces(n, [&](int from, int piece) {
    Value* at = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(from));
    if (piece == 1) {
      all =
          b_.CreateInsertElement(all, b_.CreateAlignedLoad(element, at, alignOf(element)), static_cast<uint64_t>(from));
      return;
    }
    auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(piece));
    Value* part = b_.CreateAlignedLoad(type, at, alignOf(element));
    // As long as the whole, then its lanes in place of those of the whole.
    llvm::SmallVector<int, 16> widened, chosen;
    for (int i = 0; i < lanes_; ++i) widened.push_back(i < piece ? i : -1);
    for (int i = 0; i < lanes_; ++i) chosen.push_back(i >= from && i < from + piece ? lanes_ + i - from : i);
    all = b_.CreateShuffleVector(all, b_.CreateShuffleVector(part, widened), chosen);
  });
  return all;
}

void LaneMemory::store(Value* value, Value* base, Value* mask) {
  const llvm::Align align = alignOf(value->getType()->getScalarType());
  if (mask == nullptr) {
    b_.CreateAlignedStore(value, base, align);
  } else if (int n = leadingLanes(mask, lanes_); n > 0) {
    storeLeading(b_, value, base, align, n);
  } else {
    b_.CreateMaskedStore(value, base, align, mask);
  }
}

Value* LaneMemory::loadReversed(llvm::Type* element, Value* base, Value* mask) {
  Value* first = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(1 - lanes_));
  return reversed(b_, load(element, first, mask == nullptr ? nullptr : reversed(b_, mask, lanes_)), lanes_);
}

void LaneMemory::storeReversed(Value* value, Value* base, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  Value* first = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(1 - lanes_));
  value = reversed(b_, value, lanes_);
  if (mask == nullptr) {
    b_.CreateAlignedStore(value, first, alignOf(element));
  } else {
    b_.CreateMaskedStore(value, first, alignOf(element), reversed(b_, mask, lanes_));
  }
}

Value* LaneMemory::laneOffsets(int64_t stride, llvm::Type* element) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes_; ++i)
    values.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(stride * i), true));
  return llvm::ConstantVector::get(values);
}

bool LaneMemory::gathers(llvm::Type* element) const {
  return usesAvx512(*b_.GetInsertBlock()->getModule()) && element->getScalarSizeInBits() >= 32;
}

Value* LaneMemory::gather(llvm::Type* element, Value* base, Value* index, Value* mask) {
  auto n = static_cast<unsigned>(lanes_);
  auto* type = llvm::FixedVectorType::get(element, n);
  Value* pointers = b_.CreateGEP(element, base, index);
  if (gathers(element))
    return b_.CreateMaskedGather(type, pointers, llvm::Align(element->getScalarSizeInBits() / 8), mask,
                                 llvm::Constant::getNullValue(type));  // not poison: lanes that are off are divided too
  // Lanes that are off read the first element.
  if (mask != nullptr) pointers = b_.CreateSelect(mask, pointers, b_.CreateVectorSplat(n, base));
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < n; ++i)
    result = b_.CreateInsertElement(result, b_.CreateLoad(element, b_.CreateExtractElement(pointers, i)), i);
  return result;
}

void LaneMemory::scatter(Value* value, Value* base, Value* index, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  auto align = llvm::Align(element->getScalarSizeInBits() / 8);
  b_.CreateMaskedScatter(value, b_.CreateGEP(element, base, index), align, mask);
}

/// Every `step`-th element, from vectors that lie side by side; nothing beyond the last element is read.
Value* LaneMemory::loadStrided(llvm::Type* element, Value* base, int step, Value* mask) {
  const int n = lanes_;
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
void LaneMemory::storeStrided(Value* value, Value* base, int step, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  auto align = llvm::Align(static_cast<uint64_t>(element->getScalarSizeInBits() / 8));
  for (int p = 0; p < step; ++p) {
    const StridedPart part(lanes_, step, p);
    Value* spread = b_.CreateShuffleVector(value, llvm::PoisonValue::get(value->getType()), part.laneAt);
    b_.CreateMaskedStore(spread, b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(part.first)), align,
                         part.on(b_, mask));
  }
}

}  // namespace tenc::codegen::cpu
