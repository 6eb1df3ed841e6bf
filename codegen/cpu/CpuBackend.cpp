#include "codegen/cpu/CpuBackend.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <cstring>
#include <thread>
#include <unordered_map>

#include "codegen/cache/BuildId.h"
#include "codegen/cpu/CompileParts.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Gemm.h"
#include "codegen/cpu/GemmPlan.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/NativeEmitter.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {
namespace {

/// Adds one kernel to a module and fills all of `out` but its name and address.
void emitKernel(const Kernel& k, llvm::Module& m, const std::string& name, const CpuOptions& options, Level level,
                abi::HostCode& out, std::string& error) {
  switch (k.kind) {
    case Kernel::Kind::Loop: {
      LoopSchedule s = scheduleLoops(k, level);
      emitLoopKernel(k, s, m, name, options.contract);
      out.items = s.items;
      out.grain = s.grain;
      out.scratchBytes = scratchBytes(k);
      return;
    }
    case Kernel::Kind::Product: {
      EmittedProduct p = emitProduct(k, m, name, vectorUnit(m), options.runThreads, level);
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

struct CompiledKernel {
  size_t index;  ///< its function is functionName(index)
  int64_t items, grain;
  uint64_t scratchBytes;
};

/// What one thread compiled at one level.
struct CompiledPart {
  std::vector<CompiledKernel> kernels;
  ObjectFile object;
};

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
      put(k.scratchBytes);
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
      const auto items = static_cast<int64_t>(get()), grain = static_cast<int64_t>(get());
      p.kernels.push_back({index, items, grain, get()});
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

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options) : options_(options), cache_(options.cache) {
    std::string ignored;
    target_ = targetNamed(options.target, ignored).value_or(hostTarget());
    const std::string build = options.cache.directory.empty() ? std::string() : buildId();
    if (build.empty()) return;
    settings_ = build + '\0' + LLVM_VERSION_STRING + ' ' + target_.cpu + ' ' + target_.features + ' ' +
                std::to_string(target_.vectors.registerBytes) + (options.contract ? " contract " : " strict ") +
                std::to_string(options.runThreads) + '\0';
  }

  void compile(const std::vector<const Kernel*>& kernels, const std::vector<abi::Kernel*>& out,
               std::vector<abi::CodeImage>& images, std::string& error) override {
    const Distinct all = distinctOf(kernels);
    const std::string key = settings_ + all.key;
    std::vector<CompiledPart> parts;
    bool cached = false;
    if (!settings_.empty()) {
      if (std::optional<std::string> content = cache_.load(key))
        cached = readParts(*content, all.kernels.size(), parts);
    }
    if (!cached) {
      parts = compileAll(all.kernels, all.levels, error);
      if (!error.empty()) return;
    }
    std::vector<abi::HostCode> code(all.kernels.size());
    for (const CompiledPart& part : parts) {
      const auto image = static_cast<uint32_t>(images.size());
      images.push_back({"x86-64", target_.needed, std::string(part.object.data(), part.object.size())});
      for (const CompiledKernel& k : part.kernels)
        code[k.index] = {image, functionName(k.index), k.items, k.grain, k.scratchBytes};
    }
    for (size_t i = 0; i < kernels.size(); ++i) {
      const abi::HostCode& from = code[all.of[i]];
      if (from.image == abi::kNoImage) {
        error = "a kernel has no code";
        return;
      }
      out[i]->name = kernels[i]->name;
      out[i]->code = from;
    }
    if (!cached && !settings_.empty()) cache_.store(key, writeParts(parts));
  }

  std::string emit(const std::vector<const Kernel*>& kernels, std::string_view what) override {
    const Distinct all = distinctOf(kernels);
    auto levelOf = [&](size_t i) { return all.levels[all.of[i]]; };
    std::string text;
    if (what == "kernels") {
      for (size_t i = 0; i < kernels.size(); ++i)
        text += print(*kernels[i]) + "  schedule " + scheduleOf(*kernels[i], levelOf(i)) + "\n  code " +
                std::string(name(levelOf(i))) + '\n';
      return text;
    }
    Compiler compiler(target_);
    for (Level wanted : {Level::Quick, Level::Full}) {
      auto module = compiler.newModule("kernels");
      bool any = false;
      for (size_t i = 0; i < kernels.size(); ++i) {
        if (levelOf(i) != wanted) continue;
        any = true;
        abi::HostCode ignored;
        std::string error;
        emitKernel(*kernels[i], *module, functionName(i), options_, wanted, ignored, error);
        if (!error.empty()) return error + "\n";
      }
      if (!any) continue;
      if (what == "asm") {
        text += compiler.assembly(*module, wanted);
      } else {
        llvm::raw_string_ostream out(text);
        module->print(out, nullptr);
      }
    }
    return text;
  }

 private:
  /// Kernels of the same code are compiled once; what differs is what the program does around them.
  struct Distinct {
    std::vector<const Kernel*> kernels;
    std::vector<Level> levels;
    std::vector<size_t> of;  ///< by kernel of the program: an index into `kernels`
    std::string key;         ///< of all code
  };
  Distinct distinctOf(const std::vector<const Kernel*>& kernels) const {
    Distinct all;
    std::unordered_map<std::string, size_t> seen;
    std::vector<double> runs;
    for (const Kernel* k : kernels) {
      auto [at, fresh] = seen.emplace(codeKey(*k), all.kernels.size());
      all.of.push_back(at->second);
      if (fresh) {
        all.kernels.push_back(k);
        runs.push_back(0);
        all.key += at->first;
        all.key += '\0';
      }
      runs[at->second] += k->runs;
    }
    for (size_t i = 0; i < all.kernels.size(); ++i) {
      all.levels.push_back(level(*all.kernels[i], runs[i]));
      all.key += name(all.levels[i])[0];
    }
    return all;
  }

  /// How a kernel runs, for people.
  std::string scheduleOf(const Kernel& k, Level level) const {
    switch (k.kind) {
      case Kernel::Kind::Loop: return describe(scheduleLoops(k, level));
      case Kernel::Kind::Product:
        return k.product.depthwise ? "depthwise convolution"
                                   : describe(planGemm(k.product, target_.vectors, options_.runThreads, level));
      case Kernel::Kind::Native: return "native loop";
    }
    return {};
  }

  /// The level of a kernel that runs so often. Quick code contracts nothing, so it would have other bits than full code
  /// where contraction is allowed.
  Level level(const Kernel& k, double runs) const {
    if (options_.contract) return Level::Full;
    if (k.stages.size() > kMostStages) return Level::Quick;
    return options_.level.value_or(levelFor(expectedWork(k) * runs));
  }

  std::vector<CompiledPart> compileAll(const std::vector<const Kernel*>& kernels, const std::vector<Level>& levels,
                                       std::string& error) {
    std::vector<std::vector<size_t>> lists = compileParts(kernels, levels, options_.compileThreads);
    std::vector<CompiledPart> parts(2 * lists.size());
    std::vector<std::string> errors(lists.size());
    auto work = [&](size_t p) {
      Compiler compiler(target_);
      for (Level level : {Level::Full, Level::Quick}) {
        CompiledPart& part = parts[2 * p + (level == Level::Quick ? 1 : 0)];
        auto module = compiler.newModule("kernels");
        for (size_t i : lists[p]) {
          if (levels[i] != level) continue;
          abi::HostCode k;
          emitKernel(*kernels[i], *module, functionName(i), options_, level, k, errors[p]);
          if (!errors[p].empty()) return;
          part.kernels.push_back({i, k.items, k.grain, k.scratchBytes});
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

  CpuOptions options_;
  CpuTarget target_;
  ObjectCache cache_;
  std::string settings_;  ///< the part of cache keys that is the same for all kernels; empty without a cache
};

}  // namespace

std::string targetProblem(std::string_view name) {
  std::string error;
  if (!name.empty()) targetNamed(name, error);
  return error;
}

std::unique_ptr<Backend> makeCpuBackend(const CpuOptions& options) { return std::make_unique<CpuBackend>(options); }

}  // namespace tenc::codegen::cpu
