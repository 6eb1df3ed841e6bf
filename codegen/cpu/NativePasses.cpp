#include "codegen/cpu/NativePasses.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
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
#include "codegen/cpu/LatencyOrder.h"
#include "codegen/cpu/Optimiser.h"

namespace tenc::codegen::cpu {
namespace {

/// A pass over loops that are worth its time.
template <typename Pass>
struct UnlessRare : llvm::PassInfoMixin<UnlessRare<Pass>> {
  Pass pass;

  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& loops,
                              llvm::LoopStandardAnalysisResults& analyses, llvm::LPMUpdater& updater) {
    return llvm::getBooleanLoopAttribute(&loop, kRarelyRun) ? llvm::PreservedAnalyses::all()
                                                            : pass.run(loop, loops, analyses, updater);
  }
};

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
  passes.addPass(llvm::GVNPass());
  passes.addPass(overLoops(UnlessRare<llvm::IndVarSimplifyPass>(), false));
  passes.addPass(overLoops(llvm::LoopIdiomRecognizePass(), false));  // counts of bits
  passes.addPass(overLoops(llvm::LoopDeletionPass(), false));
}

/// Short loops as a whole, so that the loop around may be vectorised.
void unroll(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  const auto loops = [&] { return functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder().size(); };
  const size_t before = loops();
  llvm::FunctionPassManager whole;
  whole.addPass(overLoops(llvm::LoopFullUnrollPass(2), false));
  whole.run(f, functions);
  if (loops() == before) return;  // what is known of the loops is still true
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(overLoops(hoisting(), true));
  passes.run(f, functions);
}

/// Several trips at a time where their order does not show.
void vectorise(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::LoopLoadEliminationPass());
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(overLoops(hoisting(), true));
}

/// Whether the place of a load or store is counted in few bits, in which it wraps, by steps that are no neighbours:
/// `x[k * 3 % 256]`. LLVM 19 takes such a step for a stride, forgets the check that it does not wrap, and reads what
/// lies between in one piece.
bool wrapsInSteps(const llvm::Loop& loop, llvm::Instruction& access, llvm::ScalarEvolution& evolution) {
  llvm::Value* address = llvm::getLoadStorePointerOperand(&access);
  if (address == nullptr) return false;
  const llvm::DataLayout& layout = access.getModule()->getDataLayout();
  const uint64_t size = layout.getTypeStoreSize(llvm::getLoadStoreType(&access)).getFixedValue();
  const llvm::SCEV* place = evolution.getSCEV(address);
  const auto isOtherFactor = [&](const llvm::SCEV* part) {
    const auto* factor = llvm::dyn_cast<llvm::SCEVMulExpr>(part);
    const auto* by = factor != nullptr ? llvm::dyn_cast<llvm::SCEVConstant>(factor->getOperand(0)) : nullptr;
    return factor != nullptr && (by == nullptr || by->getAPInt().abs() != size);
  };
  const bool scales = llvm::SCEVExprContains(place, isOtherFactor);
  const auto counts = [&](const llvm::SCEV* part) {
    const auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(part);
    if (counter == nullptr || counter->getLoop() != &loop) return false;
    const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(counter->getStepRecurrence(evolution));
    return scales || step == nullptr || step->getAPInt().abs() != 1;
  };
  return llvm::SCEVExprContains(place, [&](const llvm::SCEV* part) {
    const auto* cast = llvm::dyn_cast<llvm::SCEVIntegralCastExpr>(part);
    return cast != nullptr && llvm::SCEVExprContains(cast->getOperand(), counts);
  });
}

/// Tells LLVM's vectoriser what it must leave alone: loops that it makes wrong, and two vectors side by side where many
/// branches would cost more for it. Marks those that it will test whether their arrays overlap.
void prepareLoops(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  constexpr unsigned kFewBlocks = 5;
  auto& accesses = functions.getResult<llvm::LoopAccessAnalysis>(f);
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(f);
  for (llvm::Loop* loop : functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    const auto wraps = [&](llvm::BasicBlock* block) {
      return llvm::any_of(*block, [&](llvm::Instruction& i) { return wrapsInSteps(*loop, i, evolution); });
    };
    if (llvm::any_of(loop->blocks(), wraps)) {
      llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
      continue;
    }
    if (loop->getNumBlocks() > kFewBlocks) llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", 1);
    if (accesses.getInfo(*loop).getRuntimePointerChecking()->Need) llvm::addStringMetadataToLoop(loop, kMayOverlap, 1);
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

/// Whether trips of an innermost loop wait for floats of the trips before. The order by latencies looks at one trip
/// alone, and would put what others do not wait for in front.
bool carriesFloats(llvm::Function& f, llvm::FunctionAnalysisManager& functions) {
  return llvm::any_of(functions.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder(), [](const llvm::Loop* loop) {
    return loop->isInnermost() && llvm::any_of(loop->getHeader()->phis(), [](const llvm::PHINode& phi) {
             return phi.getType()->isFPOrFPVectorTy();
           });
  });
}

}  // namespace

void setVectoriserOptions() {
  const auto set = [](llvm::StringRef name, llvm::StringRef value) {
    if (llvm::cl::Option* option = llvm::cl::getRegisteredOptions().lookup(name)) option->addOccurrence(0, name, value);
  };
  // Trips that are fewer than two registers are done with half a register, not one by one.
  set("epilogue-vectorization-minimum-VF", "8");
  // Two vectors of trips are done side by side, also of loops that are not small.
  set("force-target-max-vector-interleave", "2");
  set("small-loop-cost", "200");
  // Loops that are left at several places are unrolled where chooseUnrolling says so.
  set("unroll-runtime-multi-exit", "true");
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
    return expandExtremes(f, machine);
  }
  llvm::FunctionPassManager passes;
  simplify(passes);
  passes.run(f, analyses.functions);
  countNoBits(f, analyses.functions);
  chooseShortLoops(f, analyses.functions);
  unroll(f, analyses.functions);
  if (writeFills(f, analyses.functions)) analyses.functions.clear();
  prepareLoops(f, analyses.functions);
  llvm::FunctionPassManager vectors;
  vectorise(vectors);
  vectors.run(f, analyses.functions);
  carryElements(f, analyses.functions);
  compareCarriedLast(f);
  shortenRecurrences(f, machine);
  widenCarried(f);
  expandExtremes(f, machine);
  keepRowsApart(f);
  divideNarrow(f, machine);
  analyses.functions.clear();
  if (separateExits(f, analyses.functions)) analyses.functions.clear();
  readBytes(f, analyses.functions);
  chooseUnrolling(f, analyses.functions, machine);
  llvm::FunctionPassManager unrolling;
  unrolling.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(2)));
  unrolling.addPass(overLoops(hoisting(), true));
  unrolling.run(f, analyses.functions);
  if (!carriesFloats(f, analyses.functions)) orderByLatency(f);
  simplifyAddresses(f, analyses.functions);  // while what is known of the loops is still true
  llvm::FunctionPassManager last;
  last.addPass(llvm::EarlyCSEPass());
  last.run(f, analyses.functions);
}

}  // namespace tenc::codegen::cpu
