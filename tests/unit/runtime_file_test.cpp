// Programs in files: what is read back is what was written, and no bytes whatever do harm.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/file/ProgramFile.h"

namespace tenc::rt {
namespace {

abi::TensorRef scalar(abi::BufferId b) { return {b, 0, abi::dtype::F64, {}, "cpu"}; }
abi::TensorRef floats(abi::BufferId b) { return {b, 0, abi::dtype::F32, {2, 3}, "cpu"}; }

/// Two products of 2 x 3 and 3 x 2 in f32, and what follows.
abi::ProductCode product() {
  abi::ProductCode c;
  c.m = 2, c.n = 2, c.k = 3, c.count = 2;
  c.a = {0, abi::dtype::F32, 16, 3, 1, 6};
  c.b = {1, abi::dtype::F32, 0, 1, 3, 6};
  c.d = {2, abi::dtype::F32, 0, 2, 1, 4};
  c.bias = abi::MatrixRef{1, abi::dtype::F32, 56, 0, 1, 0};
  c.then = abi::DeviceCode{0, "after", {1, 1, 1}, {32, 1, 1}, 0};
  return c;
}

/// Two systems of 3 equations with 2 right sides each, in f32.
abi::SolverCode solver() {
  abi::SolverCode c;
  c.dtype = abi::dtype::F32, c.count = 2, c.bytes = 256;
  c.calls = {{abi::SolverCall::Routine::Lu, false, 3, 3, 0, 0, 0, 0, 64, 88},
             {abi::SolverCall::Routine::LuSolve, true, 3, 3, 2, 0, 128, 0, 64, 92}};
  c.before = abi::DeviceCode{0, "before", {1, 1, 1}, {32, 1, 1}, 0};
  c.then = abi::DeviceCode{0, "after", {1, 1, 1}, {32, 1, 1}, 0};
  return c;
}

/// One step of each kind, one kernel of each kind of code.
abi::Program sample() {
  abi::Program p;
  p.devices = {{"cpu", 1024}, {"gpu:0", 1024}};
  for (uint64_t i = 0; i < 8; ++i) p.buffers.push_back({0, 64 * i, 8});
  p.buffers.push_back({0, 512, 256});
  p.buffers.push_back({1, 0, 256});
  p.buffers.push_back({1, 256, 768});
  p.images = {{"x86-64", {"avx2"}, std::string("\x7f\0ELF", 5)}};
  p.excerpts = {{"a.tl", 7, true, "let x = y / 0"}};
  p.sites = {{abi::FaultKind::Division, {0, 8, 13, 7, 9}, {{{0, 0, 3, 7, 1}, "f[N = 2]"}, {}}}};
  p.kernels = {{"add", abi::HostCode{0, "kernel0", 4, 2, 64}, {0}, {{256, 8, abi::Access::Update}}, 1},
               {"sort", abi::LibraryCall{"sort", {floats(8)}, {floats(8)}, {{"descending", 1}}}, {}},
               {"mul", abi::DeviceCode{0, "mul", {2, 1, 1}, {32, 1, 1}, 16}, {}, {{128, 64, abi::Access::Write}}},
               {"matmul", product(), {}, {{64, 8}, {64, 8}, {64, 8, abi::Access::Write}, {64, 1, abi::Access::Write}}},
               {"sorts", abi::SequenceCode{{{0, "count"}, {0, "move"}, {0, "count"}}}, {}, {{64, 8}}},
               {"solve", solver(), {0}, {{64, 8}, {768, 1, abi::Access::Write}}}};
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
             {abi::RngNext{scalar(5), scalar(6), false}},
             {abi::Launch{1, 0, {{8, 0}, {8, 128, abi::Access::Write}}, {}}},
             {abi::Launch{2, 1, {{9, 0, abi::Access::Write}}, {}}},
             {abi::Launch{3, 1, {{9, 0}, {9, 64}, {9, 128, abi::Access::Write}, {9, 192, abi::Access::Write}}, {}}},
             {abi::Launch{4, 1, {{9, 0}}, {}}},
             {abi::Launch{5, 1, {{9, 0}, {10, 0, abi::Access::Write}}, {}}}};
  return p;
}

TEST(ProgramFile, ProductsStayInTheirArguments) {
  const auto problem = [](auto change) {
    abi::Program p = sample();
    change(std::get<abi::ProductCode>(p.kernels[3].code));
    return problemOf(p);
  };
  EXPECT_EQ(problem([](abi::ProductCode&) {}), "");
  const std::string outside = "a matrix is outside of its argument";
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.a.byteOffset = 20; }), outside);
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.b.batch = 11; }), outside);
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.d.row = int64_t{1} << 62; }), outside);
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.bias->byteOffset = 60; }), outside);
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.a.batch = -1; }), outside);
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.d.argument = 4; }), "a matrix is in no argument");
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.d.argument = 1; }), "a matrix is used in another way");
  EXPECT_EQ(problem([](abi::ProductCode& c) {
              c.b.column = 2;
              c.b.row = 2;
            }),
            "a factor has no rows or columns side by side");
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.k = 0; }), "a product has no extents");
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.workspace = 65; }), "a product has no memory to work in");
  EXPECT_EQ(problem([](abi::ProductCode& c) { c.then->image = 1; }), "a kernel is in no image");
}

TEST(ProgramFile, SequencesAreOfFunctions) {
  const auto problem = [](auto change) {
    abi::Program p = sample();
    change(std::get<abi::SequenceCode>(p.kernels[4].code).functions);
    return problemOf(p);
  };
  EXPECT_EQ(problem([](auto& f) { f.clear(); }), "a sequence of functions is empty");
  EXPECT_EQ(problem([](auto& f) { f[1].image = 1; }), "a kernel is in no image");
  EXPECT_EQ(problem([](auto& f) { f[2].grid[0] = 0; }), "a grid is empty");
}

TEST(ProgramFile, LinearAlgebraStaysInItsMemory) {
  const auto problem = [](auto change) {
    abi::Program p = sample();
    change(std::get<abi::SolverCode>(p.kernels[5].code));
    return problemOf(p);
  };
  EXPECT_EQ(problem([](abi::SolverCode&) {}), "");
  const std::string outside = "a step of linear algebra is outside of its memory";
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[0].a = 224; }), outside);
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[0].a = ~uint64_t{3}; }), outside);
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[0].vector = 4; }), outside);
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[1].b = 236; }), outside);
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[1].k = 12; }), outside);
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[1].info = 256; }), outside);
  const std::string none = "linear algebra has no extents";
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[0].n = -1; }), none);
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[1].k = 0; }), none);
  EXPECT_EQ(problem([](abi::SolverCode& c) {
              c.calls[0].routine = abi::SolverCall::Routine::Singular;
              c.calls[0].m = 2;
            }),
            none);
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.calls[0].routine = abi::SolverCall::Routine(99); }),
            "linear algebra has an unknown step");
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.dtype = abi::dtype::F16; }), "linear algebra is of no floats");
  for (const uint64_t bytes : {uint64_t{512}, uint64_t{100}, ~uint64_t{255}})
    EXPECT_EQ(problem([&](abi::SolverCode& c) { c.bytes = bytes; }), "linear algebra has no memory to work in");
  EXPECT_EQ(problem([](abi::SolverCode& c) { c.before.image = 1; }), "a kernel is in no image");
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
  EXPECT_EQ(std::get<abi::LibraryCall>(read->kernels[1].code).options[0].second, 1);
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
  refused([](auto& p) { std::get<abi::Launch>(p.steps[0].what).kernel = 6; }, "no kernel");
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
  refused([](auto& p) { p.results[0].shape.assign(17, 1); }, "too many dims");
  refused([](auto& p) { p.results[0].shape = {0, int64_t{1} << 62, int64_t{1} << 62}; }, "too large");
  refused([](auto& p) { p.devices[1].name = "gpu\n"; }, "no name");
  refused([](auto& p) { p.excerpts[0].firstLine = ~0u; }, "no line");
  refused([](auto& p) { p.buffers[7].offset = 0; }, "a constant shares its memory");
  refused([](auto& p) { p.constants.push_back(p.constants[0]); }, "two constants");
}

abi::Launch& launch(abi::Program& p, size_t step) { return std::get<abi::Launch>(p.steps[step].what); }
abi::LibraryCall& sortCall(abi::Program& p) { return std::get<abi::LibraryCall>(p.kernels[1].code); }

TEST(ProgramFile, KernelsAreGivenWhatTheyRelyOn) {
  refused([](auto& p) { launch(p, 0).args[0].byteOffset = 8; }, "outside of its buffer");
  refused([](auto& p) { launch(p, 0).args[0].buffer = 1; }, "outside of its buffer");
  refused([](auto& p) { launch(p, 0).args[0].access = abi::Access::Read; }, "in another way");
  refused([](auto& p) { launch(p, 0).args.push_back(launch(p, 0).args[0]); }, "another number of arguments");
  refused([](auto& p) { launch(p, 0).scalars.clear(); }, "another number of scalars");
  refused([](auto& p) { launch(p, 11).args[0].byteOffset = 32; }, "not aligned");
  refused([](auto& p) { launch(p, 11).args[0].buffer = 8; }, "memory of another device");
  refused([](auto& p) { launch(p, 11).device = 0; }, "the host cannot run a kernel");
}

TEST(ProgramFile, CallsOfRoutinesFitThem) {
  refused([](auto& p) { sortCall(p).routine = "shuffle"; }, "the routine `shuffle` there is no routine of that name");
  refused([](auto& p) { sortCall(p).options = {{"k", 1}}; }, "an option that it does not have");
  refused([](auto& p) { sortCall(p).options[0].second = 2; }, "neither 0 nor 1");
  refused([](auto& p) { sortCall(p).results[0].shape = {6}; }, "has other results");
  refused([](auto& p) { sortCall(p).results[0].dtype = abi::dtype::F64; }, "has other results");
  refused([](auto& p) { sortCall(p).operands.clear(); }, "another number of operands");
  refused([](auto& p) { sortCall(p).operands[0].shape.clear(); }, "takes rows");
  refused([](auto& p) { launch(p, 10).args[1].byteOffset = 2; }, "not aligned");
  refused([](auto& p) { launch(p, 10).args[1].byteOffset = 240; }, "outside of its buffer");
  refused([](auto& p) { sortCall(p) = {"topk", {floats(8)}, {floats(8), floats(8)}, {{"k", 4}}}; }, "more elements");
  refused([](auto& p) { sortCall(p) = {"solve", {floats(8), floats(8)}, {floats(8)}, {}}; }, "square");
  refused([](auto& p) { sortCall(p) = {"eigh", {{8, 0, abi::dtype::I64, {3, 3}, ""}}, {}, {}}; }, "f32 and f64");
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

/// Whoever mends the checksum of the plan alone cannot change machine code.
TEST(ProgramFile, MachineCodeHasItsOwnChecksum) {
  std::string bytes = writeProgram(sample()), error;
  const size_t code = bytes.find("ELF");
  ASSERT_NE(code, std::string::npos);
  bytes[code] = 'e';
  EXPECT_FALSE(readProgram(bytes, error));
  EXPECT_EQ(error, "it is damaged: the checksum of its machine code is wrong");
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
