// Counts of bits that were loops.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "codegen/cpu/NativePasses.h"

namespace tenc::codegen::cpu {
namespace {

namespace pm = llvm::PatternMatch;

/// Whether a block only computes, and leaves what comes around it, from `before`, if the number whose bits it counts
/// is 0.
bool onlyAddsBits(const llvm::IntrinsicInst& count, const llvm::BasicBlock* before) {
  const llvm::BasicBlock* block = count.getParent();
  for (const llvm::Instruction& i : *block)
    if (!i.isTerminator() && !llvm::isSafeToSpeculativelyExecute(&i)) return false;
  const auto own = pm::m_Specific(&count);
  return llvm::all_of(block->getSingleSuccessor()->phis(), [&](const llvm::PHINode& phi) {
    const llvm::Value *without = phi.getIncomingValueForBlock(before), *with = phi.getIncomingValueForBlock(block);
    const auto bits = pm::m_CombineOr(pm::m_ZExtOrSelf(own), pm::m_Trunc(own));
    return with == without || pm::match(with, pm::m_c_Add(bits, pm::m_Specific(without)));
  });
}

/// The jump around a count, if there is one, and which way leads to the count.
std::pair<llvm::BranchInst*, unsigned> jumpAround(const llvm::IntrinsicInst& count) {
  const llvm::BasicBlock *block = count.getParent(), *before = block->getSinglePredecessor();
  const llvm::BasicBlock* behind = block->getSingleSuccessor();
  auto* jump = before == nullptr
                   ? nullptr
                   : llvm::dyn_cast<llvm::BranchInst>(const_cast<llvm::Instruction*>(before->getTerminator()));
  if (jump == nullptr || !jump->isConditional() || behind == nullptr) return {};
  const unsigned way = jump->getSuccessor(0) == block ? 0 : 1;
  const auto ifCounted = way == 0 ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_EQ;
  const auto ofNumber = pm::m_SpecificICmp(ifCounted, pm::m_Specific(count.getArgOperand(0)), pm::m_Zero());
  if (jump->getSuccessor(1 - way) != behind || !pm::match(jump->getCondition(), ofNumber)) return {};
  return onlyAddsBits(count, before) ? std::pair(jump, way) : std::pair<llvm::BranchInst*, unsigned>{};
}

}  // namespace

/// What a loop has counted bit by bit is one instruction now, which is right of 0, too: the jump around it goes, and
/// the loop around becomes vectors without masks.
void countNoBits(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  const auto counts = [](const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::ctpop;
  };
  if (llvm::none_of(llvm::instructions(f), counts)) return;
  llvm::FunctionPassManager before, behind;
  before.addPass(llvm::SimplifyCFGPass());  // what is left of the loop are empty blocks
  before.addPass(llvm::InstCombinePass());  // and a test of the count
  before.run(f, functions);
  bool changes = false;
  for (llvm::Instruction& i : llvm::instructions(f)) {
    if (!counts(i)) continue;
    const auto [jump, way] = jumpAround(llvm::cast<llvm::IntrinsicInst>(i));
    if (jump == nullptr) continue;
    jump->setCondition(llvm::ConstantInt::getBool(f.getContext(), way == 0));
    changes = true;
  }
  if (!changes) return;
  behind.addPass(llvm::SimplifyCFGPass());
  behind.run(f, functions);
}

}  // namespace tenc::codegen::cpu
