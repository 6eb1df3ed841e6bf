// A small evaluator for literals. What depends on the target (functions, rounding of 16-bit chains, NaN bits) is left.
#include <bit>
#include <cmath>
#include <limits>

#include "passes/simplify/SimplifyRules.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

Scalar boolScalar(bool v) { return scalarOf(DType::Bool, v ? 1 : 0); }

/// Float operands, in double: for narrower dtypes +, -, *, / and sqrt rounded twice are rounded right (double has more
/// than twice their precision and two bits).
struct Floats {
  Floats(DType dtype, const std::vector<Scalar>& x) : t(dtype), a(x[0].f), b(x.size() > 1 ? x[1].f : 0) {}

  /// The bits of a new NaN are the target's affair.
  std::optional<Scalar> result(double value) const {
    if (std::isnan(value)) return std::nullopt;
    return scalarFromFloat(t, value);
  }
  bool negative() const { return std::signbit(a); }
  /// As maximum and minimum of IEEE 754-2019 compare: -0 is below +0. NaN gives NaN.
  bool less() const { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }
  bool unordered() const { return std::isnan(a) || std::isnan(b); }

  std::optional<Scalar> other(OpKind kind) const {
    switch (kind) {
      case OpKind::Sqrt: return result(std::sqrt(a));
      case OpKind::Floor: return result(std::floor(a));
      case OpKind::Ceil: return result(std::ceil(a));
      case OpKind::Round: return result(std::nearbyint(a));
      case OpKind::Trunc: return result(std::trunc(a));
      case OpKind::Div: return result(a / b);
      case OpKind::IsNan: return boolScalar(std::isnan(a));
      case OpKind::IsInf: return boolScalar(std::isinf(a));
      case OpKind::IsFinite: return boolScalar(std::isfinite(a));
      default: return std::nullopt;
    }
  }

  DType t;
  double a, b;
};

/// Quotient and remainder by rounding toward minus infinity (`floor`) or zero; nullopt for a divisor of 0.
struct Division {
  uint64_t quotient;
  uint64_t remainder;
};
std::optional<Division> divide(const Scalar& a, const Scalar& b, bool floor) {
  if (isUnsigned(a.dtype)) {
    if (b.u == 0) return std::nullopt;
    return Division{a.u / b.u, a.u % b.u};
  }
  if (b.i == 0) return std::nullopt;
  // The least integer by -1 wraps to itself.
  if (b.i == -1) return Division{0 - static_cast<uint64_t>(a.i), 0};
  int64_t q = a.i / b.i;
  int64_t r = a.i % b.i;
  if (floor && r != 0 && (r < 0) != (b.i < 0)) {
    q -= 1;
    r += b.i;
  }
  return Division{static_cast<uint64_t>(q), static_cast<uint64_t>(r)};
}

std::optional<Scalar> evaluateShift(OpKind kind, DType t, const Scalar& a, const Scalar& b) {
  const uint64_t width = 8u * static_cast<uint64_t>(byteSize(t));
  if (isSigned(t) && b.i < 0) return std::nullopt;
  const uint64_t by = isSigned(t) ? static_cast<uint64_t>(b.i) : b.u;
  if (kind == OpKind::Shl) return scalarOf(t, by >= width ? 0 : bitsOf(a) << by);
  if (isSigned(t)) return scalarOf(t, static_cast<uint64_t>(a.i >> std::min(by, width - 1)));
  return scalarOf(t, by >= width ? 0 : a.u >> by);
}

/// Integers and bools on their 64-bit extension; results wrap to the width.
struct Integers {
  Integers(DType dtype, const std::vector<Scalar>& operands)
      : t(dtype), x(operands), a(bitsAt(0)), b(operands.size() > 1 ? bitsAt(1) : 0) {}

  Scalar result(uint64_t bits) const {
    Scalar s;
    s.dtype = t;
    s.i = static_cast<int64_t>(bits);
    s.u = bits;
    return scalarOf(t, bitsOf(s));
  }
  bool negative() const { return isSigned(t) && x[0].i < 0; }
  bool less() const { return isSigned(t) ? x[0].i < x[1].i : x[0].u < x[1].u; }
  static bool unordered() { return false; }

  std::optional<Scalar> other(OpKind kind) const {
    switch (kind) {
      case OpKind::Sign: return result(negative() ? ~uint64_t{0} : a != 0);
      case OpKind::Floor:
      case OpKind::Ceil:
      case OpKind::Round:
      case OpKind::Trunc: return x[0];
      case OpKind::Not: return boolScalar(a == 0);
      case OpKind::BitNot: return result(~a);
      case OpKind::Popcount: return result(static_cast<uint64_t>(std::popcount(bitsOf(x[0]))));
      case OpKind::And:
      case OpKind::BitAnd: return result(a & b);
      case OpKind::Or:
      case OpKind::BitOr: return result(a | b);
      case OpKind::Xor:
      case OpKind::BitXor: return result(a ^ b);
      case OpKind::Shl:
      case OpKind::Shr: return evaluateShift(kind, t, x[0], x[1]);
      case OpKind::FloorDiv:
      case OpKind::TruncDiv:
      case OpKind::Mod:
      case OpKind::Fmod: {
        const auto d = divide(x[0], x[1], kind == OpKind::FloorDiv || kind == OpKind::Mod);
        if (!d) return std::nullopt;
        return result(kind == OpKind::FloorDiv || kind == OpKind::TruncDiv ? d->quotient : d->remainder);
      }
      default: return std::nullopt;
    }
  }

  DType t;
  const std::vector<Scalar>& x;
  uint64_t a, b;

 private:
  uint64_t bitsAt(size_t i) const { return isSigned(t) ? static_cast<uint64_t>(x[i].i) : x[i].u; }
};

/// What integers and floats both have; the rest is `other`.
template <class Numbers>
std::optional<Scalar> evaluateOn(OpKind kind, const Numbers& n) {
  switch (kind) {
    case OpKind::Neg: return n.result(-n.a);
    case OpKind::Abs: return n.result(n.negative() ? -n.a : n.a);
    case OpKind::Square: return n.result(n.a * n.a);
    case OpKind::Add: return n.result(n.a + n.b);
    case OpKind::Sub: return n.result(n.a - n.b);
    case OpKind::Mul: return n.result(n.a * n.b);
    case OpKind::Max:
    case OpKind::Min:
      if (n.unordered()) return std::nullopt;
      return n.result(n.less() == (kind == OpKind::Max) ? n.b : n.a);
    default: return n.other(kind);
  }
}

template <class T>
std::optional<Scalar> compare(OpKind kind, T a, T b) {
  switch (kind) {
    case OpKind::Eq: return boolScalar(a == b);
    case OpKind::Ne: return boolScalar(a != b);
    case OpKind::Lt: return boolScalar(a < b);
    case OpKind::Le: return boolScalar(a <= b);
    case OpKind::Gt: return boolScalar(a > b);
    case OpKind::Ge: return boolScalar(a >= b);
    default: return std::nullopt;
  }
}

/// The literal behind a value: a rank-0 constant, or broadcasts of one.
std::optional<Scalar> literal(const Value* v) {
  while (v->op != nullptr && v->op->kind == OpKind::Broadcast) v = v->op->operand(0);
  if (v->op == nullptr || v->op->kind != OpKind::Constant) return std::nullopt;
  return constantScalar(v);
}

}  // namespace

std::optional<Scalar> evaluate(const Op& op, const std::vector<Scalar>& x) {
  const DType t = x[0].dtype;
  if (op.kind == OpKind::Where) return x[0].u != 0 ? x[1] : x[2];
  if (op.kind == OpKind::Cast) {
    const DType to = op.result()->type.dtype;
    if (isFloat(t) && isFloat(to) && std::isnan(x[0].f)) return std::nullopt;
    // Targets may convert integers to 16-bit floats through f32, which rounds these twice.
    const bool large =
        isSigned(t) ? std::abs(static_cast<double>(x[0].i)) > 0x1p24 : isUnsigned(t) && x[0].u > (1u << 24);
    if (large && (to == DType::F16 || to == DType::BF16)) return std::nullopt;
    return castScalar(x[0], to);
  }
  if (op.kind == OpKind::Bitcast) return scalarOf(op.result()->type.dtype, bitsOf(x[0]));
  const auto compared = x.size() != 2 ? std::nullopt
                        : isFloat(t)  ? compare(op.kind, x[0].f, x[1].f)
                        : isSigned(t) ? compare(op.kind, x[0].i, x[1].i)
                                      : compare(op.kind, x[0].u, x[1].u);
  if (compared) return compared;
  return isFloat(t) ? evaluateOn(op.kind, Floats(t, x)) : evaluateOn(op.kind, Integers(t, x));
}

Value* foldConstants(Op& op, Builder& b) {
  // A placed result is a tensor of its own; only free values are literals.
  if (!op.has(Trait::Elementwise) || !op.result()->type.place.isFree()) return nullptr;
  std::vector<Scalar> operands;
  for (const Value* v : op.operands()) {
    const auto s = literal(v);
    if (!s) return nullptr;
    operands.push_back(*s);
  }
  const auto value = evaluate(op, operands);
  if (!value) return nullptr;
  return b.broadcastTo(b.constant(Type{value->dtype, {}, {}}, scalarData(*value)), op.result()->type.shape);
}

}  // namespace tenc::passes
