#include "codegen/cpu/CpuTarget.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "codegen/PlanMemory.h"
#include "codegen/cache/BuildId.h"
#include "codegen/cache/KernelCache.h"
#include "codegen/cpu/CompileAll.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {
namespace {

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
    const uint64_t gap = gapOf(k);
    for (const Buffer& b : k.buffers) {
      const auto width = static_cast<uint64_t>(ir::byteSize(b.dtype));
      const bool written = b.role == Buffer::Role::Output || b.role == Buffer::Role::InOut;
      needs.arguments.push_back(
          {.alignment = written ? abi::alignmentOf(bytesOf(b), width) : width, .gap = wholePages(b) ? gap : 0});
    }
    needs.scratchBytes = scheduleOf(request).scratchBytes;
    return needs;
  }

  std::vector<Code> compile(std::span<const CodeRequest> requests, std::vector<abi::CodeImage>& images,
                            std::string& error) override {
    std::vector<Schedule> schedules;
    std::vector<std::string> keys;
    for (const CodeRequest& r : requests) {
      schedules.push_back(scheduleOf(r));
      keys.push_back(codeName(schedules.back()) + r.key);
    }
    KernelCache::Kernels kept = cache_.load(keys);
    std::vector<CodePiece> pieces(requests.size());
    std::vector<ScheduledKernel> missing;
    std::vector<size_t> of;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (kept.contents[i] && readPiece(*kept.contents[i], pieces[i])) continue;
      missing.push_back({requests[i].kernel, &schedules[i]});
      of.push_back(i);
    }
    std::vector<CodePiece> made = compileAll(missing, processor_, options_, error);
    if (!error.empty()) return {};
    for (size_t i = 0; i < made.size(); ++i) {
      writePiece(made[i], kept.contents[of[i]].emplace());
      pieces[of[i]] = std::move(made[i]);
    }
    counts_.compiled += made.size();
    counts_.kept += requests.size() - made.size();

    std::vector<std::string> names;
    std::vector<Code> codes;
    const auto image = static_cast<uint32_t>(images.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const Schedule& s = schedules[i];
      names.push_back(functionName(i));
      codes.push_back(abi::HostCode{image, names[i], s.items, s.grain, s.scratchBytes});
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
    for (CodeKind kind : kCodeKinds | std::views::reverse) {
      auto module = compiler.newModule("kernels");
      bool any = false;
      for (size_t i = 0; i < requests.size(); ++i) {
        const Schedule s = scheduleOf(requests[i]);
        if (codeKind(s) != kind) continue;
        any = true;
        const std::string error = emitKernel({*requests[i].kernel, *module, functionName(i), levelOf(kind),
                                              options_.contract, compiler.machine(), AssembledForm::Listing},
                                             s);
        if (!error.empty()) return error + "\n";
      }
      if (!any) continue;
      if (form == "asm") {
        text += compiler.assembly(*module, kind);
      } else {
        llvm::raw_string_ostream out(text);
        module->print(out, nullptr);
      }
    }
    return text;
  }

  std::string describe(const CodeRequest& request) const override {
    const Schedule s = scheduleOf(request);
    return "  schedule " + cpu::describe(s) + "\n  code " + codeName(s) + '\n';
  }

 private:
  /// What of the code does not follow from the kernel alone.
  static std::string codeName(const Schedule& s) {
    const auto* tiled = std::get_if<TiledProduct>(&s.form);
    const bool isQuickAround = tiled != nullptr && tiled->quickAround;
    return std::string(name(s.level)) + (isQuickAround ? ", quick around its tiles" : "");
  }
  static uint64_t bytesOf(const Buffer& b) {
    return static_cast<uint64_t>(b.elements) * static_cast<uint64_t>(ir::byteSize(b.dtype));
  }
  static bool wholePages(const Buffer& b) {
    constexpr uint64_t kPage = 4096;
    return bytesOf(b) >= 2 * kPage && bytesOf(b) % kPage == 0;
  }
  /// Loops that read several arrays side by side evict fewer lines if the arrays begin at different places of a page,
  /// and thereby in different sets of the first cache. Five lines: with a small number all sets come in turn.
  static uint64_t gapOf(const Kernel& k) {
    const bool isLoop = k.kind == Kernel::Kind::Native || k.kind == Kernel::Kind::TensorLoop;
    return isLoop && std::ranges::count_if(k.buffers, wholePages) > 1 ? 5 * kPlannedAlignment : 0;
  }

  /// The schedule of full code, or of quick code where full code is not worth compiling. Quick code contracts nothing,
  /// so it would have other bits where contraction is allowed.
  Schedule scheduleOf(const CodeRequest& request) const {
    const Kernel& k = *request.kernel;
    const Workers workers{processor_.vectors, options_.runThreads};
    if (k.stages.size() > kMostStages && !options_.contract) return schedule(k, workers, Level::Quick);
    Schedule full = schedule(k, workers, Level::Full);
    const Level level = options_.contract ? Level::Full : options_.level.value_or(levelFor(full.work * request.runs));
    if (level == Level::Quick) return schedule(k, workers, Level::Quick);
    if (auto* tiled = std::get_if<TiledProduct>(&full.form))
      tiled->quickAround = tiled->assembled && !options_.contract && isQuickAround(tiled->quickLoss, request.runs);
    return full;
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
