// Addresses in innermost loops.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <optional>
#include <utility>

#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
namespace {
using llvm::Value;

constexpr unsigned kAlignment = 32;     // of innermost loops: processors fetch as many bytes, or twice that
constexpr unsigned kLine = 64;          // bytes of the cache, in which a short loop stands with what follows it
constexpr size_t kLineHolds = 10;       // instructions, about
constexpr unsigned kDistanceBits = 31;  // of what may stand in an address

/// An address that grows by a constant from trip to trip, and where it is in the first one: `distance` bytes behind
/// `place`, which other addresses may share.
struct Walk {
  llvm::GetElementPtrInst* address;
  const llvm::SCEV* place;
  int64_t distance, step;
};

/// What is added to all else in a sum, and the sum without it.
std::pair<int64_t, const llvm::SCEV*> splitConstant(const llvm::SCEV* value, llvm::ScalarEvolution& evolution) {
  if (const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(value)) {
    if (constant->getAPInt().getSignificantBits() > kDistanceBits) return {0, value};
    return {constant->getAPInt().getSExtValue(), evolution.getZero(value->getType())};
  }
  if (const auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(value)) {
    llvm::SmallVector<const llvm::SCEV*> terms(sum->operands());
    for (const llvm::SCEV*& term : terms) {
      if (!llvm::isa<llvm::SCEVConstant, llvm::SCEVAddRecExpr>(term)) continue;
      const auto [constant, rest] = splitConstant(term, evolution);
      if (constant == 0) continue;
      term = rest;
      return {constant, evolution.getAddExpr(terms)};
    }
  }
  if (const auto* count = llvm::dyn_cast<llvm::SCEVAddRecExpr>(value); count != nullptr && count->isAffine()) {
    const auto [constant, start] = splitConstant(count->getStart(), evolution);
    if (constant == 0) return {0, value};
    return {constant, evolution.getAddRecExpr(start, count->getStepRecurrence(evolution), count->getLoop(),
                                              llvm::SCEV::FlagAnyWrap)};
  }
  return {0, value};
}

/// By how much a value grows from one trip of a loop to the next, if it does.
std::optional<int64_t> stepOf(const llvm::SCEV* value, const llvm::Loop& loop, llvm::ScalarEvolution& evolution) {
  const auto* count = llvm::dyn_cast<llvm::SCEVAddRecExpr>(value);
  if (count == nullptr || count->getLoop() != &loop || !count->isAffine()) return std::nullopt;
  const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(count->getStepRecurrence(evolution));
  if (step == nullptr || step->getAPInt().getSignificantBits() > kDistanceBits) return std::nullopt;
  return step->getAPInt().getSExtValue();
}

/// Values of a loop as they are in its first trip, or as they would be while `index` is 0, computed in front of it.
class InFront {
 public:
  InFront(const llvm::Loop& loop, const llvm::PHINode* index)
      : loop_(loop), index_(index), at_(loop.getLoopPreheader()->getTerminator()) {}

  /// Nothing where that takes more than arithmetic, or, with an index, depends on what else the loop carries.
  Value* of(Value* v) {
    auto* i = llvm::dyn_cast<llvm::Instruction>(v);
    if (i == nullptr || !loop_.contains(i)) return v;
    if (const auto known = known_.find(i); known != known_.end()) return known->second;
    Value* made = make(*i);
    return known_[i] = made;
  }

 private:
  /// Whether what is said of all trips of a loop goes on to an index that no trip has: sums and products of 64 bits.
  static bool keepsDistances(const llvm::Instruction& i) {
    if (llvm::isa<llvm::GetElementPtrInst>(i))
      return llvm::all_of(llvm::drop_begin(i.operands()), [](const Value* v) { return v->getType()->isIntegerTy(64); });
    const unsigned op = i.getOpcode();
    const bool isShift = op == llvm::Instruction::Shl && llvm::isa<llvm::ConstantInt>(i.getOperand(1));
    return i.getType()->isIntegerTy(64) &&
           (isShift || op == llvm::Instruction::Add || op == llvm::Instruction::Sub || op == llvm::Instruction::Mul);
  }

  Value* make(llvm::Instruction& i) {
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&i)) {
      if (phi == index_) return llvm::Constant::getNullValue(phi->getType());
      if (index_ != nullptr || phi->getParent() != loop_.getHeader()) return nullptr;
      return phi->getIncomingValueForBlock(at_->getParent());
    }
    if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::GetElementPtrInst>(i) || i.isIntDivRem()) return nullptr;
    if (index_ != nullptr && !keepsDistances(i)) return nullptr;
    llvm::SmallVector<Value*> operands;
    for (Value* operand : i.operands()) {
      operands.push_back(of(operand));
      if (operands.back() == nullptr) return nullptr;
    }
    llvm::Instruction* copy = i.clone();
    for (unsigned n = 0; n < operands.size(); ++n) copy->setOperand(n, operands[n]);
    copy->dropPoisonGeneratingFlags();  // the loop may compute it in later trips only
    copy->insertBefore(at_->getIterator());
    if (Value* known = llvm::simplifyInstruction(copy, {i.getModule()->getDataLayout()})) {
      copy->eraseFromParent();
      return known;
    }
    return copy;
  }

  const llvm::Loop& loop_;
  const llvm::PHINode* index_;
  llvm::Instruction* at_;
  llvm::DenseMap<llvm::Instruction*, Value*> known_;
};

bool dependsOn(Value* v, const llvm::PHINode* phi, const llvm::Loop& loop, int deepest = 8) {
  if (v == phi) return true;
  auto* i = llvm::dyn_cast<llvm::Instruction>(v);
  if (i == nullptr || deepest == 0 || llvm::isa<llvm::PHINode>(i) || !loop.contains(i)) return false;
  return llvm::any_of(i->operands(), [&](Value* operand) { return dependsOn(operand, phi, loop, deepest - 1); });
}

class Addresses {
 public:
  Addresses(llvm::Loop& loop, llvm::ScalarEvolution& evolution, llvm::DominatorTree& dominators, llvm::LoopInfo& loops)
      : loop_(loop), evolution_(evolution), dominators_(dominators), loops_(loops) {}

  void simplify() {
    if (loop_.getLoopPreheader() == nullptr || loop_.getLoopLatch() == nullptr) return;
    findWalks();
    chooseIndex();
    InFront first(loop_, nullptr), atZero(loop_, index_);
    for (const Walk& walk : walks_) {
      auto found = pointers_.find({walk.place, walk.step});
      if (found == pointers_.end()) {
        const std::optional<Pointer> pointer = pointerFor(walk, first, atZero);
        if (!pointer) continue;
        found = pointers_.insert({{walk.place, walk.step}, *pointer}).first;
      }
      replace(walk, found->second);
    }
    llvm::SmallVector<llvm::WeakTrackingVH> addresses;  // some may be read by others alone
    for (const Walk& walk : walks_) addresses.emplace_back(walk.address);
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(addresses);
    llvm::SCEVExpander expander(evolution_, loop_.getHeader()->getModule()->getDataLayout(), "");
    for (llvm::PHINode& phi : loop_.getHeader()->phis()) stepAtOnce(phi, expander);
    for (llvm::PHINode& phi : loop_.getHeader()->phis()) compareNext(phi);
    for (llvm::PHINode& phi : loop_.getHeader()->phis()) countBack(phi);
    sinkResults();
    for (llvm::PHINode& phi : loop_.getHeader()->phis()) countToZero(phi);
  }

 private:
  /// A pointer that walks, or stands still and is `scale` times the index before one that walks.
  struct Pointer {
    Value* base;
    int64_t distance, scale;
  };

  /// What a loop counts is compared with a constant where the next count is known: the next count is, with the constant
  /// one step on. Else both would be kept, and moved between the comparison and its jump.
  void compareNext(llvm::PHINode& phi) {
    llvm::BasicBlock* latch = loop_.getLoopLatch();
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(latch));
    const std::optional<int64_t> step = stepOf(evolution_.getSCEV(&phi), loop_, evolution_);
    if (next == nullptr || next->getParent() != latch || next->getOpcode() != llvm::Instruction::Add || !step ||
        !phi.getType()->isIntegerTy(64))
      return;
    for (llvm::User* user : phi.users()) {
      auto* test = llvm::dyn_cast<llvm::ICmpInst>(user);
      if (test == nullptr || test->getParent() != latch || test->getOperand(0) != &phi) continue;
      const auto* bound = llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1));
      if (bound == nullptr || !staysInOrder(phi, *step, *test, *bound)) continue;
      next->dropPoisonGeneratingFlags();
      if (!separate(*test, *next)) next->moveBefore(*latch, latch->getFirstInsertionPt());
      test->setOperand(0, next);
      test->setOperand(1, llvm::ConstantInt::get(phi.getType(), bound->getValue() + static_cast<uint64_t>(*step)));
      return;
    }
  }

  /// Where a trip ends with two conditions, the one that is about the count becomes a jump of its own behind the other.
  /// It counts there, where nothing else wants to know what was counted before.
  bool separate(llvm::ICmpInst& test, llvm::BinaryOperator& next) {
    namespace pm = llvm::PatternMatch;
    llvm::BasicBlock* latch = loop_.getLoopLatch();
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
    if (branch == nullptr || !branch->isConditional() || !test.hasOneUse()) return false;
    const bool whileTrue = branch->getSuccessor(0) == loop_.getHeader();
    llvm::BasicBlock* exit = branch->getSuccessor(whileTrue ? 1 : 0);
    Value *other, *both = branch->getCondition();
    const auto matches = [&](const auto& pattern) { return both->hasOneUse() && pm::match(both, pattern); };
    if (whileTrue ? !matches(pm::m_c_And(pm::m_Specific(&test), pm::m_Value(other)))
                  : !matches(pm::m_c_Or(pm::m_Specific(&test), pm::m_Value(other))))
      return false;
    const auto isTold = [&](const llvm::User* user) {  // not to the exit, to which the other condition leads, too
      const auto* i = llvm::cast<llvm::Instruction>(user);
      return i == &test || (llvm::isa<llvm::PHINode>(i) && i->getParent() == loop_.getHeader());
    };
    if (!llvm::all_of(next.users(), isTold)) return false;
    llvm::BasicBlock* second = llvm::SplitBlock(latch, branch, &dominators_, &loops_);
    next.moveBefore(branch);
    test.moveBefore(branch);
    branch->setCondition(&test);
    llvm::cast<llvm::Instruction>(both)->eraseFromParent();
    latch->getTerminator()->eraseFromParent();
    llvm::IRBuilder<>(latch).CreateCondBr(other, whileTrue ? second : exit, whileTrue ? exit : second);
    for (llvm::PHINode& merge : exit->phis()) {
      Value* value = merge.getIncomingValueForBlock(second);
      merge.addIncoming(value, latch);
    }
    dominators_.insertEdge(latch, exit);
    return true;
  }

  /// Whether a step on from both sides of a comparison keeps its result.
  bool staysInOrder(llvm::PHINode& phi, int64_t step, const llvm::ICmpInst& test, const llvm::ConstantInt& bound) {
    if (test.isEquality()) return true;
    const llvm::APInt by(64, static_cast<uint64_t>(step), /*isSigned=*/true);
    const llvm::SCEV* value = evolution_.getSCEV(&phi);
    const auto steps = [&](const llvm::APInt& from) {
      bool wraps = false;
      if (test.isSigned())
        (void)from.sadd_ov(by, wraps);
      else if (step < 0)
        (void)from.usub_ov(-by, wraps);
      else
        (void)from.uadd_ov(by, wraps);
      return !wraps;
    };
    const llvm::ConstantRange range =
        test.isSigned() ? evolution_.getSignedRange(value) : evolution_.getUnsignedRange(value);
    return steps(bound.getValue()) && steps(test.isSigned() ? range.getSignedMin() : range.getUnsignedMin()) &&
           steps(test.isSigned() ? range.getSignedMax() : range.getUnsignedMax());
  }

  /// A block that stands on the way out of the loop.
  llvm::BasicBlock* splitExit(llvm::BasicBlock* from, llvm::BasicBlock* to) {
    auto* between = llvm::BasicBlock::Create(to->getContext(), "", to->getParent(), to);
    llvm::BranchInst::Create(to, between);
    from->getTerminator()->replaceSuccessorWith(to, between);
    to->replacePhiUsesWith(from, between);
    dominators_.addNewBlock(between, from);
    if (to->getSinglePredecessor() != nullptr) dominators_.changeImmediateDominator(to, between);
    llvm::Loop* around = loop_.getParentLoop();
    while (around != nullptr && !around->contains(to)) around = around->getParentLoop();
    if (around != nullptr) around->addBasicBlockToLoop(between, loops_);
    return between;
  }

  /// Where a loop is left behind the place where it counts, what it had counted before is counted back from that: the
  /// two need not both be kept in the loop.
  void countBack(llvm::PHINode& phi) {
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop_.getLoopLatch()));
    const std::optional<int64_t> step = stepOf(evolution_.getSCEV(&phi), loop_, evolution_);
    if (next == nullptr || !step || !phi.getType()->isIntegerTy(64)) return;
    llvm::SmallVector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>, 4> exits;
    loop_.getExitEdges(exits);
    for (const auto& [from, to] : exits) {
      if (!dominators_.dominates(next, from->getTerminator()) || llvm::count(llvm::successors(from), to) != 1) continue;
      std::vector<llvm::PHINode*> counted;
      for (llvm::PHINode& behind : to->phis())
        if (behind.getIncomingValueForBlock(from) == &phi) counted.push_back(&behind);
      if (counted.empty()) continue;
      llvm::BasicBlock* between = splitExit(from, to);
      llvm::IRBuilder<> b(between->getTerminator());
      // Frozen, or the next pass would find that this is what was counted before.
      Value* back = b.CreateSub(b.CreateFreeze(next), number(*step));
      for (llvm::PHINode* behind : counted) behind->setIncomingValueForBlock(between, back);
      counted_[{&phi, between}] = back;
      next->dropPoisonGeneratingFlags();
    }
  }

  /// What the loop counts, as it is known in a block behind it; nothing where that is not clear.
  Value* countBehind(llvm::PHINode& phi, llvm::BasicBlock* block) {
    if (const auto found = counted_.find({&phi, block}); found != counted_.end()) return found->second;
    for (llvm::PHINode& behind : block->phis()) {
      const auto isCount = [&](unsigned i) {
        const Value* value = behind.getIncomingValue(i);
        return value == &phi || value == counted_.lookup({&phi, behind.getIncomingBlock(i)});
      };
      if (llvm::all_of(llvm::seq(behind.getNumIncomingValues()), isCount)) return &behind;
    }
    return nullptr;
  }

  /// Sums of what the loop counts that are wanted behind it alone, as those are that were parts of addresses, are
  /// computed there.
  void sinkResults() {
    for (llvm::BasicBlock* block : loop_.blocks())
      for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (llvm::isa<llvm::BinaryOperator>(i) && i.getType()->isIntegerTy(64) && !i.isIntDivRem() && !i.use_empty())
          sink(i);
  }

  void sink(llvm::Instruction& i) {
    llvm::PHINode* phi = nullptr;
    for (Value* operand : i.operands()) {
      if (loop_.isLoopInvariant(operand)) continue;
      auto* counts = llvm::dyn_cast<llvm::PHINode>(operand);
      if (counts == nullptr || counts->getParent() != loop_.getHeader() || phi != nullptr) return;
      phi = counts;
    }
    if (phi == nullptr) return;
    llvm::SmallVector<std::pair<llvm::Use*, Value*>> uses;  // and the count there
    for (llvm::Use& use : i.uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      const auto* merge = llvm::dyn_cast<llvm::PHINode>(user);
      llvm::BasicBlock* at = merge != nullptr ? merge->getIncomingBlock(use) : user->getParent();
      const bool leaves = loop_.contains(at);
      if (leaves && (loop_.contains(user) || llvm::count(llvm::successors(at), user->getParent()) != 1)) return;
      Value* count = leaves ? phi : countBehind(*phi, at);
      if (count == nullptr) return;
      uses.emplace_back(&use, count);
    }
    for (const auto& [use, count] : uses) {
      auto* user = llvm::cast<llvm::Instruction>(use->getUser());
      auto* merge = llvm::dyn_cast<llvm::PHINode>(user);
      llvm::BasicBlock* at = merge != nullptr ? merge->getIncomingBlock(*use) : nullptr;
      if (at != nullptr && loop_.contains(at)) at = splitExit(at, merge->getParent());
      llvm::Instruction* copy = i.clone();
      copy->replaceUsesOfWith(phi, count);
      copy->insertBefore(at != nullptr ? at->getTerminator() : user);
      use->set(copy);
    }
    i.eraseFromParent();
  }

  void findWalks() {
    for (llvm::BasicBlock* block : loop_.blocks())
      for (llvm::Instruction& i : *block) {
        auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
        if (address == nullptr || !address->getType()->isPointerTy()) continue;
        const llvm::SCEV* value = evolution_.getSCEV(address);
        const std::optional<int64_t> step = stepOf(value, loop_, evolution_);
        if (!step) continue;
        const auto [distance, place] = splitConstant(llvm::cast<llvm::SCEVAddRecExpr>(value)->getStart(), evolution_);
        walks_.push_back({address, place, distance, *step});
      }
  }

  /// What an unrolled loop counts by several steps one after the other, it counts by their sum.
  void stepAtOnce(llvm::PHINode& phi, llvm::SCEVExpander& expander) {
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop_.getLoopLatch()));
    if (next == nullptr || !phi.getType()->isIntegerTy(64) || llvm::is_contained(next->operand_values(), &phi)) return;
    const auto* count = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(&phi));
    if (count == nullptr || count->getLoop() != &loop_ || !count->isAffine()) return;
    const llvm::SCEV* step = count->getStepRecurrence(evolution_);
    llvm::Instruction* front = loop_.getLoopPreheader()->getTerminator();
    if (llvm::isa<llvm::SCEVConstant>(step) || !expander.isSafeToExpandAt(step, front)) return;
    Value* by = expander.expandCodeFor(step, step->getType(), front);
    next->replaceAllUsesWith(llvm::IRBuilder<>(next).CreateAdd(&phi, by));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(next);
  }

  /// What is only counted from one number that is known to another counts from less to 0, which needs no comparison.
  void countToZero(llvm::PHINode& phi) {
    llvm::BasicBlock* front = loop_.getLoopPreheader();
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop_.getLoopLatch()));
    auto* start = llvm::dyn_cast<llvm::ConstantInt>(phi.getIncomingValueForBlock(front));
    if (next == nullptr || start == nullptr || next->getOpcode() != llvm::Instruction::Add || !phi.hasOneUse() ||
        next->getOperand(0) != &phi || !next->hasNUses(2))
      return;
    const auto compares = [](const llvm::User* user) { return llvm::isa<llvm::ICmpInst>(user); };
    const auto found = llvm::find_if(next->users(), compares);
    auto* test = found == next->user_end() ? nullptr : llvm::cast<llvm::ICmpInst>(*found);
    auto* end = test == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(test->getOperand(1));
    if (end == nullptr || !test->isEquality() || test->getOperand(0) != next) return;
    phi.setIncomingValueForBlock(front,
                                 llvm::ConstantInt::get(start->getContext(), start->getValue() - end->getValue()));
    test->setOperand(1, llvm::Constant::getNullValue(end->getType()));
    next->dropPoisonGeneratingFlags();
  }

  static bool isScale(int64_t factor) { return factor == 1 || factor == 2 || factor == 4 || factor == 8; }

  bool fits(const Walk& walk) const {
    return index_ != nullptr && walk.step % indexStep_ == 0 && isScale(walk.step / indexStep_);
  }

  /// What the loop counts, and most addresses are counted by.
  void chooseIndex() {
    size_t most = 0;
    for (llvm::PHINode& phi : loop_.getHeader()->phis()) {
      if (!phi.getType()->isIntegerTy(64)) continue;
      const std::optional<int64_t> step = stepOf(evolution_.getSCEV(&phi), loop_, evolution_);
      if (!step || *step == 0) continue;
      const auto counts = [&](const Walk& walk) {
        return walk.step % *step == 0 && isScale(walk.step / *step) && dependsOn(walk.address, &phi, loop_);
      };
      const auto number = static_cast<size_t>(llvm::count_if(walks_, counts));
      if (number <= most) continue;
      most = number;
      index_ = &phi;
      indexStep_ = *step;
    }
  }

  std::optional<Pointer> pointerFor(const Walk& walk, InFront& first, InFront& atZero) {
    llvm::BasicBlock *preheader = loop_.getLoopPreheader(), *latch = loop_.getLoopLatch();
    llvm::IRBuilder<> b(preheader->getTerminator());
    if (fits(walk)) {
      const int64_t scale = walk.step / indexStep_;
      Value* base = atZero.of(walk.address);
      if (base == nullptr) {
        Value* start = first.of(walk.address);
        if (start == nullptr) return std::nullopt;
        Value* before = b.CreateMul(index_->getIncomingValueForBlock(preheader), number(-scale));
        base = b.CreatePtrAdd(start, before);
      }
      return Pointer{base, walk.distance, scale};
    }
    Value* start = first.of(walk.address);
    if (start == nullptr) return std::nullopt;
    auto* pointer = llvm::PHINode::Create(start->getType(), 2, "", loop_.getHeader()->begin());
    b.SetInsertPoint(latch->getTerminator());
    pointer->addIncoming(start, preheader);
    pointer->addIncoming(b.CreatePtrAdd(pointer, number(walk.step)), latch);
    return Pointer{pointer, walk.distance, 0};
  }

  void replace(const Walk& walk, const Pointer& pointer) {
    const int64_t ahead = walk.distance - pointer.distance;
    llvm::IRBuilder<> b(walk.address);
    Value* address = pointer.base;
    if (pointer.scale != 0)
      address = b.CreateGEP(b.getIntNTy(8 * static_cast<unsigned>(pointer.scale)), address, index_);
    if (ahead != 0) address = b.CreatePtrAdd(address, number(ahead));
    walk.address->replaceAllUsesWith(address);
  }

  llvm::ConstantInt* number(int64_t n) const {
    return llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(loop_.getHeader()->getContext()), n);
  }

  llvm::Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  llvm::DominatorTree& dominators_;
  llvm::LoopInfo& loops_;
  std::vector<Walk> walks_;
  llvm::PHINode* index_ = nullptr;  ///< an integer that each trip counts up or down
  int64_t indexStep_ = 0;
  llvm::DenseMap<std::pair<const llvm::SCEV*, int64_t>, Pointer> pointers_;
  llvm::DenseMap<std::pair<const llvm::PHINode*, llvm::BasicBlock*>, Value*> counted_;  ///< back, behind exits
};

/// Whether a loop surely fits into a line of the cache. Its phis and its places in arrays are parts of other
/// instructions.
bool isShort(const llvm::Loop& loop) {
  size_t instructions = 0;
  for (const llvm::BasicBlock* block : loop.blocks())
    for (const llvm::Instruction& i : *block) instructions += !llvm::isa<llvm::PHINode, llvm::GetElementPtrInst>(i);
  return instructions <= kLineHolds;
}

}  // namespace

/// Each address of an innermost loop becomes what stands still, a multiple of one index that all share, and a constant,
/// as the processor adds them up; or a pointer that steps. Addresses a constant apart share what stands still. LLVM's
/// loop strength reduction weighs each term of an address against those of all others, which takes as long as all else
/// that its code generator does to such a loop.
void simplifyAddresses(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  auto& dominators = functions.getResult<llvm::DominatorTreeAnalysis>(f);
  auto& loops = functions.getResult<llvm::LoopAnalysis>(f);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || llvm::getBooleanLoopAttribute(loop, kRarelyRun)) continue;
    llvm::addStringMetadataToLoop(loop, "llvm.loop.align", isShort(*loop) ? kLine : kAlignment);
    Addresses(*loop, evolution, dominators, loops).simplify();
  }
}

}  // namespace tenc::codegen::cpu
