// Errors of the mathematical functions, measured against the C library's long double on a stride over all f32, and on
// random f64. math_sweep_test.cpp tests every f32.
#include "math_functions.h"

namespace tenc::codegen {
namespace {
constexpr int64_t kBatch = 1 << 16;

template <typename T>
struct Worst {
  double error = 0;
  T at = 0, got = 0;
};

template <typename T>
void check(CompiledKernel& kernel, const Function& f, const std::vector<T>& inputs, Worst<T>& worst) {
  std::vector<T> out(inputs.size());
  kernel.run({const_cast<T*>(inputs.data()), out.data()});
  for (size_t i = 0; i < inputs.size(); ++i) {
    double e = ulps(out[i], f.reference(inputs[i]));
    if (!(e <= worst.error)) worst = {e, inputs[i], out[i]};
  }
}

TEST(MathUlp, F32) {
  constexpr uint64_t kStride = 16411;
  for (const Function& f : kFunctions) {
    CompiledKernel kernel(mapKernel(f.op, {DType::F32}, DType::F32, kBatch));
    Worst<float> worst;
    std::vector<float> batch;
    auto flush = [&] {
      if (batch.empty()) return;
      batch.resize(kBatch, 1.0f);
      check(kernel, f, batch, worst);
      batch.clear();
    };
    for (float special :
         {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 88.72284f, -103.97208f, -87.4f})
      batch.push_back(special);
    for (uint64_t p = 0; p < (uint64_t{1} << 32); p += kStride) {
      uint32_t bits = static_cast<uint32_t>(p);
      float x;
      std::memcpy(&x, &bits, 4);
      batch.push_back(x);
      if (batch.size() == static_cast<size_t>(kBatch)) flush();
    }
    // Multiples of a quarter turn, where what the reduction loses shows.
    for (int k = -43000; k < 43000; k += f.op == OpKind::Lgamma || f.op == OpKind::Digamma ? 100 : 1) {
      float x = static_cast<float>(k * 1.57079632679489661923L);
      for (float y : {x, std::nextafter(x, INFINITY)}) {
        batch.push_back(y);
        if (batch.size() == static_cast<size_t>(kBatch)) flush();
      }
    }
    flush();
    // The range in which most arguments are.
    for (uint64_t i = 0; i < 60000; ++i)
      batch.push_back(static_cast<float>((static_cast<double>(i) - 30000) * 3.3337e-4));
    flush();
    EXPECT_LE(worst.error, boundOf(f.op).f32) << ir::opInfo(f.op).mnemonic << "(" << worst.at << ") = " << worst.got
                                              << ", not " << static_cast<double>(f.reference(worst.at));
  }
}

TEST(MathUlp, F64) {
  for (const Function& f : kFunctions) {
    CompiledKernel kernel(mapKernel(f.op, {DType::F64}, DType::F64, kBatch));
    std::vector<double> batch = {0.0, -0.0,   1.0,     -1.0,   INFINITY, -INFINITY,
                                 NAN, 5e-324, -5e-324, 709.78, -745.1,   -708.5};
    uint64_t state = 88172645463325252ull;
    for (int k = 1; k < 10000; ++k) {  // multiples of a quarter turn, up to 2^26
      double x = static_cast<double>(static_cast<Real>(k) * (k % 2 ? 1 : 4271) * 1.57079632679489661923L);
      batch.push_back(x);
      batch.push_back(std::nextafter(x, -INFINITY));
    }
    while (batch.size() < static_cast<size_t>(kBatch)) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      double any;
      std::memcpy(&any, &state, 8);
      double near = (static_cast<double>(state >> 11) * 0x1p-53 - 0.5) * 40;
      batch.push_back(batch.size() % 4 == 0   ? any
                      : batch.size() % 4 == 1 ? near
                      : batch.size() % 4 == 2 ? near / 20
                                              : std::exp2(near) * (any < 0 ? -1 : 1));
    }
    for (double& x : batch)
      if (x < f.from64) x = -x;
    Worst<double> worst;
    check(kernel, f, batch, worst);
    EXPECT_LE(worst.error, boundOf(f.op).f64) << ir::opInfo(f.op).mnemonic << "(" << worst.at << ") = " << worst.got
                                              << ", not " << static_cast<double>(f.reference(worst.at));
  }
}

struct Function2 {
  OpKind op;
  Real (*reference)(Real, Real);
};
const Function2 kFunctions2[] = {
    {OpKind::Pow, [](Real x, Real y) { return std::pow(x, y); }},
    {OpKind::Atan2, [](Real x, Real y) { return std::atan2(x, y); }},
    {OpKind::Hypot, [](Real x, Real y) { return std::hypot(x, y); }},
    {OpKind::Fmod, [](Real x, Real y) { return std::fmod(x, y); }},
};

template <typename T>
void checkPairs(DType t) {
  const T specials[] = {0.0,  -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN,      0.5,
                        -0.5, 2,    -2,  3,    -3,       T(1e30),   T(-1e30), T(1e-30)};
  for (const Function2& f : kFunctions2) {
    std::vector<T> a, b;
    for (T x : specials)
      for (T y : specials) a.push_back(x), b.push_back(y);
    uint64_t state = 88172645463325252ull;
    auto next = [&](double scale) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      return static_cast<T>((static_cast<double>(state >> 11) * 0x1p-53 - 0.3) * scale);
    };
    while (a.size() < 20000) a.push_back(next(20)), b.push_back(next(20));
    while (a.size() < 40000) a.push_back(next(1e4)), b.push_back(next(6));
    // Near 1 with large exponents, and every ratio of magnitudes.
    const double range = sizeof(T) == 8 ? 1 : 0.125;
    while (a.size() < 60000) a.push_back(1 + next(range * 1e-3)), b.push_back(next(1e6));
    while (a.size() < 80000) a.push_back(static_cast<T>(std::exp2(next(2000 * range)))), b.push_back(next(2));
    while (a.size() < 100000)
      a.push_back(static_cast<T>(std::exp2(next(2000 * range)))), b.push_back(a.back() * next(9));
    // Powers at the ends of the range, of bases near 1.
    while (a.size() < 120000) {
      a.push_back(1 + next(0.1));
      b.push_back(static_cast<T>(range * 690 / std::log(a.back())) * (a.size() % 2 == 0 ? 1 : -1));
    }
    auto n = static_cast<int64_t>(a.size());
    CompiledKernel kernel(mapKernel(f.op, {t, t}, t, n));
    std::vector<T> out(a.size());
    kernel.run({a.data(), b.data(), out.data()});
    Worst<T> worst;
    size_t at = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      double e = ulps(out[i], f.reference(a[i], b[i]));
      if (!(e <= worst.error)) worst = {e, a[i], out[i]}, at = i;
    }
    EXPECT_LE(worst.error, sizeof(T) == 4 ? boundOf(f.op).f32 : boundOf(f.op).f64)
        << ir::opInfo(f.op).mnemonic << "(" << a[at] << ", " << b[at] << ") = " << out[at] << ", not "
        << static_cast<double>(f.reference(a[at], b[at]));
  }
}
TEST(MathUlp, TwoOperandsF32) { checkPairs<float>(DType::F32); }
TEST(MathUlp, TwoOperandsF64) { checkPairs<double>(DType::F64); }

}  // namespace
}  // namespace tenc::codegen
