#include "codegen/cpu/NativePasses.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Scalar/CorrelatedValuePropagation.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/JumpThreading.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopIdiomRecognize.h>
#include <llvm/Transforms/Scalar/LoopLoadElimination.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Utils/BypassSlowDivision.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include <string>

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Optimiser.h"

namespace tenc::codegen::cpu {
namespace {

/// Branches and conditions: what is known of a value where it is used, exits by a flag made jumps, loops that test at
/// their ends, checks that can fail in no trip taken out.
void simplify(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(overLoops(llvm::LoopRotatePass(), false));
  passes.addPass(llvm::JumpThreadingPass());  // before a flag becomes the condition that it is set by
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::CorrelatedValuePropagationPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(overLoops(hoisting(), true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(overLoops(llvm::IndVarSimplifyPass(), false));
  passes.addPass(overLoops(llvm::LoopIdiomRecognizePass(), false));  // counts of bits
  passes.addPass(overLoops(llvm::LoopDeletionPass(), false));
}

/// Short loops as a whole, so that the loop around may be vectorised.
void unroll(llvm::FunctionPassManager& passes) {
  passes.addPass(overLoops(llvm::LoopFullUnrollPass(2), false));
  passes.addPass(llvm::GVNPass());
  passes.addPass(overLoops(hoisting(), true));
}

/// Several trips at a time where their order does not show.
void vectorise(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::LoopLoadEliminationPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(overLoops(hoisting(), true));
}

/// Two vectors of trips are done side by side. LLVM takes the word of those who ask that trips so far apart do not
/// depend on each other, and does not look itself whether the distance between them (`q[i] += q[i + 2]`, from the end)
/// allows it.
void interleave(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  constexpr unsigned kFewBlocks = 5;
  auto& accesses = functions.getResult<llvm::LoopAccessAnalysis>(f);
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    const llvm::LoopAccessInfo& info = accesses.getInfo(*loop);
    // LLVM then does two trips side by side where they are no vectors, too: many branches would cost more for it.
    if (loop->getNumBlocks() <= kFewBlocks && info.getDepChecker().isSafeForAnyVectorWidth())
      llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", 2);
    if (info.getRuntimePointerChecking()->Need) llvm::addStringMetadataToLoop(loop, kMayOverlap, 1);
  }
}

/// Numbers of 64 bits that fit into 32 are divided as such where that is faster, as LLVM does at its higher levels.
void divideNarrow(llvm::Function& f, const llvm::TargetMachine& machine) {
  if (!machine.getMCSubtargetInfo()->checkFeatures("+idivq-to-divl")) return;
  const llvm::DenseMap<unsigned, unsigned> widths = {{64, 32}};
  for (llvm::BasicBlock *block = &f.front(), *next = nullptr; block != nullptr; block = next) {
    next = block->getNextNode();
    llvm::bypassSlowDivision(block, widths);
  }
}

}  // namespace

void setVectoriserOptions() {
  // Trips that are fewer than two registers are done with half a register, not one by one.
  auto* least = llvm::cl::getRegisteredOptions().lookup("epilogue-vectorization-minimum-VF");
  if (least != nullptr) static_cast<llvm::cl::opt<unsigned>*>(least)->setValue(8);
}

void optimiseNative(llvm::Function& f, llvm::TargetMachine& machine, Level level) {
  f.addFnAttr("prefer-vector-width", std::to_string(8 * vectorUnit(*f.getParent()).registerBytes));
  Analyses analyses(machine);
  analyses.modules.getResult<llvm::ProfileSummaryAnalysis>(*f.getParent());
  if (level == Level::Quick) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(overLoops(hoisting(), true));
    passes.run(f, analyses.functions);
    return expandExtremes(f);
  }
  llvm::FunctionPassManager passes;
  simplify(passes);
  passes.run(f, analyses.functions);
  keepShortVectors(f, analyses.functions);
  llvm::FunctionPassManager unrolling;
  unroll(unrolling);
  unrolling.run(f, analyses.functions);
  interleave(f, analyses.functions);
  llvm::FunctionPassManager vectors;
  vectorise(vectors);
  vectors.run(f, analyses.functions);
  carryElements(f, analyses.functions);
  shortenRecurrences(f, machine);
  widenCarried(f);
  expandExtremes(f);
  keepRowsApart(f);
  divideNarrow(f, machine);
  analyses.functions.clear();
  if (separateExits(f, analyses.functions)) analyses.functions.clear();
  chooseUnrolling(f, analyses.functions);
  llvm::FunctionPassManager last;
  last.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(2)));
  last.addPass(overLoops(hoisting(), true));
  last.addPass(llvm::EarlyCSEPass());
  last.run(f, analyses.functions);
}

}  // namespace tenc::codegen::cpu
