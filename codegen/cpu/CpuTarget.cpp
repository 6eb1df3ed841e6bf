#include "codegen/cpu/CpuTarget.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <cstring>

#include "codegen/cache/BuildId.h"
#include "codegen/cpu/CompileAll.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Gemm.h"
#include "codegen/cpu/GemmPlan.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {
namespace {

// Parts as bytes: their number; for each the numbers of kernels and of bytes, the kernels, the object. All numbers
// are 64 bits of this machine.

std::string writeParts(const std::vector<CompiledPart>& parts) {
  std::string text;
  auto put = [&](uint64_t n) { text.append(reinterpret_cast<const char*>(&n), sizeof n); };
  put(parts.size());
  for (const CompiledPart& p : parts) {
    put(p.kernels.size());
    put(p.object.size());
    for (const CompiledKernel& k : p.kernels) {
      put(k.index);
      put(static_cast<uint64_t>(k.items));
      put(static_cast<uint64_t>(k.grain));
    }
    text.append(p.object.data(), p.object.size());
  }
  return text;
}

/// False when the text is not that of parts with `kernels` kernels.
bool readParts(std::string_view text, size_t kernels, std::vector<CompiledPart>& parts) {
  bool good = true;
  auto get = [&]() -> uint64_t {
    uint64_t n = 0;
    good = good && text.size() >= sizeof n;
    if (!good) return 0;
    std::memcpy(&n, text.data(), sizeof n);
    text.remove_prefix(sizeof n);
    return n;
  };
  size_t found = 0;
  for (uint64_t count = get(); good && count > 0; --count) {
    CompiledPart& p = parts.emplace_back();
    uint64_t n = get();
    const uint64_t bytes = get();
    for (; good && n > 0; --n, ++found) {
      const uint64_t index = get();
      const auto items = static_cast<int64_t>(get());
      p.kernels.push_back({index, items, static_cast<int64_t>(get())});
      good = good && index < kernels;
    }
    good = good && bytes <= text.size();
    if (!good) break;
    p.object.assign(text.begin(), text.begin() + bytes);
    text.remove_prefix(bytes);
  }
  good = good && found == kernels && text.empty();
  if (!good) parts.clear();
  return good;
}

class CpuTarget : public Target {
 public:
  explicit CpuTarget(const CpuOptions& options) : options_(options), cache_(options.cache) {
    std::string ignored;
    processor_ = processorNamed(options.target, ignored).value_or(hostProcessor());
    identity_ = std::string("cpu ") + LLVM_VERSION_STRING + ' ' + processor_.cpu + ' ' + processor_.features + ' ' +
                std::to_string(processor_.vectors.registerBytes) + (options.contract ? " contract " : " strict ") +
                std::to_string(options.runThreads);
    if (!options.cache.directory.empty()) build_ = buildId();
  }

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
    std::string key = build_ + '\0' + identity_ + '\0';
    for (const CodeRequest& r : requests) {
      levels.push_back(level(r));
      key += r.key;
      key += name(levels.back())[0];
      key += '\0';
    }
    std::vector<CompiledPart> parts;
    bool cached = false;
    if (!build_.empty()) {
      if (std::optional<std::string> content = cache_.load(key)) cached = readParts(*content, requests.size(), parts);
    }
    if (!cached) {
      parts = compileAll(requests, levels, processor_, options_, error);
      if (!error.empty()) return {};
    }
    std::vector<Code> codes(requests.size());
    for (const CompiledPart& part : parts) {
      const auto image = static_cast<uint32_t>(images.size());
      images.push_back({"x86-64", processor_.needed, std::string(part.object.data(), part.object.size())});
      for (const CompiledKernel& k : part.kernels)
        codes[k.index] =
            abi::HostCode{image, functionName(k.index), k.items, k.grain, needs(requests[k.index]).threadBytes};
    }
    if (!cached && !build_.empty()) cache_.store(key, writeParts(parts));
    return codes;
  }

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

  CpuOptions options_;
  Processor processor_;
  ir::TargetTraits traits_;
  ObjectCache cache_;
  std::string identity_;
  std::string build_;  ///< empty without a cache
};

}  // namespace

std::string targetProblem(std::string_view name) {
  std::string error;
  if (!name.empty()) processorNamed(name, error);
  return error;
}

std::unique_ptr<Target> makeCpuTarget(const CpuOptions& options) { return std::make_unique<CpuTarget>(options); }

}  // namespace tenc::codegen::cpu
