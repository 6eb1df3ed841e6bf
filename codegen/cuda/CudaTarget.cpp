#include "codegen/cuda/CudaTarget.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>

#include "codegen/cache/BuildId.h"
#include "codegen/cuda/AttentionSchedule.h"
#include "codegen/cuda/CudaFunction.h"
#include "codegen/cuda/ImageCache.h"
#include "codegen/cuda/ImageParts.h"
#include "codegen/cuda/LibraryProduct.h"
#include "codegen/cuda/NativeCost.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Routines.h"
#include "codegen/cuda/Scatter.h"
#include "runtime/cuda/files/LibraryFiles.h"
#include "support/Parallel.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int kHopper = 90;

/// Of "sm_90" and "compute_90" the 90, also where an `a` follows: with what only this architecture has. 0 of what is
/// neither.
int architectureNumber(std::string_view architecture) {
  const std::string_view number = architecture.substr(std::min(architecture.find('_'), architecture.size() - 1) + 1);
  const std::string_view kind = architecture.substr(0, architecture.size() - number.size());
  int value = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
  const std::string_view rest(end, static_cast<size_t>(number.data() + number.size() - end));
  const bool isNumber = status == std::errc() && (rest.empty() || (rest == "a" && value >= kHopper));
  return (kind == "sm_" || kind == "compute_") && isNumber ? value : 0;
}

/// What of some kernels is written here: all of it, or what libraries leave.
struct Written {
  /// Of one kernel; `code` says what a library does, and the functions stand in it when they are compiled.
  struct Entry {
    std::optional<LibraryProduct> product;
    std::optional<SolverRoutine> solver;
    std::optional<size_t> first, last;  ///< indices into `functions`; of most the same
    std::vector<uint32_t> launches{};   ///< of several: these, counted from the first, one after the other
  };
  std::vector<Entry> entries;  ///< by request
  std::vector<Function> functions;
};

class CudaTarget : public Target {
 public:
  explicit CudaTarget(const CudaOptions& options) : options_(options) {
    traits_.products = {ir::DType::F32, ir::DType::F64};
    traits_.smallProducts = traits_.permutedProducts = false;
    traits_.narrowProducts = {ir::DType::F16, ir::DType::BF16};
    traits_.sideBySide = false;
    traits_.convColumns = ir::TargetTraits::ConvColumns::Places;
    traits_.narrowConvolutions = {ir::DType::F16, ir::DType::BF16};
    traits_.channelsLast.dtypes = {ir::DType::F16, ir::DType::BF16};
    if (options.leastChannelsLast) traits_.channelsLast.multiplications = *options.leastChannelsLast;
    traits_.attention.whole = {ir::DType::F32, ir::DType::F16, ir::DType::BF16};
    traits_.attention.mostGradientDepth = 128;
    traits_.attention.tileBytes = int64_t{4} << 20;  // a launch fills all multiprocessors
    traits_.depthwise.rows = traits_.depthwise.outs = 0;
    traits_.depthwise.fewTaps = traits_.depthwise.mostTaps = 0;  // a thread an element reads the window where it is
    traits_.scratchBytes = 40 << 10;                             // of shared memory, where registers do not hold them
    traits_.scans.fewItems = 64;                                 // a block each
    traits_.scans.itemColumns = 32;
    traits_.indexOps = 4;
    traits_.reductions.fewResults = 32;
    traits_.reductions.fewColumns = 1024;                             // 32 of them a block
    traits_.reductions.manyRows = 2048;                               // take a block some us
    traits_.reductions.turned = std::numeric_limits<int64_t>::max();  // squares are not turned
  }

  std::string_view identity() const override {
    std::call_once(known_, [&] {
      architecture_ = options_.architecture();
      identity_ = "cuda " + architecture_ + (options_.fast ? " fast" : options_.contract ? " contract" : " strict");
      std::string tried;
      if (rt::cuda::findLibrary(rt::cuda::cusolverNames(), tried)) {
        solved_.emplace();
        solved_->least = options_.leastSolved.value_or(SolverChoice::kLeast);
        identity_ += " cusolver " + decimal(solved_->least);
      }
      if (!rt::cuda::findLibrary(rt::cuda::cublasLtNames(), tried)) return;
      products_.emplace();
      products_->least = options_.leastProduct.value_or(ProductChoice::kLeast);
      products_->fast = options_.fast;
      // What NVIDIA recommends.
      products_->workspaceBytes = ProductChoice::kMiB * (architectureNumber(architecture_) >= 90 ? 32 : 4);
      identity_ += " cublaslt " + decimal(products_->least);
    });
    return identity_;
  }
  const ir::TargetTraits& traits() const override { return traits_; }
  RoutineCode routineCode(const ir::Op&) const override { return RoutineCode::Kernel; }

  FewThreads fewThreads(const Kernel& kernel) const override {
    return kernel.kind == Kernel::Kind::Native ? nativeThreads(kernel) : FewThreads{};
  }

  KernelNeeds needs(const CodeRequest& request) const override {
    if (const auto product = libraryProductOf(*request.kernel)) return product->needs;
    if (const auto solver = solverRoutineOf(*request.kernel)) return solver->needs;
    // Vectors divide the dims that they run along, so that parts of a buffer which begin at multiples of a dim do.
    const LaunchPlan launches = planLaunches(*request.kernel, features());
    const Schedule& plan = launches.schedule;
    KernelNeeds needs;
    const auto need = [&](const Buffer& b, int width) {
      return std::min<uint64_t>(kVectorBytes,
                                static_cast<uint64_t>(width) * static_cast<uint64_t>(ir::byteSize(b.dtype)));
    };
    for (const Buffer& b : request.kernel->buffers) needs.arguments.push_back({need(b, plan.vector)});
    if (request.kernel->kind == Kernel::Kind::Attention || request.kernel->kind == Kernel::Kind::AttentionGradient) {
      for (const auto& [buffer, width] : attentionWidths(*request.kernel, features())) {
        uint64_t& alignment = needs.arguments[buffer].alignment;
        alignment = std::max(alignment, need(request.kernel->buffers[buffer], width));
      }
    } else if (plan.tile.onTensorCores())
      for (const bool isLeft : {true, false}) {
        const uint32_t buffer = (isLeft ? request.kernel->product.a : request.kernel->product.b).buffer;
        uint64_t& alignment = needs.arguments[buffer].alignment;
        alignment = std::max(alignment, need(request.kernel->buffers[buffer], (isLeft ? plan.a : plan.b).width));
      }
    needs.workspaceBytes = launches.workspaceBytes;
    return needs;
  }

  std::vector<Code> compile(std::span<const CodeRequest> requests, std::vector<abi::CodeImage>& images,
                            std::string& error) override {
    ImageCache cache(options_.cache, cacheIdentity());
    Written written = writtenOf(requests);
    std::vector<std::string> keys;
    for (const Function& f : written.functions) keys.push_back(f.key);
    ImageCache::Found code = cache.load(keys);
    std::vector<size_t> missing;
    for (size_t i = 0; i < keys.size(); ++i)
      if (!code.places[i]) missing.push_back(i);
    const size_t kept = code.images.size();
    if (!missing.empty()) error = add(written.functions, missing, code);
    if (!error.empty()) return {};
    if (!missing.empty() || !code.complete) cache.store(code, kept);
    const auto codeOf = [&](size_t n) {
      const Schedule plan = written.functions[n].schedule(features());
      return abi::DeviceCode{static_cast<uint32_t>(images.size() + code.places[n]->image),
                             code.places[n]->symbol,
                             {plan.blocks, 1, 1},
                             {plan.threads, 1, 1},
                             plan.shared};
    };
    std::vector<Code> codes;
    for (Written::Entry& entry : written.entries) {
      if (entry.solver) {
        entry.solver->code.before = codeOf(*entry.first);
        entry.solver->code.then = codeOf(*entry.last);
        codes.push_back(std::move(entry.solver->code));
      } else if (entry.product) {
        if (entry.last) entry.product->code.then = codeOf(*entry.last);
        codes.push_back(std::move(entry.product->code));
      } else if (!entry.launches.empty()) {
        abi::SequenceCode sequence;
        for (const uint32_t function : entry.launches) sequence.functions.push_back(codeOf(*entry.first + function));
        codes.push_back(std::move(sequence));
      } else {
        codes.push_back(codeOf(*entry.last));
      }
    }
    for (std::string& image : code.images) images.push_back({architecture(), {}, std::move(image)});
    counts_.compiled += missing.size();
    counts_.kept += keys.size() - missing.size();
    return codes;
  }

  std::string_view cannotCompile() const override { return cannotCompile_; }
  CodeCounts counts() const override { return counts_; }

  std::span<const std::string_view> forms() const override {
    static constexpr std::array<std::string_view, 2> kForms = {"cuda", "ptx"};
    return kForms;
  }

  std::string emit(std::span<const CodeRequest> requests, std::string_view form) override {
    const Written written = writtenOf(requests);
    if (form == "cuda") {
      Part all(written.functions.size());
      std::iota(all.begin(), all.end(), size_t{0});
      const Source source = sourceOf(written.functions, features(), all);
      std::string text = source.error.empty() ? source.text : source.error + "\n";
      for (size_t i = 0; i < requests.size(); ++i) text += libraryText(requests[i], written.entries[i]);
      return text;
    }
    std::string text;
    const Nvrtc* nvrtc = compiler(text);
    if (nvrtc == nullptr) return text + "\n";
    for (const Nvrtc::Result& r : compileAll(*nvrtc, written.functions, divided(written.functions), false))
      text += r.error.empty() ? r.ptx : r.error + "\n";
    return text;
  }

  std::string describe(const CodeRequest& request) const override {
    if (const auto product = libraryProductOf(*request.kernel))
      return "  " + product->text() + (product->rest ? "\n  then " + schedule(*product->rest, features()).text() : "") +
             "\n";
    if (const auto solver = solverRoutineOf(*request.kernel)) return "  " + solver->text() + "\n";
    const Schedule s = planLaunches(*request.kernel, features()).schedule;
    if (const std::optional<ScatterPlan> scatter = planScatter(*request.kernel)) return "  " + scatter->text() + "\n";
    if (request.kernel->kind == Kernel::Kind::Routine)
      return "  " + decimal(s.blocks) + " blocks of " + decimal(s.threads) + " threads, " +
             describeRoutine(*request.kernel) + "\n";
    return "  " + s.text() + "\n";
  }

 private:
  /// PTX, which the driver compiles, and not machine code.
  bool isVirtual() const { return architecture().starts_with("compute_"); }
  const std::string& architecture() const {
    identity();
    return architecture_;
  }
  Features features() const {
    constexpr int kLeastTensorCores = 80;
    const int number = architectureNumber(architecture());
    return {.tensorCores = number >= kLeastTensorCores,
            .warpgroups = number == kHopper && (!isVirtual() || architecture().ends_with('a')),
            .fast = options_.fast};
  }
  std::optional<LibraryProduct> libraryProductOf(const Kernel& k) const {
    identity();
    return products_ ? libraryProduct(k, *products_, features()) : std::nullopt;
  }
  std::optional<SolverRoutine> solverRoutineOf(const Kernel& k) const {
    identity();
    return solved_ ? solverRoutine(k, *solved_) : std::nullopt;
  }
  Written writtenOf(std::span<const CodeRequest> requests) const {
    Written written;
    for (const CodeRequest& r : requests)
      written.entries.push_back({libraryProductOf(*r.kernel), solverRoutineOf(*r.kernel), {}, {}});
    for (size_t i = 0; i < requests.size(); ++i) {
      Written::Entry& entry = written.entries[i];
      if (entry.product && !entry.product->rest) continue;
      entry.first = entry.last = written.functions.size();
      Function f{requests[i].kernel, requests[i].key};
      f.source = requests[i].source;
      if (entry.product) f.kernel = &*entry.product->rest;
      if (entry.solver) {
        f.solver = &*entry.solver;
        f.key += "\nbefore";
        written.functions.push_back(f);
        f.part = SolverPart::After;
        f.key = requests[i].key + "\nafter";
        entry.last = written.functions.size();
      }
      if (!entry.solver) {
        const LaunchPlan plan = planLaunches(*f.kernel, features());
        entry.launches = plan.launches;
        const auto keyOf = [&](uint32_t step) { return requests[i].key + "\nfunction " + decimal(step); };
        for (; f.step + 1 < plan.functions.size(); ++f.step) {
          f.key = keyOf(f.step);
          written.functions.push_back(f);
        }
        f.key = keyOf(f.step);
        entry.last = written.functions.size();
      }
      written.functions.push_back(std::move(f));
    }
    return written;
  }
  /// A comment for people about what of a kernel a library does; empty for most.
  static std::string libraryText(const CodeRequest& request, const Written::Entry& entry) {
    const std::string kernel = request.kernel->name + (request.source.empty() ? "" : " (" + request.source + ")");
    if (entry.solver)
      return "\n// " + kernel + ": " + symbolOf(*entry.first) + ", then " + entry.solver->text() + ", then " +
             symbolOf(*entry.last) + "\n";
    if (!entry.product) return "";
    return "\n// " + kernel + ": " + entry.product->text() + (entry.last ? ", then " + symbolOf(*entry.last) : "") +
           "\n";
  }
  const Nvrtc* compiler(std::string& error) {
    if (!nvrtc_) nvrtc_ = Nvrtc::open(error);
    if (nvrtc_) error = nvrtc_->problemOf(architecture());
    return error.empty() ? nvrtc_.get() : nullptr;
  }

  /// Empty where nothing is to be kept.
  std::string cacheIdentity() const {
    std::string why;
    const auto file = options_.cache.directory.empty() ? std::nullopt : Nvrtc::find(why);
    const std::string build = options_.malformed ? std::string() : buildId();
    return file && !build.empty() ? std::string(identity()) + "\n" + build + "\n" + rt::cuda::identityOf(*file)
                                  : std::string();
  }

  /// Compiles some of the kernels, and says where they are. Gives the error.
  std::string add(std::span<const Function> functions, const std::vector<size_t>& which, ImageCache::Found& code) {
    std::string error;
    const Nvrtc* nvrtc = compiler(error);
    if (nvrtc == nullptr) return cannotCompile_ = error;
    std::vector<Function> some;
    for (const size_t i : which) some.push_back(functions[i]);
    const std::vector<Part> parts = divided(some);
    std::vector<Nvrtc::Result> made = compileAll(*nvrtc, some, parts, !isVirtual());
    for (size_t p = 0; p < parts.size(); ++p) {
      if (!made[p].error.empty()) return made[p].error;
      for (const size_t n : parts[p]) code.places[which[n]] = ImageCache::Place{code.images.size(), symbolOf(n)};
      code.images.push_back(std::move(isVirtual() ? made[p].ptx : made[p].cubin));
    }
    return "";
  }

  size_t threads() const { return static_cast<size_t>(std::max(options_.compileThreads, 1)); }

  std::vector<Part> divided(std::span<const Function> functions) const {
    std::vector<int64_t> efforts;
    for (const Function& f : functions) efforts.push_back(compileEffort(*f.kernel, f.schedule(features())));
    return partsOf(efforts, threads());
  }

  std::vector<Nvrtc::Result> compileAll(const Nvrtc& nvrtc, std::span<const Function> functions,
                                        std::span<const Part> parts, bool wantCubin) const {
    std::vector<Nvrtc::Result> made(parts.size());
    const Features having = features();
    // Machine code of sm_90 runs on no other GPUs than that of sm_90a.
    const std::string compiledFor = architecture() + (having.warpgroups && !architecture().ends_with('a') ? "a" : "");
    std::atomic<size_t> next{0};
    const auto work = [&](size_t) {
      for (size_t p = next++; p < parts.size(); p = next++) {
        const Source source = sourceOf(functions, having, parts[p]);
        if (source.error.empty())
          made[p] = nvrtc.compile(source.text + (options_.malformed ? "malformed" : ""), compiledFor, wantCubin);
        else
          made[p].error = source.error;
      }
    };
    inParallel(std::min(parts.size(), threads()), work);
    return made;
  }

  const CudaOptions options_;
  mutable std::once_flag known_;
  mutable std::string identity_, architecture_;
  mutable std::optional<ProductChoice> products_;  ///< none: there is no library
  mutable std::optional<SolverChoice> solved_;     ///< the same
  ir::TargetTraits traits_;
  std::unique_ptr<Nvrtc> nvrtc_;
  std::string cannotCompile_;
  CodeCounts counts_;
};

}  // namespace

std::string architectureProblem(std::string_view architecture) {
  constexpr int kLeast = 75;
  if (architectureNumber(architecture) >= kLeast) return "";
  return "no code is made for `" + std::string(architecture) +
         "`: architectures are sm_75, sm_80, sm_90 and later, and compute_90 for PTX";
}

std::string compilerProblem() {
  std::string why;
  return Nvrtc::find(why) ? std::string() : why;
}

std::string compilerProblem(std::string_view architecture) {
  std::string why;
  const auto nvrtc = Nvrtc::open(why);
  return nvrtc ? nvrtc->problemOf(architecture) : why;
}

std::string compilerText() {
  std::string why;
  const auto file = Nvrtc::find(why);
  const auto nvrtc = Nvrtc::open(why);
  return nvrtc ? nvrtc->version() + ", " + *file : why;
}

std::unique_ptr<Target> makeCudaTarget(const CudaOptions& options) { return std::make_unique<CudaTarget>(options); }

}  // namespace tenc::codegen::cuda
