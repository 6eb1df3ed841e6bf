#include "codegen/cpu/NarrowVectors.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace tenc::codegen::cpu {
namespace {

using Vector = llvm::FixedVectorType;

unsigned lanesOf(const llvm::Value& v) {
  const auto* type = llvm::dyn_cast<Vector>(v.getType());
  return type == nullptr ? 0 : type->getNumElements();
}

/// Whether each lane is the same lane of one of two vectors.
bool isBlend(const llvm::ShuffleVectorInst& shuffle) {
  const int lanes = static_cast<int>(lanesOf(*shuffle.getOperand(0)));
  const llvm::ArrayRef<int> mask = shuffle.getShuffleMask();
  for (int lane = 0; lane < static_cast<int>(mask.size()); ++lane) {
    const int from = mask[static_cast<size_t>(lane)];
    if (from != llvm::PoisonMaskElem && from != lane && from != lanes + lane) return false;
  }
  return static_cast<int>(mask.size()) == lanes;
}

/// Whether each lane of an instruction needs the same lane of its vectors, and nothing else. A divisor that is poison
/// in any lane is none: lanes that are not computed are.
bool isElementwise(const llvm::Instruction& i) {
  const unsigned lanes = lanesOf(i);
  if (lanes == 0 || i.isIntDivRem()) return false;
  const auto hasLanes = [&](const llvm::Value* v) { return lanesOf(*v) == lanes; };
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
    return llvm::isTriviallyVectorizable(call->getIntrinsicID()) &&
           llvm::all_of(call->args(), [&](const llvm::Value* v) { return v->getType() == i.getType(); });
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&i)) return hasLanes(cast->getOperand(0));
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&i)) return hasLanes(select->getCondition());
  if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) return isBlend(*shuffle);
  return llvm::isa<llvm::PHINode, llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst>(i);
}

class Narrowing {
 public:
  explicit Narrowing(llvm::Function& f) : b_(f.getContext()) {
    for (llvm::Instruction& i : llvm::instructions(f))
      if (isElementwise(i)) all_.push_back(&i);
  }

  void run() {
    findWanted();
    std::erase_if(all_, [&](const llvm::Instruction* i) { return widthOf(i) >= lanesOf(*i); });
    for (llvm::Instruction* i : all_) narrow(i);
    for (llvm::Instruction* i : all_)
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(i)) complete(*phi);
    for (llvm::Instruction* i : all_) widen(*i);
    for (llvm::Instruction* i : all_) i->dropAllReferences();
    for (llvm::Instruction* i : all_) i->eraseFromParent();
  }

 private:
  /// The lanes that a use wants of a value, counted from the first to the last one.
  unsigned wantedBy(const llvm::Use& use, unsigned lanes) const {
    const llvm::User* user = use.getUser();
    if (const auto at = wanted_.find(user); at != wanted_.end()) return at->second;
    if (const auto* one = llvm::dyn_cast<llvm::ExtractElementInst>(user)) {
      const auto* lane = llvm::dyn_cast<llvm::ConstantInt>(one->getIndexOperand());
      return lane == nullptr ? lanes : static_cast<unsigned>(std::min<uint64_t>(lane->getZExtValue() + 1, lanes));
    }
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(user)) {
      const int first = use.getOperandNo() == 0 ? 0 : static_cast<int>(lanes);
      int most = 0;
      for (const int lane : shuffle->getShuffleMask())
        if (lane >= first && lane < first + static_cast<int>(lanes)) most = std::max(most, lane - first + 1);
      return static_cast<unsigned>(most);
    }
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
    const bool stored =
        call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_store && use.getOperandNo() == 0;
    const auto* mask = stored ? llvm::dyn_cast<llvm::Constant>(call->getArgOperand(3)) : nullptr;
    if (mask == nullptr) return lanes;
    for (unsigned lane = lanes; lane > 0; --lane) {
      const llvm::Constant* on = mask->getAggregateElement(lane - 1);
      if (on == nullptr || !on->isNullValue()) return lane;
    }
    return 0;
  }

  void findWanted() {
    for (const llvm::Instruction* i : all_) wanted_[i] = 0;
    for (bool changes = true; changes;) {
      changes = false;
      for (auto i = all_.rbegin(); i != all_.rend(); ++i) {
        unsigned most = wanted_[*i];
        for (const llvm::Use& use : (*i)->uses()) most = std::max(most, wantedBy(use, lanesOf(**i)));
        changes = changes || most != wanted_[*i];
        wanted_[*i] = most;
      }
    }
  }

  /// As many as a register of 16 bytes has, or a larger power of two; conditions are mostly of elements of four bytes.
  unsigned widthOf(const llvm::Value* v) const {
    const unsigned size = v->getType()->getScalarSizeInBits(), bits = size == 1 ? 32 : std::max(size, 8U);
    return std::max({std::bit_ceil(wanted_.at(v)), 128 / bits, 2U});
  }

  static llvm::SmallVector<int, 16> first(unsigned lanes, unsigned of) {
    llvm::SmallVector<int, 16> mask(lanes, llvm::PoisonMaskElem);
    std::iota(mask.begin(), mask.begin() + std::min(lanes, of), 0);
    return mask;
  }

  /// The first lanes of a value, computed where it is.
  llvm::Value* lanes(llvm::Value* v, unsigned width) {
    if (const auto at = narrow_.find(v); at != narrow_.end()) v = at->second;
    if (lanesOf(*v) == width) return v;
    auto*& part = parts_[{v, width}];
    if (part != nullptr) return part;
    const llvm::IRBuilderBase::InsertPointGuard back(b_);
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(v)) {
      const auto behind = made->getInsertionPointAfterDef();
      b_.SetInsertPoint(*behind);
    } else if (auto* given = llvm::dyn_cast<llvm::Argument>(v)) {
      b_.SetInsertPoint(given->getParent()->getEntryBlock().begin());
    }
    return part = b_.CreateShuffleVector(v, first(width, lanesOf(*v)));
  }

  void narrow(llvm::Instruction* i) {
    if (narrow_.contains(i)) return;
    const unsigned width = widthOf(i);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(i)) {
      b_.SetInsertPoint(phi);
      narrow_[i] = b_.CreatePHI(Vector::get(i->getType()->getScalarType(), width), phi->getNumIncomingValues());
      return;
    }
    // What it needs comes first; blocks need not stand in the order in which they are run.
    for (llvm::Value* operand : i->operands()) {
      auto* needed = llvm::dyn_cast<llvm::Instruction>(operand);
      if (needed != nullptr && wanted_.contains(needed) && widthOf(needed) < lanesOf(*needed)) narrow(needed);
    }
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(i)) {
      llvm::Value* made = blend(*shuffle, width);
      narrow_[i] = made;
      return;
    }
    llvm::Instruction* made = i->clone();
    made->insertBefore(i->getIterator());
    for (llvm::Use& use : made->operands())
      if (lanesOf(*use) == lanesOf(*i)) use.set(lanes(use, width));
    llvm::Type* type = Vector::get(i->getType()->getScalarType(), width);
    made->mutateType(type);
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(made))
      call->setCalledFunction(llvm::Intrinsic::getDeclaration(i->getModule(), call->getIntrinsicID(), {type}));
    narrow_[i] = made;
  }

  /// Lanes that nothing wants are left as they are in a vector that is computed: the zeros that a vector is read with
  /// behind the end of a tensor would be put there in each trip.
  llvm::Value* blend(llvm::ShuffleVectorInst& shuffle, unsigned width) {
    llvm::Value *a = lanes(shuffle.getOperand(0), width), *b = lanes(shuffle.getOperand(1), width);
    const int own = llvm::isa<llvm::Constant>(shuffle.getOperand(0)) ? 1 : 0, old = static_cast<int>(lanesOf(shuffle));
    llvm::SmallVector<int, 16> mask;
    for (int lane = 0; lane < static_cast<int>(width); ++lane) {
      const int from = shuffle.getMaskValue(static_cast<unsigned>(lane));
      const bool isWanted = lane < static_cast<int>(wanted_.at(&shuffle)) && from != llvm::PoisonMaskElem;
      mask.push_back(lane + (isWanted ? from / old : own) * static_cast<int>(width));
    }
    if (llvm::ShuffleVectorInst::isIdentityMask(mask, static_cast<int>(width)))
      return mask[0] < static_cast<int>(width) ? a : b;
    b_.SetInsertPoint(&shuffle);
    return b_.CreateShuffleVector(a, b, mask);
  }

  void complete(llvm::PHINode& phi) {
    auto* made = llvm::cast<llvm::PHINode>(narrow_.at(&phi));
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i)
      made->addIncoming(lanes(phi.getIncomingValue(i), lanesOf(*made)), phi.getIncomingBlock(i));
  }

  /// What is not narrowed itself reads the lanes from a vector of the old length.
  void widen(llvm::Instruction& i) {
    llvm::Value* wide = nullptr;
    for (llvm::Use& use : llvm::make_early_inc_range(i.uses())) {
      if (narrow_.contains(use.getUser())) continue;
      if (wide == nullptr) wide = lanes(&i, lanesOf(i));
      use.set(wide);
    }
  }

  llvm::IRBuilder<> b_;
  std::vector<llvm::Instruction*> all_;  ///< elementwise; then those that are narrowed
  llvm::DenseMap<const llvm::Value*, unsigned> wanted_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> narrow_;
  llvm::DenseMap<std::pair<llvm::Value*, unsigned>, llvm::Value*> parts_;
};

}  // namespace

void narrowVectors(llvm::Function& f) { Narrowing(f).run(); }

}  // namespace tenc::codegen::cpu
