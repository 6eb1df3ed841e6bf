#include "runtime/cuda/CublasLt.h"

#include <dlfcn.h>

#include <type_traits>

#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/files/LibraryFiles.h"

namespace tenc::rt::cuda {
namespace {

constexpr size_t kLeastVersion = 120000;
constexpr const char* kWhat = "cuBLASLt, which multiplies matrices of this program, ";

/// 130100 is 13.1.0.
std::string releaseText(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

std::shared_ptr<const CublasLt> CublasLt::open(std::string& why) {
  std::string tried;
  const auto file = findLibrary(cublasLtNames(), tried);
  if (!file) {
    why = kWhat + ("was not found: tried " + tried) +
          "; `pip install nvidia-cublas` (`nvidia-cublas-cu12`) or the CUDA toolkit brings it, and TENC_CUBLASLT names "
          "the file. A program that is compiled where it is missing does without";
    return nullptr;
  }
  void* const library = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded: threads of its own may run in it
  if (library == nullptr) {
    const char* error = dlerror();
    why = kWhat + ("cannot be loaded: " + std::string(error != nullptr ? error : *file));
    return nullptr;
  }
  std::shared_ptr<CublasLt> lt(new CublasLt);
  lt->file_ = *file;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing.empty()) missing = name;
  };
  CublasLtFunctions& f = lt->f_;
  find(f.create, "cublasLtCreate");
  find(f.destroy, "cublasLtDestroy");
  find(f.version, "cublasLtGetVersion");
  find(f.statusName, "cublasLtGetStatusName");
  find(f.createProduct, "cublasLtMatmulDescCreate");
  find(f.destroyProduct, "cublasLtMatmulDescDestroy");
  find(f.setProduct, "cublasLtMatmulDescSetAttribute");
  find(f.createLayout, "cublasLtMatrixLayoutCreate");
  find(f.destroyLayout, "cublasLtMatrixLayoutDestroy");
  find(f.setLayout, "cublasLtMatrixLayoutSetAttribute");
  find(f.createPreference, "cublasLtMatmulPreferenceCreate");
  find(f.destroyPreference, "cublasLtMatmulPreferenceDestroy");
  find(f.setPreference, "cublasLtMatmulPreferenceSetAttribute");
  find(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(f.multiply, "cublasLtMatmul");
  if (!missing.empty()) {
    why = *file + " has no " + missing + ": it is no cuBLASLt that tenc knows";
    return nullptr;
  }
  lt->version_ = f.version();
  if (lt->version_ < kLeastVersion) {
    why = *file + " is cuBLASLt " + releaseText(lt->version_) + ": version 12 or later is needed";
    return nullptr;
  }
  if (const LibraryStatus status = f.create(&lt->handle_); status != 0) {
    lt->handle_ = nullptr;
    why = kWhat + ("does not start: " + lt->explain(status));
    return nullptr;
  }
  return lt;
}

CublasLt::~CublasLt() {
  if (handle_ != nullptr) f_.destroy(handle_);
}

std::string CublasLt::explain(LibraryStatus status) const {
  const char* name = f_.statusName(status);
  const std::string advice = adviceOnProducts(status);
  return std::string(name != nullptr ? name : "unknown error") + ", " + std::to_string(status) + " (" + file_ + ", " +
         releaseText(version_) + ")" + (advice.empty() ? "" : ": " + advice);
}

}  // namespace tenc::rt::cuda
