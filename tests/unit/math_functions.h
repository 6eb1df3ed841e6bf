// The mathematical functions with their references and bounds, and errors in units in the last place.
#pragma once
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>

#include "cpu_kernels.h"

namespace tenc::codegen {
using ir::DType;
using ir::OpKind;
/// References are computed in long double, which has 11 bits more than f64.
using Real = long double;

/// By how many units in the last place of T (the spacing at `want`) `got` is off; 1e9 where they differ in kind.
template <typename T>
inline double ulps(T got, Real want) {
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

/// Bounds of a function's error, in units in the last place.
struct Bound {
  std::string_view name;
  double f32, f64;
};
inline constexpr Bound kBounds[] = {
#define FUNCTION(name, f32, f64) {#name, f32, f64},
#include "../numerics/functions.def"
#undef FUNCTION
};

/// The bound of a function; 0, which is to be exact, where the table has none.
inline Bound boundOf(OpKind op) {
  const std::string_view name = ir::opInfo(op).mnemonic;
  for (const Bound& b : kBounds) {
    if (b.name == name) return b;
  }
  return {name, 0, 0};
}

/// A function of one operand.
struct Function {
  OpKind op;
  Real (*reference)(Real);
  /// The bound in f64 holds for arguments above this.
  double from64 = -std::numeric_limits<double>::infinity();
};

inline Real sigmoidl(Real x) { return 1 / (1 + std::exp(-x)); }
inline Real rsqrtl(Real x) { return 1 / std::sqrt(x); }

/// Abramowitz and Stegun 6.3.5, 6.3.7 and 6.3.18; near its positive zero the Taylor series.
inline Real digammal(Real x) {
  constexpr Real kPi = 3.141592653589793238462643383279502884L;
  if (std::isnan(x) || x == std::numeric_limits<Real>::infinity()) return x;
  if (x == 0) return std::copysign(std::numeric_limits<Real>::infinity(), -x);
  if (x < 0 && x == std::floor(x)) return std::numeric_limits<Real>::quiet_NaN();
  if (x < 0) return digammal(1 - x) - kPi / std::tan(kPi * (x - std::nearbyint(x)));
  const Real t = (x - static_cast<Real>(0x1.762d86356be3fp+0)) - static_cast<Real>(0x1.b86a722197829p-54);
  if (std::fabs(t) < 0.05L) {
    constexpr Real kTaylor[] = {0.9676722454476211704274L,  -0.4427631689835921060929L,  0.2584997609556510106244L,
                                -0.1639427054424065275043L, 0.1078240506912623657572L,   -0.07219956125645471092612L,
                                0.04880428816414310722509L, -0.03316112647484735929226L, 0.02259764823221810465962L,
                                -0.0154247659049489591388L, 0.01053879161661217538812L,  -0.00720453438635686824097L,
                                0.004926781395729853446354L};
    Real sum = 0;
    for (size_t i = std::size(kTaylor); i-- > 0;) sum = sum * t + kTaylor[i];
    return sum * t;
  }
  Real sum = 0;
  for (; x < 24; ++x) sum -= 1 / x;
  constexpr Real kTerms[] = {1.0L / 12,       -1.0L / 120, 1.0L / 252,      -1.0L / 240,     1.0L / 132,
                             -691.0L / 32760, 1.0L / 12,   -3617.0L / 8160, 43867.0L / 14364};
  Real series = 0, power = 1 / (x * x);
  for (Real term : kTerms) {
    series += term * power;
    power /= x * x;
  }
  return sum + std::log(x) - 1 / (2 * x) - series;
}

inline const Function kFunctions[] = {
    {OpKind::Exp, [](Real x) { return std::exp(x); }},
    {OpKind::Exp2, [](Real x) { return std::exp2(x); }},
    {OpKind::Expm1, [](Real x) { return std::expm1(x); }},
    {OpKind::Log, [](Real x) { return std::log(x); }},
    {OpKind::Log2, [](Real x) { return std::log2(x); }},
    {OpKind::Log10, [](Real x) { return std::log10(x); }},
    {OpKind::Log1p, [](Real x) { return std::log1p(x); }},
    {OpKind::Sin, [](Real x) { return std::sin(x); }},
    {OpKind::Cos, [](Real x) { return std::cos(x); }},
    {OpKind::Tan, [](Real x) { return std::tan(x); }},
    {OpKind::Asin, [](Real x) { return std::asin(x); }},
    {OpKind::Acos, [](Real x) { return std::acos(x); }},
    {OpKind::Atan, [](Real x) { return std::atan(x); }},
    {OpKind::Sinh, [](Real x) { return std::sinh(x); }},
    {OpKind::Cosh, [](Real x) { return std::cosh(x); }},
    {OpKind::Tanh, [](Real x) { return std::tanh(x); }},
    {OpKind::Asinh, [](Real x) { return std::asinh(x); }},
    {OpKind::Acosh, [](Real x) { return std::acosh(x); }},
    {OpKind::Atanh, [](Real x) { return std::atanh(x); }},
    {OpKind::Erf, [](Real x) { return std::erf(x); }},
    {OpKind::Erfc, [](Real x) { return std::erfc(x); }},
    {OpKind::Sigmoid, sigmoidl},
    {OpKind::Cbrt, [](Real x) { return std::cbrt(x); }},
    {OpKind::Rsqrt, rsqrtl},
    {OpKind::Sqrt, [](Real x) { return std::sqrt(x); }},
    {OpKind::Lgamma, [](Real x) { return std::lgamma(x); }},
    // Near the zeros of negative arguments the error is absolute.
    {OpKind::Digamma, digammal, 0},
};

}  // namespace tenc::codegen
