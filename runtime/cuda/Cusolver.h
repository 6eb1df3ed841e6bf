// cuSOLVER, NVIDIA's library of linear algebra, from a shared library that is loaded when a program first has some for
// it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/cuda/CudaDriver.h"

namespace tenc::rt::cuda {

/// What a call of the library gives: 0 is well.
using SolverStatus = int;

/// Bytes that a call works in, on the device and on the host.
struct SolverMemory {
  size_t device = 0, host = 0;
};

// As cusolverDn.h has them; no header of the toolkit is needed. `type` is that of all numbers, given once for each
// matrix and once for the arithmetic.
struct CusolverFunctions {
  SolverStatus (*version)(int*);
  SolverStatus (*create)(void** handle);
  SolverStatus (*destroy)(void* handle);
  SolverStatus (*setStream)(void* handle, StreamHandle);
  SolverStatus (*setDeterministic)(void* handle, int mode);
  SolverStatus (*createParams)(void** params);
  SolverStatus (*destroyParams)(void* params);

  SolverStatus (*luMemory)(void*, void*, int64_t m, int64_t n, int type, const void* a, int64_t lda, int,
                           size_t* device, size_t* host);
  SolverStatus (*lu)(void*, void*, int64_t m, int64_t n, int type, void* a, int64_t lda, int64_t* pivots, int,
                     void* device, size_t, void* host, size_t, int* info);
  SolverStatus (*luSolve)(void*, void*, int transposed, int64_t n, int64_t k, int type, const void* a, int64_t lda,
                          const int64_t* pivots, int, void* b, int64_t ldb, int* info);
  SolverStatus (*choleskyMemory)(void*, void*, int triangle, int64_t n, int type, const void* a, int64_t lda, int,
                                 size_t* device, size_t* host);
  SolverStatus (*cholesky)(void*, void*, int triangle, int64_t n, int type, void* a, int64_t lda, int, void* device,
                           size_t, void* host, size_t, int* info);
  SolverStatus (*qrMemory)(void*, void*, int64_t m, int64_t n, int type, const void* a, int64_t lda, int,
                           const void* scales, int, size_t* device, size_t* host);
  SolverStatus (*qr)(void*, void*, int64_t m, int64_t n, int type, void* a, int64_t lda, int, void* scales, int,
                     void* device, size_t, void* host, size_t, int* info);
  SolverStatus (*eigenMemory)(void*, void*, int vectors, int triangle, int64_t n, int type, const void* a, int64_t lda,
                              int, const void* values, int, size_t* device, size_t* host);
  SolverStatus (*eigen)(void*, void*, int vectors, int triangle, int64_t n, int type, void* a, int64_t lda, int,
                        void* values, int, void* device, size_t, void* host, size_t, int* info);
  SolverStatus (*singularMemory)(void*, void*, signed char ofU, signed char ofV, int64_t m, int64_t n, int type,
                                 const void* a, int64_t lda, int, const void* values, int, const void* u, int64_t ldu,
                                 int, const void* vt, int64_t ldvt, int, size_t* device, size_t* host);
  SolverStatus (*singular)(void*, void*, signed char ofU, signed char ofV, int64_t m, int64_t n, int type, void* a,
                           int64_t lda, int, void* values, int, void* u, int64_t ldu, int, void* vt, int64_t ldvt, int,
                           void* device, size_t, void* host, size_t, int* info);
  /// Of f32 and of f64, which have no function for both; their memory is counted in elements.
  SolverStatus (*reflectionsMemory[2])(void*, int m, int n, int k, const void* a, int lda, const void* scales,
                                       int* elements);
  SolverStatus (*reflections[2])(void*, int m, int n, int k, void* a, int lda, const void* scales, void* device,
                                 int elements, int* info);
};

/// The library, which any number of threads may use.
class Cusolver {
 public:
  /// Null, with a sentence in `why` that says what was tried and what to do.
  static std::shared_ptr<const Cusolver> open(std::string& why);
  /// "13.1.0, /usr/lib/libcusolver.so.12", or why it cannot be used; needs no context.
  static std::string text();

  const CusolverFunctions& f() const { return f_; }
  /// What did not go: "cusolverDnXgetrf: CUSOLVER_STATUS_ALLOC_FAILED, 2: ...", with the library's file and what to do.
  std::string explain(const char* call, SolverStatus status) const;

 private:
  static std::shared_ptr<Cusolver> load(std::string& why);
  Cusolver() = default;
  CusolverFunctions f_{};
  std::string file_;
  int version_ = 0;
};

}  // namespace tenc::rt::cuda
