#include "codegen/cpu/LoopEmitter.h"

#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/LoopFunction.h"

namespace tenc::codegen::cpu {
using llvm::Value;

void emitLoopKernel(const KernelToEmit& kernel, const LoopSchedule& schedule) {
  LoopFunction f(kernel);
  emitLoop(f.b, f.function->getArg(2), f.function->getArg(3), 1, {}, [&](Value* item, const Values&) -> Values {
    std::visit([&](const auto& strategy) { emitItem(f, strategy, item); }, schedule.strategy);
    return {};
  });
  finishPastCaches(f.b, f.args);
  f.b.CreateRetVoid();
}

}  // namespace tenc::codegen::cpu
