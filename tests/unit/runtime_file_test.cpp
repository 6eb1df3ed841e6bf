// Programs in files: what is read back is what was written, and no bytes whatever do harm.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/file/ProgramFile.h"

namespace tenc::rt {
namespace {

abi::TensorRef scalar(abi::BufferId b) { return {b, 0, abi::dtype::F64, {}, "cpu"}; }

/// One step of each kind, one kernel of each kind of code.
abi::Program sample() {
  abi::Program p;
  p.devices = {{"cpu", 1024}, {"gpu:0", 256}};
  for (uint64_t i = 0; i < 8; ++i) p.buffers.push_back({0, 64 * i, 8});
  p.buffers.push_back({0, 512, 256});
  p.buffers.push_back({1, 0, 256});
  p.images = {{"x86-64", {"avx2"}, std::string("\x7f\0ELF", 5)}};
  p.excerpts = {{"a.tl", 7, true, "let x = y / 0"}};
  p.sites = {{abi::FaultKind::Division, {0, 8, 13, 7, 9}, {{{0, 0, 3, 7, 1}, "f[N = 2]"}, {}}}};
  p.kernels = {
      {"add", abi::HostCode{0, "kernel0", 4, 2, 64}, {0}},
      {"sort", abi::LibraryCall{"sort", {{8, 0, abi::dtype::F32, {2, 3}, "cpu"}}, {scalar(1)}, {{"k", -1}}}, {}},
      {"mul", abi::DeviceCode{0, "mul", {2, 1, 1}, {32, 1, 1}, 16}, {}}};
  p.constants = {{0, "12345678"}};
  p.inputs = {scalar(1)};
  p.results = {scalar(2)};
  const abi::Text text{{"x = ", "\n"}, {{scalar(0), ".3f"}, {scalar(1), "@"}}};
  const abi::KernelArg from{8, 0, abi::Access::Read}, to{9, 128, abi::Access::Write};
  abi::For loop{0, 0, 1, 3, 0, {{abi::Time{scalar(4)}}}, {{4, 5}}};
  loop.body.push_back({abi::While{{}, 2, {{abi::If{2, {{abi::Bench{"b", {}}}}, {}}}}, {}}});
  p.steps = {{abi::Launch{0, 0, {{8, 0, abi::Access::Update}}, {0}}},
             {abi::Transfer{to, from, 128}},
             {abi::Copy{{8, 0}, {8, 128}, 64}},
             {std::move(loop)},
             {abi::Print{text}},
             {abi::Assert{scalar(2), text, 0}},
             {abi::Load{text, "npy", "", {8, 0, abi::dtype::F32, {4}, "cpu"}, 0}},
             {abi::Save{text, "npz", {scalar(2)}, {"a"}, 0}},
             {abi::Seed{scalar(1), scalar(2)}},
             {abi::RngNext{scalar(5), scalar(6), false}}};
  return p;
}

TEST(ProgramFile, WhatIsReadIsWhatWasWritten) {
  const abi::Program p = sample();
  ASSERT_EQ(problemOf(p), "");
  const std::string bytes = writeProgram(p);
  std::string error;
  const auto read = readProgram(bytes, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(writeProgram(*read), bytes);
  EXPECT_EQ(read->sites[0].calls[0].callee, "f[N = 2]");
  EXPECT_EQ(std::get<abi::LibraryCall>(read->kernels[1].code).options[0].second, -1);
}

TEST(ProgramFile, DamageIsRefused) {
  const std::string bytes = writeProgram(sample());
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::string error;
    EXPECT_FALSE(readProgram(std::string_view(bytes).substr(0, n), error)) << n;
    EXPECT_FALSE(error.empty()) << n;
    std::string changed = bytes;
    changed[n] = static_cast<char>(changed[n] ^ 0x10);
    EXPECT_FALSE(readProgram(changed, error)) << n;
  }
  std::string error;
  EXPECT_FALSE(readProgram(bytes + "x", error));
}

TEST(ProgramFile, AnotherVersionIsNamed) {
  std::string bytes = writeProgram(sample()), error;
  bytes[8] = 9;
  EXPECT_FALSE(readProgram(bytes, error));
  EXPECT_NE(error.find("another version of tenc (format 9."), std::string::npos) << error;
}

/// The checksum of writeProgram over changed bytes, as one who means harm would make it: read by trial is too slow, so
/// the payload is written with the wrong numbers instead.
void refused(void (*change)(abi::Program&), const char* why) {
  abi::Program p = sample();
  change(p);
  std::string error;
  EXPECT_FALSE(readProgram(writeProgram(p), error)) << why;
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

TEST(ProgramFile, NumbersThatNameNothingAreRefused) {
  refused([](auto& p) { p.buffers[0].device = 2; }, "on no device");
  refused([](auto& p) { p.buffers[0].offset = ~uint64_t{0} / 64 * 64; }, "outside of its arena");
  refused([](auto& p) { std::get<abi::Launch>(p.steps[0].what).kernel = 3; }, "no kernel");
  refused([](auto& p) { std::get<abi::Launch>(p.steps[0].what).args[0].buffer = 99; }, "no buffer");
  refused([](auto& p) { std::get<abi::Transfer>(p.steps[1].what).bytes = 129; }, "outside of its buffer");
  refused([](auto& p) { std::get<abi::For>(p.steps[3].what).lo = 9; }, "the host lacks");
  refused([](auto& p) { std::get<abi::For>(p.steps[3].what).swaps[0].second = 8; }, "that differ");
  refused([](auto& p) { std::get<abi::Assert>(p.steps[5].what).site = 1; }, "no site");
  refused([](auto& p) { p.results[0].shape = {int64_t{1} << 40, int64_t{1} << 40}; }, "too large");
  refused([](auto& p) { p.results[0].shape = {-1}; }, "negative");
  refused([](auto& p) { p.results[0].dtype = 13; }, "no dtype");
  refused([](auto& p) { p.sites[0].at.end = 99; }, "outside of its excerpt");
  refused([](auto& p) { p.constants[0].buffer = 8; }, "writes to a constant");
  refused([](auto& p) { std::get<abi::HostCode>(p.kernels[0].code).grain = 0; }, "items of a kernel");
}

TEST(ProgramFile, DeepNestsAreRefused) {
  abi::Program p = sample();
  for (int i = 0; i < 3000; ++i) {
    abi::Block inner = std::move(p.steps);
    p.steps = {{abi::Bench{"", std::move(inner)}}};
  }
  std::string error;
  EXPECT_FALSE(readProgram(writeProgram(p), error));
}

TEST(ProgramFile, AProcessorThatLacksFeaturesIsNamed) {
  abi::Program p = sample();
  p.images[0].features = {"avx2", "no-such-feature"};
  EXPECT_NE(processorProblem(p).find("a processor with no-such-feature, which"), std::string::npos);
  p.images[0].architecture = "vax";
  EXPECT_NE(processorProblem(p).find("for vax"), std::string::npos);
}

}  // namespace
}  // namespace tenc::rt
