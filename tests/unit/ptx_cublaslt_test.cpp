// The fake cuBLASLt, called as a program calls the real one: what it computes, and every mistake that it catches.
#include <dlfcn.h>
#include <gtest/gtest.h>

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

enum : int { kSuccess = 0, kInvalidValue = 7, kExecutionFailed = 13, kNotSupported = 15, kIllegalAddress = 700 };
enum Mode { kEager, kLazy, kRandom };
enum DataType { kF32 = 0, kF64 = 1, kF16 = 2 };
enum ComputeType { kCompute16 = 64, kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 };
constexpr unsigned kNonBlocking = 1;

struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

struct Libraries {
  Libraries() {
    setenv("TENC_VM_DEVICES", "2", 1);
    setenv("TENC_VM_MEMORY", "1048576", 1);
    driver = dlopen(TENC_CUDA_VM, RTLD_NOW | RTLD_LOCAL);
    products = dlopen(TENC_CUBLASLT_VM, RTLD_NOW | RTLD_LOCAL);
  }
  Handle driver = nullptr, products = nullptr;
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
int lt(const char* name, A... arguments) {
  return callIn(libraries().products, name, arguments...);
}
std::string reports() { return callIn<const char*>(libraries().driver, "tencVmReports", 1); }
size_t live() { return callIn<size_t>(libraries().products, "tencLtLive"); }

/// A product of 6 x 5 and 5 x 4 in f32, columns side by side, that a test spoils before it is run.
class FakeCublasLt : public ::testing::Test {
 protected:
  static constexpr uint64_t kRows = 6, kDepth = 5, kColumns = 4;

  void SetUp() override {
    ASSERT_TRUE(libraries().driver && libraries().products) << dlerror();
    ASSERT_EQ(cu("cuInit", 0u), kSuccess);
    callIn<void>(libraries().driver, "tencVmReset");
    setMode(kEager);
    reports();
    Handle context = nullptr;
    ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
    ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
    ASSERT_EQ(cu("cuStreamCreate", &stream, kNonBlocking), kSuccess);
    before = live();
    ASSERT_EQ(lt("cublasLtCreate", &handle), kSuccess);
    for (size_t i = 0; i < kRows * kDepth; ++i) left.push_back(static_cast<float>(i % 7) - 3);
    for (size_t i = 0; i < kDepth * kColumns; ++i) right.push_back(static_cast<float>(i % 5) * 0.5f);
    a = upload(left), b = upload(right), bias = upload({1, 2, 3, 4, 5, 6});
    ASSERT_EQ(cu("cuMemAlloc", &d, size_t{1024}), kSuccess);
    ASSERT_EQ(cu("cuMemAlloc", &workspace, size_t{4096}), kSuccess);
    ASSERT_EQ(lt("cublasLtMatmulDescCreate", &product, static_cast<int>(kCompute32), static_cast<int>(kF32)), kSuccess);
    layoutA = layout(kF32, kRows, kDepth, kRows);
    layoutB = layout(kF32, kDepth, kColumns, kDepth);
    layoutD = layout(kF32, kRows, kColumns, kRows);
    ASSERT_EQ(lt("cublasLtMatmulPreferenceCreate", &preference), kSuccess);
    prefer(1, uint64_t{2048});
    prefer(3, uint32_t{0});
    for (int i : {5, 6, 7, 8}) prefer(i, uint32_t{16});
  }
  void TearDown() override {
    callIn<void>(libraries().driver, "tencVmReset");
    setMode(kEager);
    for (Handle l : layouts) EXPECT_EQ(lt("cublasLtMatrixLayoutDestroy", l), kSuccess);
    EXPECT_EQ(lt("cublasLtMatmulDescDestroy", product), kSuccess);
    EXPECT_EQ(lt("cublasLtMatmulPreferenceDestroy", preference), kSuccess);
    EXPECT_EQ(lt("cublasLtDestroy", handle), kSuccess);
    EXPECT_EQ(live(), before);
    EXPECT_EQ(cu("cuStreamDestroy", stream), kSuccess);
  }

  static void setMode(Mode m) { callIn<void>(libraries().driver, "tencVmSetMode", static_cast<int>(m), uint64_t{1}); }
  static Pointer upload(const std::vector<float>& values) {
    Pointer p = 0;
    EXPECT_EQ(cu("cuMemAlloc", &p, values.size() * 4), kSuccess);
    EXPECT_EQ(cu("cuMemcpyHtoD", p, static_cast<const void*>(values.data()), values.size() * 4), kSuccess);
    return p;
  }
  Handle layout(DataType type, uint64_t rows, uint64_t columns, int64_t leading) {
    Handle l = nullptr;
    EXPECT_EQ(lt("cublasLtMatrixLayoutCreate", &l, static_cast<int>(type), rows, columns, leading), kSuccess);
    layouts.push_back(l);
    return l;
  }
  template <class T>
  int prefer(int attribute, T value) {
    return lt("cublasLtMatmulPreferenceSetAttribute", preference, attribute, static_cast<const void*>(&value),
              sizeof value);
  }
  template <class T>
  int describe(int attribute, T value) {
    return lt("cublasLtMatmulDescSetAttribute", product, attribute, static_cast<const void*>(&value), sizeof value);
  }
  int choose() {
    int found = 0;
    const int status = lt("cublasLtMatmulAlgoGetHeuristic", handle, product, layoutA, layoutB, layoutD, layoutD,
                          preference, 1, &chosen, &found);
    EXPECT_EQ(found, status == kSuccess ? 1 : 0);
    return status;
  }
  int multiply(float beta = 0) {
    const float one = 1;
    const auto at = [](Pointer p) { return reinterpret_cast<const void*>(p); };
    return lt("cublasLtMatmul", handle, product, static_cast<const void*>(&one), at(a), layoutA, at(b), layoutB,
              static_cast<const void*>(&beta), at(c ? c : d), layoutD, reinterpret_cast<void*>(d), layoutD,
              static_cast<const void*>(chosen.algorithm), reinterpret_cast<void*>(workspace), workspaceBytes, stream);
  }
  /// What the result should be: one of the entries.
  float expected(size_t row, size_t column) const {
    float sum = 0;
    for (size_t k = 0; k < kDepth; ++k) sum += left[k * kRows + row] * right[column * kDepth + k];
    return sum;
  }
  std::vector<float> result() {
    std::vector<float> all(kRows * kColumns);
    EXPECT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
    EXPECT_EQ(cu("cuMemcpyDtoH", static_cast<void*>(all.data()), d, all.size() * 4), kSuccess);
    return all;
  }
  float last() { return result().back(); }

  Handle stream = nullptr, handle = nullptr, product = nullptr, preference = nullptr;
  Handle layoutA = nullptr, layoutB = nullptr, layoutD = nullptr;
  std::vector<Handle> layouts;
  std::vector<float> left, right;
  Pointer a = 0, b = 0, c = 0, d = 0, bias = 0, workspace = 0;
  size_t workspaceBytes = 2048, before = 0;
  Heuristic chosen{};
};

TEST_F(FakeCublasLt, Multiplies) {
  ASSERT_EQ(choose(), kSuccess);
  EXPECT_LE(chosen.workspace, 2048u);
  ASSERT_EQ(multiply(), kSuccess);
  const std::vector<float> all = result();
  for (size_t r = 0; r < kRows; ++r)
    for (size_t j = 0; j < kColumns; ++j) EXPECT_EQ(all[j * kRows + r], expected(r, j));
  EXPECT_EQ(reports(), "");
}

TEST_F(FakeCublasLt, TransposesAddsAndEndsWithRelu) {
  // The factor of 5 x 6 whose transpose is 6 x 5, a row for each entry of the bias, and the product before it.
  std::vector<float> turned(left.size());
  for (size_t r = 0; r < kRows; ++r)
    for (size_t k = 0; k < kDepth; ++k) turned[r * kDepth + k] = left[k * kRows + r];
  a = upload(turned);
  layoutA = layout(kF32, kDepth, kRows, kDepth);
  EXPECT_EQ(describe(3, int32_t{1}), kSuccess);
  EXPECT_EQ(describe(7, uint32_t{6}), kSuccess);
  EXPECT_EQ(choose(), kInvalidValue) << "a bias that nobody has set";
  EXPECT_EQ(describe(8, reinterpret_cast<const void*>(bias)), kSuccess);
  ASSERT_EQ(choose(), kSuccess);
  c = upload(std::vector<float>(kRows * kColumns, -4));
  ASSERT_EQ(multiply(1), kSuccess);
  const std::vector<float> all = result();
  for (size_t r = 0; r < kRows; ++r)
    for (size_t j = 0; j < kColumns; ++j)
      EXPECT_EQ(all[j * kRows + r], std::max(expected(r, j) - 4 + static_cast<float>(r + 1), 0.0f));
}

TEST_F(FakeCublasLt, WhatItDoesNotHave) {
  for (const auto& [compute, scale] : {std::pair(kCompute16, kF32), {kCompute32, kF64}, {kCompute64, kF64}}) {
    ASSERT_EQ(lt("cublasLtMatmulDescDestroy", product), kSuccess);
    ASSERT_EQ(lt("cublasLtMatmulDescCreate", &product, static_cast<int>(compute), static_cast<int>(scale)), kSuccess);
    EXPECT_EQ(choose(), kNotSupported);
  }
  ASSERT_EQ(lt("cublasLtMatmulDescDestroy", product), kSuccess);
  ASSERT_EQ(lt("cublasLtMatmulDescCreate", &product, static_cast<int>(kComputeTf32), static_cast<int>(kF32)), kSuccess);
  EXPECT_EQ(choose(), kSuccess);
  const Handle good = layoutB;
  layoutB = layout(kF16, kDepth, kColumns, kDepth);
  EXPECT_EQ(choose(), kNotSupported) << "factors of two types";
  layoutB = good;
  ASSERT_EQ(prefer(8, uint32_t{2}), kSuccess);
  EXPECT_EQ(choose(), kNotSupported) << "a result that begins anywhere";
}

TEST_F(FakeCublasLt, WrongLayouts) {
  const Handle good = layoutA;
  for (const Handle wrong : {layout(kF32, kRows, kDepth, kRows - 1), layout(kF32, kDepth, kRows, kRows),
                             layout(kF32, kRows, kDepth + 1, kRows), layout(kF32, 0, kDepth, kRows)}) {
    layoutA = wrong;
    EXPECT_EQ(choose(), kInvalidValue);
  }
  layoutA = good;
  int32_t two = 2;
  int64_t stride = 24;
  const auto set = [&](Handle l, int attribute, const void* value, size_t bytes) {
    return lt("cublasLtMatrixLayoutSetAttribute", l, attribute, value, bytes);
  };
  EXPECT_EQ(set(layoutA, 5, &two, 8), kInvalidValue) << "an attribute of another size";
  EXPECT_EQ(set(layoutD, 5, &two, 4), kSuccess);
  EXPECT_EQ(set(layoutD, 6, &stride, 8), kSuccess);
  EXPECT_EQ(choose(), kInvalidValue) << "two products of one factor each";
  for (Handle l : {layoutA, layoutB}) EXPECT_EQ(set(l, 5, &two, 4), kSuccess);
  EXPECT_EQ(choose(), kSuccess);
  EXPECT_EQ(set(layoutD, 6, &(stride = 23), 8), kSuccess);
  EXPECT_EQ(choose(), kInvalidValue) << "results that overlap";
}

TEST_F(FakeCublasLt, WrongPointersAndWorkspaces) {
  ASSERT_EQ(choose(), kSuccess);
  a += 4;
  EXPECT_EQ(multiply(), kInvalidValue) << "16 bytes were promised";
  a -= 4;
  workspaceBytes = 512;
  EXPECT_EQ(multiply(), kInvalidValue) << "the algorithm wants more";
  workspaceBytes = 2048;
  workspace += 64;
  EXPECT_EQ(multiply(), kInvalidValue) << "256 bytes are wanted";
  workspace -= 64;
  layoutD = layout(kF32, kRows, kColumns, kRows + 2);
  EXPECT_EQ(multiply(), kInvalidValue) << "an algorithm for another layout";
  ASSERT_EQ(choose(), kSuccess);
  Handle second = nullptr;
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &second, 1), kSuccess);
  ASSERT_EQ(cu("cuCtxSetCurrent", second), kSuccess);
  EXPECT_EQ(multiply(), kInvalidValue) << "a handle of another device";
}

TEST_F(FakeCublasLt, MemoryThatIsNotThere) {
  ASSERT_EQ(choose(), kSuccess);
  d += 1024 - 64;  // the last columns are behind its end
  EXPECT_EQ(multiply(), kExecutionFailed);
  EXPECT_NE(reports().find("out-of-range access in cublasLtMatmul"), std::string::npos);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), kIllegalAddress);
}

TEST_F(FakeCublasLt, MemoryThatNobodyWrote) {
  ASSERT_EQ(choose(), kSuccess);
  ASSERT_EQ(multiply(), kSuccess);
  EXPECT_EQ(reports(), "");
  a = workspace;  // what the library worked in is nobody's, either
  ASSERT_EQ(multiply(), kSuccess);
  EXPECT_NE(reports().find("uninitialised"), std::string::npos);
}

TEST_F(FakeCublasLt, SplitsTheSumWhenItMay) {
  // Large and small numbers: their sum depends on the order.
  a = upload({1e8f, 1e8f, 1e8f, 1e8f,  1e8f,  1e8f,  1,     1,     1,     1, 1, 1, 1, 1, 1,
              1,    1,    1,    -1e8f, -1e8f, -1e8f, -1e8f, -1e8f, -1e8f, 1, 1, 1, 1, 1, 1});
  b = upload(std::vector<float>(kDepth * kColumns, 1));
  for (const bool mayNot : {true, false}) {
    if (!mayNot) EXPECT_EQ(prefer(3, uint32_t{7}), kSuccess);
    ASSERT_EQ(choose(), kSuccess);
    bool differs = false;
    ASSERT_EQ(multiply(), kSuccess);
    const float first = last();
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(multiply(), kSuccess);
      differs = differs || last() != first;
    }
    EXPECT_EQ(differs, !mayNot);
  }
}

TEST_F(FakeCublasLt, WorksWhenTheStreamDoesAndInGraphs) {
  ASSERT_EQ(choose(), kSuccess);
  const float right_ = expected(kRows - 1, kColumns - 1);
  ASSERT_EQ(cu("cuMemsetD32Async", d, 0u, size_t{kRows * kColumns}, stream), kSuccess);
  ASSERT_EQ(cu("cuStreamSynchronize", stream), kSuccess);
  setMode(kLazy);
  ASSERT_EQ(multiply(), kSuccess);
  float early = 1;
  EXPECT_EQ(cu("cuMemcpyDtoH", static_cast<void*>(&early), d, size_t{4}), kSuccess);
  EXPECT_EQ(early, 0.0f) << "nobody has waited for the stream";
  EXPECT_EQ(last(), right_);

  Handle graph = nullptr, replay = nullptr;
  ASSERT_EQ(cu("cuStreamBeginCapture", stream, 0), kSuccess);
  ASSERT_EQ(multiply(), kSuccess);
  ASSERT_EQ(cu("cuStreamEndCapture", stream, &graph), kSuccess);
  ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &replay, graph, 0ull), kSuccess);
  for (const Mode m : {kEager, kLazy, kRandom}) {
    setMode(m);
    ASSERT_EQ(cu("cuMemsetD32Async", d, 0u, size_t{kRows * kColumns}, stream), kSuccess);
    ASSERT_EQ(cu("cuGraphLaunch", replay, stream), kSuccess);
    EXPECT_EQ(last(), right_);
  }
  EXPECT_EQ(cu("cuGraphExecDestroy", replay), kSuccess);
  EXPECT_EQ(cu("cuGraphDestroy", graph), kSuccess);
}

}  // namespace
}  // namespace tenc::ptx::testing
