#include "codegen/cpu/LoopEmitter.h"

#include "codegen/cpu/LoopFunction.h"

namespace tenc::codegen::cpu {
using llvm::Value;

llvm::Function* emitLoopKernel(const Kernel& kernel, const LoopSchedule& schedule, llvm::Module& module,
                               const std::string& name, bool contract) {
  LoopFunction f(kernel, module, name, contract, schedule.shortCode);
  emitLoop(f.b, f.function->getArg(2), f.function->getArg(3), 1, {}, [&](Value* item, const Values&) -> Values {
    std::visit([&](const auto& strategy) { emitItem(f, strategy, item); }, schedule.strategy);
    return {};
  });
  finishPastCaches(f.b, f.args);
  f.b.CreateRetVoid();
  return f.function;
}

}  // namespace tenc::codegen::cpu
