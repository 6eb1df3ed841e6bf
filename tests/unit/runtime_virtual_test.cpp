// Virtual devices: what a GPU would not forgive is found, the results are those of the cpu in every order of work, and
// a forgotten wait shows. Programs are made by hand, their kernels are plain functions.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include "runtime/Instance.h"
#include "runtime/Machine.h"
#include "runtime/virtual/GuardedPages.h"
#include "runtime/virtual/Queue.h"

namespace tenc::rt {
namespace {

using abi::Access;
using abi::BufferId;
using abi::Program;

constexpr uint64_t kBytes = 4096;
constexpr int64_t kCount = kBytes / sizeof(float);
constexpr uint8_t kF32 = 2;  // as in ir::DType

float* floats(void* p) { return static_cast<float*>(p); }

/// b = a + 1, slowly enough for a forgotten wait to show.
void plusOne(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t*, void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  for (int64_t i = begin; i < end; ++i) floats(b[1])[i] = floats(b[0])[i] + 1;
}
void plusOneFast(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t*, void*) {
  for (int64_t i = begin; i < end; ++i) floats(b[1])[i] = floats(b[0])[i] + 1;
}
/// Reads an element too many.
void overrun(void* const* b, const uint64_t*, int64_t, int64_t, uint32_t*, void*) {
  volatile float x = floats(b[0])[kCount];
  (void)x;
}
void underrun(void* const* b, const uint64_t*, int64_t, int64_t, uint32_t*, void*) { floats(b[1])[-1] = 0; }
void stopsAt1(void* const*, const uint64_t*, int64_t, int64_t, uint32_t* fault, void*) { *fault = 1; }

class Maker {
 public:
  Maker() { p.devices = {{"cpu", 0}, {"cuda:0", 0}, {"cuda:1", 0}}; }

  BufferId buffer(uint32_t device, uint64_t bytes = kBytes) {
    p.buffers.push_back({device, p.devices[device].arenaBytes, bytes});
    p.devices[device].arenaBytes += (bytes + 63) / 64 * 64;
    return static_cast<BufferId>(p.buffers.size() - 1);
  }
  BufferId constant(float value) {
    const BufferId b = buffer(0);
    std::string data(kBytes, 0);
    for (int64_t i = 0; i < kCount; ++i) std::memcpy(&data[static_cast<size_t>(i) * 4], &value, 4);
    p.constants.push_back({b, std::move(data)});
    return b;
  }
  void launch(uint32_t device, abi::KernelFn fn, BufferId from, BufferId to) {
    const std::string name = "kernel" + std::to_string(p.kernels.size());
    p.kernels.push_back({name, abi::HostCode{abi::kNoImage, name, kCount, kCount, 0}, {}});
    p.kernels.back().sites = {static_cast<uint32_t>(p.sites.size())};
    p.sites.push_back({abi::FaultKind::Index, {}, {}});
    functions[name] = fn;
    const auto kernel = static_cast<uint32_t>(p.kernels.size() - 1);
    p.steps.push_back({abi::Launch{kernel, device, {{from, 0, Access::Read}, {to, 0, Access::Write}}, {}}});
  }
  void move(BufferId from, BufferId to) { p.steps.push_back({abi::Transfer{{to, 0}, {from, 0}, kBytes}}); }
  void result(BufferId b) { p.results.push_back({b, 0, kF32, {kCount}, "cpu"}); }

  std::shared_ptr<const LoadedProgram> load() const {
    std::string error;
    auto loaded = LoadedProgram::load(std::make_shared<Program>(p), error,
                                      [this](std::string_view name) { return functions.at(std::string(name)); });
    EXPECT_TRUE(loaded) << error;
    return loaded;
  }

  Program p;
  std::map<std::string, abi::KernelFn> functions;  ///< of the kernels, by their names
};

const char* nameOf(QueueMode mode) {
  return mode == QueueMode::Async ? "async" : mode == QueueMode::Sync ? "sync" : "lazy";
}

MachineOptions twoDevices(QueueMode mode, uint64_t capacity = 0) {
  MachineOptions options;
  options.threads = 2;
  for (const char* name : {"cuda:0", "cuda:1"})
    options.devices.push_back({"virtual", name, capacity, {{"order", nameOf(mode)}}});
  return options;
}

CallResult runOn(const Maker& m, QueueMode mode, std::vector<float>* results = nullptr, bool dropWaits = false) {
  Machine machine(twoDevices(mode));
  EXPECT_EQ(machine.problem(), "");
  CallOptions run;
  run.dropWaits = dropWaits;
  run.result = [&](size_t, const void* data) {
    if (results) results->push_back(static_cast<const float*>(data)[kCount - 1]);
  };
  return Instance::create(m.load(), machine)->call(run);
}

/// cpu -> cuda:0, + 1, -> cuda:1, + 1, -> cpu, + 1
Maker journey() {
  Maker m;
  const BufferId start = m.constant(1), a = m.buffer(1), b = m.buffer(1), c = m.buffer(2), d = m.buffer(2),
                 e = m.buffer(0), f = m.buffer(0);
  m.move(start, a);
  m.launch(1, plusOne, a, b);
  m.move(b, c);
  m.launch(2, plusOne, c, d);
  m.move(d, e);
  m.launch(0, plusOne, e, f);
  m.result(f);
  m.result(d);
  return m;
}

class EveryQueueMode : public ::testing::TestWithParam<QueueMode> {};
INSTANTIATE_TEST_SUITE_P(Virtual, EveryQueueMode,
                         ::testing::Values(QueueMode::Async, QueueMode::Sync, QueueMode::Lazy));

/// What a library reports that says of itself that it was called wrongly: no site stands for that.
void impossible(void* const*, const uint64_t*, int64_t, int64_t, uint32_t* fault, void*) {
  abi::reportLeast(reinterpret_cast<abi::KernelState*>(fault), std::size(abi::kLibraryFaults) + 1, 0, 0, -1, 0);
}

TEST_P(EveryQueueMode, AStatusThatNoSiteStandsForIsABug) {
  for (const uint32_t device : {0u, 1u}) {
    Maker m;
    const BufferId start = m.constant(1), a = m.buffer(1), b = m.buffer(device);
    m.move(start, a);
    m.launch(device, impossible, device == 0 ? start : a, b);
    const CallResult r = runOn(m, GetParam());
    EXPECT_EQ(r.end, CallResult::End::Bug) << device;
    EXPECT_NE(r.text.find("an unknown fault of kernel"), std::string::npos) << r.text;
  }
}

TEST(GuardedPages, AProtectionThatTheSystemRefusesIsNoticed) {
  abi::Program p;
  p.devices.resize(2);
  p.buffers.push_back({.device = 1, .offset = 0, .bytes = uint64_t{1} << 20});
  GuardedPages pages;
  ASSERT_TRUE(pages.map(p, 1));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit none{1, before.rlim_max};  // of memory that may be written
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &none), 0);
  const bool opened = pages.open(0);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_FALSE(opened);
  EXPECT_TRUE(pages.open(0));
  EXPECT_TRUE(pages.close(0));
}

TEST_P(EveryQueueMode, ValuesArriveFromDeviceToDevice) {
  std::vector<float> results;
  EXPECT_EQ(runOn(journey(), GetParam(), &results).end, CallResult::End::Done);
  EXPECT_EQ(results, (std::vector<float>{4, 3}));
}

TEST_P(EveryQueueMode, AMissingTransferIsFound) {
  for (size_t dropped : {0u, 2u, 4u}) {
    Maker m = journey();
    m.p.steps.erase(m.p.steps.begin() + static_cast<std::ptrdiff_t>(dropped));
    const CallResult r = runOn(m, GetParam());
    if (dropped == 4) continue;  // the host's memory is not watched: the kernel reads what is there
    EXPECT_EQ(r.end, CallResult::End::Bug) << dropped;
    EXPECT_NE(r.text.find("before anything was put there: a transfer is missing"), std::string::npos) << r.text;
  }
}

TEST_P(EveryQueueMode, MemoryOfAnotherDeviceIsRefused) {
  Maker m;
  const BufferId host = m.constant(1), far = m.buffer(2), out = m.buffer(1);
  m.move(host, far);
  m.launch(1, plusOneFast, far, out);
  m.result(out);
  const CallResult r = runOn(m, GetParam());
  EXPECT_EQ(r.end, CallResult::End::Bug);
  EXPECT_EQ(r.text, "kernel kernel0 on cuda:0 was given memory of another device: a transfer is missing");
}

TEST_P(EveryQueueMode, WritesBeforeABufferAreFound) {
  Maker m;
  const BufferId host = m.constant(1), in = m.buffer(1), out = m.buffer(1, 40);
  m.move(host, in);
  m.launch(1, underrun, in, out);
  const CallResult r = runOn(m, GetParam());
  EXPECT_EQ(r.end, CallResult::End::Bug);
  EXPECT_EQ(r.text, "kernel kernel0 on cuda:0 writes before the beginning of m2 of cuda:0 (40 bytes)");
}

/// Memory that the plan gives to another value holds nothing any more, also where the bytes are still there.
TEST_P(EveryQueueMode, MemoryThatWasTakenOverIsGone) {
  Maker m;
  const BufferId host = m.constant(1), a = m.buffer(1), b = m.buffer(1), c = m.buffer(1);
  m.p.buffers[b].offset = m.p.buffers[a].offset + kBytes / 2;  // a mistake of the plan
  m.move(host, a);
  m.move(host, b);
  m.launch(1, plusOneFast, a, c);
  EXPECT_EQ(runOn(m, GetParam()).end, CallResult::End::Bug);
}

/// Of two stops the one that comes first in the program counts, whichever device is faster.
TEST_P(EveryQueueMode, TheFirstStopOfTheProgramCounts) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Maker m;
    const BufferId host = m.constant(1), a = m.buffer(1), b = m.buffer(1), c = m.buffer(2), d = m.buffer(2);
    m.move(host, a);
    m.move(host, c);
    m.launch(1, plusOne, a, b);
    m.launch(1, stopsAt1, b, a);
    m.launch(2, stopsAt1, c, d);
    const CallResult r = runOn(m, GetParam());
    EXPECT_EQ(r.end, CallResult::End::Stopped);
    EXPECT_EQ(r.site, 1u);
  }
}

/// What the host overwrites is waited for before, what it reads arrives before.
TEST_P(EveryQueueMode, TheHostWaitsForCopiesOfItsMemory) {
  Maker m;
  const BufferId zero = m.constant(0), host = m.constant(5), a = m.buffer(1), b = m.buffer(1), slow = m.buffer(1),
                 out = m.buffer(0);
  m.move(host, a);
  for (int i = 0; i < 3; ++i) m.launch(1, plusOne, a, slow);
  m.move(host, b);                       // not before the kernels
  m.launch(0, plusOneFast, zero, host);  // writes what is still to be copied
  m.move(b, out);
  m.result(out);
  m.result(host);
  m.p.kernels.back().name = "host";
  std::vector<float> results;
  EXPECT_EQ(runOn(m, GetParam(), &results).end, CallResult::End::Done);
  EXPECT_EQ(results, (std::vector<float>{5, 1}));
}

TEST(Virtual, AForgottenWaitOfTheHostShows) {
  Maker m;
  const BufferId start = m.constant(1), a = m.buffer(1), b = m.buffer(1), c = m.buffer(0), d = m.buffer(0);
  m.move(start, a);
  m.launch(1, plusOne, a, b);
  m.move(b, c);
  m.launch(0, plusOneFast, c, d);
  m.result(d);
  for (const QueueMode mode : {QueueMode::Async, QueueMode::Lazy}) {
    std::vector<float> results;
    runOn(m, mode, &results, /*dropWaits=*/true);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_TRUE(std::isnan(results[0]));
  }
}

TEST(Virtual, AForgottenWaitOfADeviceShows) {
  std::vector<float> results;
  runOn(journey(), QueueMode::Lazy, &results, /*dropWaits=*/true);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(std::isnan(results[1]));
}

TEST(Virtual, WorkOnDifferentDevicesOverlaps) {
  // Each kernel waits until the other one has begun.
  static std::atomic<int> begun;
  begun = 0;
  const auto meet = [](void* const*, const uint64_t*, int64_t, int64_t, uint32_t*, void*) {
    ++begun;
    for (int i = 0; i < 20000 && begun < 2; ++i) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  Maker m;
  const BufferId host = m.constant(1), a = m.buffer(1), b = m.buffer(1), c = m.buffer(2), d = m.buffer(2);
  m.move(host, a);
  m.move(host, c);
  m.launch(1, meet, a, b);
  m.launch(2, meet, c, d);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(runOn(m, QueueMode::Async).end, CallResult::End::Done);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Virtual, CapacityIsEnforced) {
  Machine machine(twoDevices(QueueMode::Async, 2 * kBytes - 1));
  const CallResult r = Instance::create(journey().load(), machine)->call();
  EXPECT_EQ(r.end, CallResult::End::OutOfMemory);
  EXPECT_EQ(r.text, "cuda:0 cannot give 8192 bytes");
}

TEST(Virtual, WhatIsTouchedIsThePlan) {
  Machine machine(twoDevices(QueueMode::Async));
  const auto p = journey().load();
  const CallResult r = Instance::create(p, machine)->call({.measureMemory = true});
  EXPECT_EQ(r.end, CallResult::End::Done);
  for (size_t i = 1; i < 3; ++i) EXPECT_EQ(r.touched[i], p->program().devices[i].arenaBytes);
}

TEST(Virtual, UnknownKindsAndSettingsAreNamed) {
  EXPECT_EQ(Machine({.devices = {{"tpu", "tpu:0"}}}).problem(), "nothing makes devices by the name of `tpu`");
  EXPECT_EQ(Machine({.devices = {{"virtual", "cuda:0", 0, {{"order", "odd"}}}}}).problem(),
            "a virtual device has no setting `order=odd`");
}

/// Calls that follow each other find constants where they are put once, and nothing else of the call before.
TEST_P(EveryQueueMode, CallsFollowEachOther) {
  Maker m;
  const BufferId start = m.constant(1), held = m.buffer(1), a = m.buffer(1), b = m.buffer(1), out = m.buffer(0);
  m.p.constants.push_back({held, m.p.constants[0].bytes});
  m.launch(1, plusOneFast, held, a);
  m.launch(1, plusOneFast, a, b);
  m.move(b, out);
  m.result(out);
  m.result(start);
  Machine machine(twoDevices(GetParam()));
  const auto instance = Instance::create(m.load(), machine);
  for (int call = 0; call < 3; ++call) {
    std::vector<float> results;
    CallOptions options;
    options.result = [&](size_t, const void* data) { results.push_back(*static_cast<const float*>(data)); };
    EXPECT_EQ(instance->call(options).end, CallResult::End::Done);
    EXPECT_EQ(results, (std::vector<float>{3, 1}));
  }
  // Dropping the kernel that makes `a` shows: what the call before left there is gone.
  m.p.steps.erase(m.p.steps.begin());
  EXPECT_EQ(runOn(m, GetParam()).end, CallResult::End::Bug);
}

using VirtualDeathTest = EveryQueueMode;
INSTANTIATE_TEST_SUITE_P(Virtual, VirtualDeathTest,
                         ::testing::Values(QueueMode::Async, QueueMode::Sync, QueueMode::Lazy));

Machine* faulting = nullptr;

void reportFault(int, siginfo_t* info, void*) {
  char text[256] = "unknown";
  faulting->describeFault(info->si_addr, text, sizeof text);
  std::fprintf(stderr, "%s\n", text);
  _exit(3);
}

/// Runs the program; a fault is described on standard error and ends the process.
void runToFault(const Maker& m, QueueMode mode) {
  Machine machine(twoDevices(mode));
  faulting = &machine;
  struct sigaction action{};
  action.sa_sigaction = reportFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  Instance::create(m.load(), machine)->call();
}

TEST_P(VirtualDeathTest, AnOverrunFaults) {
  Maker m;
  const BufferId host = m.constant(1), a = m.buffer(1), b = m.buffer(1);
  m.move(host, a);
  m.launch(1, overrun, a, b);
  EXPECT_EXIT(runToFault(m, GetParam()), ::testing::ExitedWithCode(3),
              "kernel kernel0 on cuda:0 touched byte 4096 of buffer m1 of cuda:0, which has 4096");
}

/// A kernel that got hold of an address by mistake. With threads the host's memory stays open: it is at work too.
void* stray = nullptr;
void strays(void* const* b, const uint64_t*, int64_t, int64_t, uint32_t*, void*) { *floats(b[1]) = *floats(stray); }
void keepAddress(void* const* b, const uint64_t*, int64_t, int64_t, uint32_t*, void*) { stray = b[0]; }

TEST_P(VirtualDeathTest, AStrayAddressFaults) {
  for (const uint32_t owner : {0u, 2u}) {
    if (owner == 0 && GetParam() == QueueMode::Async) continue;
    Maker m;
    const BufferId host = m.constant(1), far = m.buffer(2), a = m.buffer(1), b = m.buffer(1), out = m.buffer(owner);
    m.move(host, a);
    m.move(host, far);
    m.launch(owner, keepAddress, owner == 0 ? host : far, out);
    m.move(out, a);  // after it
    m.launch(1, strays, a, b);
    EXPECT_EXIT(runToFault(m, GetParam()), ::testing::ExitedWithCode(3),
                owner == 0 ? "kernel kernel1 on cuda:0 touched memory of the cpu: a transfer is missing"
                           : "kernel kernel1 on cuda:0 touched buffer m1 of cuda:1 without a transfer");
  }
}

}  // namespace
}  // namespace tenc::rt
