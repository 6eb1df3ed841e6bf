#include "runtime/io/Decimal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "runtime/io/Io.h"

namespace tenc::rt::format {
namespace {

constexpr int64_t kFarExponent = 100'000;  // beyond what any dtype holds

bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool sameWord(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] | 32) != word[i]) return false;
  return true;
}

/// Whether |a| is less than (-1), equal to (0) or more than (1) |b|; both are finite.
int compareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.digits.empty() || b.digits.empty())
    return static_cast<int>(!a.digits.empty()) - static_cast<int>(!b.digits.empty());
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
  const int order = a.digits.compare(b.digits);
  return (order > 0) - (order < 0);
}

/// The nearest number of at least 0.
template <typename Float>
Float magnitude(const Decimal& d) {
  if (d.digits.empty()) return 0;
  // Beyond the type's range from_chars does not say on which side.
  const std::string text = "." + d.digits + "e" + std::to_string(d.exponent);
  Float f = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), f).ec == std::errc::result_out_of_range)
    f = d.exponent > 0 ? std::numeric_limits<Float>::infinity() : 0;
  return f;
}

/// A double of at least 0 to 16 bits, through the f32 whose last bit tells of what is cut off: rounding that is exact.
uint16_t narrowed(uint8_t dtype, double x) {
  auto f = static_cast<float>(x);
  if (static_cast<double>(f) != x && std::isfinite(x)) {
    auto bits = std::bit_cast<uint32_t>(f);
    if (static_cast<double>(f) > x) --bits;
    f = std::bit_cast<float>(bits | 1u);
  }
  return dtype == 0 ? floatToHalf(f) : floatToBfloat(f);
}

/// Rounding twice, to f64 and then to 16 bits, is wrong only where the f64 is halfway between two of them and the
/// number itself is not.
uint16_t narrowMagnitude(const Decimal& d, uint8_t dtype) {
  const auto x = magnitude<double>(d);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const uint16_t below = narrowed(dtype, std::nextafter(x, 0.0)), above = narrowed(dtype, std::nextafter(x, kInfinity));
  if (below == above || std::isinf(x)) return narrowed(dtype, x);
  char text[512];  // such an f64 has fewer digits
  std::snprintf(text, sizeof text, "%.400e", x);
  const int order = compareMagnitudes(d, *Decimal::of(text));
  return order < 0 ? below : order > 0 ? above : narrowed(dtype, x);
}

bool storeInteger(const Decimal& d, uint8_t dtype, void* out) {
  const auto count = static_cast<int64_t>(d.digits.size());
  constexpr int64_t kMostDigits = 20;  // of 2^64
  if (d.kind != Decimal::Kind::Finite) return false;
  if (count > 0 && (d.exponent < count || d.exponent > kMostDigits)) return false;
  unsigned __int128 n = 0;
  for (const char c : d.digits) n = n * 10 + static_cast<unsigned>(c - '0');
  for (int64_t i = count; i < d.exponent; ++i) n *= 10;
  const int size = dtypeSize(dtype);
  const bool isSigned = dtype < 8;
  const auto most = (static_cast<unsigned __int128>(1) << (8 * size - (isSigned ? 1 : 0))) - 1;
  if (n > (d.negative ? (isSigned ? most + 1 : 0) : most)) return false;
  const auto bits = static_cast<uint64_t>(d.negative ? 0 - n : n);
  std::memcpy(out, &bits, static_cast<size_t>(size));
  return true;
}

template <typename T>
void put(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

template <typename Float>
Float real(const Decimal& d) {
  Float f = 0;
  switch (d.kind) {
    case Decimal::Kind::Finite: f = magnitude<Float>(d); break;
    case Decimal::Kind::Infinite: f = std::numeric_limits<Float>::infinity(); break;
    case Decimal::Kind::Nan: f = std::numeric_limits<Float>::quiet_NaN(); break;
  }
  return d.negative ? -f : f;
}

uint16_t narrowReal(const Decimal& d, uint8_t dtype) {
  if (d.kind != Decimal::Kind::Finite) {
    const auto f = real<float>(d);
    return dtype == 0 ? floatToHalf(f) : floatToBfloat(f);
  }
  return static_cast<uint16_t>(narrowMagnitude(d, dtype) | (d.negative ? 0x8000u : 0u));
}

template <typename T>
bool parseAs(std::string_view text, void* out) {
  T value{};
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return false;
  put(out, value);
  return true;
}

/// Numbers that the library reads without rounding twice: most of them.
bool parsePlain(std::string_view text, uint8_t dtype, void* out) {
  switch (dtype) {
    case 2: return parseAs<float>(text, out);
    case 3: return parseAs<double>(text, out);
    case 4: return parseAs<int8_t>(text, out);
    case 5: return parseAs<int16_t>(text, out);
    case 6: return parseAs<int32_t>(text, out);
    case 7: return parseAs<int64_t>(text, out);
    case 8: return parseAs<uint8_t>(text, out);
    case 9: return parseAs<uint16_t>(text, out);
    case 10: return parseAs<uint32_t>(text, out);
    case 11: return parseAs<uint64_t>(text, out);
    default: return false;
  }
}

}  // namespace

std::optional<Decimal> Decimal::of(std::string_view text) {
  Decimal d;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    d.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (sameWord(text, "nan")) return d.kind = Kind::Nan, d;
  if (sameWord(text, "inf") || sameWord(text, "infinity")) return d.kind = Kind::Infinite, d;
  bool any = false, point = false;
  size_t i = 0;
  for (; i < text.size() && (isDigit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    const bool leading = d.digits.empty() && text[i] == '0';
    if (!leading) d.digits += text[i];
    if (point && leading) --d.exponent;
    if (!point && !leading) ++d.exponent;
  }
  if (!any) return std::nullopt;
  if (i < text.size() && (text[i] | 32) == 'e') {
    ++i;
    const bool down = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (i == text.size()) return std::nullopt;
    int64_t e = 0;
    for (; i < text.size() && isDigit(text[i]); ++i)
      if (e < (int64_t{1} << 40)) e = e * 10 + (text[i] - '0');
    d.exponent += down ? -e : e;
  }
  if (i != text.size()) return std::nullopt;
  while (!d.digits.empty() && d.digits.back() == '0') d.digits.pop_back();
  if (d.digits.empty()) d.exponent = 0;
  if (d.exponent > kFarExponent) d.exponent = kFarExponent;
  if (d.exponent < -kFarExponent) d.exponent = -kFarExponent;
  return d;
}

Parsed parseElement(std::string_view text, uint8_t dtype, void* out) {
  if (parsePlain(text, dtype, out)) return Parsed::Stored;
  const std::optional<Decimal> d = Decimal::of(text);
  if (!d) return Parsed::NoNumber;
  switch (dtype) {
    case 0:
    case 1: put(out, narrowReal(*d, dtype)); break;
    case 2: put(out, real<float>(*d)); break;
    case 3: put(out, real<double>(*d)); break;
    case 12: put(out, static_cast<uint8_t>(d->kind != Decimal::Kind::Finite || !d->digits.empty())); break;
    default: return storeInteger(*d, dtype, out) ? Parsed::Stored : Parsed::NoValue;
  }
  return Parsed::Stored;
}

}  // namespace tenc::rt::format
