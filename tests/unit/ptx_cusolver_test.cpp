// The fake cuSOLVER, called as a program calls the real one: what it computes, and every mistake that it catches.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace tenc::ptx::testing {
namespace {

using Pointer = unsigned long long;
using Handle = void*;

enum : int {
  kSuccess = 0,
  kInvalidValue = 3,
  kExecutionFailed = 6,
  kNotSupported = 9,
  kInvalidWorkspace = 31,
  kIllegalAddress = 700
};
enum Mode { kEager, kLazy };
enum DataType { kF32 = 0, kF64 = 1, kF16 = 2 };
enum Triangle { kLower = 0, kUpper = 1 };
constexpr unsigned kNonBlocking = 1;
constexpr double kNobodys = std::numeric_limits<double>::infinity();  // memory that is not written

struct Libraries {
  Libraries() {
    setenv("TENC_VM_DEVICES", "2", 1);
    setenv("TENC_VM_MEMORY", "1048576", 1);
    driver = dlopen(TENC_CUDA_VM, RTLD_NOW | RTLD_LOCAL);
    solver = dlopen(TENC_CUSOLVER_VM, RTLD_NOW | RTLD_LOCAL);
  }
  Handle driver = nullptr, solver = nullptr;
};
const Libraries& libraries() {
  static const Libraries l;
  return l;
}

template <class R = int, class... A>
R callIn(Handle library, const char* name, A... arguments) {
  void* entry = dlsym(library, name);
  if (!entry) entry = dlsym(library, (std::string(name) + "_v2").c_str());
  if (!entry) {
    ADD_FAILURE() << "there is no " << name;
    return R();
  }
  return reinterpret_cast<R (*)(A...)>(entry)(arguments...);
}
template <class... A>
int cu(const char* name, A... arguments) {
  return callIn(libraries().driver, name, arguments...);
}
template <class... A>
int solver(const char* name, A... arguments) {
  return callIn(libraries().solver, name, arguments...);
}
std::string reports() { return callIn<const char*>(libraries().driver, "tencVmReports", 1); }
size_t live() { return callIn<size_t>(libraries().solver, "tencSolverLive"); }
void* at(Pointer p) { return reinterpret_cast<void*>(p); }

/// A matrix of 3 x 3 in f64, columns side by side, in calls that a test spoils before they are made.
class FakeCusolver : public ::testing::Test {
 protected:
  static constexpr int64_t n = 3;

  void SetUp() override {
    ASSERT_TRUE(libraries().driver && libraries().solver) << dlerror();
    ASSERT_EQ(cu("cuInit", 0u), kSuccess);
    callIn<void>(libraries().driver, "tencVmReset");
    setMode(kEager);
    reports();
    Handle context = nullptr;
    ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
    ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
    ASSERT_EQ(cu("cuStreamCreate", &stream, kNonBlocking), kSuccess);
    before = live();
    ASSERT_EQ(solver("cusolverDnCreate", &handle), kSuccess);
    ASSERT_EQ(solver("cusolverDnSetStream", handle, stream), kSuccess);
    ASSERT_EQ(solver("cusolverDnSetDeterministicMode", handle, 1), kSuccess);
    ASSERT_EQ(solver("cusolverDnCreateParams", &params), kSuccess);
    for (Pointer* p : {&pivots, &values, &info, &workspace}) ASSERT_EQ(cu("cuMemAlloc", p, size_t{4096}), kSuccess);
  }
  void TearDown() override {
    callIn<void>(libraries().driver, "tencVmReset");
    setMode(kEager);
    EXPECT_EQ(solver("cusolverDnDestroyParams", params), kSuccess);
    EXPECT_EQ(solver("cusolverDnDestroy", handle), kSuccess);
    EXPECT_EQ(solver("cusolverDnDestroy", handle), kInvalidValue) << "there is none any more";
    EXPECT_EQ(live(), before);
    EXPECT_EQ(cu("cuStreamDestroy", stream), kSuccess);
  }

  static void setMode(Mode m) { callIn<void>(libraries().driver, "tencVmSetMode", static_cast<int>(m), uint64_t{1}); }
  /// Elements that are nobody's are not written.
  static Pointer upload(const std::vector<double>& all) {
    Pointer p = 0;
    EXPECT_EQ(cu("cuMemAlloc", &p, all.size() * 8), kSuccess);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] != kNobodys)
        EXPECT_EQ(cu("cuMemcpyHtoD", p + i * 8, static_cast<const void*>(&all[i]), size_t{8}), kSuccess);
    return p;
  }
  std::vector<double> download(Pointer p, size_t elements) {
    std::vector<double> all(elements);
    EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
    EXPECT_EQ(cu("cuMemcpyDtoH", static_cast<void*>(all.data()), p, all.size() * 8), kSuccess);
    return all;
  }
  int found() {
    int i = -1;
    EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
    EXPECT_EQ(cu("cuMemcpyDtoH", static_cast<void*>(&i), info, size_t{4}), kSuccess);
    return i;
  }
  int* infoAt() const { return static_cast<int*>(at(info)); }

  int eliminate(Pointer a, int64_t leading = n) {
    const int status = solver("cusolverDnXgetrf_bufferSize", handle, params, n, n, type,
                              static_cast<const void*>(at(a)), leading, type, &device, &host);
    if (status != kSuccess) return status;
    return solver("cusolverDnXgetrf", handle, params, n, n, type, at(a), leading, static_cast<int64_t*>(at(pivots)),
                  type, at(workspace), device - less, static_cast<void*>(nullptr), host, infoAt());
  }
  int substitute(Pointer a, Pointer b, int transposed = 0) {
    return solver("cusolverDnXgetrs", handle, params, transposed, n, int64_t{1}, type, static_cast<const void*>(at(a)),
                  n, static_cast<const int64_t*>(at(pivots)), type, at(b), n, infoAt());
  }
  int cholesky(Pointer a, Triangle triangle) {
    const int t = triangle;
    const int status = solver("cusolverDnXpotrf_bufferSize", handle, params, t, n, type,
                              static_cast<const void*>(at(a)), n, type, &device, &host);
    if (status != kSuccess) return status;
    return solver("cusolverDnXpotrf", handle, params, t, n, type, at(a), n, type, at(workspace), device,
                  static_cast<void*>(nullptr), host, infoAt());
  }
  int eigenvectors(Pointer a) {
    const int t = kLower, vectors = 1;
    const int status =
        solver("cusolverDnXsyevd_bufferSize", handle, params, vectors, t, n, type, static_cast<const void*>(at(a)), n,
               type, static_cast<const void*>(at(values)), type, &device, &host);
    if (status != kSuccess) return status;
    EXPECT_LE(host, sizeof hostMemory);
    return solver("cusolverDnXsyevd", handle, params, vectors, t, n, type, at(a), n, type, at(values), type,
                  at(workspace), device, static_cast<void*>(hostMemory.data()), host, infoAt());
  }

  Handle stream = nullptr, handle = nullptr, params = nullptr;
  Pointer pivots = 0, values = 0, info = 0, workspace = 0;
  size_t device = 0, host = 0, less = 0, before = 0;
  int type = kF64;
  std::array<uint64_t, 64> hostMemory{};
  const std::vector<double> matrix{0, 2, 4, 1, 1, 0, 3, -1, 5};
};

TEST_F(FakeCusolver, Eliminates) {
  const Pointer a = upload(matrix);
  ASSERT_EQ(eliminate(a), kSuccess);
  EXPECT_EQ(found(), 0);
  for (const int transposed : {0, 1}) {
    const Pointer b = upload({1, 2, 3});
    ASSERT_EQ(substitute(a, b, transposed), kSuccess);
    const std::vector<double> x = download(b, n);
    for (size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j) sum += matrix[transposed ? i * n + j : j * n + i] * x[j];
      EXPECT_NEAR(sum, static_cast<double>(i + 1), 1e-14);
    }
  }
  EXPECT_EQ(reports(), "");
}

TEST_F(FakeCusolver, SaysWhereItStops) {
  ASSERT_EQ(eliminate(upload({1, 2, 3, 2, 4, 6, 1, 1, 1})), kSuccess);
  EXPECT_EQ(found(), 2);
  ASSERT_EQ(cholesky(upload({1, 0, 0, 0, -1, 0, 0, 0, 1}), kLower), kSuccess);
  EXPECT_EQ(found(), 2);
}

TEST_F(FakeCusolver, WrongTypesAndExtents) {
  const Pointer a = upload(matrix);
  EXPECT_EQ(eliminate(a, n - 1), kInvalidValue) << "columns that overlap";
  EXPECT_EQ(eliminate(0), kInvalidValue) << "no matrix";
  EXPECT_EQ(eliminate(a + 4), kInvalidValue) << "between elements";
  type = kF16;
  EXPECT_EQ(eliminate(a), kNotSupported);
  type = kF64;
  const Handle good = params;
  params = handle;
  EXPECT_EQ(eliminate(a), kInvalidValue) << "parameters that are none";
  params = good;
  const signed char none = 'N';
  const auto ask = [&](int64_t rows, int64_t columns) {
    return solver("cusolverDnXgesvd_bufferSize", handle, params, none, none, rows, columns, type,
                  static_cast<const void*>(at(a)), rows, type, static_cast<const void*>(at(values)), type,
                  static_cast<const void*>(nullptr), rows, type, static_cast<const void*>(nullptr), columns, type,
                  &device, &host);
  };
  EXPECT_EQ(ask(3, 2), kSuccess);
  EXPECT_EQ(ask(2, 3), kInvalidValue) << "a wide matrix";
}

TEST_F(FakeCusolver, WrongWorkspaces) {
  const Pointer a = upload(matrix);
  less = 8;
  EXPECT_EQ(eliminate(a), kInvalidWorkspace) << "less than it asked for";
  less = 0;
  workspace += 8;
  EXPECT_EQ(eliminate(a), kInvalidWorkspace) << "not aligned";
  workspace -= 8;
  ASSERT_EQ(eliminate(a), kSuccess);
  EXPECT_EQ(reports(), "");
}

TEST_F(FakeCusolver, AWrongLeadingDimLeavesTheMatrix) {
  EXPECT_EQ(eliminate(upload(matrix), n + 1), kExecutionFailed);
  EXPECT_NE(reports().find("out-of-range access in cusolverDnXgetrf"), std::string::npos);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kIllegalAddress);
}

TEST_F(FakeCusolver, AWrongTriangleIsNobodys) {
  const std::vector<double> lower{4, 2, 1, kNobodys, 5, 3, kNobodys, kNobodys, 6};
  ASSERT_EQ(cholesky(upload(lower), kLower), kSuccess);
  EXPECT_EQ(found(), 0);
  EXPECT_EQ(reports(), "");
  ASSERT_EQ(cholesky(upload(lower), kUpper), kSuccess);
  EXPECT_NE(reports().find("uninitialised"), std::string::npos);
}

TEST_F(FakeCusolver, PivotsThatAreNoRows) {
  const Pointer a = upload(matrix);
  ASSERT_EQ(cu("cuMemsetD32Async", pivots, 0u, size_t{n * 2}, stream), kSuccess);
  ASSERT_EQ(substitute(a, upload({1, 2, 3})), kSuccess);
  EXPECT_NE(reports().find("misuse of a library in cusolverDnXgetrs at the pivots: 0 is no row"), std::string::npos);
}

TEST_F(FakeCusolver, WhatIsNotFinite) {
  ASSERT_EQ(eigenvectors(upload({1, 0, 0, 0, std::nan(""), 0, 0, 0, 1})), kSuccess);
  EXPECT_NE(reports().find("cusolverDnXsyevd at A: is not finite"), std::string::npos);
}

TEST_F(FakeCusolver, MemoryOfTheHostIsOneCallsUntilItHasRun) {
  setMode(kLazy);
  const Pointer a = upload({2, 1, 0, 1, 3, 1, 0, 1, 4});
  ASSERT_EQ(eigenvectors(a), kSuccess);
  ASSERT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_EQ(reports(), "");
  ASSERT_EQ(eigenvectors(a), kSuccess);
  ASSERT_EQ(eigenvectors(a), kSuccess);
  ASSERT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  EXPECT_NE(reports().find("memory of the host: has two calls at a time"), std::string::npos);
}

TEST_F(FakeCusolver, SignsAreCertainForWhoAsks) {
  const std::vector<double> symmetric{2, 1, 0, 1, 3, 1, 0, 1, 4};
  for (const int mode : {1, 2}) {
    ASSERT_EQ(solver("cusolverDnSetDeterministicMode", handle, mode), kSuccess);
    const Pointer a = upload(symmetric), b = upload(symmetric);
    ASSERT_EQ(eigenvectors(a), kSuccess);
    ASSERT_EQ(eigenvectors(b), kSuccess);
    EXPECT_EQ(download(a, n * n) == download(b, n * n), mode == 1);
  }
}

TEST_F(FakeCusolver, OtherQueuesDevicesAndCaptures) {
  const Pointer a = upload(matrix);
  ASSERT_EQ(cu("cuStreamBeginCapture", stream, 0), kSuccess);
  EXPECT_EQ(eliminate(a), kExecutionFailed) << "a capture";
  Handle graph = nullptr;
  ASSERT_EQ(cu("cuStreamEndCapture", stream, &graph), kSuccess);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);
  ASSERT_EQ(solver("cusolverDnSetStream", handle, static_cast<Handle>(nullptr)), kSuccess);
  EXPECT_EQ(eliminate(a), kInvalidValue) << "no queue";
  Handle second = nullptr;
  ASSERT_EQ(solver("cusolverDnSetStream", handle, stream), kSuccess);
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &second, 1), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", second), kSuccess);
  EXPECT_EQ(eliminate(a), kInvalidValue) << "a handle of another device";
}

}  // namespace
}  // namespace tenc::ptx::testing
