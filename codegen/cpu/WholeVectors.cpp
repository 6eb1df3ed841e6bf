#include "codegen/cpu/WholeVectors.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <iterator>

namespace tenc::codegen::cpu {
namespace {

/// Lanes of a vector from `from` on.
struct Lanes {
  llvm::Value* of = nullptr;
  int64_t from = 0, count = 0;
};

Lanes lanesOf(llvm::Value* v) {
  if (auto* one = llvm::dyn_cast<llvm::ExtractElementInst>(v)) {
    const auto* at = llvm::dyn_cast<llvm::ConstantInt>(one->getIndexOperand());
    return at == nullptr ? Lanes{} : Lanes{one->getVectorOperand(), at->getSExtValue(), 1};
  }
  auto* some = llvm::dyn_cast<llvm::ShuffleVectorInst>(v);
  if (some == nullptr) return {};
  const llvm::ArrayRef<int> mask = some->getShuffleMask();
  for (size_t i = 1; i < mask.size(); ++i)
    if (mask[i] != mask[0] + static_cast<int>(i)) return {};
  return {some->getOperand(0), mask[0], static_cast<int64_t>(mask.size())};
}

/// The last vectors of tensors in the frame are read and written as a whole: they were masked, or written in pieces, as
/// other tensors could stand behind them.
class WholeVectors {
 public:
  WholeVectors(llvm::Function& f, const PaddedMemory& padded, bool reads)
      : f_(f), layout_(f.getParent()->getDataLayout()), padded_(padded), reads_(reads) {}

  void run() {
    for (llvm::BasicBlock& block : f_)
      for (auto i = block.begin(); i != block.end();) {
        llvm::Instruction& instruction = *i++;
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
          i = write(*store);
        } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
          const llvm::Intrinsic::ID id = call->getIntrinsicID();
          if (id == llvm::Intrinsic::masked_load && reads_) read(*call);
          if (id == llvm::Intrinsic::masked_store) write(*call);
        }
      }
  }

 private:
  struct Place {
    const llvm::Value* base = nullptr;
    int64_t begin = 0, left = 0;  ///< bytes: from the base, and of the tensor from there on
  };

  Place placeOf(const llvm::Value* address) const {
    llvm::APInt offset(64, 0);
    const llvm::Value* base = address->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
    const auto found = padded_.find(base);
    return found == padded_.end() ? Place{} : Place{base, offset.getSExtValue(), found->second - offset.getSExtValue()};
  }

  int64_t bytesOf(llvm::Type* t) const { return static_cast<int64_t>(layout_.getTypeStoreSize(t).getFixedValue()); }

  /// Whether a vector there holds the tensor's last elements, and lies in its memory.
  bool isLast(const Place& place, llvm::Type* vector) const {
    if (place.base == nullptr || place.begin < 0 || place.left <= 0 || place.left > bytesOf(vector)) return false;
    const auto* memory = llvm::cast<llvm::AllocaInst>(place.base);
    return place.begin + bytesOf(vector) <= static_cast<int64_t>(memory->getAllocationSize(layout_)->getFixedValue());
  }

  /// Returns what comes after the store and what was a part of it.
  llvm::BasicBlock::iterator write(llvm::StoreInst& first) {
    const auto after = std::next(first.getIterator());
    const Lanes lanes = lanesOf(first.getValueOperand());
    const Place place = placeOf(first.getPointerOperand());
    if (first.isVolatile() || lanes.of == nullptr || lanes.from != 0 || !isLast(place, lanes.of->getType()))
      return after;
    const int64_t element = bytesOf(lanes.of->getType()->getScalarType());
    llvm::SmallVector<llvm::StoreInst*, 4> pieces = {&first};
    int64_t stored = lanes.count;
    for (auto i = after; stored * element < place.left; ++i) {
      if (i == first.getParent()->end() || (i->mayReadOrWriteMemory() && !llvm::isa<llvm::StoreInst>(*i))) return after;
      auto* next = llvm::dyn_cast<llvm::StoreInst>(&*i);
      if (next == nullptr) continue;
      const Lanes more = lanesOf(next->getValueOperand());
      const Place there = placeOf(next->getPointerOperand());
      if (more.of != lanes.of || more.from != stored || there.base != place.base ||
          there.begin != place.begin + stored * element)
        return after;
      stored += more.count;
      pieces.push_back(next);
    }
    const auto behind = std::next(pieces.back()->getIterator());
    new llvm::StoreInst(lanes.of, first.getPointerOperand(), false, first.getAlign(), first.getIterator());
    for (llvm::StoreInst* piece : pieces) piece->eraseFromParent();
    return behind;
  }

  /// Whether a mask has all that is left of the tensor.
  bool hasRest(const llvm::Value* mask, const Place& place, llvm::Type* vector) const {
    const auto* known = llvm::dyn_cast<llvm::Constant>(mask);
    for (unsigned lane = 0; lane < place.left / bytesOf(vector->getScalarType()); ++lane) {
      const llvm::Constant* on = known == nullptr ? nullptr : known->getAggregateElement(lane);
      if (on == nullptr || !on->isOneValue()) return false;
    }
    return true;
  }

  /// A masked store of all that is left of the tensor.
  void write(llvm::IntrinsicInst& store) {
    llvm::Value* vector = store.getArgOperand(0);
    const Place place = placeOf(store.getArgOperand(1));
    if (!isLast(place, vector->getType()) || !hasRest(store.getArgOperand(3), place, vector->getType())) return;
    const auto align = llvm::cast<llvm::ConstantInt>(store.getArgOperand(2))->getAlignValue();
    new llvm::StoreInst(vector, store.getArgOperand(1), false, align, store.getIterator());
    store.eraseFromParent();
  }

  /// Of floats: what is in the other lanes stops nothing.
  void read(llvm::IntrinsicInst& load) {
    llvm::Type* vector = load.getType();
    if (!vector->isFPOrFPVectorTy() || !isLast(placeOf(load.getArgOperand(0)), vector)) return;
    const auto* mask = llvm::dyn_cast<llvm::Constant>(load.getArgOperand(2));
    if (mask == nullptr) return;
    const auto align = llvm::cast<llvm::ConstantInt>(load.getArgOperand(1))->getAlignValue();
    load.replaceAllUsesWith(new llvm::LoadInst(vector, load.getArgOperand(0), "", false, align, load.getIterator()));
    load.eraseFromParent();
  }

  llvm::Function& f_;
  const llvm::DataLayout& layout_;
  const PaddedMemory& padded_;
  bool reads_;
};

}  // namespace

void useWholeVectors(llvm::Function& f, const PaddedMemory& padded) { WholeVectors(f, padded, true).run(); }
void writeWholeVectors(llvm::Function& f, const PaddedMemory& padded) { WholeVectors(f, padded, false).run(); }

}  // namespace tenc::codegen::cpu
