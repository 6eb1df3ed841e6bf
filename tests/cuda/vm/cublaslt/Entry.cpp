// The entry points of the fake cuBLASLt: what they are given is looked up and checked, and work goes into streams of
// the fake driver.
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "tests/cuda/vm/cublaslt/Objects.h"
#include "tests/cuda/vm/driver/HandlePool.h"
#include "tests/cuda/vm/driver/Library.h"

// The names that cuBLASLt has.
#define TENC_ENTRY extern "C" __attribute__((visibility("default")))

namespace tenc::ptx::cublaslt {
namespace {

using driver::HandlePool;

int destroyed(bool wasThere) { return code(wasThere ? Status::Success : Status::InvalidValue); }

/// All of the process: the C interface has no place for it.
struct Pools {
  HandlePool<Handle> handles;
  HandlePool<Product> products;
  HandlePool<Layout> layouts;
  HandlePool<Preference> preferences;
  std::mutex mutex;
  uint64_t turn = static_cast<uint64_t>(getpid());  // so that processes differ, too
};
Pools& pools() {
  static Pools& all = *new Pools;  // is still there when the process ends
  return all;
}

template <class T>
int set(T& to, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof to) return code(Status::InvalidValue);
  std::memcpy(&to, value, bytes);
  return code(Status::Success);
}

bool find(Matrices& to, void* a, void* b, void* c, void* d) {
  const std::pair<Layout*, void*> all[] = {{&to.a, a}, {&to.b, b}, {&to.c, c}, {&to.d, d}};
  for (const auto& [layout, handle] : all) {
    const Layout* found = pools().layouts.find(handle);
    if (found == nullptr) return false;
    *layout = *found;
  }
  return true;
}

uint64_t number(const void* p) { return reinterpret_cast<uint64_t>(p); }

double scalar(const void* at, int type) {
  double wide = 0;
  float narrow = 0;
  if (type == kF64)
    std::memcpy(&wide, at, sizeof wide);
  else
    std::memcpy(&narrow, at, sizeof narrow);
  return type == kF64 ? wide : static_cast<double>(narrow);
}

}  // namespace
}  // namespace tenc::ptx::cublaslt

using namespace tenc::ptx::cublaslt;

TENC_ENTRY int cublasLtCreate(void** handle) {
  if (const int planted = tencVmPlanted("cublasLtCreate")) return planted;
  if (handle == nullptr) return code(Status::InvalidValue);
  tenc::ptx::driver::Device* device = tencVmDevice();
  if (device == nullptr) return code(Status::NotInitialised);
  *handle = pools().handles.add({device});
  return code(Status::Success);
}
TENC_ENTRY int cublasLtDestroy(void* handle) { return destroyed(pools().handles.destroy(handle)); }
TENC_ENTRY size_t cublasLtGetVersion() { return 130000; }
TENC_ENTRY const char* cublasLtGetStatusName(int status) {
  switch (static_cast<Status>(status)) {
    case Status::Success: return "CUBLAS_STATUS_SUCCESS";
    case Status::NotInitialised: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case Status::InvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
    case Status::ArchMismatch: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case Status::ExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case Status::InternalError: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case Status::NotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

TENC_ENTRY int cublasLtMatmulDescCreate(void** product, int compute, int scale) {
  Product p;
  p.compute = compute, p.scale = scale;
  *product = pools().products.add(p);
  return code(Status::Success);
}
TENC_ENTRY int cublasLtMatmulDescDestroy(void* product) { return destroyed(pools().products.destroy(product)); }
TENC_ENTRY int cublasLtMatmulDescSetAttribute(void* product, int attribute, const void* value, size_t bytes) {
  Product* p = pools().products.find(product);
  if (p == nullptr) return code(Status::InvalidValue);
  switch (attribute) {
    case 2: return set(p->pointerMode, value, bytes);
    case 3: return set(p->transA, value, bytes);
    case 4: return set(p->transB, value, bytes);
    case 7: return set(p->epilogue, value, bytes);
    case 8: return set(p->bias, value, bytes);
    default: return code(Status::InvalidValue);
  }
}

TENC_ENTRY int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = pools().layouts.add({type, rows, columns, leading});
  return code(Status::Success);
}
TENC_ENTRY int cublasLtMatrixLayoutDestroy(void* layout) { return destroyed(pools().layouts.destroy(layout)); }
TENC_ENTRY int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  Layout* l = pools().layouts.find(layout);
  if (l == nullptr) return code(Status::InvalidValue);
  switch (attribute) {
    case 1: return set(l->order, value, bytes);
    case 5: return set(l->count, value, bytes);
    case 6: return set(l->stride, value, bytes);
    default: return code(Status::InvalidValue);
  }
}

TENC_ENTRY int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = pools().preferences.add({});
  return code(Status::Success);
}
TENC_ENTRY int cublasLtMatmulPreferenceDestroy(void* preference) {
  return destroyed(pools().preferences.destroy(preference));
}
TENC_ENTRY int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, size_t bytes) {
  Preference* p = pools().preferences.find(preference);
  if (p == nullptr) return code(Status::InvalidValue);
  switch (attribute) {
    case 1: return set(p->workspace, value, bytes);
    case 3: return set(p->reductionSchemes, value, bytes);
    case 5:
    case 6:
    case 7:
    case 8: return set(p->alignment[attribute - 5], value, bytes);
    default: return code(Status::InvalidValue);
  }
}

TENC_ENTRY int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d,
                                              void* preference, int requested, Heuristic* results, int* found) {
  if (const int planted = tencVmPlanted("cublasLtMatmulAlgoGetHeuristic")) return planted;
  const Product* p = pools().products.find(product);
  const Preference* wanted = pools().preferences.find(preference);
  Matrices m;
  if (pools().handles.find(handle) == nullptr || p == nullptr || wanted == nullptr || requested < 1 ||
      results == nullptr || found == nullptr || !find(m, a, b, c, d))
    return code(Status::InvalidValue);
  *found = 0;
  if (const Status s = check(*p, m); s != Status::Success) return code(s);
  if (!canAlign(m, *wanted)) return code(Status::NotSupported);
  *results = {choose(*p, m, *wanted), 0, 0, 1, {}};
  results->workspace = results->algorithm.workspace;
  *found = 1;
  return code(Status::Success);
}

TENC_ENTRY int cublasLtMatmul(void* handle, void* product, const void* alpha, const void* a, void* aLayout,
                              const void* b, void* bLayout, const void* beta, const void* c, void* cLayout, void* d,
                              void* dLayout, const Algorithm* algorithm, void* workspace, size_t workspaceBytes,
                              void* stream) {
  if (const int planted = tencVmPlanted("cublasLtMatmul")) return planted;
  const Handle* h = pools().handles.find(handle);
  const Product* p = pools().products.find(product);
  Call call;
  if (h == nullptr || p == nullptr || alpha == nullptr || beta == nullptr || algorithm == nullptr ||
      h->device != tencVmDevice() || !find(call.matrices, aLayout, bLayout, cLayout, dLayout))
    return code(Status::InvalidValue);
  call.product = *p;
  if (const Status s = check(call.product, call.matrices); s != Status::Success) return code(s);
  call.alpha = scalar(alpha, p->scale);
  call.beta = scalar(beta, p->scale);
  call.a = number(a), call.b = number(b), call.c = number(c), call.d = number(d);
  call.workspace = number(workspace), call.workspaceBytes = workspaceBytes;
  if (const Status s = check(call, *algorithm); s != Status::Success) return code(s);
  // What it works in, and no more.
  call.workspaceBytes = algorithm->workspace;
  call.splits = algorithm->splits;
  {
    const std::lock_guard lock(pools().mutex);
    call.turn = pools().turn++;
  }
  const tenc::ptx::driver::LibraryCommand work{h->device,
                                               [call](tenc::ptx::driver::Device& device) { return run(call, device); }};
  return tencVmSubmit(stream, &work) == 0 ? code(Status::Success) : code(Status::ExecutionFailed);
}

/// Descriptors and handles that nobody has destroyed, for tests.
TENC_ENTRY size_t tencLtLive() {
  Pools& all = pools();
  return all.handles.count() + all.products.count() + all.layouts.count() + all.preferences.count();
}
