// Which runs of commands for a GPU are one graph, and what its nodes come after; with functions in place of a driver.
#include <gtest/gtest.h>

#include "runtime/cuda/CudaGraphs.h"

namespace tenc::rt::cuda {
namespace {

using abi::Access;

constexpr uint64_t kBytes = 64;

abi::Kernel kernelOf(const std::vector<Access>& accesses, std::vector<uint32_t> sites = {}, uint32_t scalars = 0) {
  abi::Kernel k{"k", abi::DeviceCode{}, std::move(sites), {}, scalars};
  for (const Access a : accesses) k.parameters.push_back({kBytes, 4, a});
  return k;
}

/// A kernel from one buffer to another; one that may report a fault, and one with a scalar.
const abi::Kernel kPlain = kernelOf({Access::Read, Access::Write});
const abi::Kernel kReports = kernelOf({Access::Read, Access::Write}, {0});
const abi::Kernel kScalar = kernelOf({Access::Read, Access::Write}, {}, 1);
const CudaKernel plain{nullptr, &kPlain, 0}, reports{nullptr, &kReports, 1}, scalar{nullptr, &kScalar, 2};

void add(CudaRun& run, const CudaKernel& k, uint64_t from, uint64_t to, uint64_t order,
         std::vector<uint64_t> scalars = {}) {
  const DeviceArg args[] = {{reinterpret_cast<std::byte*>(from), Access::Read},
                            {reinterpret_cast<std::byte*>(to), Access::Write}};
  run.launch(k, args, scalars, order);
}

/// A run of two launches, the second of another kernel.
CudaRun two(const CudaKernel& second, uint64_t to, uint64_t order, uint64_t between, std::vector<uint64_t> s = {}) {
  CudaRun run;
  add(run, plain, 0x1000, 0x2000, order);
  add(run, second, 0x2000, to, order + between, std::move(s));
  return run;
}

TEST(CudaRun, WhatIsReadFromTheBlockIsNoPartOfTheKey) {
  EXPECT_EQ(two(plain, 0x3000, 5, 1).key(), two(plain, 0x3000, 90, 7).key());
  EXPECT_EQ(two(scalar, 0x3000, 5, 1, {4}).key(), two(scalar, 0x3000, 5, 1, {9}).key());
  EXPECT_NE(two(plain, 0x3000, 5, 1).key(), two(plain, 0x4000, 5, 1).key());
  EXPECT_NE(two(plain, 0x3000, 5, 1).key(), two(scalar, 0x3000, 5, 1, {4}).key());
  // Orders of faults count from that of the run.
  EXPECT_EQ(two(reports, 0x3000, 5, 1).key(), two(reports, 0x3000, 90, 1).key());
  EXPECT_NE(two(reports, 0x3000, 5, 1).key(), two(reports, 0x3000, 5, 2).key());
}

TEST(CudaRun, CommandsComeAfterThoseThatTouchWhatOneOfThemWrites) {
  using Lists = std::vector<std::vector<size_t>>;
  CudaRun run;
  add(run, plain, 0x1000, 0x2000, 1);
  add(run, plain, 0x1000, 0x3000, 2);           // reads what the first one reads
  add(run, plain, 0x2000, 0x4000, 3);           // what the first one wrote
  add(run, plain, 0x3000, 0x2000, 4);           // over what the third one has read, which is after the first
  run.copy(0x5000, 0x4000 + kBytes - 4, 8, 5);  // a part of what the third one wrote
  run.copy(0x6000, 0x4000 + kBytes, 8, 6);      // what lies behind it
  EXPECT_EQ(run.dependencies(run.list()), (Lists{{}, {}, {0}, {2, 1}, {2}, {}}));
}

/// A launch, and a loop or branch behind it whose second section has another one.
CudaRun control(ControlKind kind, uint64_t to) {
  CudaRun run;
  add(run, plain, 0x1000, 0x2000, 1);
  run.begin(kind, 2);
  run.section();
  add(run, scalar, 0x2000, to, 3, {4});
  run.end(0x8000, 0);
  return run;
}

TEST(CudaRun, SectionsArePartsOfTheKey) {
  EXPECT_EQ(control(ControlKind::Loop, 0x3000).key(), control(ControlKind::Loop, 0x3000).key());
  EXPECT_NE(control(ControlKind::Loop, 0x3000).key(), control(ControlKind::Branch, 0x3000).key());
  EXPECT_NE(control(ControlKind::Loop, 0x3000).key(), control(ControlKind::Loop, 0x4000).key());
  CudaRun first;
  add(first, plain, 0x1000, 0x2000, 1);
  first.begin(ControlKind::Branch, 2);
  add(first, scalar, 0x2000, 0x3000, 3, {4});
  first.section();
  first.end(0x8000, 0);
  EXPECT_NE(first.key(), control(ControlKind::Branch, 0x3000).key());
}

TEST(CudaRun, WhatABranchTouchesItTouchesAsAWhole) {
  CudaRun run = control(ControlKind::Branch, 0x3000);
  add(run, plain, 0x3000, 0x4000, 4);  // reads what may have been written in it
  add(run, plain, 0x9000, 0x8000, 5);  // over what decides
  using Lists = std::vector<std::vector<size_t>>;
  EXPECT_EQ(run.dependencies(run.list()), (Lists{{}, {0}, {1}, {1}}));
}

TEST(CudaRun, WhatIsAbandonedWasNeverThere) {
  CudaRun run = control(ControlKind::Branch, 0x3000);
  const std::vector<uint64_t> key = run.key(), scalars = run.scalars();
  run.begin(ControlKind::Loop, 4);
  add(run, reports, 0x3000, 0x4000, 5);
  run.section();
  run.begin(ControlKind::Branch, 6);
  add(run, scalar, 0x3000, 0x4000, 7, {9});
  run.abandon();
  EXPECT_EQ(run.key(), key);
  EXPECT_EQ(run.scalars(), scalars);
  EXPECT_EQ(run.depth(), 0u);
  EXPECT_EQ(run.commands(), 3u);
  EXPECT_FALSE(run.reports());
}

// ---- a driver that counts
struct Counts {
  int captures = 0, launches = 0, destroyed = 0;
  Result instantiates = 0;
  std::vector<size_t> after;  ///< of each node that was captured
};
Counts* counts = nullptr;
NodeHandle nodes[8];

CudaFunctions functions() {
  CudaFunctions f{};
  f.beginCapture = [](StreamHandle, int) { return ++counts->captures, 0; };
  f.endCapture = [](StreamHandle, CapturedHandle* g) { return *g = counts, 0; };
  f.captureAfter = [](StreamHandle, NodeHandle*, size_t count, unsigned) { return counts->after.push_back(count), 0; };
  f.captureInfo = [](StreamHandle, int*, uint64_t*, CapturedHandle*, const NodeHandle** after, size_t* count) {
    *after = nodes;
    *count = counts->after.empty() ? 0 : 1;
    return 0;
  };
  f.launch = [](FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle,
                void**, void**) { return ++counts->launches, 0; };
  f.deviceToDevice = [](Pointer, Pointer, size_t, StreamHandle) { return 0; };
  f.instantiate = [](GraphHandle* g, CapturedHandle, unsigned long long) { return *g = counts, counts->instantiates; };
  f.destroyCaptured = [](CapturedHandle) { return 0; };
  f.destroyGraph = [](GraphHandle) { return ++counts->destroyed, 0; };
  return f;
}

CudaRun four(uint64_t to) {
  CudaRun run;
  for (uint64_t i = 0; i < 4; ++i) add(run, plain, 0x1000 * i, 0x1000 * (i + 1), i);
  run.copy(to, 0x1000, 8, 4);
  return run;
}

struct CudaGraphsTest : ::testing::Test {
  CudaGraphsTest() { counts = &own; }
  ~CudaGraphsTest() override { counts = nullptr; }
  Counts own;
  const CudaFunctions f = functions();
};

TEST_F(CudaGraphsTest, ARunIsCapturedTheSecondTime) {
  {
    CudaGraphs graphs(f, nullptr);
    EXPECT_EQ(graphs.of(four(0x9000), nullptr, 0), nullptr);
    EXPECT_EQ(own.captures, 0);
    EXPECT_NE(graphs.of(four(0x9000), nullptr, 0), nullptr);
    EXPECT_NE(graphs.of(four(0x9000), nullptr, 0), nullptr);
    EXPECT_EQ(own.captures, 1);
    EXPECT_EQ(own.launches, 4);
    EXPECT_EQ(own.after, (std::vector<size_t>{0, 1, 1, 1, 1, 5}));  // the last: where the capture ends
    EXPECT_EQ(graphs.of(four(0xa000), nullptr, 0), nullptr);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(graphs.of(two(plain, 0x3000, 5, 1), nullptr, 0), nullptr);  // too short
    EXPECT_EQ(own.captures, 1);
  }
  EXPECT_EQ(own.destroyed, 1);
}

TEST_F(CudaGraphsTest, NothingIsCapturedAgainWhereThereAreNoGraphs) {
  CudaGraphs graphs(f, nullptr);
  own.instantiates = 801;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(graphs.of(four(0x9000), nullptr, 0), nullptr);
  EXPECT_EQ(own.captures, 1);
}

}  // namespace
}  // namespace tenc::rt::cuda
