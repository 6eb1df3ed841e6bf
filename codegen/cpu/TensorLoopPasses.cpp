#include "codegen/cpu/TensorLoopPasses.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/cpu/ChainOrder.h"
#include "codegen/cpu/FrameSlots.h"
#include "codegen/cpu/NarrowVectors.h"
#include "codegen/cpu/Optimiser.h"
#include "codegen/cpu/SingleLanes.h"
#include "codegen/cpu/WholeVectors.h"

namespace tenc::codegen::cpu {
namespace {

/// Whether all parts are little code together: optimising takes more than their length in proportion, so longer ones
/// are called, which costs some nanoseconds each.
bool isShort(const std::vector<PartsToInline::Call>& calls) {
  constexpr uint64_t kMostCode = 3000;  // instructions
  uint64_t length = 0;
  for (const auto& [call, addresses] : calls) length += call->getCalledFunction()->getInstructionCount();
  return length <= kMostCode;
}

/// Loads of addresses from the array that they were handed over in become the addresses.
void forwardAddresses(llvm::Value& array, const std::vector<llvm::Value*>& addresses, uint64_t slot = 0) {
  for (llvm::User* user : llvm::make_early_inc_range(array.users())) {
    if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
      const auto* by = llvm::dyn_cast<llvm::ConstantInt>(step->getOperand(1));
      if (by != nullptr && step->getNumIndices() == 1 && step->getSourceElementType()->isPointerTy())
        forwardAddresses(*step, addresses, slot + by->getZExtValue());
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      load->replaceAllUsesWith(addresses[slot]);
      load->eraseFromParent();
    }
  }
}

void inlineParts(const std::vector<PartsToInline::Call>& calls) {
  llvm::SmallPtrSet<llvm::Function*, 8> parts;
  for (const auto& [call, addresses] : calls) {
    llvm::Function* part = call->getCalledFunction();
    // What memory is apart shows better once its addresses are known.
    if (parts.insert(part).second)
      for (llvm::Argument& a : part->args()) a.removeAttr(llvm::Attribute::NoAlias);
    llvm::Value* array = call->getArgOperand(0);
    llvm::InlineFunctionInfo info;
    llvm::InlineFunction(*call, info, /*MergeAttributes=*/false, nullptr, /*InsertLifetime=*/false);
    if (!addresses.empty()) forwardAddresses(*array, addresses);
  }
  for (llvm::Function* part : parts)
    if (part->use_empty()) part->eraseFromParent();
}

/// Whether a function is little code that is run a few times.
bool isShort(llvm::Function& f, llvm::FunctionAnalysisManager& analyses) {
  constexpr unsigned kMostCode = 60;  // instructions
  constexpr unsigned kMostTrips = 8;
  if (f.getInstructionCount() > kMostCode) return false;
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
  return llvm::all_of(analyses.getResult<llvm::LoopAnalysis>(f), [&](llvm::Loop* loop) {
    const unsigned trips = evolution.getSmallConstantTripCount(loop);
    return trips > 0 && trips <= kMostTrips;
  });
}

/// Short functions that the parts call, such as the tile of a product of few elements, are no functions here, and what
/// they touch may become registers.
void inlineShortCalls(llvm::Function& f, llvm::FunctionAnalysisManager& analyses) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& i : llvm::instructions(f)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee != nullptr && callee->hasLocalLinkage() && isShort(*callee, analyses)) calls.push_back(call);
  }
  for (llvm::CallInst* call : calls) {
    llvm::Function* callee = call->getCalledFunction();
    llvm::InlineFunctionInfo info;
    llvm::InlineFunction(*call, info, /*MergeAttributes=*/false, nullptr, /*InsertLifetime=*/false);
    if (!callee->use_empty()) continue;
    analyses.clear(*callee, callee->getName());
    callee->eraseFromParent();
  }
  // All of it is near, and memory that is prefetched becomes no register.
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f)))
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::prefetch)
      call->eraseFromParent();
}

/// The address that an address, or a vector of them, is counted from.
const llvm::Value* baseOf(const llvm::Value* address, int depth = 2) {
  while (const auto* step = llvm::dyn_cast<llvm::GEPOperator>(address)) address = step->getPointerOperand();
  if (const auto* vector = llvm::dyn_cast<llvm::InsertElementInst>(address))
    return baseOf(vector->getOperand(1), depth);
  if (const auto* vector = llvm::dyn_cast<llvm::ShuffleVectorInst>(address))
    return baseOf(vector->getOperand(0), depth);
  if (const auto* steps = llvm::dyn_cast<llvm::PHINode>(address); steps != nullptr && depth > 0) {
    // `p = first; p += step` in a loop.
    const llvm::Value* base = nullptr;
    for (const llvm::Value* from : steps->incoming_values()) {
      const llvm::Value* other = baseOf(from, depth - 1);
      if (other == steps) continue;
      if (base != nullptr && base != other) return address;
      base = other;
    }
    return base == nullptr ? address : base;
  }
  return address;
}

/// Memory that nothing writes is read before the loop where its address is known there, whatever the loop writes.
void markConstantReads(llvm::Function& f, const std::vector<llvm::Value*>& constant) {
  const llvm::SmallPtrSet<const llvm::Value*, 8> bases(constant.begin(), constant.end());
  for (llvm::BasicBlock& block : f)
    for (llvm::Instruction& i : block) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
        if (!load->isVolatile() && bases.contains(baseOf(load->getPointerOperand())))
          load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(f.getContext(), {}));
        continue;
      }
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      const bool reads = call != nullptr && (call->getIntrinsicID() == llvm::Intrinsic::masked_load ||
                                             call->getIntrinsicID() == llvm::Intrinsic::masked_gather);
      if (reads && bases.contains(baseOf(call->getArgOperand(0)))) call->setDoesNotAccessMemory();
    }
}

/// Loops of few trips and little code, and those around them, are unrolled as a whole: the places of vectors in memory
/// are then numbers, and memory may become registers. Returns the length of the code of a loop. `left`: by how much the
/// code of the function may still grow.
uint64_t chooseUnrolling(llvm::Loop& loop, llvm::ScalarEvolution& evolution, uint64_t& left) {
  constexpr uint64_t kMostTrips = 64;
  uint64_t length = 0;
  for (llvm::BasicBlock* block : loop.blocks())
    if (llvm::none_of(loop, [&](const llvm::Loop* inner) { return inner->contains(block); })) length += block->size();
  for (llvm::Loop* inner : loop) length += chooseUnrolling(*inner, evolution, left);
  const unsigned trips = evolution.getSmallConstantTripCount(&loop);
  if (trips == 0 || trips > kMostTrips || length * (trips - 1) > left) {
    loop.setLoopAlreadyUnrolled();
    return length;
  }
  left -= length * (trips - 1);
  loop.setLoopID(nullptr);  // which may say that it is not to be unrolled
  llvm::addStringMetadataToLoop(&loop, "llvm.loop.unroll.full");
  return length * trips;
}

}  // namespace

void optimiseTensorLoop(llvm::Function& f, const PartsToInline& parts, llvm::TargetMachine& machine) {
  if (!isShort(parts.calls)) return;
  inlineParts(parts.calls);
  Analyses analyses(machine);
  inlineShortCalls(f, analyses.functions);
  useWholeVectors(f, parts.padded);
  std::vector<std::pair<llvm::WeakVH, int64_t>> padded;
  for (const auto& [memory, bytes] : parts.padded) padded.emplace_back(const_cast<llvm::Value*>(memory), bytes);
  analyses.modules.getResult<llvm::ProfileSummaryAnalysis>(*f.getParent());
  {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));  // addresses of arguments
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.run(f, analyses.functions);
  }
  markConstantReads(f, parts.constant);
  auto& evolution = analyses.functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  constexpr uint64_t kCode = 1000, kMuchCode = 4000;
  uint64_t left = parts.isLong ? kMuchCode : kCode;
  for (llvm::Loop* loop : analyses.functions.getResult<llvm::LoopAnalysis>(f)) chooseUnrolling(*loop, evolution, left);
  {
    llvm::FunctionPassManager passes;
    passes.addPass(overLoops(llvm::LoopFullUnrollPass(2), false));
    passes.addPass(llvm::InstCombinePass());  // masked loads of memory that is padded
    passes.run(f, analyses.functions);
  }
  // The last vectors of loops, which are known now; some memory has become registers.
  PaddedMemory rest;
  for (const auto& [memory, bytes] : padded)
    if (memory != nullptr) rest[memory] = bytes;
  writeWholeVectors(f, rest);
  readSingleLanes(f);
  useSlots(f);
  analyses.functions.invalidate(f, llvm::PreservedAnalyses::none());
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(overLoops(hoisting(), true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(overLoops(hoisting(), true));
  passes.run(f, analyses.functions);
  narrowVectors(f);
  analyses.functions.invalidate(f, llvm::PreservedAnalyses::none());
  llvm::FunctionPassManager last;
  last.addPass(llvm::InstCombinePass());
  last.run(f, analyses.functions);
  interleaveChains(f);
}

}  // namespace tenc::codegen::cpu
