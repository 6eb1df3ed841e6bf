#include "tools/tenc/Roofline.h"

#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace tenc::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kRound = 4e-3;  // seconds that one round takes about
constexpr int kRounds = 3;       // of which the fastest counts

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// ---- arithmetic: as many independent chains as hide the latency of a fused multiply and add

[[gnu::target("avx512f")]] float multiplyWide(int64_t rounds) {
  __m512 sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 by = _mm512_set1_ps(0.5F), add = _mm512_set1_ps(0.25F);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sums[i] = _mm512_fmadd_ps(sums[i], by, add);
  }
  float all = 0;
  for (const __m512& s : sums) all += _mm512_cvtss_f32(s);
  return all;
}

[[gnu::target("avx2,fma")]] float multiplyNarrow(int64_t rounds) {
  __m256 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 by = _mm256_set1_ps(0.5F), add = _mm256_set1_ps(0.25F);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) sums[i] = _mm256_fmadd_ps(sums[i], by, add);
  }
  float all = 0;
  for (const __m256& s : sums) all += _mm256_cvtss_f32(s);
  return all;
}

struct Arithmetic {
  float (*run)(int64_t rounds);
  double flops;  ///< of a round
};

Arithmetic arithmetic() {
  if (__builtin_cpu_supports("avx512f")) return {multiplyWide, 16 * 16 * 2};
  return {multiplyNarrow, 12 * 8 * 2};
}

// ---- memory: c = a + s * b

[[gnu::target("avx2,fma")]] void triad(const float* a, const float* b, float* c, size_t n) {
  const __m256 by = _mm256_set1_ps(0.5F);
  for (size_t i = 0; i + 8 <= n; i += 8)
    _mm256_storeu_ps(c + i, _mm256_fmadd_ps(_mm256_loadu_ps(b + i), by, _mm256_loadu_ps(a + i)));
}

/// Threads that wait for each other and then work at the same time.
class Team {
 public:
  explicit Team(int threads) : threads_(threads) {}

  /// The seconds of the fastest round, of the slowest thread.
  double run(const std::function<void(int thread)>& work) const {
    double best = 1e9;
    for (int r = 0; r < kRounds; ++r) best = std::min(best, round(work));
    return best;
  }

 private:
  double round(const std::function<void(int thread)>& work) const {
    std::atomic<int> ready{0};
    std::vector<double> took(static_cast<size_t>(threads_));
    const auto body = [&](int thread) {
      ++ready;
      while (ready.load() < threads_) std::this_thread::yield();
      const auto start = Clock::now();
      work(thread);
      took[static_cast<size_t>(thread)] = secondsSince(start);
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads_; ++t) others.emplace_back(body, t);
    body(0);
    for (std::thread& t : others) t.join();
    return *std::max_element(took.begin(), took.end());
  }

  int threads_;
};

double measureFlops(const Team& team, int threads) {
  const Arithmetic a = arithmetic();
  std::atomic<float> sink{0};
  const auto start = Clock::now();
  constexpr int64_t kFirst = 20000;
  sink = a.run(kFirst);
  const double once = std::max(1e-7, secondsSince(start)) / kFirst;
  const auto rounds = static_cast<int64_t>(kRound / once);
  const double seconds = team.run([&](int) { sink = a.run(rounds); });
  return a.flops * static_cast<double>(rounds) * threads / seconds;
}

/// The arrays of one thread. Its own pages are touched by it first.
struct Arrays {
  explicit Arrays(size_t n) : elements(n), memory(new float[3 * n]) {}
  size_t elements;
  std::unique_ptr<float[]> memory;
};

double measureBandwidth(const Team& team, int threads, uint64_t bytes) {
  const size_t n = std::max<size_t>(64, bytes / static_cast<uint64_t>(threads) / (3 * sizeof(float)));
  std::vector<Arrays> arrays;
  for (int t = 0; t < threads; ++t) arrays.emplace_back(n);
  const auto pass = [&](int t, int times) {
    float* const a = arrays[static_cast<size_t>(t)].memory.get();
    for (int i = 0; i < times; ++i) triad(a, a + n, a + 2 * n, n);
  };
  team.run([&](int t) { std::fill_n(arrays[static_cast<size_t>(t)].memory.get(), 3 * n, 1.0F); });
  const double once = team.run([&](int t) { pass(t, 1); });
  const int times = std::clamp(static_cast<int>(kRound / std::max(once, 1e-8)), 1, 1 << 20);
  const double seconds = team.run([&](int t) { pass(t, times); });
  return static_cast<double>(3 * n * sizeof(float)) * threads * times / seconds;
}

/// Larger than the last cache, so that memory is what is measured.
uint64_t memorySize() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  constexpr uint64_t kLeast = uint64_t{64} << 20, kMost = uint64_t{384} << 20;
  return std::clamp(cache > 0 ? 3 * static_cast<uint64_t>(cache) : kLeast, kLeast, kMost);
}

}  // namespace

double Roofline::bandwidth(double bytes) const {
  for (const Level& l : levels) {
    if (bytes <= static_cast<double>(l.bytes)) return l.bandwidth;
  }
  return levels.empty() ? 0 : levels.back().bandwidth;
}

double Roofline::seconds(double bytes, double work) const {
  return std::max(bytes / std::max(bandwidth(bytes), 1.0), work / std::max(flops, 1.0));
}

void Roofline::reached(double bytes, double work, double seconds) {
  if (seconds <= 0) return;
  flops = std::max(flops, work / seconds);
  for (Level& l : levels) {  // smaller ones are no slower
    l.bandwidth = std::max(l.bandwidth, bytes / seconds);
    if (bytes <= static_cast<double>(l.bytes)) break;
  }
}

Roofline measureRoofline(int threads) {
  const Team team(threads);
  Roofline roof;
  roof.threads = threads;
  roof.flops = measureFlops(team, threads);
  const uint64_t most = memorySize();
  for (uint64_t bytes = uint64_t{32} << 10; bytes < most; bytes *= 4)
    roof.levels.push_back({bytes, measureBandwidth(team, threads, bytes)});
  roof.levels.push_back({most, measureBandwidth(team, threads, most)});
  // A smaller level is not slower than a larger one: where it was measured so, starting the threads was.
  for (size_t i = roof.levels.size() - 1; i-- > 0;)
    roof.levels[i].bandwidth = std::max(roof.levels[i].bandwidth, roof.levels[i + 1].bandwidth);
  return roof;
}

}  // namespace tenc::tool
