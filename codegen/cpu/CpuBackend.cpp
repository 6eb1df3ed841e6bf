#include "codegen/cpu/CpuBackend.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <thread>

#include "codegen/cpu/CompileParts.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Gemm.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/NativeEmitter.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {
namespace {

/// Adds one kernel to a module and fills all of `out` but its address.
void emitKernel(const Kernel& k, llvm::Module& m, const std::string& name, const CpuOptions& options, abi::Kernel& out,
                std::string& error) {
  out.name = k.name;
  switch (k.kind) {
    case Kernel::Kind::Loop: {
      Schedule s = makeSchedule(k);
      emitLoopKernel(k, s, m, name, options.contract);
      out.items = s.items;
      out.grain = s.grain;
      out.scratchBytes = scratchBytes(k);
      return;
    }
    case Kernel::Kind::Product: {
      EmittedProduct p = emitProduct(k, m, name, registerBytes(m), options.runThreads);
      out.items = p.items;
      out.grain = p.grain;
      out.scratchBytes = p.scratchBytes;
      return;
    }
    case Kernel::Kind::Native:
      error = emitNativeKernel(k, m, name, options.contract);
      out.items = 1;
      out.grain = 1;
      out.scratchBytes = 0;
      return;
  }
}

std::string functionName(size_t i) { return "kernel" + std::to_string(i); }

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options) : options_(options) {
    std::string ignored;
    target_ = targetNamed(options.target, ignored).value_or(hostTarget());
  }

  std::shared_ptr<void> compile(const std::vector<const Kernel*>& kernels, std::vector<abi::Kernel*> out,
                                std::string& error) override {
    struct Part {
      std::vector<size_t> kernels;
      std::shared_ptr<LoadedCode> code;
      std::string error;
    };
    std::vector<Part> parts;
    for (auto& list : compileParts(kernels, options_.compileThreads)) parts.push_back({std::move(list), nullptr, {}});
    auto work = [&](Part& part) {
      Compiler compiler(target_);
      auto module = compiler.newModule("kernels");
      for (size_t i : part.kernels) {
        emitKernel(*kernels[i], *module, functionName(i), options_, *out[i], part.error);
        if (!part.error.empty()) return;
      }
      ObjectFile object = compiler.compile(*module, part.error);
      if (part.error.empty()) part.code = LoadedCode::load(object, part.error);
      if (part.error.empty())
        for (size_t i : part.kernels) {
          out[i]->fn = reinterpret_cast<abi::KernelFn>(part.code->symbol(functionName(i)));
          if (out[i]->fn == nullptr) part.error = "a kernel has no code";
        }
    };
    std::vector<std::thread> threads;
    for (size_t p = 1; p < parts.size(); ++p) threads.emplace_back([&, p] { work(parts[p]); });
    if (!parts.empty()) work(parts[0]);
    for (std::thread& t : threads) t.join();
    auto keep = std::make_shared<std::vector<std::shared_ptr<LoadedCode>>>();
    for (Part& p : parts) {
      if (!p.error.empty()) {
        error = p.error;
        return nullptr;
      }
      keep->push_back(std::move(p.code));
    }
    return keep;
  }

  std::string emit(const std::vector<const Kernel*>& kernels, std::string_view what) override {
    Compiler compiler(target_);
    auto module = compiler.newModule("kernels");
    for (size_t i = 0; i < kernels.size(); ++i) {
      abi::Kernel ignored;
      std::string error;
      emitKernel(*kernels[i], *module, functionName(i), options_, ignored, error);
      if (!error.empty()) return error + "\n";
    }
    if (what == "asm") return compiler.assembly(*module);
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out, nullptr);
    return text;
  }

 private:
  CpuOptions options_;
  CpuTarget target_;
};

}  // namespace

std::string targetProblem(std::string_view name) {
  std::string error;
  if (!name.empty()) targetNamed(name, error);
  return error;
}

std::unique_ptr<Backend> makeCpuBackend(const CpuOptions& options) { return std::make_unique<CpuBackend>(options); }

}  // namespace tenc::codegen::cpu
