#include "codegen/MathHelpers.h"

#include <cmath>
#include <cstring>
#include <limits>

extern "C" double lgamma_r(double x, int* sign);

namespace tenc::codegen {
namespace {

double logGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

/// Reflection for negative arguments, the recurrence up to 10, then the asymptotic series (Abramowitz and
/// Stegun 6.3.18).
double digamma(double x) {
  if (std::isnan(x) || x == std::numeric_limits<double>::infinity()) return x;
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    if (std::floor(x) == x) return std::numeric_limits<double>::quiet_NaN();
    double fraction = x - std::nearbyint(x);
    return digamma(1 - x) - M_PI / std::tan(M_PI * fraction);
  }
  // Near its zero the function is the Taylor series there, so that nothing cancels.
  constexpr double kRootHigh = 1.4616321449683622, kRootLow = 9.549995429965697e-17;
  double offset = (x - kRootHigh) - kRootLow;
  if (std::fabs(offset) < 0.03) {
    constexpr double kSeries[] = {0.9676722454476212,   -0.4427631689835921,  0.258499760955651,   -0.16394270544240652,
                                  0.10782405069126237,  -0.07219956125645471, 0.04880428816414311, -0.03316112647484736,
                                  0.022597648232218104, -0.01542476590494896, 0.010538791616612175};
    double sum = 0;
    for (int i = 10; i >= 0; --i) sum = sum * offset + kSeries[i];
    return sum * offset;
  }
  long double y = x, sum = 0;
  for (; y < 10; y += 1) sum -= 1 / y;
  long double z = 1 / (y * y);
  long double series =
      z * (1.0L / 12 -
           z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z * (1.0L / 132 - z * (691.0L / 32760 - z / 12))))));
  return static_cast<double>(sum + std::log(y) - 0.5L / y - series);
}

int64_t integerPower(int64_t base, int64_t exponent) {
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1, square *= square)
    if (rest & 1) result *= square;
  return static_cast<int64_t>(result);
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

struct Entry {
  std::string_view name;
  void* address;
};

void* of(Unary f) { return reinterpret_cast<void*>(f); }
void* of(Binary f) { return reinterpret_cast<void*>(f); }

}  // namespace

void* helperAddress(std::string_view name) {
  const Entry entries[] = {
      {"tenc_lgamma", of(&logGamma)},
      {"tenc_digamma", of(&digamma)},
      {"tenc_integer_power", reinterpret_cast<void*>(&integerPower)},
      {"sin", of(static_cast<Unary>(&std::sin))},
      {"cos", of(static_cast<Unary>(&std::cos))},
      {"tan", of(static_cast<Unary>(&std::tan))},
      {"acos", of(static_cast<Unary>(&std::acos))},
      {"sinh", of(static_cast<Unary>(&std::sinh))},
      {"cosh", of(static_cast<Unary>(&std::cosh))},
      {"asinh", of(static_cast<Unary>(&std::asinh))},
      {"acosh", of(static_cast<Unary>(&std::acosh))},
      {"atanh", of(static_cast<Unary>(&std::atanh))},
      {"erfc", of(static_cast<Unary>(&std::erfc))},
      {"pow", of(static_cast<Binary>(&std::pow))},
      {"fmod", of(static_cast<Binary>(&std::fmod))},
      {"atan2", of(static_cast<Binary>(&std::atan2))},
      {"hypot", of(static_cast<Binary>(&std::hypot))},
      {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
      {"memset", reinterpret_cast<void*>(&std::memset)},
      {"memmove", reinterpret_cast<void*>(&std::memmove)},
  };
  for (const Entry& e : entries)
    if (e.name == name) return e.address;
  return nullptr;
}

}  // namespace tenc::codegen
