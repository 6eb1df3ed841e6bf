// What runs passes of LLVM's optimiser on one function.
#pragma once
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/DemandedBits.h>
#include <llvm/Analysis/LazyValueInfo.h>
#include <llvm/Analysis/LoopAccessAnalysis.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemoryDependenceAnalysis.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/PhiValues.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include <utility>

namespace tenc::codegen::cpu {

/// The analyses that passes ask for. Code here calls no library that LLVM knows, and must not begin to.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::ModuleAnalysisManager modules;

  explicit Analyses(const llvm::TargetMachine& machine) {
    llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
    library.disableAllFunctions();
    functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
    functions.registerPass([&] { return machine.getTargetIRAnalysis(); });
    functions.registerPass([] {
      llvm::AAManager aliases;
      aliases.registerFunctionAnalysis<llvm::BasicAA>();
      aliases.registerFunctionAnalysis<llvm::ScopedNoAliasAA>();
      return aliases;
    });
    addTo<llvm::PassInstrumentationAnalysis, llvm::AssumptionAnalysis, llvm::BasicAA, llvm::BlockFrequencyAnalysis,
          llvm::BranchProbabilityAnalysis, llvm::DemandedBitsAnalysis, llvm::DominatorTreeAnalysis,
          llvm::LazyValueAnalysis, llvm::LoopAccessAnalysis, llvm::LoopAnalysis, llvm::MemoryDependenceAnalysis,
          llvm::MemorySSAAnalysis, llvm::OptimizationRemarkEmitterAnalysis, llvm::PhiValuesAnalysis,
          llvm::PostDominatorTreeAnalysis, llvm::ScalarEvolutionAnalysis, llvm::ScopedNoAliasAA,
          llvm::ShouldRunExtraVectorPasses>();
    functions.registerPass([&] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
    functions.registerPass([&] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
    loops.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    loops.registerPass([] { return llvm::ShouldRunExtraSimpleLoopUnswitch(); });
    loops.registerPass([&] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
    modules.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    modules.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
  }

 private:
  template <typename... Analysis>
  void addTo() {
    (functions.registerPass([] { return Analysis(); }), ...);
  }
};

/// A pass over loops, the outer ones last.
template <typename Pass>
auto overLoops(Pass pass, bool memory) {
  return llvm::createFunctionToLoopPassAdaptor(std::move(pass), memory);
}

inline llvm::LICMPass hoisting() { return llvm::LICMPass(llvm::LICMOptions()); }

}  // namespace tenc::codegen::cpu
