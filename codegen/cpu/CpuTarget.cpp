#include "codegen/cpu/CpuTarget.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <cstring>

#include "codegen/cache/BuildId.h"
#include "codegen/cache/KernelCache.h"
#include "codegen/cpu/CompileAll.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Gemm.h"
#include "codegen/cpu/GemmPlan.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {
namespace {

// What is kept of a kernel: its work items, then its code. Numbers are 64 bits of this machine.

std::string writeKernel(const CompiledKernel& k) {
  std::string text(reinterpret_cast<const char*>(&k.work), sizeof k.work);
  writePiece(k.code, text);
  return text;
}

bool readKernel(std::string_view text, CompiledKernel& k) {
  if (text.size() < sizeof k.work) return false;
  std::memcpy(&k.work, text.data(), sizeof k.work);
  return readPiece(text.substr(sizeof k.work), k.code);
}

class CpuTarget : public Target {
 public:
  explicit CpuTarget(const CpuOptions& options)
      : options_(options),
        processor_(processorOf(options)),
        identity_(identityOf(options, processor_)),
        cache_(options.cache, keptIdentity(options, identity_)) {}

  std::string_view identity() const override { return identity_; }

  /// The same for every processor, so that results are: traits decide the order of sums.
  const ir::TargetTraits& traits() const override { return traits_; }

  KernelNeeds needs(const CodeRequest& request) const override {
    const Kernel& k = *request.kernel;
    KernelNeeds needs;
    for (const Buffer& b : k.buffers) {
      const auto width = static_cast<uint64_t>(ir::byteSize(b.dtype));
      const bool written = b.role == Buffer::Role::Output || b.role == Buffer::Role::InOut;
      needs.arguments.push_back({written ? abi::alignmentOf(static_cast<uint64_t>(b.elements) * width, width) : width});
    }
    if (k.kind == Kernel::Kind::Loop) needs.threadBytes = scratchBytes(k);
    if (k.kind == Kernel::Kind::Product)
      needs.threadBytes = productScratchBytes(k, processor_.vectors, options_.runThreads, level(request));
    return needs;
  }

  std::vector<Code> compile(std::span<const CodeRequest> requests, std::vector<abi::CodeImage>& images,
                            std::string& error) override {
    std::vector<Level> levels;
    std::vector<std::string> keys;
    for (const CodeRequest& r : requests) {
      levels.push_back(level(r));
      keys.push_back(name(levels.back())[0] + r.key);
    }
    KernelCache::Kernels kept = cache_.load(keys);
    std::vector<CompiledKernel> kernels(requests.size());
    std::vector<CodeRequest> missing;
    std::vector<Level> missingLevels;
    std::vector<size_t> of;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (kept.contents[i] && readKernel(*kept.contents[i], kernels[i])) continue;
      missing.push_back(requests[i]);
      missingLevels.push_back(levels[i]);
      of.push_back(i);
    }
    std::vector<CompiledKernel> made = compileAll(missing, missingLevels, processor_, options_, error);
    if (!error.empty()) return {};
    for (size_t i = 0; i < made.size(); ++i) {
      kept.contents[of[i]] = writeKernel(made[i]);
      kernels[of[i]] = std::move(made[i]);
    }
    counts_.compiled += made.size();
    counts_.kept += requests.size() - made.size();

    std::vector<CodePiece> pieces;
    std::vector<std::string> names;
    std::vector<Code> codes;
    const auto image = static_cast<uint32_t>(images.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      names.push_back(functionName(i));
      pieces.push_back(std::move(kernels[i].code));
      const WorkItems& work = kernels[i].work;
      codes.push_back(abi::HostCode{image, names[i], work.items, work.grain, needs(requests[i]).threadBytes});
    }
    if (!pieces.empty()) images.push_back({"x86-64", processor_.needed, joinPieces(pieces, names)});
    if (!kept.complete || !made.empty()) cache_.store(kept);
    return codes;
  }

  CodeCounts counts() const override { return counts_; }

  std::span<const std::string_view> forms() const override {
    static constexpr std::array<std::string_view, 2> kForms = {"llvm", "asm"};
    return kForms;
  }

  std::string emit(std::span<const CodeRequest> requests, std::string_view form) override {
    std::string text;
    Compiler compiler(processor_);
    for (Level wanted : {Level::Quick, Level::Full}) {
      auto module = compiler.newModule("kernels");
      bool any = false;
      for (size_t i = 0; i < requests.size(); ++i) {
        if (level(requests[i]) != wanted) continue;
        any = true;
        std::string error;
        emitKernel(*requests[i].kernel, *module, functionName(i), options_, wanted, error);
        if (!error.empty()) return error + "\n";
      }
      if (!any) continue;
      if (form == "asm") {
        text += compiler.assembly(*module, wanted);
      } else {
        llvm::raw_string_ostream out(text);
        module->print(out, nullptr);
      }
    }
    return text;
  }

  std::string describe(const CodeRequest& request) const override {
    const Level chosen = level(request);
    return "  schedule " + scheduleOf(*request.kernel, chosen) + "\n  code " + std::string(name(chosen)) + '\n';
  }

 private:
  /// How a kernel runs, for people.
  std::string scheduleOf(const Kernel& k, Level level) const {
    switch (k.kind) {
      case Kernel::Kind::Loop: return cpu::describe(scheduleLoops(k, level));
      case Kernel::Kind::Product:
        return k.product.depthwise ? "depthwise convolution"
                                   : cpu::describe(planGemm(k.product, processor_.vectors, options_.runThreads, level));
      case Kernel::Kind::Native: return "native loop";
    }
    return {};
  }

  /// Quick code contracts nothing, so it would have other bits than full code where contraction is allowed.
  Level level(const CodeRequest& request) const {
    if (options_.contract) return Level::Full;
    if (request.kernel->stages.size() > kMostStages) return Level::Quick;
    return options_.level.value_or(levelFor(expectedWork(*request.kernel) * request.runs));
  }

  static Processor processorOf(const CpuOptions& options) {
    std::string ignored;
    return processorNamed(options.target, ignored).value_or(hostProcessor());
  }
  static std::string identityOf(const CpuOptions& options, const Processor& p) {
    return std::string("cpu ") + LLVM_VERSION_STRING + ' ' + p.cpu + ' ' + p.features + ' ' +
           std::to_string(p.vectors.registerBytes) + (options.contract ? " contract " : " strict ") +
           std::to_string(options.runThreads);
  }
  /// Empty where nothing is to be kept: without a folder, or when this build cannot be told from others.
  static std::string keptIdentity(const CpuOptions& options, const std::string& identity) {
    const std::string build = options.cache.directory.empty() ? std::string() : buildId();
    return build.empty() ? std::string() : build + '\0' + identity;
  }

  const CpuOptions options_;
  const Processor processor_;
  const ir::TargetTraits traits_;
  const std::string identity_;
  KernelCache cache_;
  CodeCounts counts_;
};

}  // namespace

std::string targetProblem(std::string_view name) {
  std::string error;
  if (!name.empty()) processorNamed(name, error);
  return error;
}

std::unique_ptr<Target> makeCpuTarget(const CpuOptions& options) { return std::make_unique<CpuTarget>(options); }

}  // namespace tenc::codegen::cpu
