#include "interp/Number.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tenc::interp {
namespace {

using ir::DType;

struct FloatFormat {
  int precision;    ///< bits of the significand, with the hidden one
  int minExponent;  ///< of the least normal number 2^minExponent
  int maxExponent;  ///< of the largest number
};

FloatFormat formatOf(DType t) {
  switch (t) {
    case DType::F16: return {11, -14, 15};
    case DType::BF16: return {8, -126, 127};
    case DType::F32: return {24, -126, 127};
    default: return {53, -1022, 1023};
  }
}

/// Bits of a 16-bit float from a value that it holds exactly.
uint16_t narrowBits(DType t, double x) {
  const FloatFormat f = formatOf(t);
  const int fraction = f.precision - 1;
  const int exponentBits = 15 - fraction;
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  uint16_t special = static_cast<uint16_t>(((1 << exponentBits) - 1) << fraction);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | special | (1 << (fraction - 1)));
  if (std::isinf(x)) return static_cast<uint16_t>(sign | special);
  double magnitude = std::fabs(x);
  if (magnitude < std::ldexp(1.0, f.minExponent))
    return static_cast<uint16_t>(sign | static_cast<int>(std::ldexp(magnitude, fraction - f.minExponent)));
  int exponent = std::ilogb(magnitude);
  int bits = static_cast<int>(std::ldexp(magnitude, fraction - exponent)) - (1 << fraction);
  return static_cast<uint16_t>(sign | ((exponent + f.maxExponent) << fraction) | bits);
}

double narrowValue(DType t, uint16_t bits) {
  const FloatFormat f = formatOf(t);
  const int fraction = f.precision - 1;
  const int exponentMask = (1 << (15 - fraction)) - 1;
  int exponent = (bits >> fraction) & exponentMask;
  int significand = bits & ((1 << fraction) - 1);
  double magnitude;
  if (exponent == exponentMask) {
    magnitude = significand ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(significand, f.minExponent - fraction);
  } else {
    magnitude = std::ldexp(significand + (1 << fraction), exponent - f.maxExponent - fraction);
  }
  return std::copysign(magnitude, bits & 0x8000 ? -1.0 : 1.0);
}

template <typename T>
T readAs(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <typename T>
void writeAs(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

}  // namespace

Number load(const std::byte* data, DType t, int64_t index) {
  const std::byte* p = data + index * ir::byteSize(t);
  switch (t) {
    case DType::F16:
    case DType::BF16: return {narrowValue(t, readAs<uint16_t>(p)), 0};
    case DType::F32: return {readAs<float>(p), 0};
    case DType::F64: return {readAs<double>(p), 0};
    case DType::I8: return {0, readAs<int8_t>(p)};
    case DType::I16: return {0, readAs<int16_t>(p)};
    case DType::I32: return {0, readAs<int32_t>(p)};
    case DType::I64:
    case DType::U64: return {0, readAs<int64_t>(p)};
    case DType::U8: return {0, readAs<uint8_t>(p)};
    case DType::U16: return {0, readAs<uint16_t>(p)};
    case DType::U32: return {0, readAs<uint32_t>(p)};
    case DType::Bool: return {0, readAs<uint8_t>(p) != 0};
  }
  return {};
}

void store(std::byte* data, DType t, int64_t index, Number x) {
  std::byte* p = data + index * ir::byteSize(t);
  switch (t) {
    case DType::F16:
    case DType::BF16: return writeAs(p, narrowBits(t, x.f));
    case DType::F32: return writeAs(p, static_cast<float>(x.f));
    case DType::F64: return writeAs(p, x.f);
    case DType::I8:
    case DType::U8:
    case DType::Bool: return writeAs(p, static_cast<uint8_t>(x.i));
    case DType::I16:
    case DType::U16: return writeAs(p, static_cast<uint16_t>(x.i));
    case DType::I32:
    case DType::U32: return writeAs(p, static_cast<uint32_t>(x.i));
    case DType::I64:
    case DType::U64: return writeAs(p, x.i);
  }
}

namespace {

/// `Fn(T)` reads one stored `T` as a Number.
template <typename T, typename Fn>
void readAll(const std::byte* p, std::span<Number> out, Fn fn) {
  for (Number& n : out) {
    n = fn(readAs<T>(p));
    p += sizeof(T);
  }
}

template <typename T, typename Fn>
void writeAll(std::byte* p, std::span<const Number> in, Fn fn) {
  for (const Number& n : in) {
    writeAs<T>(p, fn(n));
    p += sizeof(T);
  }
}

}  // namespace

void store(std::byte* data, DType t, int64_t index, std::span<const Number> in) {
  std::byte* p = data + index * ir::byteSize(t);
  switch (t) {
    case DType::F32: return writeAll<float>(p, in, [](Number n) { return static_cast<float>(n.f); });
    case DType::F64: return writeAll<double>(p, in, [](Number n) { return n.f; });
    case DType::I32: return writeAll<int32_t>(p, in, [](Number n) { return static_cast<int32_t>(n.i); });
    case DType::I64:
    case DType::U64: return writeAll<int64_t>(p, in, [](Number n) { return n.i; });
    case DType::Bool: return writeAll<uint8_t>(p, in, [](Number n) { return static_cast<uint8_t>(n.i); });
    default:
      for (size_t i = 0; i < in.size(); ++i) store(data, t, index + static_cast<int64_t>(i), in[i]);
  }
}

void load(const std::byte* data, DType t, int64_t index, std::span<Number> out) {
  const std::byte* p = data + index * ir::byteSize(t);
  auto integer = [](auto v) { return Number{0, static_cast<int64_t>(v)}; };
  switch (t) {
    case DType::F32: return readAll<float>(p, out, [](float v) { return Number{v, 0}; });
    case DType::F64: return readAll<double>(p, out, [](double v) { return Number{v, 0}; });
    case DType::I32: return readAll<int32_t>(p, out, integer);
    case DType::I64:
    case DType::U64: return readAll<int64_t>(p, out, integer);
    case DType::Bool: return readAll<uint8_t>(p, out, [](uint8_t v) { return Number{0, v != 0}; });
    default:
      for (size_t i = 0; i < out.size(); ++i) out[i] = load(data, t, index + static_cast<int64_t>(i));
  }
}

double roundTo(DType t, long double x) {
  if (t == DType::F64) return static_cast<double>(x);
  if (t == DType::F32) return static_cast<float>(x);
  if (x == 0 || !std::isfinite(x)) return static_cast<double>(x);
  const FloatFormat f = formatOf(t);
  int exponent = std::max(std::ilogb(x), f.minExponent);
  int unit = exponent - (f.precision - 1);
  long double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  if (std::fabs(rounded) >= std::ldexp(1.0L, f.maxExponent + 1))
    return std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(x));
  return std::copysign(static_cast<double>(rounded), static_cast<double>(x));
}

int64_t wrapTo(DType t, int64_t i) {
  switch (t) {
    case DType::I8: return static_cast<int8_t>(i);
    case DType::I16: return static_cast<int16_t>(i);
    case DType::I32: return static_cast<int32_t>(i);
    case DType::U8: return static_cast<uint8_t>(i);
    case DType::U16: return static_cast<uint16_t>(i);
    case DType::U32: return static_cast<uint32_t>(i);
    case DType::Bool: return i != 0;
    default: return i;
  }
}

Number castTo(Number x, DType from, DType to) {
  if (ir::isFloat(from)) {
    if (ir::isFloat(to)) return {roundTo(to, x.f), 0};
    if (to == DType::Bool) return {0, x.f != 0};
    if (std::isnan(x.f)) return {};
    int width = 8 * ir::byteSize(to);
    double whole = std::trunc(x.f);
    if (ir::isSigned(to)) {
      double limit = std::ldexp(1.0, width - 1);
      int64_t most = static_cast<int64_t>((uint64_t{1} << (width - 1)) - 1);
      if (whole >= limit) return {0, most};
      if (whole < -limit) return {0, -most - 1};
      return {0, static_cast<int64_t>(whole)};
    }
    if (whole <= 0) return {};
    uint64_t most = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    if (whole >= std::ldexp(1.0, width)) return {0, static_cast<int64_t>(most)};
    return {0, static_cast<int64_t>(static_cast<uint64_t>(whole))};
  }
  if (!ir::isFloat(to)) return {0, wrapTo(to, x.i)};
  long double wide =
      from == DType::U64 ? static_cast<long double>(static_cast<uint64_t>(x.i)) : static_cast<long double>(x.i);
  return {roundTo(to, wide), 0};
}

int compare(Number a, Number b, DType t) {
  if (ir::isFloat(t)) {
    if (std::isnan(a.f) || std::isnan(b.f)) return 2;
    return a.f < b.f ? -1 : a.f > b.f;
  }
  if (t == DType::U64) {
    uint64_t x = static_cast<uint64_t>(a.i), y = static_cast<uint64_t>(b.i);
    return x < y ? -1 : x > y;
  }
  return a.i < b.i ? -1 : a.i > b.i;
}

Number extremeOf(Number a, Number b, DType t, bool largest) {
  const int order = compare(a, b, t);
  if (order == 2) return {a.f + b.f, 0};
  if (order == 0) return std::signbit(a.f) == largest ? b : a;
  return (order > 0) == largest ? a : b;
}

long double digamma(long double x) {
  constexpr long double kPi = 3.141592653589793238462643383279502884L;
  if (std::isnan(x) || x == std::numeric_limits<long double>::infinity()) return x;
  if (x == 0) return std::copysign(std::numeric_limits<long double>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<long double>::quiet_NaN();
    return digamma(1 - x) - kPi / std::tan(kPi * x);  // 6.3.7
  }
  long double shift = 0;
  while (x < 24) shift -= 1 / x++;  // 6.3.5
  long double inverse = 1 / (x * x);
  // Bernoulli numbers B_2n / 2n of the asymptotic series 6.3.18.
  static constexpr long double kTerms[] = {1.0L / 12,       -1.0L / 120, 1.0L / 252,      -1.0L / 240,     1.0L / 132,
                                           -691.0L / 32760, 1.0L / 12,   -3617.0L / 8160, 43867.0L / 14364};
  long double sum = 0, power = inverse;
  for (long double term : kTerms) {
    sum += term * power;
    power *= inverse;
  }
  return shift + std::log(x) - 1 / (2 * x) - sum;
}

}  // namespace tenc::interp
