#include "ir/Scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tenc::ir {
namespace {

struct FloatFormat {
  int exponentBits;
  int mantissaBits;
};
constexpr FloatFormat formatOf(DType t) { return t == DType::F16 ? FloatFormat{5, 10} : FloatFormat{8, 7}; }

/// Rounds a double once, to nearest even, into a 16-bit format.
uint64_t narrowBits(FloatFormat format, double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t sign = (bits >> 63) << (format.exponentBits + format.mantissaBits);
  const uint64_t infinity = ((uint64_t{1} << format.exponentBits) - 1) << format.mantissaBits;
  if (std::isnan(x)) {
    const uint64_t payload = (bits >> (52 - format.mantissaBits)) & ((uint64_t{1} << format.mantissaBits) - 1);
    return sign | infinity | payload | (uint64_t{1} << (format.mantissaBits - 1));
  }
  if (std::isinf(x)) return sign | infinity;
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  int exponent = 0;
  const double magnitude = std::fabs(x);
  if (magnitude == 0) return sign;
  std::frexp(magnitude, &exponent);
  // The weight of the last mantissa bit; subnormals share that of the least normal.
  const int lastBit = std::max(exponent - 1, 1 - bias) - format.mantissaBits;
  const double scaled = std::ldexp(magnitude, -lastBit);
  const auto mantissa = static_cast<uint64_t>(std::nearbyint(scaled));
  // A normal mantissa carries its implicit bit, which adds one to the exponent field; so does a carry from rounding.
  const uint64_t field = static_cast<uint64_t>(lastBit + format.mantissaBits + bias - 1);
  const uint64_t result = (field << format.mantissaBits) + mantissa;
  return sign | std::min(result, infinity);
}

double widenBits(FloatFormat format, uint64_t bits) {
  const uint64_t mantissaMask = (uint64_t{1} << format.mantissaBits) - 1;
  const uint64_t exponentMask = (uint64_t{1} << format.exponentBits) - 1;
  const bool negative = ((bits >> (format.exponentBits + format.mantissaBits)) & 1) != 0;
  const uint64_t exponent = (bits >> format.mantissaBits) & exponentMask;
  const uint64_t mantissa = bits & mantissaMask;
  if (exponent == exponentMask) {
    const uint64_t wide =
        (uint64_t{negative} << 63) | (uint64_t{0x7ff} << 52) | (mantissa << (52 - format.mantissaBits));
    return std::bit_cast<double>(wide);
  }
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const uint64_t whole = exponent == 0 ? mantissa : mantissa | (mantissaMask + 1);
  const int scale = static_cast<int>(exponent == 0 ? 1 : exponent) - bias - format.mantissaBits;
  const double value = std::ldexp(static_cast<double>(whole), scale);
  return negative ? -value : value;
}

uint64_t widthMask(DType t) { return byteSize(t) == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * byteSize(t))) - 1; }

int64_t signExtend(DType t, uint64_t bits) {
  const int shift = 64 - 8 * byteSize(t);
  return static_cast<int64_t>(bits << shift) >> shift;
}

}  // namespace

uint64_t floatBits(DType t, double x) {
  switch (t) {
    case DType::F64: return std::bit_cast<uint64_t>(x);
    case DType::F32: return std::bit_cast<uint32_t>(static_cast<float>(x));
    default: return narrowBits(formatOf(t), x);
  }
}

double floatValue(DType t, uint64_t bits) {
  switch (t) {
    case DType::F64: return std::bit_cast<double>(bits);
    case DType::F32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default: return widenBits(formatOf(t), bits);
  }
}

uint64_t bitsOf(const Scalar& s) {
  if (isFloat(s.dtype)) return floatBits(s.dtype, s.f);
  if (isSigned(s.dtype)) return static_cast<uint64_t>(s.i) & widthMask(s.dtype);
  return s.u & widthMask(s.dtype);
}

Scalar scalarOf(DType t, uint64_t bits) {
  Scalar s;
  s.dtype = t;
  if (isFloat(t)) {
    s.f = floatValue(t, bits);
  } else if (isSigned(t)) {
    s.i = signExtend(t, bits);
  } else {
    s.u = bits & widthMask(t);
  }
  return s;
}

Scalar scalarFromInt(DType t, int64_t i) {
  if (t == DType::Bool) return scalarOf(t, i != 0);
  if (t == DType::F32) return scalarOf(t, std::bit_cast<uint32_t>(static_cast<float>(i)));
  if (!isFloat(t)) return scalarOf(t, static_cast<uint64_t>(i) & widthMask(t));
  double wide = static_cast<double>(i);
  if (t != DType::F64 && static_cast<int64_t>(wide) != i && std::fabs(wide) < 9.2e18) {
    // Rounding to f64 first would round twice; its last bit is made sticky instead (rounding to odd).
    const int64_t difference = i - static_cast<int64_t>(wide);
    uint64_t bits = std::bit_cast<uint64_t>(wide);
    if ((bits & 1) == 0) bits += ((difference > 0) == (i > 0)) ? 1 : uint64_t(-1);
    wide = std::bit_cast<double>(bits);
  }
  return scalarOf(t, floatBits(t, wide));
}

Scalar scalarFromFloat(DType t, double f) {
  if (isFloat(t)) return scalarOf(t, floatBits(t, f));
  if (t == DType::Bool) return scalarOf(t, f != 0);
  if (std::isnan(f)) return scalarOf(t, 0);
  const int bits = 8 * byteSize(t);
  const double whole = std::trunc(f);
  if (isSigned(t)) {
    const double limit = std::ldexp(1.0, bits - 1);
    const int64_t most = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
    const int64_t value = whole >= limit ? most : whole < -limit ? -most - 1 : static_cast<int64_t>(whole);
    return scalarOf(t, static_cast<uint64_t>(value) & widthMask(t));
  }
  const double limit = std::ldexp(1.0, bits);
  return scalarOf(t, whole >= limit ? widthMask(t) : whole <= 0 ? 0 : static_cast<uint64_t>(whole));
}

Scalar castScalar(const Scalar& s, DType t) {
  if (isFloat(s.dtype)) return scalarFromFloat(t, s.f);
  if (isSigned(s.dtype)) return scalarFromInt(t, s.i);
  if (s.u <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return scalarFromInt(t, static_cast<int64_t>(s.u));
  }
  if (t == DType::Bool) return scalarOf(t, 1);
  if (t == DType::F64) return scalarOf(t, std::bit_cast<uint64_t>(static_cast<double>(s.u)));
  if (t == DType::F32) return scalarOf(t, std::bit_cast<uint32_t>(static_cast<float>(s.u)));
  if (isFloat(t)) {
    // Halved with a sticky last bit, which is far below the precision of 16-bit formats.
    const uint64_t half = (s.u >> 1) | (s.u & 1);
    const double wide = static_cast<double>((half >> 12 << 12) | ((half & 0xfff) != 0 ? uint64_t{0x1000} : 0));
    return scalarOf(t, floatBits(t, wide * 2));
  }
  return scalarOf(t, s.u & widthMask(t));
}

uint64_t loadBits(const std::byte* data, DType t, int64_t index) {
  uint64_t bits = 0;
  const auto size = static_cast<size_t>(byteSize(t));
  std::memcpy(&bits, data + static_cast<size_t>(index) * size, size);
  return bits;
}

void storeBits(std::byte* data, DType t, int64_t index, uint64_t bits) {
  const auto size = static_cast<size_t>(byteSize(t));
  std::memcpy(data + static_cast<size_t>(index) * size, &bits, size);
}

Data scalarData(const Scalar& s) {
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(byteSize(s.dtype)));
  storeBits(bytes->data(), s.dtype, 0, bitsOf(s));
  return bytes;
}

std::optional<Scalar> constantScalar(const Value* v) {
  while (v->op != nullptr) {
    const Op* op = v->op;
    if (op->kind == OpKind::Broadcast || op->kind == OpKind::Reshape || op->kind == OpKind::Fill) {
      v = op->operand(0);
      continue;
    }
    if (op->kind != OpKind::Constant || !v->type.shape.empty()) return std::nullopt;
    const auto* data = std::get_if<Data>(op->find("value"));
    if (data == nullptr || *data == nullptr) return std::nullopt;
    return scalarOf(v->type.dtype, loadBits((*data)->data(), v->type.dtype, 0));
  }
  return std::nullopt;
}

Value* repeatedScalar(const Value* v) {
  if (v->op == nullptr || (v->op->kind != OpKind::Broadcast && v->op->kind != OpKind::Fill)) return nullptr;
  Value* scalar = v->op->operand(0);
  return scalar->type.shape.empty() ? scalar : nullptr;
}

}  // namespace tenc::ir
