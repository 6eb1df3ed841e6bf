// Products of warpgroups: every layout of operands against plain loops, under every schedule; and each mistake that can
// be made is found.
#include <dlfcn.h>

#include "ptx_wgmma_kernels.h"
#include "tests/cuda/nvrtc/Nvrtc.h"

namespace tenc::ptx::testing {
namespace {

TEST(Warpgroups, LayoutsOfOperands) {
  for (uint32_t span : {16u, 32u, 64u, 128u}) {
    for (bool transposedA : {false, true}) {
      for (bool transposedB : {false, true}) {
        for (Order order : kOrders) {
          Problem p{.columns = 128, .a = {span, transposedA}, .b = {span, transposedB}};
          expectProduct(p, order);
        }
      }
    }
  }
}

TEST(Warpgroups, NumbersOfColumns) {
  for (uint32_t columns : {8u, 64u, 96u, 128u, 200u, 256u}) {
    for (uint32_t span : {64u, 128u}) {
      expectProduct({.columns = columns, .a = {span, false}, .b = {span, false}});
      expectProduct({.columns = columns, .a = {span, false}, .b = {span, true}});
    }
  }
}

TEST(Warpgroups, LeftOperandInRegisters) {
  for (uint32_t columns : {8u, 96u, 256u}) {
    for (bool transposed : {false, true}) {
      for (Order order : kOrders) expectProduct({.columns = columns, .b = {128, transposed}, .registers = true}, order);
    }
  }
}

TEST(Warpgroups, TypesSignsAndSums) {
  expectProduct({.half = true});
  expectProduct({.half = true, .registers = true});
  expectProduct({.negateA = true});
  expectProduct({.registers = true, .negateB = true});
  expectProduct({.negateA = true, .negateB = true});
  expectProduct({.accumulate = false});
  expectProduct({.warpgroups = 2});
}

TEST(Warpgroups, PatternsThatBeginElsewhere) {
  for (uint32_t span : {64u, 128u}) {
    for (bool transposed : {false, true}) {
      for (uint32_t base : {1u, 3u, 7u})
        expectProduct({.a = {span, transposed}, .b = {span, transposed}, .base = base});
    }
  }
}

TEST(Warpgroups, Counters) {
  auto count = [](const Problem& p) {
    const Operands operands(p);
    Device device(wgmmaText(p));
    device.run("k", grid(1, 128), device.room(operands.expected.size() * 4), device.put(operands.shared),
               device.put(operands.left));
    const KernelCounters& c = device.machine.counters().at("k");
    EXPECT_EQ(c.flops(), 2ull * 64 * p.columns * 64);
    EXPECT_EQ(c.warpgroupFlops(), c.flops());
    uint64_t cycles = 0;
    for (size_t pc = 0; pc < c.at.size(); ++pc) {
      if (c.kernel->code[pc].cls == Class::Warpgroup) cycles += c.at[pc].sharedCycles;
    }
    return cycles;
  };
  EXPECT_EQ(count({.columns = 128}), 4 * (16 + 32));  // 2 KiB of A and 4 KiB of B, 128 bytes a cycle
  EXPECT_EQ(count({.columns = 256, .registers = true}), 4 * 64);
}

void expectFound(Finding f, const Parts& parts, const Problem& p = {}, bool ends = false, uint32_t threads = 128) {
  const Operands operands(p);
  for (Order order : kOrders) {
    Device device(wgmmaText(p, parts));
    device.machine.options().order = order;
    const uint64_t to = device.room(operands.expected.size() * 8);
    const auto ended = device.launch("k", grid(1, threads), to, device.put(operands.shared), device.put(operands.left));
    EXPECT_TRUE(device.machine.reports().has(f)) << nameOf(f) << ": " << device.machine.reports().text();
    EXPECT_EQ(ended.has_value(), ends) << device.machine.reports().text();
  }
}
void expectClean(const Parts& parts, const Problem& p = {}) {
  for (Order order : kOrders) expectProduct(p, order, parts);
}

TEST(WarpgroupChecks, FenceOfTheProxy) {
  expectFound(Finding::ProxyFence, {.proxyFence = ""});
  expectFound(Finding::ProxyFence, {.proxyFence = "fence.proxy.async.global;"});
  expectFound(Finding::ProxyFence, {.begin = "fence.proxy.async;", .proxyFence = ""});
  expectFound(Finding::ProxyFence, {.proxyFence = "@%p5 fence.proxy.async;"});
  expectFound(Finding::ProxyFence, {.proxyFence = "", .barrier = "bar.sync 0; fence.proxy.async;"});
  expectClean(
      {.begin = "fence.proxy.async;", .proxyFence = "fence.proxy.async;", .barrier = "bar.sync 0; fence.proxy.async;"});
  // Copies past the registers are no different.
  const std::string copy = "cp.async.cg.shared.global [%r8], [%d4], 16;", arrived = "cp.async.wait_all;";
  expectClean({.store = copy, .stored = arrived});
  expectFound(Finding::ProxyFence, {.store = copy, .stored = arrived, .proxyFence = ""});
  expectFound(Finding::ProxyFence, {.store = copy, .stored = "fence.proxy.async;" + arrived, .proxyFence = ""});
  expectFound(Finding::UninitialisedShared, {.store = copy});
}

TEST(WarpgroupChecks, SharedMemory) {
  expectFound(Finding::SharedRace, {.barrier = ""});
  expectFound(Finding::UninitialisedShared, {.begin = "add.u32 %r3, %r3, 16;"});
  // A store while a product reads, by who issued it and by another warp.
  const std::string store = "st.shared.u32 [%r2], %r1;";
  expectFound(Finding::SharedRace, {.committed = "@%p3 " + store});
  expectFound(Finding::SharedRace, {.committed = "bar.sync 1; @%p4 " + store});
  expectFound(Finding::SharedRace, {.wait = "wgmma.wait_group.sync.aligned 0; @%p4 " + store});
  expectFound(Finding::SharedRace, {.committed = "@%p3 atom.shared.add.u32 %r10, [%r2], 1;"});
  expectFound(Finding::SharedRace, {.committed = "@%p3 cp.async.ca.shared.global [%r2], [%d2], 16;"});
  expectClean({.wait = "wgmma.wait_group.sync.aligned 0; bar.sync 1; @%p4 " + store});
}

TEST(WarpgroupChecks, FenceOfRegisters) {
  const std::string fence = "wgmma.fence.sync.aligned;";
  expectFound(Finding::WarpgroupFence, {.fence = ""});
  expectFound(Finding::WarpgroupFence, {.fenced = "mov.f32 %f3, 0f3F800000;"});
  expectFound(Finding::WarpgroupFence, {.fenced = "mov.b32 %r10, %f3;"});
  expectFound(Finding::WarpgroupFence, {.fenced = "mov.b32 %a5, %a5;"}, {.registers = true});
  expectClean({.fenced = "mov.f32 %f3, 0f3F800000;" + fence});
  // Another shape in the same registers.
  const std::string narrow =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %d7, %d8, %p2, 1, 1, 0, 0;";
  expectFound(Finding::WarpgroupFence, {.multiplied = narrow});
  // After a wait a thread's access wants a fence before the next product.
  const std::string again = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; mov.b32 %r10, %f1;";
  expectFound(Finding::WarpgroupFence, {.multiplied = again + narrow});
}

TEST(WarpgroupChecks, RegistersInUse) {
  expectFound(Finding::RegisterInUse, {.wait = ""});
  expectFound(Finding::RegisterInUse, {.commit = ""});
  expectFound(Finding::RegisterInUse, {.wait = "wgmma.wait_group.sync.aligned 1;"});
  expectFound(Finding::RegisterInUse, {.committed = "mov.b32 %r10, %f31;"});
  expectFound(Finding::RegisterInUse, {.committed = "@%p3 mov.f32 %f0, 0f00000000;"});
  expectFound(Finding::RegisterInUse, {.committed = "mov.b32 %a15, 0;"}, {.registers = true});
  // A product whose left operand is being computed.
  expectFound(Finding::RegisterInUse,
              {.multiplied = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f64, %f65, %f66, %f67}, "
                             "{%f0, %f1, %f2, %f3}, %d8, 1, 1, 1, 0;"});
  // Nobody waits at all.
  expectFound(Finding::RegisterInUse, {.wait = "wgmma.wait_group.sync.aligned 1; ret;"});
}

TEST(WarpgroupChecks, WarpsGoTogether) {
  const std::string fence = "wgmma.fence.sync.aligned;";
  expectFound(Finding::WarpgroupMismatch, {.fence = "@%p5 bra ON; " + fence + "ON:"}, {}, true);
  expectFound(Finding::WarpgroupMismatch, {.committed = "@%p5 ret;"}, {}, true);
  expectFound(Finding::WarpgroupMismatch, {.address = "@%p5 add.s64 %d6, %d6, 64;"}, {}, true);
  expectFound(Finding::WarpgroupMismatch, {.address = "@%p6 add.s64 %d6, %d6, 64;"}, {}, true);
  expectFound(Finding::WarpgroupMismatch, {}, {}, true, 96);
  expectFound(Finding::WarpgroupMismatch, {}, {}, true, 192);
  expectFound(Finding::DivergentBarrier, {.address = "@%p6 bra APART; bra ON; APART: bar.sync 0; ON:"}, {}, true);
  expectClean({.address = "@%p5 bra ON; add.u32 %r10, %r1, 1; ON:"}, {.warpgroups = 2});
}

TEST(WarpgroupChecks, Descriptors) {
  auto add = [](uint64_t n) { return Parts{.address = "add.s64 %d6, %d6, " + std::to_string(n) + ";"}; };
  expectFound(Finding::Misaligned, add(128 >> 4), {}, true);           // another row of the pattern
  expectFound(Finding::Misaligned, add(16 >> 4), {}, true);            // behind the end of a span, at the last step
  expectFound(Finding::Misaligned, add(1 << 14), {}, true);            // an address that was not shifted
  expectFound(Finding::Misaligned, add(uint64_t{1} << 49), {}, true);  // a pattern that begins elsewhere
  expectFound(Finding::Misaligned, add(64 >> 4), {.a = {64}, .b = {64}}, true);
  expectFound(Finding::OutOfRange, add(2048 >> 4), {}, true);
  expectFound(Finding::OutOfRange, {.address = "mov.u64 %d6, 0;"}, {}, true);
}

TEST(WarpgroupChecks, Text) {
  EXPECT_THROW(Device(wgmmaText({}, {.target = "sm_90"})), PtxError);
  auto product = [](const std::string& rest) {
    return Parts{.multiplied = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, " + rest};
  };
  EXPECT_NO_THROW(Device(wgmmaText({}, product("%d7, %d8, %p2, 1, 1, 0, 0;"))));
  EXPECT_THROW(Device(wgmmaText({}, product("%d7, %d8, %p2, 1, 1, 0;"))), PtxError);
  EXPECT_THROW(Device(wgmmaText({}, product("%d7, %d8, %p2, 2, 1, 0, 0;"))), PtxError);
  EXPECT_THROW(Device(wgmmaText({}, product("{%r1, %r2}, %d8, %p2, 1, 1, 0;"))), PtxError);
}

// As a compiler would write it: 128 x 128 by two warpgroups, stages of 64 terms that come by cp.async while those
// before are multiplied.
constexpr const char* kPipeline = R"cuda(
typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned short bf16;

__device__ u64 describe(u32 address, u32 leading, u32 stride) {
  return (u64)((address & 0x3FFFF) >> 4) | (u64)(leading >> 4) << 16 | (u64)(stride >> 4) << 32 | 1ull << 62;
}
__device__ void multiply(float (&d)[64], u64 a, u64 b) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 1; }"
#define D(n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), "+f"(d[n + 5]), "+f"(d[n + 6]), "+f"(d[n + 7])
    : D(0), D(8), D(16), D(24), D(32), D(40), D(48), D(56) : "l"(a), "l"(b));
}
__device__ void keep(float (&d)[64]) {
  for (float& f : d) asm volatile("" : "+f"(f)::"memory");
}
template <int kStages, bool kFence, int kLeft>
__device__ void product(const bf16* a, const bf16* b, float* c, int n, int depth) {
  extern __shared__ __align__(1024) char tiles[];
  constexpr u32 kTile = 16384;
  int t = threadIdx.x, row = blockIdx.y * 128, column = blockIdx.x * 128;
  u32 first = (u32)__cvta_generic_to_shared(tiles);
  auto fetch = [&](int step) {
    u32 to = first + step % kStages * 2 * kTile;
    for (int i = t; i < 1024; i += 256) {  // pieces of 8: of A along terms, of B along columns
      u32 at = i / 8 * 128 + i % 8 * 16;
      const bf16* from = a + (row + i / 8) * depth + step * 64 + i % 8 * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + (at ^ (at >> 7 & 7) << 4)), "l"(from));
      int k = i / 16, piece = i % 16;
      at = piece / 8 * 8192 + k * 128 + piece % 8 * 16;
      from = b + (step * 64 + k) * n + column + piece * 8;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + kTile + (at ^ (at >> 7 & 7) << 4)), "l"(from));
    }
  };
  float d[64] = {};
  fetch(0);
  for (int step = 0; step < depth / 64; ++step) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (kFence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (step + 1 < depth / 64) fetch(step + 1);
    keep(d);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    u32 at = first + step % kStages * 2 * kTile;
    for (int k = 0; k < 4; ++k)
      multiply(d, describe(at + t / 128 * 8192 + k * 32, 16, 1024), describe(at + kTile + k * 2048, 8192, 1024));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
  keep(d);
  for (int r = 0; r < 64; ++r) {
    int m = row + t / 32 * 16 + t % 32 / 4 + r % 4 / 2 * 8;
    c[m * n + column + r / 4 * 8 + t % 4 * 2 + r % 2] = d[r];
  }
}
#define PRODUCT(name, ...) \
  extern "C" __global__ void name(const bf16* a, const bf16* b, float* c, int n, int depth) { product<__VA_ARGS__>(a, b, c, n, depth); }
PRODUCT(right, 3, true, 0)
PRODUCT(stageTooFew, 2, true, 0)
PRODUCT(fenceMissing, 3, false, 0)
PRODUCT(waitMissing, 3, true, 1)
)cuda";

TEST(WarpgroupsCompiled, Pipeline) {
  const nvrtc::Compiler compiler;
  if (!compiler.available()) GTEST_SKIP() << compiler.why();
  Device device(compiler.ptx(kPipeline, {"--gpu-architecture=compute_90a", "--std=c++17", "-default-device"}));
  EXPECT_TRUE(device.program->knowsAllOpcodes());
  constexpr int kSize = 256, kDepth = 320;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  auto some = [&](size_t count, std::vector<float>& values) {
    std::vector<uint16_t> bits;
    for (size_t n = 0; n < count; ++n) {
      bits.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(normal(random)) >> 16));
      values.push_back(toFloat(Bfloat{bits.back()}));
    }
    return device.put(bits);
  };
  std::vector<float> a, b;
  const uint64_t inA = some(kSize * kDepth, a), inB = some(kDepth * kSize, b), out = device.room(kSize * kSize * 4);
  std::vector<double> expected(kSize * kSize);
  for (size_t m = 0; m < kSize; ++m) {
    for (size_t k = 0; k < kDepth; ++k) {
      for (size_t n = 0; n < kSize; ++n)
        expected[m * kSize + n] += static_cast<double>(a[m * kDepth + k]) * static_cast<double>(b[k * kSize + n]);
    }
  }
  for (Order order : kOrders) {
    device.machine.options().order = order;
    device.machine.clearCounters();
    const LaunchShape shape{{2, 2, 1}, {256, 1, 1}, 3 * 32768, false};
    device.run("right", shape, inA, inB, out, kSize, kDepth);
    EXPECT_EQ(device.machine.counters().at("right").warpgroupFlops(), 2ull * kSize * kSize * kDepth);
    const auto got = device.get<float>(out, kSize * kSize);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(static_cast<double>(got[i]), expected[i], 1e-3) << i;
    auto expect = [&](const char* name, Finding f) {
      EXPECT_FALSE(device.launch(name, shape, inA, inB, out, kSize, kDepth));
      EXPECT_TRUE(device.machine.reports().has(f)) << name << ": " << device.machine.reports().text();
      device.machine.reports().clear();
    };
    expect("stageTooFew", Finding::SharedRace);
    expect("fenceMissing", Finding::ProxyFence);
    expect("waitMissing", Finding::RegisterInUse);
  }
}

/// The layouts on a GPU: `--gtest_also_run_disabled_tests --gtest_filter=*Gpu*`.
TEST(Warpgroups, DISABLED_LayoutsOnAGpu) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  auto call = [&](const char* name, auto... arguments) {
    ASSERT_EQ(reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(library, name))(arguments...), 0) << name;
  };
  void* context = nullptr;
  call("cuInit", 0u);
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  auto check = [&](const Problem& p) {
    const Operands operands(p);
    const std::string text = wgmmaText(p);
    void *module = nullptr, *kernel = nullptr;
    call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str()));
    call("cuModuleGetFunction", &kernel, module, "k");
    std::vector<float> got(operands.expected.size());
    unsigned long long to = 0, from = 0, left = 0;
    auto put = [&](unsigned long long* address, const void* data, size_t bytes) {
      call("cuMemAlloc_v2", address, bytes);
      call("cuMemcpyHtoD_v2", *address, data, bytes);
    };
    put(&to, got.data(), got.size() * 4);
    put(&from, operands.shared.data(), operands.shared.size() * 2);
    put(&left, operands.left.data(), operands.left.size() * 2);
    void* values[] = {&to, &from, &left};
    call("cuLaunchKernel", kernel, 1u, 1u, 1u, 128u, 1u, 1u, 0u, static_cast<void*>(nullptr),
         static_cast<void**>(values), static_cast<void**>(nullptr));
    call("cuMemcpyDtoH_v2", static_cast<void*>(got.data()), to, got.size() * 4);
    for (auto address : {to, from, left}) call("cuMemFree_v2", address);
    call("cuModuleUnload", module);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(static_cast<double>(got[i]), operands.expected[i], 1e-3)
          << i << ": " << p.columns << " columns, spans " << p.a.span << p.a.transposed << " " << p.b.span
          << p.b.transposed << ", base " << p.base;
  };
  for (uint32_t span : {16u, 32u, 64u, 128u}) {
    for (bool transposedA : {false, true}) {
      for (bool transposedB : {false, true}) {
        for (uint32_t columns : {64u, 128u, 192u}) {
          check({.columns = columns, .a = {span, transposedA}, .b = {span, transposedB}});
          check({.columns = columns, .b = {span, transposedB}, .registers = true, .negateA = true});
        }
      }
    }
  }
  for (uint32_t base : {1u, 3u, 7u}) check({.base = base});
}

}  // namespace
}  // namespace tenc::ptx::testing
