// One loaded program runs from many threads at the same time, on the caller's memory, with the bits that it has alone.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "runtime/Instance.h"
#include "runtime/Machine.h"

namespace tenc::rt {
namespace {

using abi::Access;
using abi::BufferId;

constexpr int64_t kCount = 3000, kRows = 60, kColumns = 50;
constexpr uint64_t kBytes = kCount * sizeof(float);

bool sameBits(const void* a, const void* b) { return std::memcmp(a, b, kBytes) == 0; }

void plusOne(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t*, void*) {
  const auto* x = static_cast<const float*>(b[0]);
  auto* y = static_cast<float*>(b[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + 1;
}

/// y = x * a + c, with its intermediate value in scratch memory.
void scale(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t*, void* scratch) {
  const auto *x = static_cast<const float*>(b[0]), *a = static_cast<const float*>(b[1]);
  auto *y = static_cast<float*>(b[2]), *t = static_cast<float*>(scratch);
  for (int64_t i = begin; i < end; ++i) {
    *t = x[i] * a[i];
    y[i] = *t + 0.25f;
  }
}

void stopsAtNegative(void* const* b, const uint64_t*, int64_t begin, int64_t end, uint32_t* fault, void*) {
  const auto* x = static_cast<const float*>(b[0]);
  for (int64_t i = begin; i < end; ++i)
    if (x[i] < 0) abi::reportLeast(reinterpret_cast<abi::KernelState*>(fault), 1, i, 1, kCount, 0);
}

/// out = the input after four times x -> x * a + 0.25 with exchanged buffers, + 1; `a` is a constant. Stops where
/// the input is negative.
std::shared_ptr<const LoadedProgram> program() {
  auto p = std::make_shared<abi::Program>();
  p->devices = {{"cpu", 0}};
  const auto buffer = [&](uint64_t bytes) {
    p->buffers.push_back({0, p->devices[0].arenaBytes, bytes});
    p->devices[0].arenaBytes += (bytes + 63) / 64 * 64;
    return static_cast<BufferId>(p->buffers.size() - 1);
  };
  const BufferId in = buffer(kBytes), a = buffer(kBytes), x = buffer(kBytes), y = buffer(kBytes), out = buffer(kBytes);
  const BufferId lo = buffer(8), hi = buffer(8), by = buffer(8), iv = buffer(8);
  std::string factors(kBytes, 0);
  for (int64_t i = 0; i < kCount; ++i) {
    const float f = 0.5f + static_cast<float>(i) / kCount;
    std::memcpy(factors.data() + i * 4, &f, 4);
  }
  const auto number = [](int64_t n) { return std::string(reinterpret_cast<const char*>(&n), 8); };
  p->constants = {{a, factors}, {lo, number(0)}, {hi, number(4)}, {by, number(1)}};
  p->sites = {{abi::FaultKind::Index, {}, {}}};
  p->kernels = {{"check", abi::HostCode{abi::kNoImage, "check", kCount, 500, 0}, {0}},
                {"scale", abi::HostCode{abi::kNoImage, "scale", kCount, 500, 64}, {}},
                {"plusOne", abi::HostCode{abi::kNoImage, "plusOne", kCount, kCount, 0}, {}}};
  abi::For loop{lo, hi, by, iv, 0, {}, {{x, y}}};
  loop.body.push_back({abi::Launch{1, 0, {{x, 0}, {a, 0}, {y, 0, Access::Write}}, {}}});
  p->steps = {{abi::Launch{0, 0, {{in, 0}}, {}}},
              {abi::Copy{{x, 0}, {in, 0}, kBytes}},
              {std::move(loop)},
              {abi::Launch{2, 0, {{x, 0}, {out, 0, Access::Write}}, {}}}};
  p->inputs = {{in, 0, abi::dtype::F32, {kRows, kColumns}, "cpu"}};
  p->results = {{out, 0, abi::dtype::F32, {kRows, kColumns}, "cpu"}};
  const std::map<std::string_view, abi::KernelFn> functions{
      {"check", stopsAtNegative}, {"scale", scale}, {"plusOne", plusOne}};
  std::string error;
  auto loaded = LoadedProgram::load(std::move(p), error, [&](std::string_view name) { return functions.at(name); });
  EXPECT_TRUE(loaded) << error;
  return loaded;
}

std::vector<float> input(int seed) {
  std::vector<float> x(kCount);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed) * 131) % 97) / 8;
  return x;
}

TEST(Instance, RunsFromManyThreadsWithTheSameBits) {
  constexpr int kThreads = 8, kCalls = 40;
  Machine machine({.threads = 2});
  const auto instance = Instance::create(program(), machine);
  std::vector<std::vector<float>> expected;
  for (int t = 0; t < kThreads; ++t) {
    const std::vector<float> x = input(t);
    std::vector<float>& y = expected.emplace_back(kCount);
    const CallResult r = instance->call({.inputs = {{x.data()}}, .outputs = {{y.data()}}});
    EXPECT_EQ(r.end, CallResult::End::Done);
    EXPECT_EQ(r.inPlace, 2u);
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> x = input(t);
      std::vector<float> y(kCount);
      for (int call = 0; call < kCalls; ++call) {
        std::fill(y.begin(), y.end(), -1.0f);
        instance->call({.inputs = {{x.data()}}, .outputs = {{y.data()}}});
        wrong[static_cast<size_t>(t)] += !sameBits(y.data(), expected[static_cast<size_t>(t)].data());
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
}

TEST(Instance, StridedAndUnalignedMemoryIsCopied) {
  Machine machine({.threads = 1});
  const auto instance = Instance::create(program(), machine);
  const std::vector<float> x = input(3);
  std::vector<float> y(kCount);
  instance->call({.inputs = {{x.data()}}, .outputs = {{y.data()}}});

  // Columns first, and one byte off.
  std::vector<float> columns(kCount), out(kCount);
  std::vector<std::byte> odd(kBytes + 1);
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < kColumns; ++c)
      columns[static_cast<size_t>(c * kRows + r)] = x[static_cast<size_t>(r * kColumns + c)];
  std::memcpy(odd.data() + 1, x.data(), kBytes);
  const std::vector<int64_t> strides{4, 4 * kRows};
  CallResult r = instance->call({.inputs = {{columns.data(), strides}}, .outputs = {{out.data(), strides}}});
  EXPECT_EQ(r.inPlace, 0u);
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t c = 0; c < kColumns; ++c)
      ASSERT_EQ(out[static_cast<size_t>(c * kRows + i)], y[static_cast<size_t>(i * kColumns + c)]);
  std::vector<std::byte> oddOut(kBytes + 1);
  r = instance->call({.inputs = {{odd.data() + 1}}, .outputs = {{oddOut.data() + 1}}});
  EXPECT_EQ(r.inPlace, 0u);
  EXPECT_TRUE(sameBits(oddOut.data() + 1, y.data()));
}

TEST(Instance, ArgumentsThatDoNotFitAreRefused) {
  Machine machine({.threads = 1});
  const auto instance = Instance::create(program(), machine);
  EXPECT_EQ(instance->call().text, "the program has 1 inputs, 0 were given");
  const std::vector<float> x = input(0);
  EXPECT_EQ(instance->call({.inputs = {{x.data(), {4}}}}).end, CallResult::End::Refused);
}

/// A stop and an interrupt end one call, and no other.
TEST(Instance, CallsEndAlone) {
  Machine machine({.threads = 2});
  const auto instance = Instance::create(program(), machine);
  const std::vector<float> good = input(1);
  std::vector<float> bad = good;
  bad[2500] = bad[2900] = -1;
  CallControl ended;
  ended.interrupt();
  std::vector<std::thread> threads;
  std::vector<int> wrong(6);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      CallOptions options;
      options.inputs = {{t < 3 ? bad.data() : good.data()}};
      if (t == 5) options.control = &ended;
      for (int call = 0; call < 30; ++call) {
        const CallResult r = instance->call(options);
        const auto expected = t < 3    ? CallResult::End::Stopped
                              : t == 5 ? CallResult::End::Interrupted
                                       : CallResult::End::Done;
        wrong[t] += r.end != expected || (t < 3 && r.bad.index != 2500);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(wrong.size()));
}

/// The flag of an interrupt is seen before the fault word is set: what is left out then ends the call.
void interruptsByTheFlag(void* const* b, const uint64_t*, int64_t, int64_t, uint32_t* fault, void*) {
  uintptr_t control = 0;
  std::memcpy(&control, b[0], sizeof control);
  reinterpret_cast<CallControl*>(control)->interrupt();
  __atomic_store_n(fault, 0, __ATOMIC_RELAXED);
}

TEST(Instance, AnInterruptIsNotLostBeforeTheFaultWordIsSet) {
  auto p = std::make_shared<abi::Program>();
  p->devices = {{"cpu", 64}};
  p->buffers = {{0, 0, 8}};
  p->kernels = {{"interrupts", abi::HostCode{abi::kNoImage, "interrupts", 64, 1, 0}, {}}};
  p->steps = {{abi::Launch{0, 0, {{0, 0}}, {}}}};
  CallControl control;
  const auto address = reinterpret_cast<uintptr_t>(&control);
  p->constants = {{0, std::string(reinterpret_cast<const char*>(&address), sizeof address)}};
  std::string error;
  Machine machine({.threads = 1});
  const auto instance = Instance::create(
      LoadedProgram::load(std::move(p), error, [](std::string_view) { return interruptsByTheFlag; }), machine);
  EXPECT_EQ(instance->call({.control = &control}).end, CallResult::End::Interrupted);
}

TEST(Instance, RandomStateGoesOnFromCallToCall) {
  auto p = std::make_shared<abi::Program>();
  p->devices = {{"cpu", 128}};
  p->buffers = {{0, 0, 8}, {0, 64, 8}};
  constexpr uint8_t kU64 = 11;
  const abi::TensorRef seed{0, 0, kU64, {}, "cpu"}, draw{1, 0, kU64, {}, "cpu"};
  p->steps = {{abi::RngNext{seed, draw, true}}};
  p->results = {draw};
  std::string error;
  Machine machine({.threads = 1});
  const auto instance = Instance::create(LoadedProgram::load(p, error), machine);
  const auto drawn = [&](RandomState* state) {
    uint64_t n = 99;
    CallOptions options;
    options.outputs = {{&n}};
    options.random = state;
    instance->call(options);
    return n;
  };
  RandomState own(7, 40);
  EXPECT_EQ(drawn(nullptr), 0u);
  EXPECT_EQ(drawn(&own), 40u);
  EXPECT_EQ(drawn(nullptr), 1u);
  EXPECT_EQ(drawn(&own), 41u);
}

}  // namespace
}  // namespace tenc::rt
