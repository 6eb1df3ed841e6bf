#include "runtime/cpu/HostFunctions.h"

#include <cmath>
#include <cstring>
#include <limits>

extern "C" long double lgammal_r(long double x, int* sign);

namespace tenc::rt {
namespace {

/// For x <= 0, whose zeros lie close together: the wider function leaves one rounding.
double logGamma(double x) {
  int sign;
  return static_cast<double>(lgammal_r(x, &sign));
}

/// For x <= 0: reflection, the recurrence up to 16, then the asymptotic series (Abramowitz and Stegun 6.3.7, 6.3.5,
/// 6.3.18), all in long double.
double digamma(double x) {
  if (std::isnan(x)) return x;
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (std::floor(x) == x) return std::numeric_limits<double>::quiet_NaN();
  constexpr long double kPi = 3.141592653589793238462643383279502884L;
  const long double fraction = static_cast<long double>(x) - std::nearbyint(x);
  long double y = 1 - static_cast<long double>(x), sum = -kPi / std::tan(kPi * fraction);
  for (; y < 16; y += 1) sum -= 1 / y;
  const long double z = 1 / (y * y);
  const long double series =
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

struct HostFunction {
  std::string_view name;
  void* address;
};

void* of(Unary f) { return reinterpret_cast<void*>(f); }
void* of(Binary f) { return reinterpret_cast<void*>(f); }

}  // namespace

void* hostFunction(std::string_view name) {
  const HostFunction entries[] = {
      {"tenc_lgamma", of(&logGamma)},
      {"tenc_digamma", of(&digamma)},
      {"tenc_integer_power", reinterpret_cast<void*>(&integerPower)},
      {"sin", of(static_cast<Unary>(&std::sin))},
      {"cos", of(static_cast<Unary>(&std::cos))},
      {"tan", of(static_cast<Unary>(&std::tan))},
      {"fmod", of(static_cast<Binary>(&std::fmod))},
      {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
      {"memset", reinterpret_cast<void*>(&std::memset)},
      {"memmove", reinterpret_cast<void*>(&std::memmove)},
  };
  for (const HostFunction& e : entries)
    if (e.name == name) return e.address;
  return nullptr;
}

}  // namespace tenc::rt
