// cuBLASLt, NVIDIA's library of matrix products, from a shared library that is loaded when a program first has one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tenc::rt::cuda {

/// What a call of the library gives: 0 is well.
using LibraryStatus = int;

// Structures as cublasLt.h has them; no header of the toolkit is needed.
struct ProductAlgorithm {
  uint64_t data[8];
};
struct ProductHeuristic {
  ProductAlgorithm algorithm;
  size_t workspaceBytes;
  LibraryStatus status;
  float waves;
  int reserved[4];
};

struct CublasLtFunctions {
  LibraryStatus (*create)(void** handle);
  LibraryStatus (*destroy)(void* handle);
  size_t (*version)();
  const char* (*statusName)(LibraryStatus);
  LibraryStatus (*createProduct)(void** product, int computeType, int scaleType);
  LibraryStatus (*destroyProduct)(void* product);
  LibraryStatus (*setProduct)(void* product, int attribute, const void* value, size_t bytes);
  LibraryStatus (*createLayout)(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
  LibraryStatus (*destroyLayout)(void* layout);
  LibraryStatus (*setLayout)(void* layout, int attribute, const void* value, size_t bytes);
  LibraryStatus (*createPreference)(void** preference);
  LibraryStatus (*destroyPreference)(void* preference);
  LibraryStatus (*setPreference)(void* preference, int attribute, const void* value, size_t bytes);
  LibraryStatus (*heuristic)(void* handle, void* product, void* a, void* b, void* c, void* d, void* preference,
                             int requested, ProductHeuristic* results, int* found);
  LibraryStatus (*multiply)(void* handle, void* product, const void* alpha, const void* a, void* aLayout, const void* b,
                            void* bLayout, const void* beta, const void* c, void* cLayout, void* d, void* dLayout,
                            const ProductAlgorithm*, void* workspace, size_t workspaceBytes, void* stream);
};

/// The library with a handle of one context. Any number of threads may use it.
class CublasLt {
 public:
  /// In the thread's current context. Null, with a sentence in `why` that says what was tried and what to do.
  static std::shared_ptr<const CublasLt> open(std::string& why);
  /// "13.1.0, /usr/lib/libcublasLt.so.13", or why it cannot be used; needs no context.
  static std::string text();
  /// In a thread where the same context is current.
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  const CublasLtFunctions& f() const { return f_; }
  void* handle() const { return handle_; }
  /// "CUBLAS_STATUS_NOT_SUPPORTED, 15: ..." with what to do about it.
  std::string explain(LibraryStatus status) const;

 private:
  static std::shared_ptr<CublasLt> load(std::string& why);
  CublasLt() = default;
  CublasLtFunctions f_{};
  void* handle_ = nullptr;
  std::string file_;
  size_t version_ = 0;
};

}  // namespace tenc::rt::cuda
