// Elements of native loops that go from one trip to the next in a register, where LLVM would load them again.
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <utility>
#include <vector>

#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

/// Of a place, and of the element there.
using Choices = std::vector<std::pair<llvm::SelectInst*, llvm::SelectInst*>>;

/// `a[k]` at the head of each trip of a loop, `k` being what the trip before has left.
class CarriedElement {
 public:
  CarriedElement(llvm::Loop& loop, llvm::LoadInst& load, const llvm::DominatorTree& dominators)
      : loop_(loop),
        load_(load),
        place_(*llvm::cast<llvm::GetElementPtrInst>(load.getPointerOperand())),
        index_(llvm::cast<llvm::PHINode>(place_.getOperand(1))),
        dominators_(dominators) {}

  /// Whether each trip has loaded what the next one begins with.
  bool isKnown() { return isKnown(nextIndex(), loop_.getLoopLatch()->getTerminator()); }

  Choices carry() {
    llvm::BasicBlock *before = loop_.getLoopPreheader(), *latch = loop_.getLoopLatch();
    llvm::IRBuilder<> b(before->getTerminator());
    Value* first = index_->getIncomingValueForBlock(before);
    auto* start =
        b.CreateLoad(load_.getType(), b.CreateGEP(place_.getSourceElementType(), place_.getPointerOperand(), first));
    start->copyMetadata(load_);
    b.SetInsertPoint(index_);
    element_ = b.CreatePHI(load_.getType(), 2);
    element_->addIncoming(start, before);
    element_->addIncoming(elementAt(nextIndex(), latch->getTerminator()), latch);
    load_.replaceAllUsesWith(element_);
    load_.eraseFromParent();
    return choices_;
  }

 private:
  Value* nextIndex() const { return index_->getIncomingValueForBlock(loop_.getLoopLatch()); }

  /// A load of a[index] that has run where `at` is reached.
  Value* loaded(const Value* index, const llvm::Instruction* at) const {
    for (llvm::User* u : place_.getPointerOperand()->users()) {
      auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(u);
      if (place == nullptr || place->getNumIndices() != 1 || place->getOperand(1) != index ||
          place->getSourceElementType() != place_.getSourceElementType())
        continue;
      for (llvm::User* v : place->users()) {
        auto* load = llvm::dyn_cast<llvm::LoadInst>(v);
        if (load != nullptr && load->isSimple() && load->getType() == load_.getType() && loop_.contains(load) &&
            dominators_.dominates(load, at))
          return load;
      }
    }
    return nullptr;
  }

  static const llvm::Instruction* endOf(const llvm::PHINode* merged, unsigned i) {
    return merged->getIncomingBlock(i)->getTerminator();
  }

  bool isMerge(const Value* v) const {
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(v);
    return phi != nullptr && loop_.contains(phi) && phi->getParent() != loop_.getHeader();
  }

  bool isKnown(Value* index, const llvm::Instruction* at, int steps = 4) {
    if (index == index_ || loaded(index, at) != nullptr) return true;
    if (steps == 0) return false;
    if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(index); choice != nullptr && loop_.contains(choice))
      return isKnown(choice->getTrueValue(), choice, steps - 1) && isKnown(choice->getFalseValue(), choice, steps - 1);
    if (!isMerge(index)) return false;
    const auto* merged = llvm::cast<llvm::PHINode>(index);
    for (unsigned i = 0; i < merged->getNumIncomingValues(); ++i)
      if (!isKnown(merged->getIncomingValue(i), endOf(merged, i), steps - 1)) return false;
    return true;
  }

  Value* elementAt(Value* index, const llvm::Instruction* at) {
    if (index == index_) return element_;
    if (Value* load = loaded(index, at)) return load;
    if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(index)) {
      Value *yes = elementAt(choice->getTrueValue(), choice), *no = elementAt(choice->getFalseValue(), choice);
      auto* element = llvm::SelectInst::Create(choice->getCondition(), yes, no, "", std::next(choice->getIterator()));
      choices_.emplace_back(choice, element);
      return element;
    }
    auto* merged = llvm::cast<llvm::PHINode>(index);
    auto* element = llvm::PHINode::Create(load_.getType(), merged->getNumIncomingValues(), "", merged->getIterator());
    for (unsigned i = 0; i < merged->getNumIncomingValues(); ++i)
      element->addIncoming(elementAt(merged->getIncomingValue(i), endOf(merged, i)), merged->getIncomingBlock(i));
    return element;
  }

  llvm::Loop& loop_;
  llvm::LoadInst& load_;
  llvm::GetElementPtrInst& place_;
  llvm::PHINode* index_;
  const llvm::DominatorTree& dominators_;
  llvm::PHINode* element_ = nullptr;
  Choices choices_;
};

/// A choice of a place and of the elements there as one jump, which is rarely taken: the next trip need not wait for
/// it.
void asJump(llvm::SelectInst* place, llvm::ArrayRef<llvm::SelectInst*> elements) {
  const bool changes = llvm::isa<llvm::PHINode>(place->getFalseValue());  // where the condition holds
  llvm::IRBuilder<> b(place);
  Value* rare = changes ? place->getCondition() : b.CreateNot(place->getCondition());
  auto* weights = llvm::MDBuilder(b.getContext()).createBranchWeights(1, 4000);
  llvm::BasicBlock* before = place->getParent();
  llvm::BasicBlock* change =
      llvm::SplitBlockAndInsertIfThen(rare, place->getIterator(), /*Unreachable=*/false, weights)->getParent();
  const auto merge = [&](llvm::SelectInst* choice) {
    auto* merged = llvm::PHINode::Create(choice->getType(), 2, "", choice->getParent()->getFirstNonPHIIt());
    merged->addIncoming(changes ? choice->getFalseValue() : choice->getTrueValue(), before);
    merged->addIncoming(changes ? choice->getTrueValue() : choice->getFalseValue(), change);
    choice->replaceAllUsesWith(merged);
    choice->eraseFromParent();
  };
  merge(place);
  for (llvm::SelectInst* element : elements) merge(element);
}

/// A load at the head of a loop from where the trip before says.
bool isAtCarriedIndex(const llvm::LoadInst& load, const llvm::Loop& loop) {
  const auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(load.getPointerOperand());
  if (!load.isSimple() || place == nullptr || place->getNumIndices() != 1) return false;
  const auto* index = llvm::dyn_cast<llvm::PHINode>(place->getOperand(1));
  return index != nullptr && index->getParent() == loop.getHeader() && loop.isLoopInvariant(place->getPointerOperand());
}

bool mayChange(const llvm::LoadInst& load, const llvm::Loop& loop, llvm::AAResults& aliases) {
  const auto* place = llvm::cast<llvm::GetElementPtrInst>(load.getPointerOperand());
  const auto all = llvm::MemoryLocation::getBeforeOrAfter(place->getPointerOperand(), load.getAAMetadata());
  for (const llvm::BasicBlock* block : loop.blocks())
    for (const llvm::Instruction& i : *block)
      if (!llvm::isa<llvm::LoadInst>(i) && i.mayWriteToMemory() && llvm::isModSet(aliases.getModRefInfo(&i, all)))
        return true;
  return false;
}

}  // namespace

/// `if a[j] < a[least] { least = j }`: the next trip has a[least] from this one, which has loaded both.
void carryElements(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  const auto& dominators = functions.getResult<llvm::DominatorTreeAnalysis>(f);
  auto& aliases = functions.getResult<llvm::AAManager>(f);
  Choices choices;
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (!loop->isInnermost() || loop->getLoopPreheader() == nullptr || loop->getLoopLatch() == nullptr) continue;
    for (llvm::Instruction& i : llvm::make_early_inc_range(*loop->getHeader())) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
      if (load == nullptr || !isAtCarriedIndex(*load, *loop)) continue;
      CarriedElement element(*loop, *load, dominators);
      if (element.isKnown() && !mayChange(*load, *loop, aliases)) llvm::append_range(choices, element.carry());
    }
  }
  llvm::MapVector<llvm::SelectInst*, llvm::SmallVector<llvm::SelectInst*>> byPlace;  // of several arrays
  for (const auto& [place, element] : choices) byPlace[place].push_back(element);
  for (const auto& [place, elements] : byPlace) asJump(place, elements);
}

}  // namespace tenc::codegen::cpu
