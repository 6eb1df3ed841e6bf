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

WorkItems emitKernel(const Kernel& kernel, llvm::Module& module, const std::string& name, const CpuOptions& options,
                     Level level, std::string& error) {
  switch (kernel.kind) {
    case Kernel::Kind::Loop: {
      const LoopSchedule s = scheduleLoops(kernel, level);
      emitLoopKernel(kernel, s, module, name, options.contract);
      return {s.items, s.grain};
    }
    case Kernel::Kind::Product: {
      const EmittedProduct p = emitProduct(kernel, module, name, vectorUnit(module), options.runThreads, level);
      return {p.items, p.grain};
    }
    case Kernel::Kind::Native: error = emitNativeKernel(kernel, module, name, options.contract); break;
  }
  return {};
}

std::vector<CompiledKernel> compileAll(std::span<const CodeRequest> requests, const std::vector<Level>& levels,
                                       const Processor& processor, const CpuOptions& options, std::string& error) {
  std::vector<const Kernel*> kernels;
  for (const CodeRequest& r : requests) kernels.push_back(r.kernel);
  const std::vector<std::vector<size_t>> lists = compileParts(kernels, levels, options.compileThreads);
  std::vector<CompiledKernel> compiled(requests.size());
  std::vector<std::string> errors(lists.size());
  // The kernels of one thread and level are one module: the functions that they share are compiled once.
  auto compileSome = [&](Compiler& compiler, const std::vector<size_t>& some, Level level, std::string& wrong) {
    auto module = compiler.newModule("kernels");
    std::vector<std::string> names;
    for (size_t i : some) {
      names.push_back(functionName(i));
      compiled[i].work = emitKernel(*kernels[i], *module, names.back(), options, level, wrong);
      if (!wrong.empty()) return;
    }
    const ObjectFile object = compiler.compile(*module, level, wrong);
    if (!wrong.empty()) return;
    std::vector<CodePiece> pieces = cutPieces({object.data(), object.size()}, names, wrong);
    for (size_t n = 0; n < pieces.size(); ++n) compiled[some[n]].code = std::move(pieces[n]);
  };
  auto work = [&](size_t p) {
    Compiler compiler(processor);
    for (Level level : {Level::Full, Level::Quick}) {
      std::vector<size_t> some;
      for (size_t i : lists[p])
        if (levels[i] == level) some.push_back(i);
      if (!some.empty() && errors[p].empty()) compileSome(compiler, some, level, errors[p]);
    }
  };
  std::vector<std::thread> threads;
  for (size_t p = 1; p < lists.size(); ++p) threads.emplace_back([&, p] { work(p); });
  if (!lists.empty()) work(0);
  for (std::thread& t : threads) t.join();
  for (std::string& e : errors)
    if (error.empty()) error = std::move(e);
  return compiled;
}

}  // namespace tenc::codegen::cpu
