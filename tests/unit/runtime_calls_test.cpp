// All that a call can do, from many threads at the same time: random state, loops, files, text, devices, stops on the
// host and on devices, interrupts, and memory of the caller of every kind. Each call has the bits that it has alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "runtime/Instance.h"
#include "runtime/Machine.h"

namespace tenc::rt {
namespace {

using abi::Access;
using abi::BufferId;

constexpr int64_t kRows = 40, kColumns = 25, kCount = kRows * kColumns;
constexpr uint64_t kBytes = kCount * sizeof(float);
constexpr uint8_t kI64 = abi::dtype::I64, kU64 = 11, kF32 = abi::dtype::F32;
constexpr int64_t kLongLoop = int64_t{1} << 40;
/// An element that stops the kernel on the host, or the one on the device.
constexpr float kStopsHost = -1, kStopsDevice = -2;

void reportAt(void* const* b, int64_t begin, int64_t end, uint32_t* fault, float stopper) {
  const auto* x = static_cast<const float*>(b[0]);
  for (int64_t i = begin; i < end; ++i)
    if (x[i] == stopper) abi::reportLeast(reinterpret_cast<abi::KernelState*>(fault), 1, i, 1, kCount, 0);
}
void check(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t* fault, void*) {
  reportAt(b, begin, end, fault, kStopsHost);
}

/// y = x + a number that the draw decides.
void noise(void* const* b, const uint64_t* scalars, int64_t begin, int64_t end, uint32_t*, void*) {
  const auto* x = static_cast<const float*>(b[0]);
  for (int64_t i = begin; i < end; ++i) {
    const uint64_t bits = (scalars[0] * 31 + scalars[1] * 17 + static_cast<uint64_t>(i)) * 0x9e3779b97f4a7c15u;
    static_cast<float*>(b[1])[i] = x[i] + static_cast<float>(bits >> 54) / 1024;
  }
}

/// y = x / 2 + 1, by way of scratch memory.
void halve(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t*, void* scratch) {
  auto* t = static_cast<float*>(scratch);
  for (int64_t i = begin; i < end; ++i) {
    *t = static_cast<const float*>(b[0])[i] / 2;
    static_cast<float*>(b[1])[i] = *t + 1;
  }
}

/// On the device: y = x * 3; stops where the input says so.
void triple(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t* fault, void*) {
  reportAt(b, begin, end, fault, kStopsDevice);
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(b[1])[i] = static_cast<const float*>(b[0])[i] * 3;
}

/// count += 1; goesOn = count < 5
void countUp(void* const* b, const uint64_t*, int64_t, int64_t, uint32_t*, void*) {
  const int64_t n = ++*static_cast<int64_t*>(b[0]);
  *static_cast<uint8_t*>(b[1]) = n < 5;
}

struct Builder {
  abi::Program p;
  BufferId buffer(uint64_t bytes, uint32_t device = 0) {
    p.buffers.push_back({device, p.devices[device].arenaBytes, bytes});
    p.devices[device].arenaBytes += (bytes + 63) / 64 * 64;
    return static_cast<BufferId>(p.buffers.size() - 1);
  }
  BufferId number(int64_t n) {
    const BufferId b = buffer(8);
    p.constants.push_back({b, std::string(reinterpret_cast<const char*>(&n), 8)});
    return b;
  }
  void kernel(const char* name, int64_t items, int64_t grain, uint64_t scratch = 0) {
    p.kernels.push_back({name, abi::HostCode{abi::kNoImage, name, items, grain, scratch}, {0}});
  }
};

/// Takes x, the number of the caller and how often the loop runs. Saves a tensor to FOLDER/NUMBER.npy and loads it
/// again.
std::shared_ptr<const LoadedProgram> everything(const std::string& folder) {
  Builder b;
  b.p.devices = {{"cpu", 0}, {"cuda:0", 0}};
  b.p.sites = {{abi::FaultKind::Index, {}, {}}};
  const BufferId in = b.buffer(kBytes), who = b.buffer(8), trips = b.buffer(8), x = b.buffer(kBytes),
                 y = b.buffer(kBytes), loaded = b.buffer(kBytes), out = b.buffer(kBytes), drawn = b.buffer(8);
  const BufferId seed = b.buffer(8), draw = b.buffer(8), count = b.buffer(8), goesOn = b.buffer(8), iv = b.buffer(8);
  const BufferId far = b.buffer(kBytes, 1), further = b.buffer(kBytes, 1);
  const BufferId zero = b.number(0), one = b.number(1);
  b.kernel("check", kCount, 100);
  b.kernel("noise", kCount, 100);
  b.kernel("halve", kCount, 100, 64);
  b.kernel("triple", kCount, 100);
  b.kernel("countUp", 1, 1);
  const auto tensor = [](BufferId buffer) { return abi::TensorRef{buffer, 0, kF32, {kRows, kColumns}, "cpu"}; };
  const auto scalar = [](BufferId buffer, uint8_t dtype) { return abi::TensorRef{buffer, 0, dtype, {}, "cpu"}; };
  const abi::KernelArg writeX{x, 0, Access::Write}, writeY{y, 0, Access::Write};
  const abi::Text path{{folder + "/", ".npy"}, {{scalar(who, kI64), ""}}};
  abi::For loop{zero, trips, one, iv, 0, {}, {{x, y}}};
  loop.body.push_back({abi::Launch{2, 0, {{x, 0}, writeY}, {}}});
  abi::While repeat{
      {{abi::Launch{4, 0, {{count, 0, Access::Update}, {goesOn, 0, Access::Write}}, {}}}}, goesOn, {}, {}};
  repeat.body.push_back({abi::RngNext{scalar(seed, kU64), scalar(drawn, kU64), true}});
  b.p.steps = {{abi::Launch{0, 0, {{in, 0}}, {}}},
               {abi::RngNext{scalar(seed, kU64), scalar(draw, kU64), true}},
               {abi::Launch{1, 0, {{in, 0}, writeX}, {seed, draw}}},
               {std::move(loop)},
               {abi::Copy{{count, 0}, {zero, 0}, 8}},
               {std::move(repeat)},
               {abi::Save{path, "npy", {tensor(x)}, {}, 0}},
               {abi::Load{path, "npy", "", tensor(loaded), 0}},
               {abi::Transfer{{far, 0}, {loaded, 0}, kBytes}},
               {abi::Launch{3, 1, {{far, 0}, {further, 0, Access::Write}}, {}}},
               {abi::Transfer{{out, 0}, {further, 0}, kBytes}},
               {abi::Print{{{"caller ", "\n"}, {{scalar(who, kI64), ""}}}}}};
  b.p.inputs = {tensor(in), scalar(who, kI64), scalar(trips, kI64)};
  b.p.results = {tensor(out), scalar(drawn, kU64)};
  const std::map<std::string_view, abi::KernelFn> functions{
      {"check", check}, {"noise", noise}, {"halve", halve}, {"triple", triple}, {"countUp", countUp}};
  std::string error;
  auto program = LoadedProgram::load(std::make_shared<abi::Program>(std::move(b.p)), error,
                                     [&](std::string_view name) { return functions.at(name); });
  EXPECT_TRUE(program) << error;
  return program;
}

/// A folder that goes with its contents.
struct Folder {
  std::string path = "/tmp/tenc-calls-XXXXXX";
  Folder() { EXPECT_TRUE(mkdtemp(path.data())); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::vector<float> inputOf(int64_t who) {
  std::vector<float> x(kCount);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + static_cast<size_t>(who) * 131) % 97) / 8;
  return x;
}

bool sameBits(const void* a, const void* b) { return std::memcmp(a, b, kBytes) == 0; }

struct Made {
  CallResult result;
  std::vector<float> out = std::vector<float>(kCount);
  uint64_t drawn = 0;
  std::string printed;
  bool operator==(const Made& other) const {
    return sameBits(out.data(), other.out.data()) && drawn == other.drawn && printed == other.printed &&
           result.end == other.result.end && result.bad.index == other.result.bad.index;
  }
};

/// `columnsFirst`: input and output lie with strides, one byte beside what is aligned.
Made callOf(Instance& instance, int64_t who, const std::vector<float>& x, bool columnsFirst = false, int64_t trips = 6,
            CallControl* control = nullptr, LoopProgress* progress = nullptr) {
  Made made;
  RandomState random(static_cast<uint64_t>(who) + 100);
  std::vector<std::byte> in(kBytes + 1), out(kBytes + 1);
  const std::vector<int64_t> strides{4, 4 * kRows};
  const auto moved = [&](auto move) {
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t c = 0; c < kColumns; ++c) move(1 + 4 * (c * kRows + r), r * kColumns + c);
  };
  if (columnsFirst) moved([&](int64_t at, int64_t i) { std::memcpy(in.data() + at, x.data() + i, 4); });
  CallOptions options;
  options.inputs = {columnsFirst ? InputTensor{in.data() + 1, strides} : InputTensor{x.data()}, {&who}, {&trips}};
  options.outputs = {columnsFirst ? OutputTensor{out.data() + 1, strides} : OutputTensor{made.out.data()},
                     {&made.drawn}};
  options.print = [&](std::string_view text) { made.printed += text; };
  options.random = &random;
  options.control = control;
  options.progress = progress;
  made.result = instance.call(options);
  if (columnsFirst) moved([&](int64_t at, int64_t i) { std::memcpy(made.out.data() + i, out.data() + at, 4); });
  if (made.result.end != CallResult::End::Done) std::fill(made.out.begin(), made.out.end(), 0.0f);
  return made;
}

class EveryOrder : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Calls, EveryOrder, ::testing::Values("async", "sync", "lazy"));

TEST_P(EveryOrder, CallsOfEveryKindRunAtTheSameTime) {
  constexpr int64_t kGood = 8, kOthers = 3, kRepeats = 12;
  const Folder folder;
  Machine machine({.threads = 2, .devices = {{"virtual", "cuda:0", 0, {{"order", GetParam()}}}}});
  ASSERT_EQ(machine.problem(), "");
  const auto instance = Instance::create(everything(folder.path), machine);
  const auto inputFor = [](int64_t who) {
    std::vector<float> x = inputOf(who);
    if (who == kGood) x[333] = x[700] = kStopsHost;
    return x;
  };
  const auto once = [&](int64_t who) { return callOf(*instance, who, inputFor(who), who % 3 == 1); };
  std::vector<Made> alone;
  for (int64_t who = 0; who <= kGood; ++who) alone.push_back(once(who));
  for (int64_t who = 0; who < kGood; ++who) {
    ASSERT_EQ(alone[static_cast<size_t>(who)].result.end, CallResult::End::Done)
        << alone[static_cast<size_t>(who)].result.text;
    EXPECT_EQ(alone[static_cast<size_t>(who)].printed, "caller " + std::to_string(who) + "\n");
    EXPECT_EQ(alone[static_cast<size_t>(who)].drawn, 4u);
  }
  EXPECT_EQ(alone[kGood].result.end, CallResult::End::Stopped);
  EXPECT_EQ(alone[kGood].result.bad.index, 333);
  EXPECT_FALSE(alone[0] == alone[1]);

  std::vector<int> wrong(kGood + kOthers);
  std::vector<std::thread> threads;
  for (int64_t who = 0; who <= kGood; ++who) {
    threads.emplace_back([&, who] {
      for (int64_t i = 0; i < kRepeats; ++i)
        wrong[static_cast<size_t>(who)] += !(once(who) == alone[static_cast<size_t>(who)]);
    });
  }
  // Two more run for ever, and are interrupted while the others go on.
  for (int64_t who = kGood + 1; who < kGood + kOthers; ++who) {
    threads.emplace_back([&, who] {
      for (int64_t i = 0; i < kRepeats / 4; ++i) {
        CallControl control;
        LoopProgress progress;
        std::thread watcher([&] {
          while (progress.trip.load() < 3) std::this_thread::yield();
          control.interrupt();
        });
        const Made made = callOf(*instance, who, inputOf(who), false, kLongLoop, &control, &progress);
        wrong[static_cast<size_t>(who)] += made.result.end != CallResult::End::Interrupted || !made.printed.empty();
        watcher.join();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size()));
}

/// Stops on the device end the call that they belong to; those of one thread say nothing of another's.
TEST_P(EveryOrder, ADeviceStopsOneCall) {
  Builder b;
  b.p.devices = {{"cpu", 0}, {"cuda:0", 0}};
  b.p.sites = {{abi::FaultKind::Index, {}, {}}};
  const BufferId in = b.buffer(kBytes), out = b.buffer(kBytes), far = b.buffer(kBytes, 1),
                 further = b.buffer(kBytes, 1);
  b.kernel("triple", kCount, 100);
  b.p.steps = {{abi::Transfer{{far, 0}, {in, 0}, kBytes}},
               {abi::Launch{0, 1, {{far, 0}, {further, 0, Access::Write}}, {}}},
               {abi::Transfer{{out, 0}, {further, 0}, kBytes}}};
  b.p.inputs = {{in, 0, kF32, {kCount}, "cpu"}};
  b.p.results = {{out, 0, kF32, {kCount}, "cpu"}};
  std::string error;
  auto loaded =
      LoadedProgram::load(std::make_shared<abi::Program>(b.p), error, [](std::string_view) { return triple; });
  Machine machine({.threads = 2, .devices = {{"virtual", "cuda:0", 0, {{"order", GetParam()}}}}});
  const auto instance = Instance::create(std::move(loaded), machine);
  std::vector<int> wrong(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> x = inputOf(static_cast<int64_t>(t)), y(kCount);
      const bool stops = t % 2 == 1;
      if (stops) x[500 + t] = x[900] = kStopsDevice;
      for (int i = 0; i < 15; ++i) {
        const CallResult r = instance->call({.inputs = {{x.data()}}, .outputs = {{y.data()}}});
        const bool good = stops ? r.end == CallResult::End::Stopped && r.bad.index == static_cast<int64_t>(500 + t)
                                : r.end == CallResult::End::Done && y[7] == x[7] * 3;
        wrong[t] += !good;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size()));
}

/// Draws of calls that share a state are all different, and none is left out.
TEST(Calls, ThatShareARandomStateDrawEachOnce) {
  Builder b;
  b.p.devices = {{"cpu", 0}};
  const BufferId seed = b.buffer(8), draw = b.buffer(8);
  b.p.steps = {{abi::RngNext{{seed, 0, kU64, {}, "cpu"}, {draw, 0, kU64, {}, "cpu"}, true}}};
  b.p.results = {{draw, 0, kU64, {}, "cpu"}};
  std::string error;
  Machine machine({.threads = 1});
  const auto instance = Instance::create(LoadedProgram::load(std::make_shared<abi::Program>(b.p), error), machine);
  constexpr size_t kThreads = 8, kDraws = 200;
  std::vector<uint64_t> seen(kThreads * kDraws);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < kDraws; ++i) {
        CallOptions options;
        options.outputs = {{&seen[t * kDraws + i]}};
        instance->call(options);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  std::sort(seen.begin(), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i);
}

/// Code for a device is no code for one that is emulated.
TEST(Calls, CodeThatADeviceCannotRunIsRefused) {
  Builder b;
  b.p.devices = {{"cpu", 0}, {"cuda:0", 0}};
  const BufferId far = b.buffer(kBytes, 1);
  b.p.images = {{"ptx", {}, "code"}};
  b.p.kernels = {{"k", abi::DeviceCode{0, "k", {1, 1, 1}, {1, 1, 1}, 0}, {}}};
  b.p.steps = {{abi::Launch{0, 1, {{far, 0, Access::Write}}, {}}}};
  std::string error;
  Machine machine({.threads = 1, .devices = {{"virtual", "cuda:0"}}});
  const auto instance = Instance::create(LoadedProgram::load(std::make_shared<abi::Program>(b.p), error), machine);
  const CallResult r = instance->call();
  EXPECT_EQ(r.end, CallResult::End::Refused);
  EXPECT_EQ(r.text, "cuda:0 cannot run the code of kernel k");
}

}  // namespace
}  // namespace tenc::rt
