#include "codegen/cpu/FrameSlots.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "codegen/cpu/Jit.h"

namespace tenc::codegen::cpu {
namespace {

/// Vectors of the machine that one memory may fill; there are at least as many registers.
constexpr int64_t kMostRegisters = 16;

/// A read or write of some elements in a row.
struct Access {
  llvm::Instruction* at = nullptr;
  llvm::Type* type = nullptr;      ///< of what is read or written
  int64_t first = 0;               ///< element
  int64_t count = 1;               ///< lanes
  llvm::Constant* mask = nullptr;  ///< of the lanes that count; null: all

  bool has(int64_t lane) const {
    if (mask == nullptr) return true;
    const llvm::Constant* on = mask->getAggregateElement(static_cast<unsigned>(lane));
    return on != nullptr && on->isOneValue();
  }
  /// The element of the last lane that counts.
  int64_t last() const {
    int64_t lane = count - 1;
    while (lane > 0 && !has(lane)) --lane;
    return first + lane;
  }
  /// What is written, null of a read. It may have been a read that was rewritten.
  llvm::Value* stored() const {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(at)) return store->getValueOperand();
    return at->getType()->isVoidTy() ? llvm::cast<llvm::IntrinsicInst>(at)->getArgOperand(0) : nullptr;
  }
};

class Slots {
 public:
  Slots(llvm::AllocaInst& memory, const llvm::DataLayout& layout) : memory_(memory), layout_(layout) {}

  /// Whether all that is done with the memory is known, and some vector lies across two slots.
  bool pays(int64_t registerBytes) {
    const auto size = memory_.getAllocationSize(layout_);
    if (!size || size->isScalable() || !uses(memory_, 0) || element_ == nullptr) return false;
    const int64_t bytes = bytesOf(element_), slot = lanes_ * bytes, all = static_cast<int64_t>(size->getFixedValue());
    if (!std::has_single_bit(static_cast<uint64_t>(lanes_)) || all % slot != 0 || all > kMostRegisters * registerBytes)
      return false;
    bool across = false;
    for (Access& a : accesses_) {
      if (a.first % bytes != 0) return false;
      a.first /= bytes;
      if (a.first < 0 || a.last() >= all / bytes) return false;
      across = across || a.first / lanes_ != a.last() / lanes_;
    }
    return across;
  }

  void use() {
    for (const Access& a : accesses_) a.stored() == nullptr ? read(a) : write(a);
  }

 private:
  int64_t bytesOf(llvm::Type* t) const { return static_cast<int64_t>(layout_.getTypeStoreSize(t).getFixedValue()); }

  /// Notes all that is done with an address; false where that is not known.
  bool uses(llvm::Value& address, int64_t offset) {
    for (llvm::Use& use : address.uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        llvm::APInt by(64, 0);
        if (!step->accumulateConstantOffset(layout_, by) || !uses(*step, offset + by.getSExtValue())) return false;
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        if (load->isVolatile() || !take({load, load->getType(), offset})) return false;
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (store->isVolatile() || !take({store, store->getValueOperand()->getType(), offset})) return false;
      } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
        if (!intrinsic(*call, use, offset)) return false;
      } else {
        return false;
      }
    }
    return true;
  }

  /// A mask each of whose lanes is known; null for others.
  static llvm::Constant* constantMask(llvm::Value* mask) {
    return llvm::isa<llvm::ConstantExpr>(mask) ? nullptr : llvm::dyn_cast<llvm::Constant>(mask);
  }

  bool intrinsic(llvm::IntrinsicInst& call, const llvm::Use& use, int64_t offset) {
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::masked_load: {
        auto* mask = constantMask(call.getArgOperand(2));
        return mask != nullptr && take({&call, call.getType(), offset, 1, mask});
      }
      case llvm::Intrinsic::masked_store: {
        auto* mask = constantMask(call.getArgOperand(3));
        return mask != nullptr && take({&call, call.getArgOperand(0)->getType(), offset, 1, mask});
      }
      // LLVM cuts these where slots begin.
      case llvm::Intrinsic::memcpy:
      case llvm::Intrinsic::memset: {
        const auto& piece = llvm::cast<llvm::MemIntrinsic>(call);
        return !piece.isVolatile() && llvm::isa<llvm::ConstantInt>(piece.getLength()) && use.getOperandNo() < 2;
      }
      default: return call.isLifetimeStartOrEnd();
    }
  }

  bool take(Access a) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a.type);
    llvm::Type* element = a.type->getScalarType();
    const bool whole =
        element->isFloatTy() || element->isDoubleTy() || element->isIntegerTy(32) || element->isIntegerTy(64);
    if (!whole || (element_ != nullptr && element != element_)) return false;
    element_ = element;
    if (vector != nullptr) a.count = vector->getNumElements();
    lanes_ = std::max(lanes_, a.count);
    accesses_.push_back(a);
    return true;
  }

  llvm::Value* slotAddress(llvm::IRBuilderBase& b, int64_t slot) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), &memory_,
                                        static_cast<uint64_t>(slot * lanes_ * bytesOf(element_)));
  }
  llvm::Align align() const {
    return std::min(memory_.getAlign(), llvm::Align(static_cast<uint64_t>(lanes_ * bytesOf(element_))));
  }
  llvm::Type* slotType() const { return llvm::FixedVectorType::get(element_, static_cast<unsigned>(lanes_)); }
  llvm::Value* load(llvm::IRBuilderBase& b, int64_t slot) {
    return b.CreateAlignedLoad(slotType(), slotAddress(b, slot), align());
  }

  void read(const Access& a) {
    llvm::IRBuilder<> b(a.at);
    const int64_t slot = a.first / lanes_, last = a.last() / lanes_;
    llvm::Value* low = load(b, slot);
    llvm::Value* made = nullptr;
    if (!a.type->isVectorTy()) {
      made = b.CreateExtractElement(low, static_cast<uint64_t>(a.first % lanes_));
    } else {
      llvm::Value* high = last == slot ? low : load(b, last);
      llvm::SmallVector<int, 16> lanes;
      bool whole = true;
      for (int64_t i = 0; i < a.count; ++i) {
        whole = whole && a.has(i);
        lanes.push_back(a.has(i) ? static_cast<int>(a.first % lanes_ + i) : llvm::PoisonMaskElem);
      }
      made = b.CreateShuffleVector(low, high, lanes);
      if (!whole) made = b.CreateSelect(a.mask, made, llvm::cast<llvm::IntrinsicInst>(a.at)->getArgOperand(3));
    }
    a.at->replaceAllUsesWith(made);
    a.at->eraseFromParent();
  }

  void write(const Access& a) {
    llvm::IRBuilder<> b(a.at);
    for (int64_t slot = a.first / lanes_; slot <= a.last() / lanes_; ++slot) {
      llvm::Value* made = nullptr;
      if (!a.type->isVectorTy()) {
        made = b.CreateInsertElement(load(b, slot), a.stored(), static_cast<uint64_t>(a.first % lanes_));
      } else {
        // The vector with its lanes where the slot has them, then the slot with those.
        llvm::SmallVector<int, 16> moved, chosen;
        for (int64_t i = 0; i < lanes_; ++i) {
          const int64_t lane = slot * lanes_ + i - a.first;
          const bool is = lane >= 0 && lane < a.count && a.has(lane);
          moved.push_back(is ? static_cast<int>(lane) : llvm::PoisonMaskElem);
          chosen.push_back(static_cast<int>(is ? lanes_ + i : i));
        }
        made = b.CreateShuffleVector(a.stored(), moved);
        if (llvm::any_of(chosen, [&](int lane) { return lane < lanes_; }))
          made = b.CreateShuffleVector(load(b, slot), made, chosen);
      }
      b.CreateAlignedStore(made, slotAddress(b, slot), align());
    }
    a.at->eraseFromParent();
  }

  llvm::AllocaInst& memory_;
  const llvm::DataLayout& layout_;
  llvm::Type* element_ = nullptr;
  int64_t lanes_ = 1;  ///< of a slot, the longest vector's
  std::vector<Access> accesses_;
};

}  // namespace

void useSlots(llvm::Function& f) {
  std::vector<llvm::AllocaInst*> memory;
  for (llvm::Instruction& i : f.getEntryBlock())
    if (auto* a = llvm::dyn_cast<llvm::AllocaInst>(&i)) memory.push_back(a);
  for (llvm::AllocaInst* a : memory) {
    Slots slots(*a, f.getParent()->getDataLayout());
    if (slots.pays(vectorUnit(*f.getParent()).registerBytes)) slots.use();
  }
}

}  // namespace tenc::codegen::cpu
