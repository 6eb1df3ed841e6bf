#include "codegen/cuda/CudaTarget.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>

#include "codegen/cache/BuildId.h"
#include "codegen/cuda/AttentionSchedule.h"
#include "codegen/cuda/CudaPrelude.h"
#include "codegen/cuda/ImageCache.h"
#include "codegen/cuda/ImageParts.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/LibraryProduct.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Routines.h"
#include "runtime/cuda/files/LibraryFiles.h"

namespace tenc::codegen::cuda {
namespace {

/// Of "sm_90" and "compute_90" the 90; 0 of what is neither.
int architectureNumber(std::string_view architecture) {
  const std::string_view number = architecture.substr(std::min(architecture.find('_'), architecture.size() - 1) + 1);
  const std::string_view kind = architecture.substr(0, architecture.size() - number.size());
  int value = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool isNumber = status == std::errc() && end == number.data() + number.size();
  return (kind == "sm_" || kind == "compute_") && isNumber ? value : 0;
}

std::string symbolOf(size_t i) { return "kernel" + decimal(i); }

Schedule scheduleOf(const Kernel& k, const Features& features) {
  return k.kind == Kernel::Kind::Routine ? planRoutine(k).schedule : schedule(k, features);
}

/// Adds the function of a kernel; gives what of it has no CUDA form.
std::string write(const Kernel& k, const Features& features, const std::string& symbol, Module& module) {
  const Schedule plan = scheduleOf(k, features);
  KernelNames names;
  std::string parameters;
  auto add = [&](const std::string& parameter) { parameters += (parameters.empty() ? "" : ", ") + parameter; };
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    names.buffers.push_back("b" + decimal(i));
    if (k.buffers[i].role == Buffer::Role::Scratch) continue;
    add((k.buffers[i].role == Buffer::Role::Input ? "const " : "") + std::string(memoryType(k.buffers[i].dtype)) +
        "* const b" + decimal(i));
  }
  if (k.kind == Kernel::Kind::Routine && planRoutine(k).workspaceBytes > 0) add("unsigned char* const work");
  if (!k.scalars.empty()) add("const unsigned long long* const scalars");
  add("tenc_faults* const faults");
  add("const unsigned long long order");
  CudaText& out = module.text;
  out.line("");
  out.line("// " + k.name);
  out.open("extern \"C\" __global__ void __launch_bounds__(" + decimal(plan.threads) + ") " + symbol + "(" +
           parameters + ")");
  for (size_t i = 0; i < k.scalars.size(); ++i) {
    const std::string from = "scalars[" + decimal(i) + "]", type(memoryType(k.scalars[i]));
    names.scalars.push_back("k" + decimal(i));
    std::string value = "(" + type + ")" + from;
    if (k.scalars[i] == ir::DType::F32) value = "__uint_as_float((unsigned)" + from + ")";
    if (k.scalars[i] == ir::DType::F64) value = "__longlong_as_double((long long)" + from + ")";
    out.line("const " + type + " k" + decimal(i) + " = " + value + ";");
  }
  if (k.kind == Kernel::Kind::Routine) {
    writeRoutine(k, module, names, "work");
    out.close();
    return "";
  }
  const std::string missing = k.kind == Kernel::Kind::Native            ? writeNativeLoop(k, module, names)
                              : k.kind == Kernel::Kind::Product         ? writeProduct(k, plan, module, names)
                              : k.kind == Kernel::Kind::Attention       ? writeAttention(k, features, module, names)
                              : plan.scan                               ? writeScan(k, plan, module, names)
                              : plan.family == Schedule::Family::Turned ? writeTurned(k, plan, module, names)
                                                                        : writeLoopKernel(k, plan, module, names);
  out.close();
  return missing;
}

struct Source {
  std::string text, error;
};

/// Some kernels of a list, as one text.
Source sourceOf(std::span<const CodeRequest> requests, const Features& features, const Part& part) {
  Module module;
  Source source;
  for (const size_t i : part) {
    const std::string missing = write(*requests[i].kernel, features, symbolOf(i), module);
    if (!missing.empty() && source.error.empty())
      source.error = "no CUDA form of " + missing + " (kernel " + requests[i].kernel->name + ")";
  }
  source.text = kPrelude;
  for (const std::string_view functions : module.functions) source.text += functions;
  source.text += module.tables + module.text.text();
  return source;
}

/// What of some kernels is written here: all of it, what a library leaves, or nothing.
struct Written {
  std::vector<std::optional<LibraryProduct>> products;  ///< by request
  std::vector<CodeRequest> requests;
  std::vector<std::optional<size_t>> of;  ///< by request: an index into `requests`
};

class CudaTarget : public Target {
 public:
  explicit CudaTarget(const CudaOptions& options) : options_(options) {
    traits_.products = {ir::DType::F32, ir::DType::F64};
    traits_.narrowProducts = {ir::DType::F16, ir::DType::BF16};
    traits_.sideBySide = false;
    traits_.convColumns = ir::TargetTraits::ConvColumns::Places;
    traits_.narrowConvolutions = {ir::DType::F16, ir::DType::BF16};
    traits_.attention.whole = {ir::DType::F32, ir::DType::F16, ir::DType::BF16};
    traits_.depthwise.rows = traits_.depthwise.outs = 0;
    traits_.scratchRow = 2048;
    traits_.scans.fewItems = 64;  // a block each
    traits_.scans.itemColumns = 32;
    traits_.indexOps = 4;
    traits_.reductions.fewColumns = 1024;  // 32 of them a block
    traits_.reductions.manyRows = 2048;    // take a block some us
  }

  std::string_view identity() const override {
    std::call_once(known_, [&] {
      architecture_ = options_.architecture();
      identity_ = "cuda " + architecture_ + (options_.fast ? " fast" : options_.contract ? " contract" : " strict");
      std::string tried;
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

  KernelNeeds needs(const CodeRequest& request) const override {
    if (const auto product = libraryProductOf(*request.kernel)) return product->needs;
    // Vectors divide the dims that they run along, so that parts of a buffer which begin at multiples of a dim do.
    const Schedule plan = scheduleOf(*request.kernel, features());
    KernelNeeds needs;
    const auto need = [&](const Buffer& b, int width) {
      return std::min<uint64_t>(kVectorBytes,
                                static_cast<uint64_t>(width) * static_cast<uint64_t>(ir::byteSize(b.dtype)));
    };
    for (const Buffer& b : request.kernel->buffers) needs.arguments.push_back({need(b, plan.vector)});
    if (request.kernel->kind == Kernel::Kind::Attention) {
      const AttentionPlan p = planAttention(*request.kernel, features());
      const Attention& a = request.kernel->attention;
      for (const auto& [buffer, width] : {std::pair{a.q.buffer, p.q}, {a.k.buffer, p.k}, {a.v.buffer, p.v}}) {
        uint64_t& alignment = needs.arguments[buffer].alignment;
        alignment = std::max(alignment, need(request.kernel->buffers[buffer], width));
      }
    } else if (plan.tile.onTensorCores())
      for (const bool isLeft : {true, false}) {
        const uint32_t buffer = (isLeft ? request.kernel->product.a : request.kernel->product.b).buffer;
        uint64_t& alignment = needs.arguments[buffer].alignment;
        alignment = std::max(alignment, need(request.kernel->buffers[buffer], (isLeft ? plan.a : plan.b).width));
      }
    if (request.kernel->kind == Kernel::Kind::Routine)
      needs.workspaceBytes = planRoutine(*request.kernel).workspaceBytes;
    return needs;
  }

  std::vector<Code> compile(std::span<const CodeRequest> requests, std::vector<abi::CodeImage>& images,
                            std::string& error) override {
    ImageCache cache(options_.cache, cacheIdentity());
    Written written = writtenOf(requests);
    std::vector<std::string> keys;
    for (const CodeRequest& r : written.requests) keys.push_back(r.key);
    ImageCache::Found code = cache.load(keys);
    std::vector<size_t> missing;
    for (size_t i = 0; i < keys.size(); ++i)
      if (!code.places[i]) missing.push_back(i);
    const size_t kept = code.images.size();
    if (!missing.empty()) error = add(written.requests, missing, code);
    if (!error.empty()) return {};
    if (!missing.empty() || !code.complete) cache.store(code, kept);
    std::vector<Code> codes;
    for (size_t i = 0; i < requests.size(); ++i) {
      std::optional<abi::DeviceCode> own;
      if (const std::optional<size_t> n = written.of[i]) {
        const Schedule plan = scheduleOf(*written.requests[*n].kernel, features());
        own = abi::DeviceCode{static_cast<uint32_t>(images.size() + code.places[*n]->image),
                              code.places[*n]->symbol,
                              {plan.blocks, 1, 1},
                              {plan.threads, 1, 1},
                              0};
      }
      if (std::optional<LibraryProduct>& product = written.products[i]) {
        product->code.then = std::move(own);
        codes.push_back(std::move(product->code));
      } else {
        codes.push_back(std::move(*own));
      }
    }
    for (std::string& image : code.images) images.push_back({architecture(), {}, std::move(image)});
    counts_.compiled += missing.size();
    counts_.kept += keys.size() - missing.size();
    return codes;
  }

  CodeCounts counts() const override { return counts_; }

  std::span<const std::string_view> forms() const override {
    static constexpr std::array<std::string_view, 2> kForms = {"cuda", "ptx"};
    return kForms;
  }

  std::string emit(std::span<const CodeRequest> requests, std::string_view form) override {
    const Written written = writtenOf(requests);
    if (form == "cuda") {
      Part all(written.requests.size());
      std::iota(all.begin(), all.end(), size_t{0});
      const Source source = sourceOf(written.requests, features(), all);
      std::string text = source.error.empty() ? source.text : source.error + "\n";
      for (size_t i = 0; i < requests.size(); ++i)
        if (written.products[i])
          text += "\n// " + requests[i].kernel->name + ": " + written.products[i]->text() +
                  (written.of[i] ? ", then " + symbolOf(*written.of[i]) : "") + "\n";
      return text;
    }
    std::string text;
    const Nvrtc* nvrtc = compiler(text);
    if (nvrtc == nullptr) return text + "\n";
    for (const Nvrtc::Result& r : compileAll(*nvrtc, written.requests, divided(written.requests), false))
      text += r.error.empty() ? r.ptx : r.error + "\n";
    return text;
  }

  std::string describe(const CodeRequest& request) const override {
    if (const auto product = libraryProductOf(*request.kernel))
      return "  " + product->text() + (product->rest ? "\n  then " + schedule(*product->rest, features()).text() : "") +
             "\n";
    const Schedule s = scheduleOf(*request.kernel, features());
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
    return {.tensorCores = architectureNumber(architecture()) >= kLeastTensorCores};
  }
  std::optional<LibraryProduct> libraryProductOf(const Kernel& k) const {
    identity();
    return products_ ? libraryProduct(k, *products_, features()) : std::nullopt;
  }
  Written writtenOf(std::span<const CodeRequest> requests) const {
    Written written;
    for (const CodeRequest& r : requests) written.products.push_back(libraryProductOf(*r.kernel));
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::optional<LibraryProduct>& product = written.products[i];
      if (product && !product->rest) {
        written.of.emplace_back();
        continue;
      }
      written.of.emplace_back(written.requests.size());
      written.requests.push_back(requests[i]);
      if (product) written.requests.back().kernel = &*product->rest;
    }
    return written;
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
  std::string add(std::span<const CodeRequest> requests, const std::vector<size_t>& which, ImageCache::Found& code) {
    std::string error;
    const Nvrtc* nvrtc = compiler(error);
    if (nvrtc == nullptr) return error;
    std::vector<CodeRequest> some;
    for (const size_t i : which) some.push_back(requests[i]);
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

  std::vector<Part> divided(std::span<const CodeRequest> requests) const {
    std::vector<int64_t> efforts;
    for (const CodeRequest& r : requests)
      efforts.push_back(compileEffort(*r.kernel, scheduleOf(*r.kernel, features())));
    return partsOf(efforts, threads());
  }

  std::vector<Nvrtc::Result> compileAll(const Nvrtc& nvrtc, std::span<const CodeRequest> requests,
                                        std::span<const Part> parts, bool wantCubin) const {
    std::vector<Nvrtc::Result> made(parts.size());
    const Features having = features();
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t p = next++; p < parts.size(); p = next++) {
        const Source source = sourceOf(requests, having, parts[p]);
        if (source.error.empty())
          made[p] = nvrtc.compile(source.text + (options_.malformed ? "malformed" : ""), architecture(), wantCubin);
        else
          made[p].error = source.error;
      }
    };
    std::vector<std::thread> helpers;
    try {
      while (helpers.size() + 1 < std::min(parts.size(), threads())) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // The system gives no more threads: this one does the rest.
    }
    work();
    for (std::thread& t : helpers) t.join();
    return made;
  }

  const CudaOptions options_;
  mutable std::once_flag known_;
  mutable std::string identity_, architecture_;
  mutable std::optional<ProductChoice> products_;  ///< none: there is no library
  ir::TargetTraits traits_;
  std::unique_ptr<Nvrtc> nvrtc_;
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
