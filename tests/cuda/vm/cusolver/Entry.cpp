// The entry points of the fake cuSOLVER: what they are given is checked, and work goes into streams of the fake driver.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tests/cuda/vm/cusolver/Objects.h"
#include "tests/cuda/vm/driver/HandlePool.h"
#include "tests/cuda/vm/driver/Library.h"

// The names that cuSOLVER has.
#define TENC_ENTRY extern "C" __attribute__((visibility("default")))

TENC_ENTRY int cuStreamGetCaptureInfo_v2(void* stream, int* state, uint64_t* id, void** graph, void* const** after,
                                         size_t* count);

namespace tenc::ptx::cusolver {
namespace {

constexpr int kNotCaptured = 0;
constexpr uint64_t kAlignment = 16;  // of workspaces

/// All of the process: the C interface has no place for it.
struct Pools {
  driver::HandlePool<Handle> handles;
  driver::HandlePool<Params> params;
  std::mutex mutex;
  uint64_t turn = static_cast<uint64_t>(getpid());  // so that processes differ, too
};
Pools& pools() {
  static Pools& all = *new Pools;  // is still there when the process ends
  return all;
}

uint64_t number(const void* p) { return reinterpret_cast<uint64_t>(p); }

bool isMatrix(const Matrix& m, int type) {
  return m.rows > 0 && m.columns > 0 && m.leading >= m.rows && m.at != 0 && m.at % widthOf(type) == 0;
}

/// What is wrong with all but the workspace.
Status check(const Call& c, int triangle = 0) {
  if (c.type != kF32 && c.type != kF64) return Status::NotSupported;
  if (triangle != 0 && triangle != 1) return Status::InvalidValue;
  if (!isMatrix(c.a, c.type)) return Status::InvalidValue;
  for (const Matrix* m : {&c.b, &c.c})
    if (m->at != 0 && !isMatrix(*m, c.type)) return Status::InvalidValue;
  const bool isOfPivots = c.routine == Routine::Getrf || c.routine == Routine::Getrs;
  if (c.routine != Routine::Potrf && (c.vector == 0 || c.vector % (isOfPivots ? 8 : widthOf(c.type)) != 0))
    return Status::InvalidValue;
  switch (c.routine) {
    case Routine::Gesvd: return c.a.rows >= c.a.columns ? Status::Success : Status::InvalidValue;
    case Routine::Orgqr:
      return c.k >= 0 && c.k <= c.a.columns && c.a.columns <= c.a.rows ? Status::Success : Status::InvalidValue;
    default: return Status::Success;
  }
}

int ask(void* handle, const Call& call, Status found, size_t* device, size_t* host) {
  const Handle* h = pools().handles.find(handle);
  if (h == nullptr || h->device != tencVmDevice() || device == nullptr || host == nullptr)
    return code(Status::InvalidValue);
  if (found != Status::Success) return code(found);
  const Workspace w = workspaceOf(call);
  *device = w.device;
  *host = w.host;
  return code(Status::Success);
}

/// Given memory that the caller has: `device` and `host` say how much.
int submit(void* handle, Call call, Status found, void* workspace, uint64_t device, void* hostMemory, uint64_t host,
           int* info) {
  if (const int planted = tencVmPlanted(call.name)) return planted;
  const Handle* h = pools().handles.find(handle);
  if (h == nullptr || h->stream == nullptr || h->device != tencVmDevice()) return code(Status::InvalidValue);
  call.info = number(info);
  if (call.info == 0 || call.info % 4 != 0) return code(Status::InvalidValue);
  if (found != Status::Success) return code(found);
  const Workspace w = workspaceOf(call);
  if (device < w.device || host < w.host || (w.device > 0 && workspace == nullptr) ||
      (w.host > 0 && hostMemory == nullptr) || number(workspace) % kAlignment != 0)
    return code(Status::InvalidWorkspace);
  // Nothing is promised of captures: it does not go into graphs.
  int state = kNotCaptured;
  if (cuStreamGetCaptureInfo_v2(h->stream, &state, nullptr, nullptr, nullptr, nullptr) != 0 || state != kNotCaptured)
    return code(Status::ExecutionFailed);
  call.workspace = number(workspace), call.workspaceBytes = w.device;
  call.host = static_cast<uint64_t*>(hostMemory), call.hostBytes = w.host;
  {
    const std::lock_guard lock(pools().mutex);
    call.token = ++pools().turn;
    call.flips = !h->isDeterministic && call.token % 2 == 0;
  }
  if (call.hostBytes > 0) *call.host = call.token;
  const driver::LibraryCommand work{h->device, [call](driver::Device& d) { return run(call, d); }};
  return tencVmSubmit(h->stream, &work) == 0 ? code(Status::Success) : code(Status::ExecutionFailed);
}

bool isKnown(void* params) { return pools().params.find(params) != nullptr; }
/// Those that need parameters.
Status checked(void* params, const Call& c, int type, int arithmetic, int triangle = 0) {
  if (!isKnown(params)) return Status::InvalidValue;
  if (type != c.type || arithmetic != c.type) return Status::NotSupported;
  return check(c, triangle);
}

Call elimination(Routine routine, const char* name, int64_t n, int type, const void* a, int64_t lda,
                 const int64_t* pivots) {
  Call c;
  c.routine = routine, c.name = name, c.type = type;
  c.a = {number(a), n, n, lda};
  c.vector = number(pivots);
  return c;
}
Call triangular(int triangle, int64_t n, int type, const void* a, int64_t lda) {
  Call c = elimination(Routine::Potrf, "cusolverDnXpotrf", n, type, a, lda, nullptr);
  c.part = triangle == 0 ? Part::Lower : Part::Upper;
  return c;
}
Call factors(int64_t m, int64_t n, int type, const void* a, int64_t lda, const void* scales) {
  Call c;
  c.routine = Routine::Geqrf, c.name = "cusolverDnXgeqrf", c.type = type;
  c.a = {number(a), m, n, lda};
  c.vector = number(scales);
  return c;
}
Call reflections(const char* name, int type, int m, int n, int k, const void* a, int lda, const void* scales) {
  Call c = factors(m, n, type, a, lda, scales);
  c.routine = Routine::Orgqr, c.name = name, c.k = k;
  return c;
}
Call eigen(int vectors, int triangle, int64_t n, int type, const void* a, int64_t lda, const void* values) {
  Call c = triangular(triangle, n, type, a, lda);
  c.routine = Routine::Syevd, c.name = "cusolverDnXsyevd";
  c.vectors = vectors != 0;
  c.vector = number(values);
  return c;
}
/// `well` becomes false where there is no such call.
Call singular(signed char ofU, signed char ofV, int64_t m, int64_t n, int type, const void* a, int64_t lda,
              const void* values, const void* u, int64_t ldu, const void* vt, int64_t ldvt, bool& well) {
  Call c = factors(m, n, type, a, lda, values);
  c.routine = Routine::Gesvd, c.name = "cusolverDnXgesvd";
  c.vectors = ofU != 'N';
  well = (ofU == 'N' || ofU == 'S' || ofU == 'A') && (ofV == 'N' || ofV == 'S' || ofV == 'A') &&
         (ofU == 'N') == (ofV == 'N') && ldu >= m && ldvt >= n && (!c.vectors || (u != nullptr && vt != nullptr));
  if (c.vectors) {
    c.b = {number(u), m, ofU == 'A' ? m : n, ldu};
    c.c = {number(vt), n, n, ldvt};
  }
  return c;
}
Status both(bool well, Status s) { return well ? s : Status::InvalidValue; }
bool isTriangle(int t) { return t == 0 || t == 1; }

}  // namespace
}  // namespace tenc::ptx::cusolver

using namespace tenc::ptx::cusolver;

TENC_ENTRY int cusolverGetVersion(int* version) {
  *version = 12004;
  return code(Status::Success);
}
TENC_ENTRY int cusolverDnCreate(void** handle) {
  if (const int planted = tencVmPlanted("cusolverDnCreate")) return planted;
  tenc::ptx::driver::Device* device = tencVmDevice();
  if (handle == nullptr || device == nullptr) return code(Status::NotInitialised);
  *handle = pools().handles.add({device, nullptr, false});
  return code(Status::Success);
}
TENC_ENTRY int cusolverDnDestroy(void* handle) {
  return code(pools().handles.destroy(handle) ? Status::Success : Status::InvalidValue);
}
TENC_ENTRY int cusolverDnSetStream(void* handle, void* stream) {
  Handle* h = pools().handles.find(handle);
  if (h == nullptr) return code(Status::InvalidValue);
  h->stream = stream;
  return code(Status::Success);
}
TENC_ENTRY int cusolverDnSetDeterministicMode(void* handle, int mode) {
  Handle* h = pools().handles.find(handle);
  if (h == nullptr || (mode != 1 && mode != 2)) return code(Status::InvalidValue);
  h->isDeterministic = mode == 1;
  return code(Status::Success);
}
TENC_ENTRY int cusolverDnCreateParams(void** params) {
  *params = pools().params.add({});
  return code(Status::Success);
}
TENC_ENTRY int cusolverDnDestroyParams(void* params) {
  return code(pools().params.destroy(params) ? Status::Success : Status::InvalidValue);
}

TENC_ENTRY int cusolverDnXgetrf_bufferSize(void* handle, void* params, int64_t m, int64_t n, int type, const void* a,
                                           int64_t lda, int arithmetic, size_t* device, size_t* host) {
  if (const int planted = tencVmPlanted("cusolverDnXgetrf_bufferSize")) return planted;
  static constexpr int64_t kSome = 0;  // the pivots are not known yet
  const Call c = elimination(Routine::Getrf, "cusolverDnXgetrf", n, type, a, lda, &kSome);
  return ask(handle, c, both(m == n, checked(params, c, type, arithmetic)), device, host);
}
TENC_ENTRY int cusolverDnXgetrf(void* handle, void* params, int64_t m, int64_t n, int type, void* a, int64_t lda,
                                int64_t* pivots, int arithmetic, void* device, size_t deviceBytes, void* host,
                                size_t hostBytes, int* info) {
  const Call c = elimination(Routine::Getrf, "cusolverDnXgetrf", n, type, a, lda, pivots);
  return submit(handle, c, both(m == n, checked(params, c, type, arithmetic)), device, deviceBytes, host, hostBytes,
                info);
}
TENC_ENTRY int cusolverDnXgetrs(void* handle, void* params, int transposed, int64_t n, int64_t k, int type,
                                const void* a, int64_t lda, const int64_t* pivots, int typeOfB, void* b, int64_t ldb,
                                int* info) {
  Call c = elimination(Routine::Getrs, "cusolverDnXgetrs", n, type, a, lda, pivots);
  c.transposed = transposed == 1;
  c.b = {number(b), n, k, ldb};
  const bool well = (transposed == 0 || transposed == 1) && b != nullptr;
  return submit(handle, c, both(well, checked(params, c, type, typeOfB)), nullptr, 0, nullptr, 0, info);
}

TENC_ENTRY int cusolverDnXpotrf_bufferSize(void* handle, void* params, int triangle, int64_t n, int type, const void* a,
                                           int64_t lda, int arithmetic, size_t* device, size_t* host) {
  const Call c = triangular(triangle, n, type, a, lda);
  return ask(handle, c, both(isTriangle(triangle), checked(params, c, type, arithmetic)), device, host);
}
TENC_ENTRY int cusolverDnXpotrf(void* handle, void* params, int triangle, int64_t n, int type, void* a, int64_t lda,
                                int arithmetic, void* device, size_t deviceBytes, void* host, size_t hostBytes,
                                int* info) {
  const Call c = triangular(triangle, n, type, a, lda);
  return submit(handle, c, both(isTriangle(triangle), checked(params, c, type, arithmetic)), device, deviceBytes, host,
                hostBytes, info);
}

TENC_ENTRY int cusolverDnXgeqrf_bufferSize(void* handle, void* params, int64_t m, int64_t n, int type, const void* a,
                                           int64_t lda, int typeOfScales, const void* scales, int arithmetic,
                                           size_t* device, size_t* host) {
  const Call c = factors(m, n, type, a, lda, scales);
  return ask(handle, c, both(typeOfScales == type, checked(params, c, type, arithmetic)), device, host);
}
TENC_ENTRY int cusolverDnXgeqrf(void* handle, void* params, int64_t m, int64_t n, int type, void* a, int64_t lda,
                                int typeOfScales, void* scales, int arithmetic, void* device, size_t deviceBytes,
                                void* host, size_t hostBytes, int* info) {
  const Call c = factors(m, n, type, a, lda, scales);
  return submit(handle, c, both(typeOfScales == type, checked(params, c, type, arithmetic)), device, deviceBytes, host,
                hostBytes, info);
}

namespace {

int askReflections(void* handle, const Call& c, int* elements) {
  size_t device = 0, host = 0;
  const int status = ask(handle, c, check(c), &device, &host);
  if (elements != nullptr) *elements = static_cast<int>(device / widthOf(c.type));
  return status;
}
int submitReflections(void* handle, const Call& c, void* device, int elements, int* info) {
  const auto bytes = static_cast<uint64_t>(std::max(elements, 0)) * widthOf(c.type);
  return submit(handle, c, check(c), device, bytes, nullptr, 0, info);
}

}  // namespace

TENC_ENTRY int cusolverDnSorgqr_bufferSize(void* handle, int m, int n, int k, const float* a, int lda,
                                           const float* scales, int* elements) {
  return askReflections(handle, reflections("cusolverDnSorgqr", kF32, m, n, k, a, lda, scales), elements);
}
TENC_ENTRY int cusolverDnDorgqr_bufferSize(void* handle, int m, int n, int k, const double* a, int lda,
                                           const double* scales, int* elements) {
  return askReflections(handle, reflections("cusolverDnDorgqr", kF64, m, n, k, a, lda, scales), elements);
}
TENC_ENTRY int cusolverDnSorgqr(void* handle, int m, int n, int k, float* a, int lda, const float* scales,
                                float* device, int elements, int* info) {
  return submitReflections(handle, reflections("cusolverDnSorgqr", kF32, m, n, k, a, lda, scales), device, elements,
                           info);
}
TENC_ENTRY int cusolverDnDorgqr(void* handle, int m, int n, int k, double* a, int lda, const double* scales,
                                double* device, int elements, int* info) {
  return submitReflections(handle, reflections("cusolverDnDorgqr", kF64, m, n, k, a, lda, scales), device, elements,
                           info);
}

TENC_ENTRY int cusolverDnXsyevd_bufferSize(void* handle, void* params, int vectors, int triangle, int64_t n, int type,
                                           const void* a, int64_t lda, int typeOfValues, const void* values,
                                           int arithmetic, size_t* device, size_t* host) {
  const Call c = eigen(vectors, triangle, n, type, a, lda, values);
  const bool well = isTriangle(triangle) && typeOfValues == type;
  return ask(handle, c, both(well, checked(params, c, type, arithmetic)), device, host);
}
TENC_ENTRY int cusolverDnXsyevd(void* handle, void* params, int vectors, int triangle, int64_t n, int type, void* a,
                                int64_t lda, int typeOfValues, void* values, int arithmetic, void* device,
                                size_t deviceBytes, void* host, size_t hostBytes, int* info) {
  const Call c = eigen(vectors, triangle, n, type, a, lda, values);
  const bool well = isTriangle(triangle) && typeOfValues == type;
  return submit(handle, c, both(well, checked(params, c, type, arithmetic)), device, deviceBytes, host, hostBytes,
                info);
}

TENC_ENTRY int cusolverDnXgesvd_bufferSize(void* handle, void* params, signed char ofU, signed char ofV, int64_t m,
                                           int64_t n, int type, const void* a, int64_t lda, int typeOfValues,
                                           const void* values, int typeOfU, const void* u, int64_t ldu, int typeOfV,
                                           const void* vt, int64_t ldvt, int arithmetic, size_t* device, size_t* host) {
  bool well = false;
  const Call c = singular(ofU, ofV, m, n, type, a, lda, values, u, ldu, vt, ldvt, well);
  well = well && typeOfValues == type && typeOfU == type && typeOfV == type;
  return ask(handle, c, both(well, checked(params, c, type, arithmetic)), device, host);
}
TENC_ENTRY int cusolverDnXgesvd(void* handle, void* params, signed char ofU, signed char ofV, int64_t m, int64_t n,
                                int type, void* a, int64_t lda, int typeOfValues, void* values, int typeOfU, void* u,
                                int64_t ldu, int typeOfV, void* vt, int64_t ldvt, int arithmetic, void* device,
                                size_t deviceBytes, void* host, size_t hostBytes, int* info) {
  bool well = false;
  const Call c = singular(ofU, ofV, m, n, type, a, lda, values, u, ldu, vt, ldvt, well);
  well = well && typeOfValues == type && typeOfU == type && typeOfV == type;
  return submit(handle, c, both(well, checked(params, c, type, arithmetic)), device, deviceBytes, host, hostBytes,
                info);
}

/// Handles that nobody has destroyed, for tests.
TENC_ENTRY size_t tencSolverLive() { return pools().handles.count() + pools().params.count(); }
