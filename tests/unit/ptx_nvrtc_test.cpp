// Kernels in CUDA C++, compiled by NVRTC and run by the machine: results against the host under every schedule, with
// nothing to report; and the same kernels with a planted mistake, which is found.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>

#include "ptx_kernels.h"
#include "ptx_nvrtc_kernels.h"
#include "tests/cuda/nvrtc/Nvrtc.h"

namespace tenc::ptx::testing {
namespace {

const nvrtc::Compiler& compiler() {
  static const nvrtc::Compiler c;
  return c;
}

class Compiled : public ::testing::TestWithParam<Order> {
 protected:
  void SetUp() override {
    if (!compiler().available()) GTEST_SKIP() << compiler().why();
    static const std::string ptx =
        compiler().ptx(kKernels, {"--gpu-architecture=compute_90", "--std=c++17", "-default-device", "--fmad=false"});
    device = std::make_unique<Device>(ptx);
    device->machine.options().order = GetParam();
    EXPECT_TRUE(device->program->knowsAllOpcodes());
  }

  static std::vector<float> randoms(size_t n, float low = -4, float high = 4) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> d(low, high);
    std::vector<float> v(n);
    for (float& f : v) f = d(random);
    return v;
  }

  std::unique_ptr<Device> device;
};
std::string orderName(const ::testing::TestParamInfo<Order>& p) {
  static constexpr const char* kNames[] = {"RoundRobin", "RunAhead", "Backward", "Random"};
  return kNames[static_cast<size_t>(p.param)];
}
INSTANTIATE_TEST_SUITE_P(Orders, Compiled, ::testing::ValuesIn(kOrders), orderName);

TEST_P(Compiled, Elementwise) {
  int n = 10007;
  auto x = randoms(static_cast<size_t>(n)), y = randoms(static_cast<size_t>(n), 0, 1);
  uint64_t out = device->room(x.size() * 4);
  device->run("axpy", grid(7, 128), device->put(x), device->put(y), out, 1.5f, n);
  auto got = device->get<float>(out, x.size());
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], std::fma(1.5f, x[i], y[i])) << i;
}

TEST_P(Compiled, Softmax) {
  int rows = 5, columns = 300;
  auto x = randoms(static_cast<size_t>(rows * columns));
  uint64_t in = device->put(x), out = device->room(x.size() * 4);
  device->run("softmax", grid(static_cast<uint32_t>(rows), 128), in, out, columns);
  auto got = device->get<float>(out, x.size());
  for (size_t r = 0; r < 5; ++r) {
    double sum = 0, most = -1e9;
    for (size_t c = 0; c < 300; ++c) most = std::max<double>(most, x[r * 300 + c]);
    for (size_t c = 0; c < 300; ++c) sum += std::exp(x[r * 300 + c] - most);
    for (size_t c = 0; c < 300; ++c) ASSERT_NEAR(got[r * 300 + c] / (std::exp(x[r * 300 + c] - most) / sum), 1, 3e-6);
  }
  for (const char* broken : {"softmaxFirstBarrierMissing", "softmaxSecondBarrierMissing"}) {
    device->machine.reports().clear();
    EXPECT_FALSE(device->launch(broken, grid(2, 128), in, out, columns));
    EXPECT_TRUE(device->machine.reports().has(Finding::SharedRace)) << broken;
  }
}

TEST_P(Compiled, Transpose) {
  int rows = 70, columns = 96;
  auto x = randoms(static_cast<size_t>(rows * columns));
  uint64_t in = device->put(x), out = device->room(x.size() * 4);
  LaunchShape shape{{3, 3, 1}, {32, 8, 1}, 0, false};
  for (const char* name : {"transpose", "transposeUnpadded"}) {
    device->run(name, shape, in, out, rows, columns);
    auto got = device->get<float>(out, x.size());
    for (size_t r = 0; r < 70; ++r) {
      for (size_t c = 0; c < 96; ++c) ASSERT_EQ(got[c * 70 + r], x[r * 96 + c]);
    }
  }
  auto padded = device->machine.counters().at("transpose").total(),
       plain = device->machine.counters().at("transposeUnpadded").total();
  EXPECT_EQ(padded.sharedCycles, padded.idealSharedCycles);
  EXPECT_GT(plain.sharedCycles, 10 * plain.idealSharedCycles);
}

TEST_P(Compiled, Philox) {
  uint32_t n = 500;
  uint64_t out = device->room(n * 16);
  device->run("philox", grid(4, 128), out, 0x12345678u, 0x9ABCDEF0u, static_cast<int>(n));
  auto got = device->get<uint32_t>(out, n * 4);
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t c[4] = {i, 0, 0, 0}, key[2] = {0x12345678u, 0x9ABCDEF0u};
    for (int round = 0; round < 10; ++round) {
      uint64_t p = uint64_t{0xD2511F53u} * c[0], q = uint64_t{0xCD9E8D57u} * c[2];
      uint32_t next[4] = {static_cast<uint32_t>(q >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(q),
                          static_cast<uint32_t>(p >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p)};
      std::copy(next, next + 4, c);
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    for (size_t k = 0; k < 4; ++k) ASSERT_EQ(got[i * 4 + k], c[k]);
  }
}

TEST_P(Compiled, Products) {
  int m = 64, n = 96, depth = 48;
  auto a = randoms(static_cast<size_t>(m * depth)), b = randoms(static_cast<size_t>(depth * n));
  uint64_t out = device->room(static_cast<uint64_t>(m * n) * 4);
  device->run("sgemm", {{3, 2, 1}, {16, 16, 1}, 0, false}, device->put(a), device->put(b), out, m, n, depth);
  auto got = device->get<float>(out, static_cast<size_t>(m * n));
  auto at = [](const std::vector<float>& v, int row, int width, int column) {
    return v[static_cast<size_t>(row * width + column)];
  };
  for (int r = 0; r < m; ++r) {
    for (int c = 0; c < n; ++c) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum = std::fma(at(a, r, depth, k), at(b, k, n, c), sum);
      ASSERT_EQ(at(got, r, n, c), sum);
    }
  }

  auto narrow = [](std::vector<float>& v) {  // keeps what bf16 keeps
    std::vector<uint16_t> bits;
    for (float& f : v) {
      bits.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(f) >> 16));
      f = std::bit_cast<float>(uint32_t{bits.back()} << 16);
    }
    return bits;
  };
  uint64_t pa = device->put(narrow(a)), pb = device->put(narrow(b));
  LaunchShape shape{{3, 2, 1}, {128, 1, 1}, 0, false};
  device->run("matrix", shape, pa, pb, out, n, depth);
  got = device->get<float>(out, static_cast<size_t>(m * n));
  for (int r = 0; r < m; ++r) {
    for (int c = 0; c < n; ++c) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += double{at(a, r, depth, k)} * at(b, k, n, c);
      ASSERT_NEAR(at(got, r, n, c), sum, 1e-4);
    }
  }
  EXPECT_EQ(device->machine.counters().at("matrix").flops(), 2ull * 64 * 96 * 48);
  EXPECT_FALSE(device->launch("matrixWaitMissing", shape, pa, pb, out, n, depth));
  EXPECT_TRUE(device->machine.reports().has(Finding::UninitialisedShared));
}

TEST_P(Compiled, Atomics) {
  int n = 5000, bins = 37;
  std::vector<int> x;
  std::vector<uint32_t> expected(37);
  for (int i = 0; i < n; ++i) ++expected[static_cast<size_t>(x.emplace_back(i * i % bins))];
  uint64_t counts = device->put(std::vector<uint32_t>(37));
  device->run("histogram", grid(5, 96, 37 * 4), device->put(x), counts, bins, n);
  EXPECT_EQ(device->get<uint32_t>(counts, 37), expected);
}

TEST_P(Compiled, Loops) {
  int n = 1000;
  std::vector<uint32_t> x(1000);
  for (uint32_t i = 0; i < 1000; ++i) x[i] = i + 1;
  uint64_t out = device->room(4000);
  device->run("collatz", grid(4, 256), device->put(x), out, n);
  auto got = device->get<uint32_t>(out, 1000);
  for (uint32_t i = 0; i < 1000; ++i) {
    uint32_t steps = 0;
    for (uint32_t v = i + 1; v != 1; v = v % 2 ? 3 * v + 1 : v / 2) ++steps;
    ASSERT_EQ(got[i], steps);
  }
}

TEST_P(Compiled, LastBlock) {
  int n = 20000;
  std::vector<float> ones(20000, 1.f);
  uint64_t in = device->put(ones), parts = device->room(64), out = device->room(4);
  device->run("sum", grid(16, 128), in, parts, device->put(std::vector<uint32_t>(1)), out, n);
  EXPECT_EQ(device->get<float>(out, 1)[0], 20000.f);
  EXPECT_FALSE(
      device->launch("sumFencesMissing", grid(16, 128), in, parts, device->put(std::vector<uint32_t>(1)), out, n));
  EXPECT_TRUE(device->machine.reports().has(Finding::GlobalRace));
}

TEST_P(Compiled, Functions) {
  int n = 256;
  auto x = randoms(256);
  uint64_t out = device->room(256 * 10 * 4);
  device->run("functions", grid(2, 128), device->put(x), out, n);
  auto got = device->get<float>(out, 2560);
  for (size_t i = 0; i < 256; ++i) {
    double v = x[i], p = std::fabs(x[i]) + 1e-3f;
    double expected[] = {std::exp(v),      std::log(p),      std::tanh(v),
                         std::erf(v),      std::sin(v),      std::pow(p, static_cast<double>(1.7f)),
                         1 / std::sqrt(p), std::exp(v) * 0.5};
    for (size_t f = 0; f < std::size(expected); ++f) {
      // A few units in the last place, of the largest operand where terms cancel.
      ASSERT_NEAR(got[f * 256 + i], expected[f], 1e-6 * std::max(1., std::fabs(expected[f]))) << f << " of " << v;
    }
    ASSERT_NEAR(got[8 * 256 + i], v, std::fabs(v) / 256);
    int k = (static_cast<int>(i) * 7919 - 40000) / 7 % 13;
    ASSERT_EQ(got[9 * 256 + i],
              static_cast<float>(k) + static_cast<float>(static_cast<int>(x[i])) + std::nearbyint(x[i]));
  }
}

TEST_P(Compiled, PlantedMistakes) {
  auto x = device->put(std::vector<float>(64, 1.f));
  auto found = [&](Finding f) {
    bool has = device->machine.reports().has(f);
    EXPECT_TRUE(has) << nameOf(f) << "\n" << device->machine.reports().text();
    device->machine.reports().clear();
  };
  EXPECT_EQ(device->launch("addOneTooMany", grid(3, 32), x, 64), Finding::OutOfRange);
  found(Finding::OutOfRange);
  EXPECT_EQ(device->launch("vectorsFromTheSecond", grid(1, 4), x, x), Finding::Misaligned);
  found(Finding::Misaligned);
  EXPECT_FALSE(device->launch("accumulateWithoutAtomics", grid(2, 32), x, x));
  found(Finding::GlobalRace);
  EXPECT_FALSE(device->launch("shuffleAfterReturn", grid(1, 32), x, 20));
  found(Finding::ShuffleMask);
  EXPECT_FALSE(device->launch("halfOfShared", grid(1, 64), x));
  found(Finding::UninitialisedShared);
  EXPECT_EQ(device->launch("barrierInBranch", grid(1, 64), x), Finding::DivergentBarrier);
  found(Finding::DivergentBarrier);
  EXPECT_FALSE(device->launch("accumulateWithoutAtomics", grid(1, 32), device->room(128), x));
  found(Finding::UninitialisedGlobal);
}

/// Thread instructions a second, with all checks and without: `--gtest_also_run_disabled_tests --gtest_filter=*Speed*`.
TEST_P(Compiled, DISABLED_Speed) {
  if (GetParam() != Order::RoundRobin) return;
  auto x = randoms(1 << 20);
  uint64_t in = device->put(x), out = device->put(x);
  int n = 1 << 20;
  for (bool checked : {true, false}) {
    Options& o = device->machine.options();
    o.races = o.initialisation = o.counters = checked;
    auto measure = [&](const char* name, LaunchShape shape, auto... arguments) {
      device->machine.clearCounters();
      std::clock_t begin = std::clock();
      device->run(name, shape, arguments...);
      double s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      double lanes = static_cast<double>(device->machine.counters().at(name).total().lanes);
      std::printf("%-12s %-10s %8.0f million thread instructions a second (%.3f s)\n", name,
                  checked ? "checked" : "unchecked", lanes / s / 1e6, s);
    };
    measure("axpy", grid(132, 256), in, in, out, 1.5f, n);
    measure("softmax", grid(256, 256), in, out, 1024);
    measure("transpose", {{32, 32, 1}, {32, 8, 1}, 0, false}, in, out, 1024, 1024);
    measure("philox", grid(1024, 128), out, 1u, 2u, 1 << 17);
    measure("sgemm", {{8, 8, 1}, {16, 16, 1}, 0, false}, in, in, out, 256, 256, 256);
    measure("matrix", {{8, 8, 1}, {128, 1, 1}, 0, false}, in, in, out, 256, 256);
    measure("functions", grid(256, 128), in, out, 1 << 15);
  }
}

}  // namespace
}  // namespace tenc::ptx::testing
