#include "codegen/cpu/CompileAll.h"

#include <llvm/IR/Module.h>

#include <thread>

#include "codegen/cpu/CompileParts.h"
#include "codegen/cpu/Gemm.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/NativeEmitter.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {

std::string functionName(size_t i) { return "kernel" + std::to_string(i); }

CompiledKernel emitKernel(const Kernel& kernel, llvm::Module& module, const std::string& name,
                          const CpuOptions& options, Level level, std::string& error) {
  switch (kernel.kind) {
    case Kernel::Kind::Loop: {
      const LoopSchedule s = scheduleLoops(kernel, level);
      emitLoopKernel(kernel, s, module, name, options.contract);
      return {0, s.items, s.grain};
    }
    case Kernel::Kind::Product: {
      const EmittedProduct p = emitProduct(kernel, module, name, vectorUnit(module), options.runThreads, level);
      return {0, p.items, p.grain};
    }
    case Kernel::Kind::Native: error = emitNativeKernel(kernel, module, name, options.contract); break;
  }
  return {0, 1, 1};
}

std::vector<CompiledPart> compileAll(std::span<const CodeRequest> requests, const std::vector<Level>& levels,
                                     const Processor& processor, const CpuOptions& options, std::string& error) {
  std::vector<const Kernel*> kernels;
  for (const CodeRequest& r : requests) kernels.push_back(r.kernel);
  const std::vector<std::vector<size_t>> lists = compileParts(kernels, levels, options.compileThreads);
  std::vector<CompiledPart> parts(2 * lists.size());
  std::vector<std::string> errors(lists.size());
  auto work = [&](size_t p) {
    Compiler compiler(processor);
    for (Level level : {Level::Full, Level::Quick}) {
      CompiledPart& part = parts[2 * p + (level == Level::Quick ? 1 : 0)];
      auto module = compiler.newModule("kernels");
      for (size_t i : lists[p]) {
        if (levels[i] != level) continue;
        CompiledKernel k = emitKernel(*kernels[i], *module, functionName(i), options, level, errors[p]);
        if (!errors[p].empty()) return;
        k.index = i;
        part.kernels.push_back(k);
      }
      if (!part.kernels.empty()) part.object = compiler.compile(*module, level, errors[p]);
      if (!errors[p].empty()) return;
    }
  };
  std::vector<std::thread> threads;
  for (size_t p = 1; p < lists.size(); ++p) threads.emplace_back([&, p] { work(p); });
  if (!lists.empty()) work(0);
  for (std::thread& t : threads) t.join();
  for (std::string& e : errors)
    if (error.empty()) error = std::move(e);
  std::erase_if(parts, [](const CompiledPart& part) { return part.kernels.empty(); });
  return parts;
}

}  // namespace tenc::codegen::cpu
