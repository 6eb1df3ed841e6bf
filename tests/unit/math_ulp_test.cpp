// Errors of the mathematical functions, measured against the C library's long double. By default a stride over all f32;
// TENC_MATH_SWEEP=1 tests every one.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "cpu_kernels.h"

namespace tenc::codegen {
namespace {
using ir::DType;
using ir::OpKind;
using Real = long double;

constexpr int64_t kBatch = 1 << 16;

template <typename T>
double ulps(T got, Real want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  T nearest = static_cast<T>(want);
  if (std::isinf(nearest) || std::isinf(got)) {
    if (got == nearest) return 0;
    // One step short of an overflow is an error of a unit.
    T most = std::numeric_limits<T>::max();
    return (got == most || got == -most) ? 1 : 1e9;
  }
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : (got == 0 ? 100 : 1e9);
  int exponent;
  std::frexp(want, &exponent);
  int least = std::numeric_limits<T>::min_exponent;
  Real unit = std::ldexp(static_cast<Real>(1), std::max(exponent, least) - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<Real>(got) - want) / unit);
}

struct Function {
  OpKind op;
  Real (*reference)(Real);
  double limit32, limit64;
};

Real sigmoidl(Real x) { return 1 / (1 + std::exp(-x)); }
Real rsqrtl(Real x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {OpKind::Exp, [](Real x) { return std::exp(x); }, 1, 1},
    {OpKind::Exp2, [](Real x) { return std::exp2(x); }, 1.2, 1.2},
    {OpKind::Expm1, [](Real x) { return std::expm1(x); }, 2, 2},
    {OpKind::Log, [](Real x) { return std::log(x); }, 1.05, 1},
    {OpKind::Log2, [](Real x) { return std::log2(x); }, 2, 2},
    {OpKind::Log10, [](Real x) { return std::log10(x); }, 2, 2},
    {OpKind::Log1p, [](Real x) { return std::log1p(x); }, 2, 2},
    {OpKind::Sin, [](Real x) { return std::sin(x); }, 2, 2},
    {OpKind::Cos, [](Real x) { return std::cos(x); }, 2, 2},
    {OpKind::Tan, [](Real x) { return std::tan(x); }, 2, 2},
    {OpKind::Asin, [](Real x) { return std::asin(x); }, 2, 2},
    {OpKind::Acos, [](Real x) { return std::acos(x); }, 2, 2},
    {OpKind::Atan, [](Real x) { return std::atan(x); }, 2, 2},
    {OpKind::Sinh, [](Real x) { return std::sinh(x); }, 2, 2},
    {OpKind::Cosh, [](Real x) { return std::cosh(x); }, 2, 2},
    {OpKind::Tanh, [](Real x) { return std::tanh(x); }, 2, 2},
    {OpKind::Asinh, [](Real x) { return std::asinh(x); }, 2, 2},
    {OpKind::Acosh, [](Real x) { return std::acosh(x); }, 2, 2},
    {OpKind::Atanh, [](Real x) { return std::atanh(x); }, 2, 2},
    {OpKind::Erf, [](Real x) { return std::erf(x); }, 2, 2},
    {OpKind::Erfc, [](Real x) { return std::erfc(x); }, 2, 3},
    {OpKind::Sigmoid, sigmoidl, 2, 2.5},
    {OpKind::Cbrt, [](Real x) { return std::cbrt(x); }, 1, 2},
    {OpKind::Rsqrt, rsqrtl, 1.5, 1.5},
    {OpKind::Sqrt, [](Real x) { return std::sqrt(x); }, 0.5001, 0.5001},
    {OpKind::Lgamma, [](Real x) { return std::lgamma(x); }, 2, 8},
};

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
  bool sweep = std::getenv("TENC_MATH_SWEEP") != nullptr;
  uint64_t stride = sweep ? 1 : 16411;
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
    for (uint64_t p = 0; p < (uint64_t{1} << 32); p += stride) {
      uint32_t bits = static_cast<uint32_t>(p);
      float x;
      std::memcpy(&x, &bits, 4);
      batch.push_back(x);
      if (batch.size() == static_cast<size_t>(kBatch)) flush();
    }
    // The range in which most arguments are.
    for (uint64_t i = 0; i < 60000; ++i)
      batch.push_back(static_cast<float>((static_cast<double>(i) - 30000) * 3.3337e-4));
    for (; batch.size() > static_cast<size_t>(kBatch);) batch.pop_back();
    flush();
    EXPECT_LE(worst.error, f.limit32) << ir::opInfo(f.op).mnemonic << "(" << worst.at << ") = " << worst.got << ", not "
                                      << static_cast<double>(f.reference(worst.at));
  }
}

TEST(MathUlp, F64) {
  for (const Function& f : kFunctions) {
    CompiledKernel kernel(mapKernel(f.op, {DType::F64}, DType::F64, kBatch));
    std::vector<double> batch = {0.0, -0.0,   1.0,     -1.0,   INFINITY, -INFINITY,
                                 NAN, 5e-324, -5e-324, 709.78, -745.1,   -708.5};
    uint64_t state = 88172645463325252ull;
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
    Worst<double> worst;
    check(kernel, f, batch, worst);
    EXPECT_LE(worst.error, f.limit64) << ir::opInfo(f.op).mnemonic << "(" << worst.at << ") = " << worst.got << ", not "
                                      << static_cast<double>(f.reference(worst.at));
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
    EXPECT_LE(worst.error, 2) << ir::opInfo(f.op).mnemonic << "(" << a[at] << ", " << b[at] << ") = " << out[at]
                              << ", not " << static_cast<double>(f.reference(a[at], b[at]));
  }
}
TEST(MathUlp, TwoOperandsF32) { checkPairs<float>(DType::F32); }
TEST(MathUlp, TwoOperandsF64) { checkPairs<double>(DType::F64); }

}  // namespace
}  // namespace tenc::codegen
