#include "runtime/cuda/CublasLt.h"

#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/NvidiaLibrary.h"
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

std::shared_ptr<CublasLt> CublasLt::load(std::string& why) {
  constexpr NvidiaLibrary::Words kWords = {"cuBLASLt", kWhat, "`pip install nvidia-cublas` (`nvidia-cublas-cu12`)"};
  std::optional<NvidiaLibrary> library = NvidiaLibrary::load(cublasLtNames(), kWords, why);
  if (!library) return nullptr;
  std::shared_ptr<CublasLt> lt(new CublasLt);
  lt->file_ = library->file();
  CublasLtFunctions& f = lt->f_;
  library->find(f.create, "cublasLtCreate");
  library->find(f.destroy, "cublasLtDestroy");
  library->find(f.version, "cublasLtGetVersion");
  library->find(f.statusName, "cublasLtGetStatusName");
  library->find(f.createProduct, "cublasLtMatmulDescCreate");
  library->find(f.destroyProduct, "cublasLtMatmulDescDestroy");
  library->find(f.setProduct, "cublasLtMatmulDescSetAttribute");
  library->find(f.createLayout, "cublasLtMatrixLayoutCreate");
  library->find(f.destroyLayout, "cublasLtMatrixLayoutDestroy");
  library->find(f.setLayout, "cublasLtMatrixLayoutSetAttribute");
  library->find(f.createPreference, "cublasLtMatmulPreferenceCreate");
  library->find(f.destroyPreference, "cublasLtMatmulPreferenceDestroy");
  library->find(f.setPreference, "cublasLtMatmulPreferenceSetAttribute");
  library->find(f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library->find(f.multiply, "cublasLtMatmul");
  why = library->problem();
  if (!why.empty()) return nullptr;
  lt->version_ = f.version();
  if (lt->version_ < kLeastVersion) {
    why = lt->file_ + " is cuBLASLt " + releaseText(lt->version_) + ": version 12 or later is needed";
    return nullptr;
  }
  return lt;
}

std::shared_ptr<const CublasLt> CublasLt::open(std::string& why) {
  std::shared_ptr<CublasLt> lt = load(why);
  if (!lt) return nullptr;
  if (const LibraryStatus status = lt->f_.create(&lt->handle_); status != 0) {
    lt->handle_ = nullptr;
    why = kWhat + ("does not start: " + lt->explain(status));
    return nullptr;
  }
  return lt;
}

std::string CublasLt::text() {
  std::string why;
  const auto lt = load(why);
  return lt ? releaseText(lt->version_) + ", " + lt->file_ : why;
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
