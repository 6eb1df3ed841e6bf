// Every f32 through every mathematical function: TENC_MATH_SWEEP=1, or a list of functions (TENC_MATH_SWEEP=exp,sin).
// Some 10 s a function on an idle core. References are f64 functions, the C library's vector ones (at most 4 ULP of
// f64) where there are such; the worst cases are computed again in long double. Prints the worst error of each.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "math_functions.h"

extern "C" double lgamma_r(double x, int* sign);

namespace tenc::codegen {
namespace {

constexpr size_t kChunk = size_t{1} << 16;

using Doubles __attribute__((vector_size(32))) = double;
/// The vector ABI of x86-64 for 4 doubles in one AVX register.
using VectorFunction = Doubles (*)(Doubles);

__attribute__((target("avx2"))) void applyVector(VectorFunction f, const double* in, double* out) {
  for (size_t i = 0; i < kChunk; i += 4) {
    Doubles x;
    std::memcpy(&x, in + i, sizeof x);
    x = f(x);
    std::memcpy(out + i, &x, sizeof x);
  }
}

VectorFunction vectorFunction(std::string_view name) {
  static void* library = dlopen("libmvec.so.1", RTLD_NOW);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<VectorFunction>(dlsym(library, ("_ZGVdN4v_" + std::string(name)).c_str()));
}

/// f of f32 inputs, right to some units of f64.
void reference(const Function& f, const double* in, double* out) {
  if (f.op == OpKind::Rsqrt || f.op == OpKind::Sqrt) {
    for (size_t i = 0; i < kChunk; ++i) out[i] = f.op == OpKind::Sqrt ? std::sqrt(in[i]) : 1 / std::sqrt(in[i]);
    return;
  }
  if (f.op == OpKind::Lgamma) {
    int sign = 0;
    for (size_t i = 0; i < kChunk; ++i) out[i] = lgamma_r(in[i], &sign);
    return;
  }
  const bool isSigmoid = f.op == OpKind::Sigmoid;
  std::string_view name = isSigmoid ? "exp" : ir::opInfo(f.op).mnemonic;
  VectorFunction vector = vectorFunction(name);
  if (vector == nullptr) {
    for (size_t i = 0; i < kChunk; ++i) out[i] = static_cast<double>(f.reference(in[i]));
    return;
  }
  if (!isSigmoid) return applyVector(vector, in, out);
  for (size_t i = 0; i < kChunk; ++i) out[i] = -in[i];
  applyVector(vector, out, out);
  for (size_t i = 0; i < kChunk; ++i) out[i] = 1 / (1 + out[i]);
}

struct Worst {
  double error = 0;
  float at = 0, got = 0;
};

/// Whether all of a block of results are within `worst` units in the last place, and equal in kind and sign. Without
/// branches, so that it becomes vector code.
constexpr size_t kBlock = 64;
__attribute__((target("avx2"))) bool allWithin(const float* got, const double* want, double worst) {
  int64_t bad = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const double w = want[i], g = got[i];
    int64_t bits, gotBits;
    std::memcpy(&bits, &w, 8);
    std::memcpy(&gotBits, &g, 8);
    // The spacing of f32 at w.
    constexpr int64_t kLeast = int64_t{1023 - 149} << 52;
    const int64_t exponent = (bits & 0x7ff0000000000000) - (int64_t{23} << 52);
    const int64_t unitBits = exponent > kLeast ? exponent : kLeast;
    double unit;
    std::memcpy(&unit, &unitBits, 8);
    const bool close = std::fabs(g - w) <= worst * unit, equal = g == w, neither = g != g && w != w;
    const bool zeroOfOtherSign = w == 0 && (bits ^ gotBits) < 0;
    bad |= static_cast<int64_t>(!(close | equal | neither) | zeroOfOtherSign);
  }
  return bad == 0;
}

void compareChunk(const Function& f, const std::vector<float>& in, const std::vector<float>& got,
                  const std::vector<double>& want, Worst& worst) {
  for (size_t block = 0; block < kChunk; block += kBlock) {
    if (allWithin(got.data() + block, want.data() + block, worst.error)) continue;
    for (size_t i = block; i < block + kBlock; ++i) {
      if (ulps<float>(got[i], want[i]) <= worst.error) continue;
      const double exact = ulps<float>(got[i], f.reference(in[i]));
      if (exact > worst.error) worst = {exact, in[i], got[i]};
    }
  }
}

TEST(MathSweep, EveryF32) {
  const char* chosen = std::getenv("TENC_MATH_SWEEP");
  if (chosen == nullptr) GTEST_SKIP() << "set TENC_MATH_SWEEP=1; some 10 s a function";
  const std::string names = "," + std::string(chosen) + ",";
  std::vector<float> in(kChunk), got(kChunk);
  std::vector<double> wide(kChunk), want(kChunk);
  for (const Function& f : kFunctions) {
    const std::string name(ir::opInfo(f.op).mnemonic);
    if (names != ",1," && names.find("," + name + ",") == std::string::npos) continue;
    CompiledKernel kernel(mapKernel(f.op, {DType::F32}, DType::F32, kChunk));
    Worst worst;
    for (uint64_t first = 0; first < uint64_t{1} << 32; first += kChunk) {
      for (size_t i = 0; i < kChunk; ++i) {
        const uint32_t bits = static_cast<uint32_t>(first + i);
        std::memcpy(&in[i], &bits, 4);
        wide[i] = in[i];
      }
      kernel.run({in.data(), got.data()});
      reference(f, wide.data(), want.data());
      compareChunk(f, in, got, want, worst);
    }
    std::printf("| %-8s | %.3f | %a |\n", name.c_str(), worst.error, static_cast<double>(worst.at));
    std::fflush(stdout);
    EXPECT_LE(worst.error, boundOf(f.op).f32)
        << name << "(" << worst.at << ") = " << worst.got << ", not " << static_cast<double>(f.reference(worst.at));
  }
}

}  // namespace
}  // namespace tenc::codegen
