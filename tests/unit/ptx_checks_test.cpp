// Each kind of mistake is found in a kernel that makes it, under every schedule, and not in the kernel beside it that
// does not. The kernels are PTX: these tests need no NVRTC.
#include "ptx_kernels.h"

namespace tenc::ptx::testing {
namespace {

/// %d1: to, %d2: from, %r1: thread, %r2: block, %d3: 4 * thread, %d4: to + 4 * thread, %d5: from + 4 * thread.
std::string kernel(const std::string& body) {
  return kernelText(R"(
    .shared .align 16 .b8 s[512];
    ld.param.u64 %d1, [to];  ld.param.u64 %d2, [from];
    mov.u32 %r1, %tid.x;  mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %d3, %r1, 4;  add.s64 %d4, %d1, %d3;  add.s64 %d5, %d2, %d3;
    mov.u32 %r4, s;  shl.b32 %r5, %r1, 2;  add.u32 %r4, %r4, %r5;  // %r4: this thread's word of s
    mov.u32 %r6, s;  sub.u32 %r7, 252, %r5;  add.u32 %r6, %r6, %r7;  // %r6: another thread's
  )" + body);
}

struct Outcome {
  std::string reports;
  std::optional<Finding> ended;
  std::vector<uint32_t> result;
  bool has = false;
};

Outcome run(const std::string& body, Order order, LaunchShape shape, Finding finding) {
  Device device(kernel(body));
  device.machine.options().order = order;
  std::vector<uint32_t> values(256);
  for (uint32_t i = 0; i < 256; ++i) values[i] = i;
  uint64_t to = device.put(std::vector<uint32_t>(256)), from = device.put(values);
  Outcome r;
  r.ended = device.launch("k", shape, to, from);
  r.reports = device.machine.reports().text();
  r.has = device.machine.reports().has(finding);
  r.result = device.get<uint32_t>(to, 256);
  return r;
}

void expectFound(Finding f, const std::string& body, LaunchShape shape = grid(1, 64), bool ends = false) {
  for (Order o : kOrders) {
    Outcome r = run(body, o, shape, f);
    EXPECT_TRUE(r.has) << nameOf(f) << " is not found: " << r.reports;
    EXPECT_EQ(r.ended.has_value(), ends) << r.reports;
    if (ends && r.ended) EXPECT_EQ(*r.ended, f);
  }
}
/// Nothing is found, and the threads' results add up to `sum`.
void expectClean(const std::string& body, uint64_t sum, LaunchShape shape = grid(1, 64)) {
  for (Order o : kOrders) {
    Outcome r = run(body, o, shape, Finding::Trap);
    EXPECT_EQ(r.reports, "");
    uint64_t total = 0;
    for (uint32_t v : r.result) total += v;
    EXPECT_EQ(total, sum);
  }
}

const std::string kExchange[] = {"ld.global.u32 %r10, [%d5]; st.shared.u32 [%r4], %r10;", "bar.sync 0;",
                                 "ld.shared.u32 %r11, [%r6]; st.global.u32 [%d4], %r11;"};

TEST(Shared, MissingBarrier) {
  expectClean(kExchange[0] + kExchange[1] + kExchange[2], 64 * 63 / 2);
  expectFound(Finding::SharedRace, kExchange[0] + kExchange[2]);
}

TEST(Shared, BarrierBetweenReadAndTheNextWrite) {
  std::string again = "st.shared.u32 [%r4], %r1; ";
  expectClean(kExchange[0] + kExchange[1] + kExchange[2] + "bar.sync 0;" + again, 64 * 63 / 2);
  expectFound(Finding::SharedRace, kExchange[0] + kExchange[1] + kExchange[2] + again);
}

TEST(Shared, LanesOfAWarpRace) {
  std::string write = "st.shared.u32 [%r4], %r1;",
              read = "xor.b32 %r20, %r4, 4; ld.shared.u32 %r11, [%r20]; st.global.u32 [%d4], %r11;";
  expectClean(write + "bar.warp.sync -1;" + read, 31 * 16, grid(1, 32));
  expectFound(Finding::SharedRace, write + read, grid(1, 32));
}

TEST(Shared, NamedBarriers) {
  // The second warp produces and goes on, the first consumes.
  std::string roles =
      "setp.ge.u32 %p1, %r1, 32; @%p1 bra PRODUCE; bar.sync 1, 64; add.u32 %r20, %r4, 128; ld.shared.u32 %r11, [%r20]; "
      "st.global.u32 [%d4], %r11; bra END;";
  std::string produce = "PRODUCE: st.shared.u32 [%r4], %r1; bar.arrive 1, 64; END:";
  expectClean(roles + produce, 32 * 32 + 31 * 16);
  expectFound(
      Finding::SharedRace,
      "setp.ge.u32 %p1, %r1, 32; @%p1 bra PRODUCE; add.u32 %r20, %r4, 128; ld.shared.u32 %r11, [%r20]; bra END;" +
          produce + "bar.sync 0;");
}

TEST(Shared, BytesThatAPragmaLeavesOut) {
  // Each thread has 16 bytes, of which it writes 12.
  const std::string write =
      "shl.b32 %r20, %r1, 4; mov.u32 %r21, s; add.u32 %r20, %r20, %r21; st.shared.u32 [%r20], %r1; "
      "st.shared.u32 [%r20+4], %r1; st.shared.u32 [%r20+8], %r1;";
  const std::string read = "ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r20]; st.global.u32 [%d4], %r13;";
  expectClean(write + ".pragma \"used_bytes_mask 4095\";" + read, 31 * 16, grid(1, 32));
  expectFound(Finding::UninitialisedShared, write + ".pragma \"used_bytes_mask 65532\";" + read, grid(1, 32));
  expectFound(Finding::UninitialisedShared, write + read, grid(1, 32));
}

TEST(Shared, Uninitialised) {
  expectFound(Finding::UninitialisedShared, "ld.shared.u32 %r11, [%r4+256]; st.global.u32 [%d4], %r11;");
}

TEST(Shared, AddressesHave32Bits) {
  expectClean("sub.u32 %r20, %r4, 4096; st.shared.u32 [%r20+4096], %r1; st.global.u32 [%d4], %r1;", 64 * 63 / 2);
}

TEST(Shared, OutOfRange) {
  expectFound(Finding::OutOfRange, "st.shared.u32 [%r4+508], %r1;", grid(1, 64), true);
  expectFound(Finding::OutOfRange, "mov.u32 %r20, 0; st.shared.u32 [%r20], %r1;", grid(1, 64), true);
}

TEST(Global, OutOfRange) {
  expectFound(Finding::OutOfRange, "st.global.u32 [%d4+1024], %r1;", grid(1, 64), true);
  expectFound(Finding::OutOfRange, "ld.global.u32 %r10, [%d5+-4];", grid(1, 64), true);
  expectFound(Finding::OutOfRange, "mov.u64 %d9, 0; ld.global.u32 %r10, [%d9];", grid(1, 1), true);
}

TEST(Global, Misaligned) {
  expectFound(Finding::Misaligned, "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d5];", grid(1, 2), true);
  expectClean(
      "shl.b64 %d3, %d3, 2; add.s64 %d9, %d2, %d3; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d9]; st.global.u32 "
      "[%d4], %r13;",
      3 + 7, grid(1, 2));
}

TEST(Global, RaceBetweenBlocks) {
  std::string add = "ld.global.u32 %r10, [%d4]; add.u32 %r10, %r10, 1;";
  expectFound(Finding::GlobalRace, add + "st.global.u32 [%d4], %r10;", grid(4, 64));
  expectClean("red.global.add.u32 [%d4], 1;", 4 * 64, grid(4, 64));
  // All write the same: a flag.
  expectClean("mov.u32 %r10, 1; st.global.u32 [%d1], %r10;", 1, grid(4, 64));
}

TEST(Global, LastBlockNeedsBothFences) {
  // Each block leaves a value, counts itself, and the last one adds up.
  auto text = [](const std::string& first, const std::string& second) {
    return "mul.wide.u32 %d6, %r2, 4; add.s64 %d6, %d6, %d1; add.u32 %r10, %r2, 5; st.global.u32 [%d6+64], %r10;" +
           first + "atom.global.add.u32 %r11, [%d1], 1; setp.ne.u32 %p1, %r11, 3; @%p1 bra END;" + second +
           "ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%d1+64]; add.u32 %r12, %r12, %r13; add.u32 %r14, %r14, %r15; "
           "add.u32 %r12, %r12, %r14;"
           "st.global.u32 [%d1+128], %r12; END:";
  };
  expectClean(text("membar.gl;", "membar.gl;"), 4 + 26 + 26, grid(4, 1));
  expectFound(Finding::GlobalRace, text("", "membar.gl;"), grid(4, 1));
  expectFound(Finding::GlobalRace, text("membar.gl;", ""), grid(4, 1));
}

TEST(Global, NonCoherentRead) {
  expectFound(Finding::NonCoherentRead, "st.global.u32 [%d4], %r1; ld.global.nc.u32 %r10, [%d4];");
  expectClean("ld.global.nc.u32 %r10, [%d5]; st.global.u32 [%d4], %r10;", 64 * 63 / 2);
}

TEST(Global, Uninitialised) {
  for (Order o : kOrders) {
    Device device(kernel("ld.global.u32 %r10, [%d5]; st.global.u32 [%d4], %r10;"));
    device.machine.options().order = o;
    uint64_t to = device.room(256), from = device.room(256);
    device.machine.memory().setInitialised(*device.machine.memory().find(from), 0, 252);
    EXPECT_FALSE(device.launch("k", grid(1, 63), to, from));
    EXPECT_EQ(device.machine.reports().text(), "");
    EXPECT_FALSE(device.launch("k", grid(1, 64), to, from));
    EXPECT_TRUE(device.machine.reports().has(Finding::UninitialisedGlobal));
  }
}

TEST(Global, RedzonesInsideAnAllocation) {
  for (const char* access : {"ld.global.u32 %r10, [%d5+256];", "st.global.u8 [%d5+255], %r1;"}) {
    Device device(kernel(access));
    uint64_t arena = device.put(std::vector<uint32_t>(256));
    EXPECT_FALSE(device.launch("k", grid(1, 1), arena, arena));
    EXPECT_TRUE(device.machine.memory().setRedzone(arena + 255, 8, true));
    EXPECT_EQ(device.launch("k", grid(1, 1), arena, arena), Finding::Redzone);
    EXPECT_TRUE(device.machine.memory().setRedzone(arena + 255, 8, false));
    EXPECT_FALSE(device.launch("k", grid(1, 1), arena, arena));
  }
}

TEST(Warps, Masks) {
  std::string leave = "setp.ge.u32 %p1, %r1, 20; @%p1 ret;";
  expectFound(Finding::ShuffleMask, leave + "shfl.sync.bfly.b32 %r10, %r1, 1, 31, -1;", grid(1, 32));
  expectClean(leave + "shfl.sync.bfly.b32 %r10, %r1, 1, 31, 0xFFFFF; st.global.u32 [%d4], %r10;", 190, grid(1, 32));
  expectFound(Finding::ShuffleMask, "shfl.sync.bfly.b32 %r10, %r1, 1, 31, 0xFF;", grid(1, 32));
  expectFound(Finding::InactiveLane, leave + "shfl.sync.down.b32 %r10, %r1, 8, 31, 0xFFFFF;", grid(1, 32));
}

// What ptxas makes of these is not what PTX says.
TEST(Registers, ShortOverflow) {
  const std::string least = ".reg .b16 %h<2>; mov.b16 %h0, 0x8000; ";
  expectFound(Finding::ShortOverflow, least + "neg.s16 %h1, %h0; st.global.u16 [%d4], %h1;", grid(1, 1));
  expectFound(Finding::ShortOverflow, least + "abs.s16 %h1, %h0; st.global.u16 [%d4], %h1;", grid(1, 1));
  expectClean(least + "mul.lo.s16 %h1, %h0, -1; cvt.u32.u16 %r10, %h1; st.global.u32 [%d4], %r10;", 32768, grid(1, 1));
}

TEST(Barriers, Divergent) {
  std::string apart =
      "and.b32 %r10, %r1, 1; setp.eq.u32 %p1, %r10, 0; @%p1 bra EVEN; bar.sync 0; bra END; EVEN: st.global.u32 [%d4], "
      "%r1; bar.sync 0; END:";
  expectFound(Finding::DivergentBarrier, apart, grid(1, 64), true);
}

TEST(Barriers, NeverComplete) {
  expectFound(Finding::BarrierDeadlock,
              "setp.ge.u32 %p1, %r1, 32; @%p1 bra OTHER; bar.sync 1, 64; bra END; OTHER: bar.sync 2, 64; END:",
              grid(1, 64), true);
}

TEST(Barriers, AfterThreadsHaveReturned) {
  expectFound(Finding::BarrierAfterExit, "setp.ge.u32 %p1, %r1, 40; @%p1 ret; bar.sync 0;");
  expectClean("setp.ge.u32 %p1, %r1, 40; bar.sync 0; @%p1 ret; st.global.u32 [%d4], %r1;", 39 * 20);
}

TEST(Launches, TrapsAndTimeouts) {
  expectFound(Finding::Trap, "trap;", grid(1, 1), true);
  Device device(kernel("FOREVER: bra FOREVER;"));
  device.machine.options().budget = 1 << 20;
  EXPECT_EQ(device.launch("k", grid(1, 32), uint64_t{0}, uint64_t{0}), Finding::Timeout);
}

TEST(Launches, SpinLocksEnd) {
  // Lanes of a warp, and warps of blocks, take a lock in turn.
  std::string lock = R"(
    RETRY: atom.acquire.gpu.global.cas.b32 %r10, [%d1], 0, 1;
    setp.ne.u32 %p1, %r10, 0;
    @%p1 bra RETRY;
    ld.volatile.global.u32 %r11, [%d1+4];  add.u32 %r11, %r11, 1;  st.volatile.global.u32 [%d1+4], %r11;
    st.release.gpu.global.u32 [%d1], 0;)";
  for (Order o : {Order::RoundRobin, Order::Random}) {
    Outcome r = run(lock, o, grid(2, 4), Finding::Trap);
    EXPECT_EQ(r.reports, "");
    EXPECT_EQ(r.result[1], 8u);
  }
}

TEST(Counters, SectorsAndBanks) {
  auto count = [](const std::string& body) {
    Device device(kernel(body));
    uint64_t p = device.put(std::vector<uint32_t>(4096));
    device.run("k", grid(1, 32), p, p);
    return device.machine.counters().at("k").total();
  };
  auto straight = count("ld.global.u32 %r10, [%d5];");
  EXPECT_EQ(straight.sectors, 4u);
  EXPECT_EQ(straight.bytes, 128u);
  auto strided = count("shl.b64 %d3, %d3, 3; add.s64 %d9, %d2, %d3; ld.global.u32 %r10, [%d9];");
  EXPECT_EQ(strided.sectors, 32u);
  EXPECT_EQ(strided.sectorsInL1, 0u);
  auto again = count("ld.global.u32 %r10, [%d5]; ld.global.u32 %r11, [%d5]; ld.volatile.global.u32 %r12, [%d5];");
  EXPECT_EQ(again.sectors, 12u);
  EXPECT_EQ(again.sectorsInL1, 4u);
  EXPECT_EQ(count("st.shared.u32 [%r4], %r1;").sharedCycles, 1u);
  auto conflicts = count(
      "and.b32 %r20, %r1, 3; shl.b32 %r20, %r20, 7; mov.u32 %r21, s; add.u32 %r21, %r21, %r20; st.shared.u32 [%r21], "
      "1;");
  EXPECT_EQ(conflicts.sharedCycles, 4u);
  EXPECT_EQ(conflicts.idealSharedCycles, 1u);
  EXPECT_EQ(count("setp.lt.u32 %p1, %r1, 7; @%p1 bra ON; mov.u32 %r20, 1; ON:").divergent, 1u);
}

}  // namespace
}  // namespace tenc::ptx::testing
