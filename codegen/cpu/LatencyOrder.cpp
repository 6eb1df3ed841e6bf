#include "codegen/cpu/LatencyOrder.h"

#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/Function.h>
#include <llvm/PassRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

namespace tenc::codegen::cpu {
namespace {

constexpr const char* kAttribute = "tenc.by-latency";

/// LLVM's scheduler asks the target machine for each function whether the level is high enough for it. So the level is
/// raised in front of it and lowered behind.
template <bool kRaises>
class SchedulingLevel : public llvm::MachineFunctionPass {
 public:
  static char id;  // NOLINT: its address is the pass's identity
  SchedulingLevel() : MachineFunctionPass(id) {}

  bool runOnMachineFunction(llvm::MachineFunction& f) override {
    const bool raised = kRaises && f.getFunction().hasFnAttribute(kAttribute);
    auto& config = this->getAnalysis<llvm::TargetPassConfig>();
    config.template getTM<llvm::TargetMachine>().setOptLevel(raised ? llvm::CodeGenOptLevel::Default
                                                                    : llvm::CodeGenOptLevel::Less);
    return false;
  }

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::TargetPassConfig>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  /// The pipeline makes passes that are inserted by their ids.
  static void know(const char* name) {
    const auto make = []() -> llvm::Pass* { return new SchedulingLevel(); };
    llvm::PassRegistry::getPassRegistry()->registerPass(
        *new llvm::PassInfo(name, name, &id, make, /*isCFGOnly=*/true, /*is_analysis=*/false), /*ShouldFree=*/true);
  }
};

template <bool kRaises>
char SchedulingLevel<kRaises>::id = 0;

}  // namespace

void orderByLatency(llvm::Function& f) { f.addFnAttr(kAttribute); }

void addLatencyOrder(llvm::TargetPassConfig& config) {
  static std::once_flag once;
  std::call_once(once, [] {
    SchedulingLevel<true>::know("tenc-raise-level");
    SchedulingLevel<false>::know("tenc-lower-level");
  });
  config.insertPass(&llvm::ExpandPostRAPseudosID, &SchedulingLevel<true>::id);
  config.insertPass(&llvm::PostRASchedulerID, &SchedulingLevel<false>::id);
}

}  // namespace tenc::codegen::cpu
