// Compiled programs as a library has them: one that was written and read back runs from eight threads at the same time,
// on the caller's memory, with the bits that each call has alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <thread>

#include "ir/Ir.h"
#include "runtime/Instance.h"
#include "runtime/Machine.h"
#include "runtime/file/ProgramFile.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {
namespace {

constexpr size_t kRows = 96, kWidth = 80, kInput = kRows * kWidth, kWeights = kWidth * kWidth;

// A product with an epilogue, a reduction, a library call, and a loop that updates a value.
constexpr const char* kText = R"(func @main(%x: f32[96, 80], %w: f32[80, 80]) -> (f32[96, 80], f32[96]) {
  %p = matmul %x, %w : f32[96, 80]
  %t = tanh %p : f32[96, 80]
  %lo = constant {value = [0]} : i64
  %hi = constant {value = [3]} : i64
  %by = constant {value = [1]} : i64
  %h = for %lo, %hi, %by, %t : f32[96, 80] { (%i: i64, %v: f32[96, 80])
    %q = matmul %v, %w : f32[96, 80]
    %s = add %q, %x : f32[96, 80]
    %u = tanh %s : f32[96, 80]
    yield %u
  }
  %m = sum %h {axes = [1]} : f32[96]
  %o = sort %m : f32[96]
  return %h, %o
}
)";

std::vector<float> values(size_t count, size_t seed) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = static_cast<float>((i * 31 + seed * 17) % 101) / 400 - 0.125f;
  return v;
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  const auto x = std::as_bytes(std::span(a)), y = std::as_bytes(std::span(b));
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

TEST(Calls, FromEightThreadsHaveTheBitsOfOne) {
  Session session{SessionOptions{}};
  const auto file = session.addText("t.tir", kText);
  auto module = session.parseModule(*file);
  ASSERT_TRUE(module) << render(session.diags(), session.sources());
  const auto built = session.build(std::move(module));
  ASSERT_TRUE(built) << render(session.diags(), session.sources());
  std::string error;
  auto program = rt::readProgram(rt::writeProgram(built->compiled.program), error);
  ASSERT_TRUE(program) << error;
  ASSERT_EQ(rt::processorProblem(*program), "");
  auto loaded = rt::LoadedProgram::load(std::move(program), error);
  ASSERT_TRUE(loaded) << error;
  rt::Machine machine({.threads = 2});
  const auto instance = rt::Instance::create(std::move(loaded), machine);

  constexpr size_t kThreads = 8;
  const std::vector<float> weights = values(kWeights, 99);
  const auto call = [&](size_t seed) {
    const std::vector<float> x = values(kInput, seed);
    std::vector<float> out(kInput + kRows);
    const rt::CallResult r =
        instance->call({.inputs = {{x.data()}, {weights.data()}}, .outputs = {{out.data()}, {out.data() + kInput}}});
    EXPECT_EQ(r.end, rt::CallResult::End::Done) << r.text;
    EXPECT_GE(r.inPlace, 2u);
    return out;
  };
  std::vector<std::vector<float>> alone;
  for (size_t t = 0; t < kThreads; ++t) alone.push_back(call(t));
  EXPECT_NE(alone[0], alone[1]);
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int repeat = 0; repeat < 20; ++repeat) wrong[t] += !sameBits(call(t), alone[t]);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
}

}  // namespace
}  // namespace tenc::tool
