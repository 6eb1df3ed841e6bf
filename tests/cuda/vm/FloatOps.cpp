// Arithmetic on f32 and f64. What PTX calls approximate is rounded correctly, or nearly: the hardware may be 2 ulp off.
#include <cmath>
#include <limits>

#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

/// The smaller of two; a number where one is not a number, and -0 before +0.
template <class F>
F least(F a, F b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class F>
F greatest(F a, F b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
template <class F>
F leastOrNan(F a, F b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<F>::quiet_NaN() : least(a, b);
}
template <class F>
F greatestOrNan(F a, F b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<F>::quiet_NaN() : greatest(a, b);
}

enum class Round { Down, Up, Zero };

/// a * b + c in one rounding. The product is exact in double, and so is the error of the sum.
template <Round R>
float directed(float a, float b, float c) {
  double product = static_cast<double>(a) * b, sum = product + c;
  float f = static_cast<float>(sum);
  if (!std::isfinite(sum)) return f;
  double back = sum - product, error = (product - (sum - back)) + (c - back);
  double above = static_cast<double>(f) - sum;
  bool tooHigh = above > 0 || (above == 0 && error < 0), tooLow = above < 0 || (above == 0 && error > 0);
  bool down = R == Round::Down || (R == Round::Zero && sum > 0);
  if (down) return tooHigh ? std::nextafter(f, -std::numeric_limits<float>::infinity()) : f;
  return tooLow ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
}

template <Round R>
void addDirected(Operations& t, const std::string& mode) {
  using F = float;
  t.add("fma." + mode + ".f32", lanewise<directed<R>, F, F, F, F>());
  t.add("add." + mode + ".f32", lanewise<[](F a, F b) { return directed<R>(a, 1, b); }, F, F, F>());
  t.add("sub." + mode + ".f32", lanewise<[](F a, F b) { return directed<R>(a, 1, -b); }, F, F, F>());
  t.add("mul." + mode + ".f32", lanewise<[](F a, F b) { return directed<R>(a, b, 0); }, F, F, F>());
}

template <class F>
void addArithmetic(Operations& t, const std::string& type) {
  t.add("add." + type, lanewise<[](F a, F b) { return a + b; }, F, F, F>());
  t.add("sub." + type, lanewise<[](F a, F b) { return a - b; }, F, F, F>());
  t.add("mul." + type, lanewise<[](F a, F b) { return a * b; }, F, F, F>());
  t.add("div." + type, lanewise<[](F a, F b) { return a / b; }, F, F, F>());
  t.add("fma." + type, lanewise<[](F a, F b, F c) { return std::fma(a, b, c); }, F, F, F, F>());
  t.add("neg." + type, lanewise<[](F a) { return -a; }, F, F>());
  t.add("abs." + type, lanewise<[](F a) { return std::fabs(a); }, F, F>());
  t.add("min." + type, lanewise<least<F>, F, F, F>());
  t.add("max." + type, lanewise<greatest<F>, F, F, F>());
  t.add("copysign." + type, lanewise<[](F sign, F a) { return std::copysign(a, sign); }, F, F, F>());
  t.add("rcp." + type, lanewise<[](F a) { return 1 / a; }, F, F>());
  t.add("sqrt." + type, lanewise<[](F a) { return std::sqrt(a); }, F, F>());
  t.add("rsqrt.approx." + type, lanewise<[](F a) { return static_cast<F>(1 / std::sqrt(double{a})); }, F, F>());
  t.alias("mad." + type, "fma." + type);
}

template <auto F>
Operation function() {
  return lanewise<[](float a) { return static_cast<float>(F(static_cast<double>(a))); }, float, float>();
}

}  // namespace

void addFloats(Operations& t) {
  using F = float;
  addArithmetic<float>(t, "f32");
  addArithmetic<double>(t, "f64");
  t.add("min.NaN.f32", lanewise<leastOrNan<F>, F, F, F>());
  t.add("max.NaN.f32", lanewise<greatestOrNan<F>, F, F, F>());
  addDirected<Round::Down>(t, "rm");
  addDirected<Round::Up>(t, "rp");
  addDirected<Round::Zero>(t, "rz");
  t.alias("div.approx.f32", "div.f32");
  t.alias("div.full.f32", "div.f32");
  t.alias("rcp.approx.f32", "rcp.f32");
  t.alias("rcp.approx.f64", "rcp.f64");
  t.alias("sqrt.approx.f32", "sqrt.f32");
  t.add("ex2.approx.f32", function<[](double a) { return std::exp2(a); }>());
  t.add("lg2.approx.f32", function<[](double a) { return std::log2(a); }>());
  t.add("sin.approx.f32", function<[](double a) { return std::sin(a); }>());
  t.add("cos.approx.f32", function<[](double a) { return std::cos(a); }>());
  t.add("tanh.approx.f32", function<[](double a) { return std::tanh(a); }>());
  // What the decoder puts around instructions marked .ftz and .sat.
  t.add("flush.f32",
        lanewise<[](F a) { return std::fabs(a) < std::numeric_limits<F>::min() ? std::copysign(0.f, a) : a; }, F, F>());
  t.add("saturate.f32", lanewise<[](F a) { return a > 1 ? 1.f : a > 0 ? a : 0.f; }, F, F>());
  t.add("saturate.f64", lanewise<[](double a) { return a > 1 ? 1. : a > 0 ? a : 0.; }, double, double>());
}

}  // namespace tenc::ptx
