#include "codegen/cuda/Nvrtc.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

#include "codegen/cuda/CudaText.h"
#include "runtime/cuda/files/LibraryFiles.h"

namespace tenc::codegen::cuda {
namespace {

using Program = void*;

constexpr std::string_view kNotLoaded = "NVRTC, which compiles CUDA C++, cannot be loaded: ";

std::string numbered(const std::string& source) {
  std::string text;
  size_t line = 1;
  for (size_t at = 0; at < source.size(); ++line) {
    const size_t end = std::min(source.find('\n', at), source.size());
    text += decimal(line) + " | " + source.substr(at, end - at) + '\n';
    at = end + 1;
  }
  return text;
}

}  // namespace

/// The C interface, as NVIDIA documents it ("NVRTC", user guide).
struct Nvrtc::Functions {
  int (*version)(int* major, int* minor);
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* sources,
                const char* const* names);
  int (*compile)(Program, int options, const char* const* list);
  int (*destroy)(Program*);
  int (*ptxSize)(Program, size_t*);
  int (*ptx)(Program, char*);
  int (*cubinSize)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*logSize)(Program, size_t*);
  int (*log)(Program, char*);
  const char* (*errorText)(int);
  int (*architectureCount)(int*);
  int (*architectures)(int*);
};

Nvrtc::Nvrtc() = default;
Nvrtc::~Nvrtc() = default;  // the library stays: threads of its own may still run in it

std::optional<std::string> Nvrtc::find(std::string& why) {
  std::string tried;
  auto file = rt::cuda::findLibrary(rt::cuda::nvrtcNames(), tried);
  if (!file)
    why = "NVRTC, which compiles CUDA C++, was not found: tried " + tried +
          "; `pip install nvidia-cuda-nvrtc` or the CUDA toolkit brings it, and TENC_NVRTC names the file";
  if (!file || rt::cuda::looksLoadable(*file)) return file;
  why = std::string(kNotLoaded) + *file + " is not a shared library";
  return std::nullopt;
}

std::unique_ptr<Nvrtc> Nvrtc::open(std::string& why) {
  const auto file = find(why);
  if (!file) return nullptr;
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
  nvrtc->library_ = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvrtc->library_ == nullptr) {
    const char* error = dlerror();
    why = std::string(kNotLoaded) + (error != nullptr ? error : *file);
    return nullptr;
  }
  nvrtc->f_ = std::make_unique<Functions>();
  bool all = true;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(nvrtc->library_, name));
    all = all && function != nullptr;
  };
  Functions& f = *nvrtc->f_;
  find(f.version, "nvrtcVersion");
  find(f.create, "nvrtcCreateProgram");
  find(f.compile, "nvrtcCompileProgram");
  find(f.destroy, "nvrtcDestroyProgram");
  find(f.ptxSize, "nvrtcGetPTXSize");
  find(f.ptx, "nvrtcGetPTX");
  find(f.cubinSize, "nvrtcGetCUBINSize");
  find(f.cubin, "nvrtcGetCUBIN");
  find(f.logSize, "nvrtcGetProgramLogSize");
  find(f.log, "nvrtcGetProgramLog");
  find(f.errorText, "nvrtcGetErrorString");
  find(f.architectureCount, "nvrtcGetNumSupportedArchs");
  find(f.architectures, "nvrtcGetSupportedArchs");
  int major = 0, minor = 0;
  if (!all || f.version(&major, &minor) != 0) {
    why = *file + " is no NVRTC that tenc knows";
    return nullptr;
  }
  nvrtc->version_ = decimal(major) + "." + decimal(minor);
  return nvrtc;
}

std::string Nvrtc::problemOf(std::string_view architecture) const {
  int count = 0;
  if (f_->architectureCount(&count) != 0 || count <= 0) return "";
  std::vector<int> numbers(static_cast<size_t>(count));
  if (f_->architectures(numbers.data()) != 0) return "";
  const std::string kind(architecture.substr(0, architecture.find('_') + 1));
  const std::string_view plain =
      architecture.ends_with('a') ? architecture.substr(0, architecture.size() - 1) : architecture;
  std::string list;
  for (const int n : numbers) {
    if (kind + decimal(n) == plain) return "";
    list += (list.empty() ? "" : ", ") + kind + decimal(n);
  }
  return "NVRTC " + version_ + " makes no code for `" + std::string(architecture) + "`: it has " + list;
}

Nvrtc::Result Nvrtc::compile(const std::string& source, const std::string& architecture, bool wantCubin) const {
  Result result;
  Program program = nullptr;
  int status = f_->create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
  if (status != 0) {
    result.error = std::string("NVRTC: ") + f_->errorText(status);
    return result;
  }
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {target.c_str(), "--std=c++17", "-default-device", "--minimal", "--fmad=false"};
  status = f_->compile(program, static_cast<int>(std::size(options)), options);
  auto text = [&](auto size, auto get) {
    size_t n = 0;
    std::string bytes;
    if (size(program, &n) != 0 || n == 0) return bytes;
    bytes.resize(n);
    if (get(program, bytes.data()) != 0) bytes.clear();
    return bytes;
  };
  if (status == 0) {
    result.ptx = text(f_->ptxSize, f_->ptx);
    while (!result.ptx.empty() && result.ptx.back() == 0) result.ptx.pop_back();
    if (wantCubin) result.cubin = text(f_->cubinSize, f_->cubin);
    if (result.ptx.empty() || (wantCubin && result.cubin.empty()))
      result.error = "NVRTC gave no code for " + architecture;
  } else {
    result.error = std::string("NVRTC: ") + f_->errorText(status) + "\n" + text(f_->logSize, f_->log).c_str() + "\n" +
                   numbered(source);
  }
  f_->destroy(&program);
  return result;
}

}  // namespace tenc::codegen::cuda
