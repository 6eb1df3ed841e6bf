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

/// A module of a script as it is planned.
std::unique_ptr<ir::Module> optimised(Session& session, const std::string& text) {
  const auto tree = session.parse(*session.addText("t.tl", text));
  frontend::Lowered lowered = session.lower(*tree);
  EXPECT_TRUE(session.place(*lowered.module) && session.settleMoves(*lowered.module) &&
              session.optimise(*lowered.module));
  return std::move(lowered.module);
}

uint64_t peakOf(const std::string& text) {
  Session session((SessionOptions()));
  return session.planMemory(*optimised(session, text))->devices[0].peak;
}

TEST(Memory, TheLargestFittingValueIsFound) {
  constexpr uint64_t kLimit = 200 * 1000;
  SessionOptions options;
  options.memory["cpu"] = kLimit;
  const std::string text =
      "const B = 1000\nparam d: i64 = 64\nconst Epochs = 3\nlet x = randn([B, d])\nprint(sort(x))\n";
  Session session(options);
  const auto module = optimised(session, text);
  MemoryTrials trials(options, session.sources().file(0), "cpu");
  const auto found = fittingSizes(trials, *module, 0, peakOf(text), kLimit);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[1].text.starts_with("`--d ")) << found[1].text;
  ASSERT_EQ(found[0].edits.size(), 1u);
  Edit edit = found[0].edits[0];
  EXPECT_LE(peakOf(applyEdits(text, {edit})), kLimit);
  edit.replacement = std::to_string(std::stoll(edit.replacement) + 1);
  EXPECT_GT(peakOf(applyEdits(text, {edit})), kLimit);
}

// The gradient of a weight is fused with its step, which stands behind the whole backward pass.
TEST(Memory, WhatAnUpdateReadsIsNotKeptForIt) {
  const auto text = [](int layers) {
    const std::string n = std::to_string(layers);
    return "fn loss(ws: [f32[32, 32]; " + n +
           "], x: f32[N, 32]) -> f32 {\n  var h = x\n  for w in ws { h = checkpoint(|w, h| tanh(tanh(h @ w) @ w))(w, "
           "h) "
           "}\n  mean(h ** 2)\n}\nlet x = randn([4096, 32])\nvar ws = list(" +
           n + ", |i| 0.1 * randn([32, 32]))\nfor i in 0..3 { ws = ws - 0.1 * grad(loss)(ws, x) }\nprint(sum(ws[0]))\n";
  };
  constexpr uint64_t kState = 4096 * 32 * 4;
  // A layer more is one state and one weight with its gradient more.
  EXPECT_LT(peakOf(text(8)), peakOf(text(4)) + 5 * kState);
}

}  // namespace
}  // namespace tenc::tool
