// The memory plan is exact: what a run touches of each arena is what was planned, neither more nor less.
#include <gtest/gtest.h>

#include "ir/Ir.h"
#include "runtime/Instance.h"
#include "runtime/Machine.h"
#include "tools/tenc/Memory.h"

namespace tenc::tool {
namespace {

// Offsets are rounded up to 64 bytes, and a storage has at least 8.
constexpr uint64_t kRounding = 64;

struct Touched {
  uint64_t planned = 0, touched = 0;
};

/// Runs a script on two virtual devices; for cpu, cuda:0 and cuda:1 what was planned and what was touched.
std::vector<Touched> runAndMeasure(const std::string& text) {
  SessionOptions options;
  options.virtualCuda = 2;
  Session session(options);
  const auto file = session.addText("t.tl", text);
  const auto tree = session.parse(*file);
  frontend::Lowered lowered = session.lower(*tree);
  EXPECT_TRUE(lowered.module && session.diags().ok()) << text;
  const auto program = session.build(std::move(lowered.module));
  EXPECT_TRUE(program && session.diags().ok()) << text;
  if (!program) return {};

  rt::Machine machine({.threads = 2, .devices = {{"virtual", "cuda:0"}, {"virtual", "cuda:1"}}});
  std::string error;
  auto loaded = rt::LoadedProgram::load({std::shared_ptr<void>(), &program->compiled.program}, error);
  EXPECT_TRUE(loaded) << error;
  if (!loaded) return {};
  rt::CallOptions run;
  run.print = [](std::string_view) {};
  run.measureMemory = true;
  const rt::CallResult result = rt::Instance::create(std::move(loaded), machine)->call(run);
  EXPECT_EQ(result.end, rt::CallResult::End::Done) << result.text << text;

  std::vector<Touched> list;
  for (size_t i = 0; i < program->compiled.memory.devices.size(); ++i)
    list.push_back({program->compiled.memory.devices[i].peak, result.touched[i]});
  return list;
}

void expectExact(const std::string& text) {
  for (const Touched& t : runAndMeasure(text)) {
    EXPECT_LE(t.touched, t.planned) << text;
    EXPECT_LT(t.planned - t.touched, kRounding) << text;
  }
}

TEST(Memory, APlanIsWhatARunTouches) {
  expectExact("let x = randn([300, 7])\nlet y = x * 2.0\nlet z = sort(y)\nprint(z, sum(x))\n");
  // Moves between three devices.
  expectExact(
      "let x = randn([1000])\nlet a = x.to(cuda:0)\nlet b = (a + 1.0).to(cuda:1)\nlet c = sort(b)\nprint(c, "
      "sort(a))\n");
}

TEST(Memory, LoopsAndUpdatesInPlace) {
  expectExact("@cuda:0 var v = randn([500])\nfor i in 0..5 {\n  v = sort(v) + 1.0\n  v[i] = 3.0\n}\nprint(v)\n");
  expectExact("var m = randn([64, 64])\nfor i in 0..3 { m = m @ m * 0.01 }\nprint(m)\n");
  // Two values that change places on each trip.
  expectExact(
      "@cuda:1 var a = randn([200])\n@cuda:1 var b = randn([200])\n"
      "for i in 0..4 { (a, b) = (sort(b), sort(a)) }\nprint(a, b)\n");
}

TEST(Memory, BranchesAndWhile) {
  expectExact(
      "@cuda:0 var v = ones([400])\nvar n = 0\nwhile sum(v) < 1e6 {\n  if n % 2 == 0 { v = sort(v) * 3.0 } else { v = "
      "v + 2.0 }\n"
      "  n += 1\n}\nprint(v, n)\n");
}

TEST(Memory, WhatDiesMakesRoom) {
  std::string text = "var x = randn([256, 256])\n";
  const uint64_t few = runAndMeasure(text + "x = x @ x\nx = x @ x\nprint(x)\n")[0].planned;
  for (int i = 0; i < 20; ++i) text += "x = x @ x\n";
  EXPECT_EQ(runAndMeasure(text + "print(x)\n")[0].planned, few);
}

TEST(Memory, TheLargestFittingValueIsFound) {
  SessionOptions options;
  const std::string text =
      "const B = 1000\nparam d: i64 = 64\nconst Epochs = 3\nlet x = randn([B, d])\nprint(sort(x))\n";
  SourceManager sources;
  const SourceFile& script = sources.file(sources.add("t.tl", text));
  // x and what the sort makes of it: 8 * B * d bytes at least.
  const auto found = fittingValues(options, script, "cpu", 200 * 1000);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "B");
  EXPECT_EQ(found[1].name, "d");
  EXPECT_TRUE(found[1].isParam);
  const auto peak = [&](int64_t b) {
    Session session(options);
    std::string changed = text;
    changed.replace(10, 4, std::to_string(b));
    const auto tree = session.parse(*session.addText("t.tl", changed));
    frontend::Lowered lowered = session.lower(*tree);
    EXPECT_TRUE(session.place(*lowered.module) && session.settleMoves(*lowered.module) &&
                session.optimise(*lowered.module));
    return session.planMemory(*lowered.module)->devices[0].peak;
  };
  EXPECT_LE(peak(found[0].fits), 200u * 1000);
  EXPECT_GT(peak(found[0].fits + 1), 200u * 1000);
}

}  // namespace
}  // namespace tenc::tool
