#include "codegen/ScalarBodies.h"

#include <array>
#include <cmath>

#include "codegen/ScalarArithmetic.h"
#include "codegen/ScalarMath.h"

namespace tenc::codegen {
using ir::DType;
using ir::OpKind;

Repr reprOf(DType t) {
  switch (t) {
    case DType::F16:
    case DType::BF16:
    case DType::F32: return Repr::F32;
    case DType::F64: return Repr::F64;
    case DType::I8:
    case DType::U8: return Repr::I8;
    case DType::I16:
    case DType::U16: return Repr::I16;
    case DType::I32:
    case DType::U32: return Repr::I32;
    case DType::I64:
    case DType::U64: return Repr::I64;
    case DType::Bool: return Repr::I1;
  }
  return Repr::F32;
}

int bitWidth(Repr r) {
  constexpr int kWidths[] = {1, 8, 16, 32, 64, 32, 64};
  return kWidths[static_cast<int>(r)];
}

Scalar polynomial(Scalar x, std::span<const double> c) {
  Scalar sum = like(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, c[i]);
  return sum;
}

namespace {

/// What a body is given. Floats stand in registers as f32 or f64, integers as they are.
struct Operands {
  ScalarBuilder& b;
  OpKind kind;
  std::span<const Scalar> v;
  DType type;  ///< of the operands (of operand 1 for `where`)
  DType result;
  uint32_t fault;
  Scalar x() const { return v[0]; }
  Scalar y() const { return v[1]; }
  bool areFloats() const { return isFloat(v[0].repr); }
};

Scalar absolute(const Operands& o) {
  if (o.areFloats()) return abs(o.x());
  return ir::isSigned(o.type) ? o.b.binary(BinaryInst::SMax, o.x(), -o.x()) : o.x();
}

Scalar division(const Operands& o) {
  if (o.areFloats()) return floatDivision(o.kind, o.x(), o.y());
  return integerDivision(o.kind, o.x(), o.y(), ir::isSigned(o.type), o.fault);
}

Scalar power(const Operands& o) {
  return o.areFloats() ? math::functions::pow(o.x(), o.y()) : integerPower(o.x(), o.y(), o.type, o.fault);
}

Scalar multiplyAdd(const Operands& o) {
  if (isHalf(o.type)) return fmaToOdd(widen(o.x()), widen(o.y()), widen(o.v[2]));
  return fma(o.x(), o.y(), o.v[2]);
}

Scalar compared(const Operands& o) { return comparison(o.kind, o.x(), o.y(), o.type); }
Scalar maximumOrMinimum(const Operands& o) { return maxMin(o.kind, o.x(), o.y(), o.type); }
Scalar shifted(const Operands& o) { return shift(o.kind, o.x(), o.y(), ir::isSigned(o.type)); }

template <Scalar (*function)(Scalar)>
Scalar of(const Operands& o) {
  return function(o.x());
}
template <Scalar (*function)(Scalar, Scalar)>
Scalar ofTwo(const Operands& o) {
  return function(o.x(), o.y());
}
/// Rounding of floats to whole numbers; integers are whole.
template <Scalar (*function)(Scalar)>
Scalar toWhole(const Operands& o) {
  return o.areFloats() ? function(o.x()) : o.x();
}
Scalar ceiling(Scalar x) { return x.builder->unary(UnaryInst::Ceil, x); }

/// Whether f16 and bf16 results have to be rounded, because the body computes in f32.
enum class Half : uint8_t { Rounds, Exact };

/// The body of an elementwise op.
struct Body {
  OpKind kind;
  Half half;
  Scalar (*emit)(const Operands&);
  int cost = 0;  ///< roughly, in vector instructions; 0: 1 if the op is cheap (4 of f16 and bf16), else 50
};

namespace fn = math::functions;
constexpr Body kBodies[] = {
    {OpKind::Neg, Half::Exact, [](const Operands& o) { return -o.x(); }},
    {OpKind::Abs, Half::Exact, absolute},
    {OpKind::Sign, Half::Exact, [](const Operands& o) { return sign(o.x(), o.type); }},
    {OpKind::Square, Half::Rounds, [](const Operands& o) { return o.x() * o.x(); }},
    {OpKind::Sqrt, Half::Rounds, of<sqrt>, 8},
    {OpKind::Rsqrt, Half::Rounds, [](const Operands& o) { return 1.0 / sqrt(o.x()); }},
    {OpKind::Cbrt, Half::Rounds, of<fn::cbrt>},
    {OpKind::Exp, Half::Rounds, of<math::exp>, 14},
    {OpKind::Exp2, Half::Rounds, of<fn::exp2>, 14},
    {OpKind::Expm1, Half::Rounds, of<math::expm1>},
    {OpKind::Log, Half::Rounds, of<math::log>, 24},
    {OpKind::Log2, Half::Rounds, of<fn::log2>, 24},
    {OpKind::Log10, Half::Rounds, of<fn::log10>},
    {OpKind::Log1p, Half::Rounds, of<math::log1p>},
    {OpKind::Sin, Half::Rounds, of<fn::sin>, 24},
    {OpKind::Cos, Half::Rounds, of<fn::cos>, 24},
    {OpKind::Tan, Half::Rounds, of<fn::tan>},
    {OpKind::Asin, Half::Rounds, of<fn::asin>},
    {OpKind::Acos, Half::Rounds, of<fn::acos>},
    {OpKind::Atan, Half::Rounds, of<fn::atan>},
    {OpKind::Sinh, Half::Rounds, of<fn::sinh>},
    {OpKind::Cosh, Half::Rounds, of<fn::cosh>},
    {OpKind::Tanh, Half::Rounds, of<fn::tanh>},
    {OpKind::Asinh, Half::Rounds, of<fn::asinh>},
    {OpKind::Acosh, Half::Rounds, of<fn::acosh>},
    {OpKind::Atanh, Half::Rounds, of<fn::atanh>},
    {OpKind::Erf, Half::Rounds, of<fn::erf>},
    {OpKind::Erfc, Half::Rounds, of<fn::erfc>},
    {OpKind::Lgamma, Half::Rounds, of<fn::lgamma>},
    {OpKind::Digamma, Half::Rounds, of<fn::digamma>},
    {OpKind::Floor, Half::Exact, toWhole<floor>},
    {OpKind::Ceil, Half::Exact, toWhole<ceiling>},
    {OpKind::Round, Half::Exact, toWhole<roundEven>},
    {OpKind::Trunc, Half::Exact, toWhole<truncate>},
    {OpKind::Sigmoid, Half::Rounds, of<fn::sigmoid>, 24},
    {OpKind::Reciprocal, Half::Rounds, [](const Operands& o) { return 1.0 / o.x(); }, 8},
    {OpKind::IsNan, Half::Exact, of<isNan>},
    {OpKind::IsInf, Half::Exact, [](const Operands& o) { return equal(abs(o.x()), like(o.x(), INFINITY)); }},
    {OpKind::IsFinite, Half::Exact, [](const Operands& o) { return abs(o.x()) < like(o.x(), INFINITY); }},
    {OpKind::Not, Half::Exact, of<logicalNot>},
    {OpKind::BitNot, Half::Exact, [](const Operands& o) { return o.x() ^ bits(o.x(), ~uint64_t{0}); }},
    {OpKind::Popcount, Half::Exact, [](const Operands& o) { return o.b.unary(UnaryInst::Popcount, o.x()); }},
    {OpKind::Add, Half::Rounds, [](const Operands& o) { return o.x() + o.y(); }},
    {OpKind::Sub, Half::Rounds, [](const Operands& o) { return o.x() - o.y(); }},
    {OpKind::Mul, Half::Rounds, [](const Operands& o) { return o.x() * o.y(); }},
    {OpKind::Div, Half::Rounds, [](const Operands& o) { return o.x() / o.y(); }, 8},
    {OpKind::FloorDiv, Half::Rounds, division, 50},
    {OpKind::Mod, Half::Rounds, division, 50},
    {OpKind::TruncDiv, Half::Rounds, division},
    {OpKind::Fmod, Half::Rounds, division, 50},
    {OpKind::Max, Half::Exact, maximumOrMinimum},
    {OpKind::Min, Half::Exact, maximumOrMinimum},
    {OpKind::Pow, Half::Rounds, power},
    {OpKind::Atan2, Half::Rounds, ofTwo<fn::atan2>},
    {OpKind::Hypot, Half::Rounds, ofTwo<fn::hypot>},
    {OpKind::CopySign, Half::Exact, ofTwo<copySign>},
    {OpKind::NextAfter, Half::Exact, [](const Operands& o) { return nextAfter(o.x(), o.y(), o.type); }},
    {OpKind::LogAddExp, Half::Rounds, ofTwo<fn::logAddExp>},
    {OpKind::Eq, Half::Exact, compared},
    {OpKind::Ne, Half::Exact, compared},
    {OpKind::Lt, Half::Exact, compared},
    {OpKind::Le, Half::Exact, compared},
    {OpKind::Gt, Half::Exact, compared},
    {OpKind::Ge, Half::Exact, compared},
    {OpKind::And, Half::Exact, [](const Operands& o) { return o.x() & o.y(); }},
    {OpKind::Or, Half::Exact, [](const Operands& o) { return o.x() | o.y(); }},
    {OpKind::Xor, Half::Exact, [](const Operands& o) { return o.x() ^ o.y(); }},
    {OpKind::BitAnd, Half::Exact, [](const Operands& o) { return o.x() & o.y(); }},
    {OpKind::BitOr, Half::Exact, [](const Operands& o) { return o.x() | o.y(); }},
    {OpKind::BitXor, Half::Exact, [](const Operands& o) { return o.x() ^ o.y(); }},
    {OpKind::Shl, Half::Exact, shifted},
    {OpKind::Shr, Half::Exact, shifted},
    {OpKind::Where, Half::Exact, [](const Operands& o) { return select(o.x(), o.y(), o.v[2]); }},
    {OpKind::Fma, Half::Rounds, multiplyAdd},
    {OpKind::Cast, Half::Exact, [](const Operands& o) { return emitCast(o.b, o.x(), o.type, o.result); }},
    {OpKind::Bitcast, Half::Exact,
     [](const Operands& o) { return fromStoredBits(storedBits(o.x(), o.type), o.result); }},
};

constexpr auto kBodyOf = [] {
  std::array<const Body*, static_cast<size_t>(OpKind::Count)> bodies{};
  for (const Body& body : kBodies) bodies[static_cast<size_t>(body.kind)] = &body;
  return bodies;
}();
constexpr const Body* bodyOf(OpKind kind) { return kBodyOf[static_cast<size_t>(kind)]; }

#define TENC_OP(kind, mnemonic, minOperands, maxOperands, results, traits, rule, attrs, doc)       \
  static_assert(ir::contains(traits, ir::Trait::Elementwise) == (bodyOf(OpKind::kind) != nullptr), \
                "elementwise ops have a row in kBodies, and no others: " mnemonic);
using ir::ShapeRule;
using ir::Trait;
#include "ir/Ops.def"

}  // namespace

Scalar emitElementwise(ScalarBuilder& b, OpKind kind, DType operand, DType result, std::span<const Scalar> v,
                       uint32_t fault) {
  const Body* body = bodyOf(kind);
  if (body == nullptr) ir::lacksRule(kind, "scalar body");
  const Scalar x = body->emit({b, kind, v, operand, result, fault});
  return body->half == Half::Rounds && isFloat(v[0].repr) ? roundTo(x, result) : x;
}

int elementwiseCost(OpKind kind, DType t) {
  const Body* body = bodyOf(kind);
  if (body != nullptr && body->cost != 0) return body->cost;
  if (!ir::opInfo(kind).has(ir::Trait::Cheap)) return 50;
  return ir::isFloat(t) && t != DType::F32 && t != DType::F64 ? 4 : 1;
}

}  // namespace tenc::codegen
