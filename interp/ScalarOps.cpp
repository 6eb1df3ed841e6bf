// One case for every elementwise op. Functions of f64 are computed in long double, of narrower floats in double, and
// rounded once.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "interp/Number.h"
#include "ir/Scalar.h"

namespace tenc::interp {
namespace {

using ir::DType;
using ir::OpKind;

/// Computes `fn` wider than `t` and rounds to `t`.
template <typename Fn, typename... Args>
Number wide(DType t, Fn fn, Args... args) {
  if (t == DType::F64) return {roundTo(t, fn(static_cast<long double>(args)...)), 0};
  return {roundTo(t, fn(args...)), 0};
}

/// The neighbour of a toward b in the value's own format, by its bits.
double nextAfter(DType t, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return b;
  if (t == DType::F64) return std::nextafter(a, b);
  if (t == DType::F32) return std::nextafter(static_cast<float>(a), static_cast<float>(b));
  std::byte raw[2];
  if (a == 0) {
    uint16_t least = 1;
    std::memcpy(raw, &least, 2);
    return std::copysign(load(raw, t, 0).f, b);
  }
  store(raw, t, 0, {a, 0});
  uint16_t bits;
  std::memcpy(&bits, raw, 2);
  bits = static_cast<uint16_t>((a < b) == (a > 0) ? bits + 1 : bits - 1);
  std::memcpy(raw, &bits, 2);
  return load(raw, t, 0).f;
}

template <typename F>
F sigmoid(F x) {
  F e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

template <typename F>
F logAddExp(F a, F b) {
  if (a == b) return a + std::log(F(2));
  F most = std::fmax(a, b), least = std::fmin(a, b);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return most + std::log1p(std::exp(least - most));
}

/// Quotients of floats are rounded before they are floored or truncated: narrow floats divide in f32.
double quotient(DType t, double a, double b) { return t == DType::F64 ? a / b : static_cast<float>(a / b); }

Number floatOp(OpKind kind, DType t, std::span<const Number> v, Fault& fault) {
  const double a = v[0].f, b = v.size() > 1 ? v[1].f : 0;
  switch (kind) {
    case OpKind::Neg: return {-a, 0};
    case OpKind::Abs: return {std::fabs(a), 0};
    case OpKind::Sign: return {std::isnan(a) || a == 0 ? a : std::copysign(1.0, a), 0};
    case OpKind::Square: return {roundTo(t, a * a), 0};
    case OpKind::Sqrt: return {roundTo(t, std::sqrt(a)), 0};
    case OpKind::Rsqrt: return wide(t, [](auto x) { return 1 / std::sqrt(x); }, a);
    case OpKind::Cbrt: return wide(t, [](auto x) { return std::cbrt(x); }, a);
    case OpKind::Exp: return wide(t, [](auto x) { return std::exp(x); }, a);
    case OpKind::Exp2: return wide(t, [](auto x) { return std::exp2(x); }, a);
    case OpKind::Expm1: return wide(t, [](auto x) { return std::expm1(x); }, a);
    case OpKind::Log: return wide(t, [](auto x) { return std::log(x); }, a);
    case OpKind::Log2: return wide(t, [](auto x) { return std::log2(x); }, a);
    case OpKind::Log10: return wide(t, [](auto x) { return std::log10(x); }, a);
    case OpKind::Log1p: return wide(t, [](auto x) { return std::log1p(x); }, a);
    case OpKind::Sin: return wide(t, [](auto x) { return std::sin(x); }, a);
    case OpKind::Cos: return wide(t, [](auto x) { return std::cos(x); }, a);
    case OpKind::Tan: return wide(t, [](auto x) { return std::tan(x); }, a);
    case OpKind::Asin: return wide(t, [](auto x) { return std::asin(x); }, a);
    case OpKind::Acos: return wide(t, [](auto x) { return std::acos(x); }, a);
    case OpKind::Atan: return wide(t, [](auto x) { return std::atan(x); }, a);
    case OpKind::Sinh: return wide(t, [](auto x) { return std::sinh(x); }, a);
    case OpKind::Cosh: return wide(t, [](auto x) { return std::cosh(x); }, a);
    case OpKind::Tanh: return wide(t, [](auto x) { return std::tanh(x); }, a);
    case OpKind::Asinh: return wide(t, [](auto x) { return std::asinh(x); }, a);
    case OpKind::Acosh: return wide(t, [](auto x) { return std::acosh(x); }, a);
    case OpKind::Atanh: return wide(t, [](auto x) { return std::atanh(x); }, a);
    case OpKind::Erf: return wide(t, [](auto x) { return std::erf(x); }, a);
    case OpKind::Erfc: return wide(t, [](auto x) { return std::erfc(x); }, a);
    case OpKind::Lgamma: return wide(t, [](auto x) { return std::lgamma(x); }, a);
    case OpKind::Digamma: return {roundTo(t, digamma(a)), 0};
    case OpKind::Floor: return {std::floor(a), 0};
    case OpKind::Ceil: return {std::ceil(a), 0};
    case OpKind::Round: return {std::nearbyint(a), 0};
    case OpKind::Trunc: return {std::trunc(a), 0};
    case OpKind::Sigmoid: return wide(t, [](auto x) { return sigmoid(x); }, a);
    case OpKind::IsNan: return {0, std::isnan(a)};
    case OpKind::IsInf: return {0, std::isinf(a)};
    case OpKind::IsFinite: return {0, std::isfinite(a)};
    case OpKind::Add: return {roundTo(t, a + b), 0};
    case OpKind::Sub: return {roundTo(t, a - b), 0};
    case OpKind::Mul: return {roundTo(t, a * b), 0};
    case OpKind::Div: return {roundTo(t, a / b), 0};
    case OpKind::FloorDiv:
      if (t == DType::F64) return {ir::floorQuotient(a, b), 0};
      return {roundTo(t, ir::floorQuotient(static_cast<float>(a), static_cast<float>(b))), 0};
    case OpKind::TruncDiv: return {roundTo(t, std::trunc(quotient(t, a, b))), 0};
    case OpKind::Mod: return {roundTo(t, ir::floorMod(a, b)), 0};
    case OpKind::Fmod: return {roundTo(t, std::fmod(a, b)), 0};
    case OpKind::Pow: return wide(t, [](auto x, auto y) { return std::pow(x, y); }, a, b);
    case OpKind::Reciprocal: return {roundTo(t, 1 / a), 0};
    case OpKind::Atan2: return wide(t, [](auto x, auto y) { return std::atan2(x, y); }, a, b);
    case OpKind::Hypot: return wide(t, [](auto x, auto y) { return std::hypot(x, y); }, a, b);
    case OpKind::CopySign: return {std::copysign(a, b), 0};
    case OpKind::NextAfter: return {nextAfter(t, a, b), 0};
    case OpKind::LogAddExp: return wide(t, [](auto x, auto y) { return logAddExp(x, y); }, a, b);
    case OpKind::Fma:
      if (t == DType::F32)
        return {std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(v[2].f)), 0};
      if (t == DType::F64) return {std::fma(a, b, v[2].f), 0};
      return {roundTo(t, static_cast<long double>(a) * b + v[2].f), 0};
    default: fault = Fault::UnknownOp; return {};
  }
}

/// Division of integers that rounds toward minus infinity (`floors`) or toward zero; quotient and remainder.
struct Divided {
  int64_t quotient, remainder;
};
Divided divide(DType t, int64_t a, int64_t b, bool floors) {
  if (!ir::isSigned(t)) {
    uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return {static_cast<int64_t>(x / y), static_cast<int64_t>(x % y)};
  }
  if (b == -1) return {static_cast<int64_t>(0 - static_cast<uint64_t>(a)), 0};  // the least integer wraps
  int64_t q = a / b, r = a % b;
  if (floors && r != 0 && (r < 0) != (b < 0)) return {q - 1, r + b};
  return {q, r};
}

int64_t power(int64_t base, uint64_t exponent) {
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) result *= square;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

int64_t shift(OpKind kind, DType t, int64_t a, int64_t b) {
  const int width = 8 * ir::byteSize(t);
  const bool inside = static_cast<uint64_t>(b) < static_cast<uint64_t>(width);
  if (kind == OpKind::Shl) return inside ? static_cast<int64_t>(static_cast<uint64_t>(a) << b) : 0;
  if (ir::isSigned(t)) return a >> (inside ? b : width - 1);
  return inside ? static_cast<int64_t>(static_cast<uint64_t>(a) >> b) : 0;
}

Number intOp(OpKind kind, DType t, std::span<const Number> v, Fault& fault) {
  const int64_t a = v[0].i, b = v.size() > 1 ? v[1].i : 0;
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  auto wrapped = [t](uint64_t r) { return Number{0, wrapTo(t, static_cast<int64_t>(r))}; };
  switch (kind) {
    case OpKind::Neg: return wrapped(0 - x);
    case OpKind::Abs: return ir::isSigned(t) && a < 0 ? wrapped(0 - x) : v[0];
    case OpKind::Sign: return {0, ir::isSigned(t) ? (a > 0) - (a < 0) : a != 0};
    case OpKind::Square: return wrapped(x * x);
    case OpKind::Floor:
    case OpKind::Ceil:
    case OpKind::Round:
    case OpKind::Trunc: return v[0];
    case OpKind::Not: return {0, a == 0};
    case OpKind::BitNot: return wrapped(~x);
    case OpKind::Popcount: {
      int width = 8 * ir::byteSize(t);
      return {0, std::popcount(width == 64 ? x : x & ((uint64_t{1} << width) - 1))};
    }
    case OpKind::Add: return wrapped(x + y);
    case OpKind::Sub: return wrapped(x - y);
    case OpKind::Mul: return wrapped(x * y);
    case OpKind::FloorDiv:
    case OpKind::Mod:
    case OpKind::TruncDiv:
    case OpKind::Fmod: {
      if (b == 0) {
        fault = Fault::Division;
        return {};
      }
      Divided d = divide(t, a, b, kind == OpKind::FloorDiv || kind == OpKind::Mod);
      bool isQuotient = kind == OpKind::FloorDiv || kind == OpKind::TruncDiv;
      return wrapped(static_cast<uint64_t>(isQuotient ? d.quotient : d.remainder));
    }
    case OpKind::Pow:
      if (ir::isSigned(t) && b < 0) {
        fault = Fault::NegativePower;
        return {};
      }
      return wrapped(static_cast<uint64_t>(power(a, y)));
    case OpKind::And:
    case OpKind::BitAnd: return wrapped(x & y);
    case OpKind::Or:
    case OpKind::BitOr: return wrapped(x | y);
    case OpKind::Xor:
    case OpKind::BitXor: return wrapped(x ^ y);
    case OpKind::Shl:
    case OpKind::Shr: return wrapped(static_cast<uint64_t>(shift(kind, t, a, b)));
    default: fault = Fault::UnknownOp; return {};
  }
}

}  // namespace

Number apply(OpKind kind, DType t, DType result, std::span<const Number> v, Fault& fault) {
  switch (kind) {
    case OpKind::Where: return v[0].i ? v[1] : v[2];
    case OpKind::Cast: return castTo(v[0], t, result);
    case OpKind::Max: return extremeOf(v[0], v[1], t, true);
    case OpKind::Min: return extremeOf(v[0], v[1], t, false);
    case OpKind::Bitcast: {
      std::byte raw[8];
      store(raw, t, 0, v[0]);
      return load(raw, result, 0);
    }
    case OpKind::Eq: return {0, compare(v[0], v[1], t) == 0};
    case OpKind::Ne: return {0, compare(v[0], v[1], t) != 0};
    case OpKind::Lt: return {0, compare(v[0], v[1], t) == -1};
    case OpKind::Le: return {0, compare(v[0], v[1], t) <= 0};
    case OpKind::Gt: return {0, compare(v[0], v[1], t) == 1};
    case OpKind::Ge: {
      int c = compare(v[0], v[1], t);
      return {0, c == 0 || c == 1};
    }
    default: return ir::isFloat(t) ? floatOp(kind, t, v, fault) : intOp(kind, t, v, fault);
  }
}

}  // namespace tenc::interp
