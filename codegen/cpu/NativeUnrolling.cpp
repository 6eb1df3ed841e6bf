// By how many native loops are unrolled, and exits that unrolling can take out.
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>

#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
namespace {

constexpr size_t kLongest = 64;  // instructions of a loop with several exits
constexpr size_t kShortest = 8;  // of one of which a trip is hardly more than its count and test

bool hasVectors(const llvm::Loop& loop) {
  return llvm::any_of(*loop.getHeader(), [](const llvm::Instruction& i) { return i.getType()->isVectorTy(); });
}

/// One that the vectoriser has made of another, or left of it.
bool isVectorised(const llvm::Loop& loop) { return llvm::getBooleanLoopAttribute(&loop, "llvm.loop.isvectorized"); }

size_t lengthOf(const llvm::Loop& loop) {
  size_t length = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) length += block->size();
  return length;
}

/// By how many a loop of so many trips is unrolled that may be left elsewhere, too.
unsigned dividing(unsigned trips) { return trips == 0 || trips % 2 != 0 ? 1 : trips % 4 == 0 ? 4 : 2; }

/// The trips after which a loop that may be left at several places is surely left, if one of them counts to a number
/// that is known; else 0.
unsigned mostTripsOf(const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  llvm::SmallVector<llvm::BasicBlock*> exits;
  loop.getExitingBlocks(exits);
  unsigned most = 0;
  for (llvm::BasicBlock* exit : exits) {
    unsigned trips = evolution.getSmallConstantTripCount(&loop, exit);
    if (exit != loop.getLoopLatch()) trips -= trips % 2;  // a test before the trip is made once more than those
    if (trips != 0) most = most == 0 ? trips : std::min(most, trips);
  }
  return most;
}

/// Whether each trip adds to a float of the trip before, or the like: several of them side by side take as long as one
/// after the other. Not where it is only kept, as the greatest so far is.
bool carriesFloat(const llvm::Loop& loop) {
  return llvm::any_of(loop.getHeader()->phis(), [&](const llvm::PHINode& phi) {
    const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
    return phi.getType()->isFloatingPointTy() && next != nullptr && llvm::is_contained(next->operand_values(), &phi);
  });
}

/// By how many an innermost loop is unrolled that is no vector of several trips already: four, or eight if it is very
/// short, if it counts and is left nowhere else; and if it is left elsewhere too, as many of that as make up all of its
/// trips; of what is known only when it runs, four with `hasManyInFlight`. LLVM would go further, which takes it longer
/// and gains nothing.
unsigned unrollingOf(const llvm::Loop& loop, llvm::ScalarEvolution& evolution, bool hasManyInFlight) {
  if (!loop.isInnermost() || hasVectors(loop)) return 1;
  // What is left of a vectorised loop is short, but for one whose arrays may overlap: then it may be all of it.
  const bool isRest = isVectorised(loop);
  if (isRest && !llvm::getBooleanLoopAttribute(&loop, kMayOverlap)) return 1;
  const unsigned most = isRest ? 2 : lengthOf(loop) <= kShortest ? 8 : 4;
  // Where the number of trips is not known, it may be small and another each time: the ends of two loops, that of whole
  // steps and that of what is left, are guessed wrong twice as often as one.
  if (loop.getLoopLatch() != nullptr && carriesFloat(loop) && mostTripsOf(loop, evolution) == 0) return 1;
  if (loop.getExitingBlock() != nullptr) return evolution.hasLoopInvariantBackedgeTakenCount(&loop) ? most : 1;
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  if (latch == nullptr || !loop.isLoopExiting(latch)) return 1;
  if (lengthOf(loop) > kLongest) return 1;
  const unsigned trips = mostTripsOf(loop, evolution);
  if (trips != 0) return dividing(trips);
  const bool counts = !llvm::isa<llvm::SCEVCouldNotCompute>(evolution.getExitCount(&loop, latch));
  return counts && hasManyInFlight ? 4 : 1;
}

/// The branch at the end of a loop that goes on while two conditions hold, of which `counts` is one that counts to a
/// number worth unrolling.
struct DoubleExit {
  llvm::BranchInst* branch;
  llvm::Value *counts, *other;
  bool whileTrue;  ///< it goes on where both are true, not where both are false
};

std::optional<DoubleExit> doubleExitOf(const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  namespace pm = llvm::PatternMatch;
  llvm::BasicBlock* latch = loop.getLoopLatch();
  if (!loop.isInnermost() || latch == nullptr || loop.getExitingBlock() != latch) return std::nullopt;
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (branch == nullptr || hasVectors(loop) || lengthOf(loop) > kLongest) return std::nullopt;
  const bool whileTrue = branch->getSuccessor(0) == loop.getHeader();
  llvm::Value *a, *b, *condition = branch->getCondition();
  if (whileTrue ? !pm::match(condition, pm::m_LogicalAnd(pm::m_Value(a), pm::m_Value(b)))
                : !pm::match(condition, pm::m_LogicalOr(pm::m_Value(a), pm::m_Value(b))))
    return std::nullopt;
  for (const auto& [counts, other] : {std::pair(a, b), std::pair(b, a)}) {
    const auto limit = evolution.computeExitLimitFromCond(&loop, counts, !whileTrue, /*ControlsOnlyExit=*/false);
    const auto* last = llvm::dyn_cast<llvm::SCEVConstant>(limit.ExactNotTaken);
    if (last != nullptr && last->getAPInt().ult(1U << 31) &&
        dividing(static_cast<unsigned>(last->getAPInt().getZExtValue()) + 1) > 1)
      return DoubleExit{branch, counts, other, whileTrue};
  }
  return std::nullopt;
}

}  // namespace

/// `while n < 200 and ...`: an exit of its own for the count, of which unrolling keeps one in four.
bool separateExits(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  std::vector<DoubleExit> found;
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder())
    if (const auto exit = doubleExitOf(*loop, evolution)) found.push_back(*exit);
  for (const auto& [branch, counts, other, whileTrue] : found) {
    llvm::BasicBlock *first = branch->getParent(), *second = llvm::SplitBlock(first, branch);
    llvm::BasicBlock* exit = branch->getSuccessor(whileTrue ? 1 : 0);
    branch->setCondition(other);
    first->getTerminator()->eraseFromParent();
    llvm::IRBuilder<>(first).CreateCondBr(counts, whileTrue ? second : exit, whileTrue ? exit : second);
    for (llvm::PHINode& phi : exit->phis()) phi.addIncoming(phi.getIncomingValueForBlock(second), first);
  }
  return !found.empty();
}

namespace {

constexpr const char* kUnrollCount = "llvm.loop.unroll.count";

/// Whether a loop of few trips is better done as vectors than unrolled: its trips may run in any order, and what they
/// write fills half a register or more.
bool isShortVector(llvm::Loop& loop, llvm::ScalarEvolution& evolution, llvm::LoopAccessInfoManager& accesses) {
  constexpr unsigned kMostTrips = 64, kLeastBytes = 32;
  const unsigned trips = evolution.getSmallConstantTripCount(&loop);
  if (!loop.isInnermost() || trips == 0 || trips > kMostTrips || loop.getNumBlocks() != 1) return false;
  const llvm::BasicBlock& block = *loop.getHeader();
  const auto phis = block.phis();
  if (std::distance(phis.begin(), phis.end()) != 1) return false;
  const llvm::DataLayout& layout = block.getModule()->getDataLayout();
  const bool fills = llvm::any_of(block, [&](const llvm::Instruction& i) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
    return store != nullptr && trips * layout.getTypeStoreSize(store->getValueOperand()->getType()) >= kLeastBytes;
  });
  return fills && accesses.getInfo(loop).canVectorizeMemory();
}

/// Whether all loops in a loop are so short that it may be vectorised once they are unrolled as a whole.
bool holdsShortLoops(const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  constexpr size_t kMostUnrolled = 400;  // instructions
  size_t length = 0;
  for (llvm::Loop* inner : loop.getSubLoops()) {
    const unsigned trips = evolution.getSmallConstantTripCount(inner);
    if (trips == 0 || inner->getNumBlocks() != 1) return false;
    length += trips * lengthOf(*inner);
  }
  return length != 0 && length <= kMostUnrolled;
}

}  // namespace

/// Which loops are unrolled before the others are vectorised, beside those that LLVM would unroll: none that become
/// vectors themselves, and those that stand between the loop around them and vectors.
void chooseShortLoops(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  auto& accesses = functions.getResult<llvm::LoopAccessAnalysis>(f);
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (isShortVector(*loop, evolution, accesses))
      llvm::addStringMetadataToLoop(loop, kUnrollCount, 1);
    else if (loop->isInnermost() && !loop->isOutermost() && holdsShortLoops(*loop->getParentLoop(), evolution))
      llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.full");
  }
}

/// Short loops are unrolled as a whole; vectorised ones only if it is known how short they are: of the trips that may
/// be left for half a register at a time there are hardly ever all.
void chooseUnrolling(llvm::Function& f, llvm::FunctionAnalysisManager& functions, const llvm::TargetMachine& machine) {
  constexpr unsigned kFewTrips = 16, kManyInFlight = 512;
  // Trips that wait for memory run side by side as far as the instructions in flight go: counting once for several of
  // them leaves room for more. Zen has 320, and little to gain.
  const bool hasManyInFlight = machine.getMCSubtargetInfo()->getSchedModel().MicroOpBufferSize >= kManyInFlight;
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (!loop->isInnermost() || llvm::getBooleanLoopAttribute(loop, kRarelyRun)) {
      loop->setLoopAlreadyUnrolled();
      continue;
    }
    const unsigned trips =
        isVectorised(*loop) ? evolution.getSmallConstantTripCount(loop) : evolution.getSmallConstantMaxTripCount(loop);
    if (llvm::MDNode* id = loop->getLoopID())
      loop->setLoopID(llvm::makePostTransformationMetadata(f.getContext(), id, {kUnrollCount}, {}));
    if (trips != 0 && trips <= kFewTrips) continue;
    if (const unsigned by = unrollingOf(*loop, evolution, hasManyInFlight); by > 1)
      llvm::addStringMetadataToLoop(loop, kUnrollCount, by);
    else
      loop->setLoopAlreadyUnrolled();
  }
}

}  // namespace tenc::codegen::cpu
