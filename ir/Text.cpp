#include "ir/Text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "ir/Scalar.h"

namespace tenc::ir {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

template <class T>
std::string number(T x) {
  std::array<char, 64> buffer;
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), end};
}

template <class T>
std::optional<T> parsed(std::string_view s, int base = 10) {
  T value{};
  std::from_chars_result r{};
  if constexpr (std::is_floating_point_v<T>) {
    r = std::from_chars(s.data(), s.data() + s.size(), value);
  } else {
    r = std::from_chars(s.data(), s.data() + s.size(), value, base);
  }
  if (r.ec != std::errc() || r.ptr != s.data() + s.size()) return std::nullopt;
  return value;
}

/// The bits of the NaN that `nan` stands for.
uint64_t plainNan(DType t) { return floatBits(t, std::nan("")); }

std::string bitsText(DType t, uint64_t bits) {
  std::string s = "0x";
  for (int shift = 8 * byteSize(t) - 4; shift >= 0; shift -= 4) s += kHex[(bits >> shift) & 15];
  return s;
}

}  // namespace

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 0x20 || u == 0x7f) {
      out += "\\x";
      out += kHex[u >> 4];
      out += kHex[u & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string floatText(double x) {
  std::string s = std::isnan(x) ? "nan" : number(x);
  if (s.find_first_of(".ein") == std::string::npos) s += ".0";
  return s;
}

std::string elementText(DType t, uint64_t bits) {
  if (t == DType::Bool) return bits == 0 ? "false" : bits == 1 ? "true" : bitsText(t, bits);
  const Scalar s = scalarOf(t, bits);
  if (isSigned(t)) return number(s.i);
  if (isUnsigned(t)) return number(s.u);
  if (std::isnan(s.f)) return bits == plainNan(t) ? "nan" : bitsText(t, bits);
  std::string text = t == DType::F64 ? number(s.f) : number(static_cast<float>(s.f));
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

std::optional<uint64_t> elementBits(DType t, std::string_view text) {
  if (text.starts_with("0x")) {
    const auto bits = parsed<uint64_t>(text.substr(2), 16);
    if (!bits || (byteSize(t) < 8 && (*bits >> (8 * byteSize(t))) != 0)) return std::nullopt;
    return bits;
  }
  if (t == DType::Bool) {
    if (text == "true") return 1;
    if (text == "false") return 0;
    return std::nullopt;
  }
  if (text == "nan") return isFloat(t) ? std::optional(plainNan(t)) : std::nullopt;
  if (t == DType::F32) {
    const auto f = parsed<float>(text);
    return f ? std::optional(floatBits(t, *f)) : std::nullopt;
  }
  if (isFloat(t)) {
    const auto f = parsed<double>(text);
    return f ? std::optional(floatBits(t, *f)) : std::nullopt;
  }
  Scalar s;
  s.dtype = t;
  if (isSigned(t)) {
    const auto i = parsed<int64_t>(text);
    if (!i) return std::nullopt;
    s.i = *i;
    return scalarOf(t, bitsOf(s)).i == *i ? std::optional(bitsOf(s)) : std::nullopt;
  }
  const auto u = parsed<uint64_t>(text);
  if (!u) return std::nullopt;
  s.u = *u;
  return bitsOf(s) == *u ? u : std::nullopt;
}

bool isNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace tenc::ir
