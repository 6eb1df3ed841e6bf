// The fake libcuda.so.1, through cuGetProcAddress as a program uses it: errors, streams and events, graphs, several
// devices. The kernels are PTX: these tests need no NVRTC.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace tenc::ptx::testing {
namespace {

using Pointer = unsigned long long;
using Handle = void*;

/// Of a graph's kernel node, as the driver has them.
struct KernelNodeParameters {
  Handle function;
  unsigned shape[7];
  void** values;
  void** extra;
  Handle rest[2];
};

enum : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidImage = 200,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kMisaligned = 716,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureUnjoined = 904
};
enum Mode { kEager, kLazy, kRandom, kAsync };
constexpr unsigned kNonBlocking = 1;

/// to[i] = from[i] + by, of u32; one that writes behind the end; one that runs until somebody writes to `flag`; and one
/// that counts down and sets a condition of a graph to what is left.
constexpr const char* kPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 seven = 7;
.visible .entry plus(.param .u64 to, .param .u64 from, .param .u32 by) {
  .reg .b32 %r<5>; .reg .b64 %d<6>;
  ld.param.u64 %d1, [to]; ld.param.u64 %d2, [from]; ld.param.u32 %r1, [by];
  mov.u32 %r2, %tid.x; mul.wide.u32 %d3, %r2, 4;
  add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
  ld.global.u32 %r3, [%d5]; add.u32 %r3, %r3, %r1; st.global.u32 [%d4], %r3;
  ret;
}
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry countdown(.param .u64 counter, .param .u64 handle) {
  .reg .b64 %d<3>; .reg .b32 %r<2>;
  ld.param.u64 %d1, [counter]; ld.param.u64 %d2, [handle];
  ld.global.u32 %r1, [%d1]; add.u32 %r1, %r1, -1; st.global.u32 [%d1], %r1;
  { .param .b64 first; .param .b32 second;
    st.param.b64 [first], %d2; st.param.b32 [second], %r1;
    call.uni cudaGraphSetConditional, (first, second); }
  ret;
}
.visible .entry behind(.param .u64 to) {
  .reg .b64 %d<2>; .reg .b32 %r<2>;
  ld.param.u64 %d1, [to]; mov.u32 %r1, 1; st.global.u32 [%d1+256], %r1;
  ret;
}
.visible .entry spin(.param .u64 flag) {
  .reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %p<2>;
  ld.param.u64 %d1, [flag];
AGAIN:
  ld.volatile.global.u32 %r1, [%d1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra AGAIN;
  ret;
})";

class Library {
 public:
  Library() {
    setenv("TENC_VM_DEVICES", "2", 1);
    setenv("TENC_VM_MEMORY", "1048576", 1);
    handle_ = dlopen(TENC_CUDA_VM, RTLD_NOW | RTLD_LOCAL);
    if (!handle_) return;
    using GetProcAddress = int(const char*, void**, int, uint64_t, int*);
    get_ = reinterpret_cast<GetProcAddress*>(dlsym(handle_, "cuGetProcAddress_v2"));
  }
  int find(const char* name, void** entry) const { return get_(name, entry, 13000, 0, nullptr); }
  void* control(const char* name) const { return dlsym(handle_, name); }
  bool loaded() const { return get_; }

 private:
  void* handle_ = nullptr;
  int (*get_)(const char*, void**, int, uint64_t, int*) = nullptr;
};

const Library& library() {
  static const Library l;
  return l;
}

/// An entry point, called with arguments of exactly its types.
template <class... A>
int call(const char* name, A... arguments) {
  void* entry = nullptr;
  if (library().find(name, &entry) != kSuccess) {
    ADD_FAILURE() << "there is no " << name;
    return -1;
  }
  return reinterpret_cast<int (*)(A...)>(entry)(arguments...);
}

template <class R, class... A>
R control(const char* name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(library().control(name))(arguments...);
}
std::string reports() { return control<const char*>("tencVmReports", 1); }

class FakeDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(library().loaded()) << dlerror();
    ASSERT_EQ(call("cuInit", 0u), kSuccess);
    control<void>("tencVmReset");
    setMode(kEager);
    reports();
    ASSERT_EQ(call("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
    ASSERT_EQ(call("cuCtxSetCurrent", context), kSuccess);
    ASSERT_EQ(call("cuModuleLoadData", &module, static_cast<const void*>(kPtx)), kSuccess);
    plus = function("plus");
    behind = function("behind");
    for (Pointer* p : {&a, &b, &c}) ASSERT_EQ(call("cuMemAlloc", p, kBytes), kSuccess);
    for (uint32_t i = 0; i < kCount; ++i) host[i] = i;
    ASSERT_EQ(call("cuMemcpyHtoD", a, static_cast<const void*>(host), kBytes), kSuccess);
  }
  void TearDown() override {
    control<void>("tencVmReset");
    setMode(kEager);
    for (Pointer p : {a, b, c}) EXPECT_EQ(call("cuMemFree", p), kSuccess);
    EXPECT_EQ(call("cuModuleUnload", module), kSuccess);
  }

  static void setMode(Mode m, uint64_t seed = 1) { control<void>("tencVmSetMode", static_cast<int>(m), seed); }
  Handle function(const char* name) {
    Handle f = nullptr;
    EXPECT_EQ(call("cuModuleGetFunction", &f, module, name), kSuccess);
    return f;
  }
  static Handle stream() {
    Handle s = nullptr;
    EXPECT_EQ(call("cuStreamCreate", &s, kNonBlocking), kSuccess);
    return s;
  }
  static Handle event() {
    Handle e = nullptr;
    EXPECT_EQ(call("cuEventCreate", &e, 0u), kSuccess);
    return e;
  }
  static int launchAny(Handle f, Handle s, void** values, unsigned threads = kCount) {
    return call("cuLaunchKernel", f, 1u, 1u, 1u, threads, 1u, 1u, 0u, s, values, static_cast<void**>(nullptr));
  }
  int launchPlus(Pointer to, Pointer from, uint32_t by, Handle s) {
    void* values[] = {&to, &from, &by};
    return launchAny(plus, s, values);
  }
  /// What the device has, read when everything is done.
  uint32_t lastOf(Pointer p) {
    uint32_t values[kCount] = {};
    EXPECT_EQ(call("cuCtxSynchronize"), kSuccess);
    EXPECT_EQ(call("cuMemcpyDtoH", static_cast<void*>(values), p, kBytes), kSuccess);
    return values[kCount - 1];
  }

  static constexpr unsigned kCount = 64;
  static constexpr size_t kBytes = kCount * 4;
  Handle context = nullptr, module = nullptr, plus = nullptr, behind = nullptr;
  Pointer a = 0, b = 0, c = 0;
  uint32_t host[kCount] = {};
};

TEST_F(FakeDriver, Entries) {
  void* entry = nullptr;
  EXPECT_EQ(library().find("cuDoesNotExist", &entry), kNotFound);
  int count = 0, value = 0;
  EXPECT_EQ(call("cuDeviceGetCount", &count), kSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(call("cuDeviceGetAttribute", &value, 75, 0), kSuccess);
  EXPECT_EQ(value, 9);
  const char* name = nullptr;
  EXPECT_EQ(call("cuGetErrorName", 700, &name), kSuccess);
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(FakeDriver, MemoryOfTheDevice) {
  // The host cannot read it: the kernel, asked to, says so.
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_EQ(write(pipes[1], reinterpret_cast<const void*>(a), 4), -1);
  EXPECT_EQ(errno, EFAULT);
  close(pipes[0]);
  close(pipes[1]);

  Pointer large = 0;
  EXPECT_EQ(call("cuMemAlloc", &large, size_t{2} << 20), kOutOfMemory);
  EXPECT_EQ(call("cuMemcpyHtoD", a, static_cast<const void*>(host), kBytes + 1), kInvalidValue);
  EXPECT_EQ(call("cuMemFree", a + 4), kInvalidValue);
  // Memory that nobody wrote reaches the host: a report. Copied on the device it stays so.
  EXPECT_EQ(call("cuMemcpyDtoD", c, b, kBytes), kSuccess);
  EXPECT_EQ(reports(), "");
  lastOf(c);
  EXPECT_NE(reports().find("uninitialised"), std::string::npos);
  EXPECT_EQ(call("cuMemsetD32Async", b, 5u, size_t{kCount}, Handle{}), kSuccess);
  EXPECT_EQ(lastOf(b), 5u);
  EXPECT_EQ(reports(), "");
  Pointer seven = 0;
  size_t bytes = 0;
  EXPECT_EQ(call("cuModuleGetGlobal", &seven, &bytes, module, "seven"), kSuccess);
  EXPECT_EQ(bytes, 4u);
  uint32_t value = 0;
  EXPECT_EQ(call("cuMemcpyDtoH", static_cast<void*>(&value), seven, size_t{4}), kSuccess);
  EXPECT_EQ(value, 7u);
}

TEST_F(FakeDriver, WhatCannotBeLoadedOrLaunched) {
  Handle h = nullptr;
  auto load = [&](const char* image) { return call("cuModuleLoadData", &h, static_cast<const void*>(image)); };
  EXPECT_EQ(load("\x7f"
                 "ELF"),
            kNoBinary);
  EXPECT_EQ(load("nonsense"), kInvalidImage);
  EXPECT_EQ(load(".version 8.0\n.target sm_90\n.visible .entry k() { bra NOWHERE; }"), kInvalidPtx);
  EXPECT_EQ(call("cuModuleGetFunction", &h, module, "absent"), kNotFound);
  void* values[] = {&a, &a, nullptr};
  EXPECT_EQ(launchAny(plus, nullptr, values), kInvalidValue);
  EXPECT_EQ(launchAny(behind, nullptr, values, 1025), kInvalidValue);
  EXPECT_EQ(launchAny(context, nullptr, values), kInvalidHandle);
  auto shared = [&](unsigned bytes) {
    return call("cuLaunchKernel", behind, 1u, 1u, 1u, 0u, 1u, 1u, bytes, Handle{}, static_cast<void**>(values),
                static_cast<void**>(nullptr));
  };
  EXPECT_EQ(shared(0), kInvalidValue);
  uint32_t by = 1;
  void* right[] = {&b, &a, &by};
  auto withShared = [&] {
    return call("cuLaunchKernel", plus, 1u, 1u, 1u, kCount, 1u, 1u, 60000u, Handle{}, static_cast<void**>(right),
                static_cast<void**>(nullptr));
  };
  EXPECT_EQ(withShared(), kInvalidValue);  // more than 48 KB has to be asked for
  EXPECT_EQ(call("cuFuncSetAttribute", plus, 8, 60000), kSuccess);
  EXPECT_EQ(withShared(), kSuccess);
}

/// Adds a word of shared memory of fixed size, and the last one of 60,000 more.
constexpr const char* kSharedPtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 rest[];
.visible .entry k(.param .u64 to, .param .u32 last) {
  .shared .align 4 .u32 fixed[25];
  .reg .b32 %r<9>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [to]; ld.param.u32 %r1, [last];
  mov.u32 %r2, rest; add.u32 %r3, %r2, %r1; mov.u32 %r4, 5; st.shared.u32 [%r3], %r4; st.shared.u32 [fixed], %r1;
  ld.shared.u32 %r5, [%r3]; ld.shared.u32 %r6, [fixed]; and.b32 %r7, %r2, 1023; add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7;
  st.global.u32 [%d1], %r5;
  ret;
})";

TEST_F(FakeDriver, DynamicSharedMemory) {
  Handle m = nullptr, k = nullptr, s = stream(), graph = nullptr, replay = nullptr;
  ASSERT_EQ(call("cuModuleLoadData", &m, static_cast<const void*>(kSharedPtx)), kSuccess);
  ASSERT_EQ(call("cuModuleGetFunction", &k, m, "k"), kSuccess);
  uint32_t last = 59996;
  void* values[] = {&b, &last};
  auto run = [&](unsigned bytes) {
    return call("cuLaunchKernel", k, 1u, 1u, 1u, 1u, 1u, 1u, bytes, s, static_cast<void**>(values),
                static_cast<void**>(nullptr));
  };
  auto most = [&] {
    int value = 0;
    EXPECT_EQ(call("cuFuncGetAttribute", &value, 8, k), kSuccess);
    return value;
  };
  auto result = [&] {
    uint32_t value = 0;
    EXPECT_EQ(call("cuStreamSynchronize", s), kSuccess);
    EXPECT_EQ(call("cuMemcpyDtoH", static_cast<void*>(&value), b, size_t{4}), kSuccess);
    return value;
  };
  // 48 KiB with the 1,024 in front of them, as long as nothing is asked for; 227 KiB are the most.
  EXPECT_EQ(most(), 49152 - 1024);
  EXPECT_EQ(run(60000), kInvalidValue);
  EXPECT_EQ(run(49152 - 1023), kInvalidValue);
  last = 49152 - 1028;
  EXPECT_EQ(run(49152 - 1024), kSuccess);
  EXPECT_EQ(result(), last + 5);
  EXPECT_EQ(call("cuFuncSetAttribute", k, 8, 232448 - 1023), kInvalidValue);
  EXPECT_EQ(call("cuFuncSetAttribute", k, 8, -1), kInvalidValue);
  EXPECT_EQ(call("cuFuncSetAttribute", k, 8, 232448 - 1024), kSuccess);
  EXPECT_EQ(most(), 232448 - 1024);
  EXPECT_EQ(call("cuFuncSetAttribute", k, 1, 200), kInvalidValue);
  EXPECT_EQ(call("cuFuncSetAttribute", k, 8, 60000), kSuccess);
  EXPECT_EQ(run(60001), kInvalidValue);
  last = 59996;
  EXPECT_EQ(run(60000), kSuccess);
  EXPECT_EQ(result(), last + 5);
  // Captured, and in a node whose parameters are set.
  ASSERT_EQ(call("cuStreamBeginCapture", s, 0), kSuccess);
  EXPECT_EQ(run(60000), kSuccess);
  ASSERT_EQ(call("cuStreamEndCapture", s, &graph), kSuccess);
  ASSERT_EQ(call("cuGraphInstantiateWithFlags", &replay, graph, 0ull), kSuccess);
  Handle node = nullptr;
  size_t count = 1;
  EXPECT_EQ(call("cuGraphGetNodes", graph, &node, &count), kSuccess);
  KernelNodeParameters parameters{k, {1, 1, 1, 1, 1, 1, 60001}, values, nullptr, {}};
  last = 100;
  auto set = [&] {
    return call("cuGraphExecKernelNodeSetParams", replay, node, static_cast<const void*>(&parameters));
  };
  EXPECT_EQ(set(), kInvalidValue);
  EXPECT_EQ(call("cuGraphLaunch", replay, s), kSuccess);
  EXPECT_EQ(result(), 59996u + 5);
  parameters.shape[6] = 104;
  EXPECT_EQ(set(), kSuccess);
  EXPECT_EQ(call("cuGraphLaunch", replay, s), kSuccess);
  EXPECT_EQ(result(), last + 5);
  EXPECT_EQ(reports(), "");
  parameters.shape[6] = 103;  // the word lies behind the end
  EXPECT_EQ(set(), kSuccess);
  EXPECT_EQ(call("cuGraphLaunch", replay, s), kIllegalAddress);
  EXPECT_NE(reports().find("out-of-range access in k"), std::string::npos);
  control<void>("tencVmReset");
  EXPECT_EQ(call("cuGraphExecDestroy", replay), kSuccess);
  EXPECT_EQ(call("cuGraphDestroy", graph), kSuccess);
  EXPECT_EQ(call("cuModuleUnload", m), kSuccess);
}

TEST_F(FakeDriver, TargetsOfModules) {
  Handle m = nullptr;
  auto load = [&](const char* target, const std::string& body = "ret;") {
    const std::string text = std::string(".version 9.0\n.target ") + target + "\n.visible .entry k() { " + body + " }";
    const int status = call("cuModuleLoadData", &m, static_cast<const void*>(text.c_str()));
    if (status == kSuccess) EXPECT_EQ(call("cuModuleUnload", m), kSuccess);
    return status;
  };
  for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_90a"}) EXPECT_EQ(load(target), kSuccess) << target;
  for (const char* target : {"sm_100", "sm_100a", "sm_80a", "sm_89f"}) EXPECT_EQ(load(target), kNoBinary) << target;
  EXPECT_EQ(load("sm_90a", "wgmma.fence.sync.aligned; ret;"), kSuccess);
  EXPECT_EQ(load("sm_90", "wgmma.fence.sync.aligned; ret;"), kInvalidPtx);
  EXPECT_EQ(load("sm_90", ".shared .b8 s[49153]; .reg .b32 %r<2>; mov.u32 %r1, s; ret;"), kInvalidPtx);
  for (const char* capability : {"8.9", "10.0", "12.0"}) {
    setenv("TENC_VM_CAPABILITY", capability, 1);
    EXPECT_EQ(load("sm_80"), kSuccess);
    EXPECT_EQ(load("sm_90a"), kNoBinary) << capability;
  }
  unsetenv("TENC_VM_CAPABILITY");
}

TEST_F(FakeDriver, ErrorsInKernelsSpoilTheDevice) {
  void* values[] = {&a};
  for (Mode m : {kEager, kLazy}) {
    setMode(m);
    EXPECT_EQ(launchAny(behind, nullptr, values, 1), m == kEager ? kIllegalAddress : kSuccess);
    EXPECT_EQ(call("cuCtxSynchronize"), kIllegalAddress);
    EXPECT_EQ(launchPlus(b, a, 1, nullptr), kIllegalAddress);
    EXPECT_NE(reports().find("out-of-range access in behind at line"), std::string::npos);
    control<void>("tencVmReset");
  }
}

TEST_F(FakeDriver, RedzonesOfPlannedBuffers) {
  EXPECT_EQ(control<int>("tencVmSetRedzone", uint64_t{a + 128}, uint64_t{64}, 1), 1);
  EXPECT_EQ(launchPlus(b, a, 1, nullptr), kIllegalAddress);
  EXPECT_NE(reports().find("redzone in plus"), std::string::npos);
}

TEST_F(FakeDriver, AForgottenWaitShows) {
  // One stream makes b of a, another one c of b. The second has to wait for the first.
  for (bool waits : {true, false}) {
    unsigned wrong = 0;
    for (Mode m : {kEager, kLazy, kRandom, kRandom, kRandom, kRandom}) {
      EXPECT_EQ(call("cuMemsetD32Async", b, 1000u, size_t{kCount}, Handle{}), kSuccess);
      setMode(m, wrong + 1);
      Handle first = stream(), second = stream(), made = event();
      EXPECT_EQ(launchPlus(b, a, 1, first), kSuccess);
      EXPECT_EQ(call("cuEventRecord", made, first), kSuccess);
      if (waits) EXPECT_EQ(call("cuStreamWaitEvent", second, made, 0u), kSuccess);
      EXPECT_EQ(launchPlus(c, b, 1, second), kSuccess);
      EXPECT_EQ(call("cuStreamSynchronize", second), kSuccess);
      uint32_t got = lastOf(c);
      if (m == kEager || waits) EXPECT_EQ(got, kCount + 1);
      if (m == kLazy && !waits) EXPECT_EQ(got, 1001u);
      wrong += got != kCount + 1;
      for (Handle s : {first, second}) EXPECT_EQ(call("cuStreamDestroy", s), kSuccess);
      EXPECT_EQ(call("cuEventDestroy", made), kSuccess);
    }
    EXPECT_EQ(wrong > 0, !waits);
  }
}

TEST_F(FakeDriver, PollingEnds) {
  for (Mode m : {kEager, kLazy, kRandom, kAsync}) {
    setMode(m);
    Handle s = stream(), made = event();
    EXPECT_EQ(launchPlus(b, a, 1, s), kSuccess);
    EXPECT_EQ(call("cuEventRecord", made, s), kSuccess);
    int polls = 0;
    while (call("cuEventQuery", made) == kNotReady) ASSERT_LT(++polls, 100);
    if (m != kAsync) EXPECT_EQ(polls > 0, m != kEager);
    EXPECT_EQ(call("cuStreamQuery", s), kSuccess);
    EXPECT_EQ(call("cuStreamDestroy", s), kSuccess);
  }
}

TEST_F(FakeDriver, PollingRunsNothingElse) {
  EXPECT_EQ(call("cuMemsetD32Async", b, 1000u, size_t{kCount}, Handle{}), kSuccess);
  setMode(kLazy);
  Handle first = stream(), second = stream(), made = event();
  EXPECT_EQ(launchPlus(b, a, 1, first), kSuccess);
  EXPECT_EQ(launchPlus(c, b, 1, second), kSuccess);
  EXPECT_EQ(call("cuEventRecord", made, second), kSuccess);
  while (call("cuEventQuery", made) == kNotReady) {}
  EXPECT_EQ(lastOf(c), 1001u);
  for (Handle s : {first, second}) EXPECT_EQ(call("cuStreamDestroy", s), kSuccess);
}

TEST_F(FakeDriver, TheHostGoesOnWhileAKernelRuns) {
  for (Mode m : {kLazy, kRandom, kAsync}) {
    EXPECT_EQ(call("cuMemsetD32Async", b, 0u, size_t{kCount}, Handle{}), kSuccess);
    EXPECT_EQ(call("cuCtxSynchronize"), kSuccess);
    setMode(m);
    Handle s = stream(), other = stream(), begun = event(), ended = event(), copied = event();
    Handle spin = function("spin");
    void* values[] = {&b};
    EXPECT_EQ(call("cuEventRecord", begun, s), kSuccess);
    EXPECT_EQ(launchAny(spin, s, values, 1), kSuccess);
    EXPECT_EQ(call("cuEventRecord", ended, s), kSuccess);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(call("cuEventQuery", ended), kNotReady);
    // Memory may come and go, and copies on another stream are done.
    Pointer p = 0;
    EXPECT_EQ(call("cuMemAlloc", &p, kBytes), kSuccess);
    EXPECT_EQ(call("cuMemcpyDtoDAsync", c, a, kBytes, other), kSuccess);
    EXPECT_EQ(call("cuEventRecord", copied, other), kSuccess);
    EXPECT_EQ(call("cuEventSynchronize", copied), kSuccess);
    EXPECT_EQ(call("cuEventQuery", ended), kNotReady);
    EXPECT_EQ(call("cuMemsetD32Async", b, 1u, size_t{1}, other), kSuccess);
    EXPECT_EQ(call("cuStreamSynchronize", other), kSuccess);
    EXPECT_EQ(call("cuEventSynchronize", ended), kSuccess);
    float before = 0, after = 0;
    EXPECT_EQ(call("cuEventElapsedTime", &before, begun, copied), kSuccess);
    EXPECT_EQ(call("cuEventElapsedTime", &after, copied, ended), kSuccess);
    EXPECT_GT(before, 0);
    EXPECT_GT(after, 0);
    EXPECT_EQ(call("cuMemFree", p), kSuccess);
    for (Handle e : {begun, ended, copied}) EXPECT_EQ(call("cuEventDestroy", e), kSuccess);
    for (Handle each : {s, other}) EXPECT_EQ(call("cuStreamDestroy", each), kSuccess);
  }
}

TEST_F(FakeDriver, PinnedMemoryIsReadWhenTheCopyRuns) {
  setMode(kLazy);
  void* pinned = nullptr;
  ASSERT_EQ(call("cuMemHostAlloc", &pinned, kBytes, 0u), kSuccess);
  Handle s = stream();
  std::memset(pinned, 0, kBytes);
  unsigned kind = 0;
  EXPECT_EQ(call("cuPointerGetAttribute", static_cast<void*>(&kind), 2, reinterpret_cast<Pointer>(pinned)), kSuccess);
  EXPECT_EQ(kind, 1u);
  EXPECT_EQ(call("cuPointerGetAttribute", static_cast<void*>(&kind), 2, reinterpret_cast<Pointer>(&kind)),
            kInvalidValue);
  EXPECT_EQ(call("cuMemcpyHtoDAsync", b, static_cast<const void*>(pinned), kBytes, s), kSuccess);
  std::memset(pinned, 1, kBytes);  // too early
  EXPECT_EQ(lastOf(b), 0x01010101u);
  std::vector<uint32_t> pageable(kCount, 3);
  EXPECT_EQ(call("cuMemcpyHtoDAsync", b, static_cast<const void*>(pageable.data()), kBytes, s), kSuccess);
  pageable.assign(kCount, 4);
  EXPECT_EQ(lastOf(b), 3u);
  EXPECT_EQ(call("cuMemFreeHost", pinned), kSuccess);
  EXPECT_EQ(call("cuStreamDestroy", s), kSuccess);
}

TEST_F(FakeDriver, GraphsAreReplayed) {
  Handle main = stream(), side = stream(), fork = event(), join = event(), graph = nullptr, replay = nullptr;
  ASSERT_EQ(call("cuStreamBeginCapture", main, 0), kSuccess);
  EXPECT_EQ(launchPlus(b, a, 1, main), kSuccess);
  EXPECT_EQ(call("cuEventRecord", fork, main), kSuccess);
  EXPECT_EQ(call("cuStreamWaitEvent", side, fork, 0u), kSuccess);
  EXPECT_EQ(launchPlus(c, b, 10, side), kSuccess);
  EXPECT_EQ(call("cuEventRecord", join, side), kSuccess);
  EXPECT_EQ(call("cuStreamWaitEvent", main, join, 0u), kSuccess);
  EXPECT_EQ(launchPlus(a, c, 0, main), kSuccess);
  ASSERT_EQ(call("cuStreamEndCapture", main, &graph), kSuccess);
  size_t count = 0;
  EXPECT_EQ(call("cuGraphGetNodes", graph, static_cast<Handle*>(nullptr), &count), kSuccess);
  EXPECT_EQ(count, 3u);
  ASSERT_EQ(call("cuGraphInstantiateWithFlags", &replay, graph, 0ull), kSuccess);
  EXPECT_EQ(lastOf(a), kCount - 1);  // nothing has run yet
  for (Mode m : {kEager, kLazy, kRandom}) {
    setMode(m);
    uint32_t before = lastOf(a);
    EXPECT_EQ(call("cuGraphLaunch", replay, main), kSuccess);
    EXPECT_EQ(call("cuGraphLaunch", replay, main), kSuccess);
    EXPECT_EQ(lastOf(a), before + 22);
  }
  // A parameter is what it was when the graph was made, until it is set.
  std::vector<Handle> nodes(count);
  EXPECT_EQ(call("cuGraphGetNodes", graph, nodes.data(), &count), kSuccess);
  uint32_t by = 100;
  KernelNodeParameters parameters{plus, {1, 1, 1, kCount, 1, 1, 0}, nullptr, nullptr, {}};
  void* values[] = {&b, &a, &by};
  parameters.values = values;
  uint32_t before = lastOf(a);
  EXPECT_EQ(call("cuGraphExecKernelNodeSetParams", replay, nodes[0], static_cast<const void*>(&parameters)), kSuccess);
  by = 5;  // the parameters were copied
  EXPECT_EQ(call("cuGraphLaunch", replay, main), kSuccess);
  EXPECT_EQ(lastOf(a), before + 110);
  // A stale one, which points to memory that was freed, is an error of the replay.
  Pointer stale = 0;
  ASSERT_EQ(call("cuMemAlloc", &stale, kBytes), kSuccess);
  values[1] = &stale;
  EXPECT_EQ(call("cuGraphExecKernelNodeSetParams", replay, nodes[0], static_cast<const void*>(&parameters)), kSuccess);
  ASSERT_EQ(call("cuMemFree", stale), kSuccess);
  setMode(kEager);
  EXPECT_EQ(call("cuGraphLaunch", replay, main), kIllegalAddress);
  EXPECT_NE(reports().find("out-of-range access in plus"), std::string::npos);
  control<void>("tencVmReset");
  EXPECT_EQ(call("cuGraphExecDestroy", replay), kSuccess);
  EXPECT_EQ(call("cuGraphDestroy", graph), kSuccess);
}

TEST_F(FakeDriver, NodesOfACaptureComeAfterWhatTheyAreToldTo) {
  Handle main = stream(), graph = nullptr, replay = nullptr;
  for (const bool depends : {true, false}) {
    ASSERT_EQ(call("cuStreamBeginCapture", main, 1), kSuccess);
    EXPECT_EQ(launchPlus(b, a, 1, main), kSuccess);
    int state = 0;
    Handle const* after = nullptr;
    size_t count = 0;
    EXPECT_EQ(call("cuStreamGetCaptureInfo", main, &state, static_cast<uint64_t*>(nullptr),
                   static_cast<Handle*>(nullptr), &after, &count),
              kSuccess);
    ASSERT_EQ(count, 1u);
    Handle first = after[0];
    EXPECT_EQ(call("cuStreamUpdateCaptureDependencies", main, &first, size_t{depends}, 1u), kSuccess);
    EXPECT_EQ(launchPlus(c, b, 10, main), kSuccess);
    EXPECT_EQ(call("cuStreamUpdateCaptureDependencies", main, &first, size_t{1}, 0u), kSuccess);
    ASSERT_EQ(call("cuStreamEndCapture", main, &graph), kSuccess);
    ASSERT_EQ(call("cuGraphInstantiateWithFlags", &replay, graph, 0ull), kSuccess);
    setMode(kEager);
    EXPECT_EQ(launchPlus(b, a, 100, main), kSuccess);
    setMode(kLazy);
    EXPECT_EQ(call("cuGraphLaunch", replay, main), kSuccess);
    EXPECT_EQ(lastOf(c), kCount - 1 + (depends ? 11 : 110));  // else the second kernel runs before the first
  }
}

TEST_F(FakeDriver, MistakesInCaptures) {
  Handle main = stream(), side = stream(), fork = event(), graph = nullptr;
  ASSERT_EQ(call("cuStreamBeginCapture", main, 0), kSuccess);
  EXPECT_EQ(call("cuCtxSynchronize"), kCaptureUnsupported);
  EXPECT_EQ(call("cuStreamEndCapture", main, &graph), kCaptureInvalidated);
  ASSERT_EQ(call("cuStreamBeginCapture", main, 0), kSuccess);
  EXPECT_EQ(call("cuMemAlloc", &a, kBytes), kCaptureUnsupported);
  EXPECT_EQ(call("cuStreamEndCapture", main, &graph), kCaptureInvalidated);
  ASSERT_EQ(call("cuStreamBeginCapture", main, 0), kSuccess);
  EXPECT_EQ(call("cuEventRecord", fork, main), kSuccess);
  EXPECT_EQ(call("cuStreamWaitEvent", side, fork, 0u), kSuccess);
  EXPECT_EQ(launchPlus(b, a, 1, side), kSuccess);
  EXPECT_EQ(call("cuStreamEndCapture", main, &graph), kCaptureUnjoined);
  // What another thread does is its own affair, where the capture says so.
  for (const bool isOwn : {true, false}) {
    ASSERT_EQ(call("cuStreamBeginCapture", main, isOwn ? 1 : 0), kSuccess);
    std::thread([&] {
      EXPECT_EQ(call("cuCtxSetCurrent", context), kSuccess);
      EXPECT_EQ(call("cuCtxSynchronize"), isOwn ? kSuccess : kCaptureUnsupported);
    }).join();
    EXPECT_EQ(call("cuStreamEndCapture", main, &graph), isOwn ? kSuccess : kCaptureInvalidated);
  }
}

/// Of cuGraphAddNode.
struct NodeParameters {
  int type = 13, reserved[3] = {};
  uint64_t handle = 0;
  int repeats = 0;
  unsigned size = 1;
  Handle* bodies = nullptr;
  Handle context = nullptr;
  long long rest[26] = {};
};

class Conditions : public FakeDriver {
 protected:
  void SetUp() override {
    FakeDriver::SetUp();
    countdown = function("countdown");
    main = stream(), inner = stream();
  }
  /// A condition, and a node for it behind what `main` has captured; its body is captured on `inner`.
  int begin(bool repeats, unsigned flags, unsigned atLaunch) {
    Handle graph = nullptr, node = nullptr;
    Handle const* after = nullptr;
    size_t count = 0;
    int state = 0;
    EXPECT_EQ(call("cuStreamGetCaptureInfo", main, &state, static_cast<uint64_t*>(nullptr), &graph, &after, &count), 0);
    EXPECT_EQ(call("cuGraphConditionalHandleCreate", &handle, graph, context, atLaunch, flags), kSuccess);
    NodeParameters p;
    p.handle = handle, p.repeats = repeats, p.context = context;
    const int status = call("cuGraphAddNode", &node, graph, after, static_cast<const void*>(nullptr), count, &p);
    if (status != kSuccess) return status;
    EXPECT_EQ(call("cuGraphAddNode", &node, graph, after, static_cast<const void*>(nullptr), count, &p), kInvalidValue)
        << "a second node of the condition";
    EXPECT_EQ(call("cuStreamUpdateCaptureDependencies", main, &node, size_t{1}, 1u), kSuccess);
    return call("cuStreamBeginCaptureToGraph", inner, p.bodies[0], static_cast<Handle const*>(nullptr),
                static_cast<const void*>(nullptr), size_t{0}, 1);
  }
  int count(Handle s) {
    void* values[] = {&a, &handle};
    return launchAny(countdown, s, values, 1);
  }
  /// 0, or what instantiating gives.
  int end() {
    Handle body = nullptr, graph = nullptr;
    EXPECT_EQ(call("cuStreamEndCapture", inner, &body), kSuccess);
    EXPECT_EQ(call("cuGraphDestroy", body), kInvalidHandle) << "it is the node's";
    EXPECT_EQ(call("cuStreamEndCapture", main, &graph), kSuccess);
    const int status = call("cuGraphInstantiateWithFlags", &replay, graph, 0ull);
    EXPECT_EQ(call("cuGraphDestroy", graph), kSuccess);
    return status;
  }
  void counter(uint32_t n) { EXPECT_EQ(call("cuMemcpyHtoD", a, static_cast<const void*>(&n), size_t{4}), kSuccess); }
  uint64_t handle = 0;
  Handle countdown = nullptr, main = nullptr, inner = nullptr, replay = nullptr;
};

TEST_F(Conditions, BodiesRunAsLongAsTheySay) {
  for (const bool repeats : {true, false}) {
    ASSERT_EQ(call("cuStreamBeginCapture", main, 1), kSuccess);
    ASSERT_EQ(begin(repeats, 1, 1), kSuccess);
    EXPECT_EQ(count(inner), kSuccess);
    EXPECT_EQ(launchPlus(b, b, 1, inner), kSuccess);
    ASSERT_EQ(end(), kSuccess);
    for (Mode m : {kEager, kLazy, kRandom, kAsync}) {
      EXPECT_EQ(call("cuMemcpyHtoD", b, static_cast<const void*>(host), kBytes), kSuccess);
      counter(5);
      setMode(m);
      EXPECT_EQ(call("cuGraphLaunch", replay, main), kSuccess);
      EXPECT_EQ(lastOf(b), kCount - 1 + (repeats ? 5 : 1));
      setMode(kEager);
    }
    EXPECT_EQ(call("cuGraphExecDestroy", replay), kSuccess);
  }
  EXPECT_EQ(reports(), "");
  // What is set where the condition's graph does not run is an error.
  counter(5);
  EXPECT_NE(count(main), kSuccess);
  EXPECT_NE(reports().find("none of the graph that runs"), std::string::npos);
}

TEST_F(Conditions, Mistakes) {
  // Without a default somebody has to set it before.
  ASSERT_EQ(call("cuStreamBeginCapture", main, 1), kSuccess);
  ASSERT_EQ(begin(true, 0, 1), kSuccess);
  EXPECT_EQ(count(inner), kSuccess);
  ASSERT_EQ(end(), kSuccess);
  EXPECT_EQ(call("cuGraphLaunch", replay, main), kSuccess);
  EXPECT_NE(reports().find("its condition was not set before"), std::string::npos);
  // A copy from memory that may be moved meanwhile has no place in a body.
  ASSERT_EQ(call("cuStreamBeginCapture", main, 1), kSuccess);
  ASSERT_EQ(begin(true, 1, 1), kSuccess);
  EXPECT_EQ(call("cuMemcpyHtoDAsync", b, static_cast<const void*>(host), kBytes, inner), kSuccess);
  EXPECT_EQ(end(), kInvalidValue);
  // A condition of another context.
  Handle graph = nullptr, other = nullptr;
  ASSERT_EQ(call("cuDevicePrimaryCtxRetain", &other, 1), kSuccess);
  ASSERT_EQ(call("cuStreamBeginCapture", main, 1), kSuccess);
  EXPECT_EQ(launchPlus(b, a, 1, main), kSuccess);
  ASSERT_EQ(call("cuStreamEndCapture", main, &graph), kSuccess);
  EXPECT_EQ(call("cuGraphConditionalHandleCreate", &handle, graph, other, 0u, 0u), kInvalidValue);
  // One that no node has.
  EXPECT_EQ(call("cuGraphConditionalHandleCreate", &handle, graph, context, 0u, 0u), kSuccess);
  EXPECT_EQ(call("cuGraphInstantiateWithFlags", &replay, graph, 0ull), kInvalidValue);
}

TEST_F(FakeDriver, SeveralDevices) {
  Handle other = nullptr;
  Pointer there = 0;
  int can = 0;
  ASSERT_EQ(call("cuDevicePrimaryCtxRetain", &other, 1), kSuccess);
  EXPECT_EQ(call("cuDeviceCanAccessPeer", &can, 0, 1), kSuccess);
  EXPECT_EQ(can, 1);
  ASSERT_EQ(call("cuCtxSetCurrent", other), kSuccess);
  ASSERT_EQ(call("cuMemAlloc", &there, kBytes), kSuccess);
  EXPECT_EQ(call("cuMemcpyPeerAsync", there, other, a, context, kBytes, Handle{}), kSuccess);
  EXPECT_EQ(lastOf(there), kCount - 1);
  // A kernel of one device does not reach the memory of another.
  ASSERT_EQ(call("cuCtxSetCurrent", context), kSuccess);
  EXPECT_EQ(launchPlus(b, there, 1, nullptr), kIllegalAddress);
  ASSERT_EQ(call("cuCtxSetCurrent", other), kSuccess);
  EXPECT_EQ(call("cuCtxSynchronize"), kSuccess);  // which is none the worse
  EXPECT_EQ(call("cuMemFree", there), kSuccess);
  ASSERT_EQ(call("cuCtxSetCurrent", context), kSuccess);
}

TEST_F(FakeDriver, Counters) {
  control<const char*>("tencVmCounters", 1);
  EXPECT_EQ(launchPlus(b, a, 1, nullptr), kSuccess);
  lastOf(b);
  std::string text = control<const char*>("tencVmCounters", 0);
  EXPECT_NE(text.find("device 0: launches 1, copies 1, bytes copied 256"), std::string::npos) << text;
  EXPECT_NE(text.find("plus: launches 1, blocks 1, threads 64"), std::string::npos) << text;
}

}  // namespace
}  // namespace tenc::ptx::testing
