#include "frontend/values/Numbers.h"

#include <cmath>

#include "ir/Scalar.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;

struct OperatorRow {
  std::string_view op;
  OpKind kind;
};

constexpr OperatorRow kOperators[] = {
    {"+", OpKind::Add}, {"-", OpKind::Sub},  {"*", OpKind::Mul}, {"/", OpKind::Div},   {"//", OpKind::FloorDiv},
    {"%", OpKind::Mod}, {"**", OpKind::Pow}, {"==", OpKind::Eq}, {"!=", OpKind::Ne},   {"<", OpKind::Lt},
    {"<=", OpKind::Le}, {">", OpKind::Gt},   {">=", OpKind::Ge}, {"and", OpKind::And}, {"or", OpKind::Or},
};
}  // namespace

std::optional<OpKind> operatorNamed(std::string_view op) {
  for (const OperatorRow& row : kOperators)
    if (row.op == op) return row.kind;
  return std::nullopt;
}

namespace {
/// An integer as the low bits of `to`.
int64_t wrapped(Int i, ir::DType to) {
  const int unused = 64 - 8 * ir::byteSize(to);
  const auto bits = static_cast<uint64_t>(static_cast<unsigned __int128>(i)) << unused;
  return ir::isSigned(to) ? static_cast<int64_t>(bits) >> unused : static_cast<int64_t>(bits >> unused);
}

}  // namespace

Int fitted(Int i, ir::DType to) {
  const int64_t bits = wrapped(i, to);
  return ir::isSigned(to) ? Int{bits} : Int{static_cast<uint64_t>(bits)};
}

double rounded(double v, ir::DType t) { return ir::floatValue(t, ir::floatBits(t, v)); }

namespace {
/// Rounded to odd: what is rounded again, to fewer bits, is as if it were rounded once (Boldo, Melquiond 2008).
double oddDouble(Int i) {
  constexpr int kBits = 53;
  unsigned __int128 rest = i < 0 ? 0 - static_cast<unsigned __int128>(i) : static_cast<unsigned __int128>(i);
  int shift = 0;
  bool lost = false;
  for (; rest >> kBits != 0; rest >>= 1, ++shift) lost |= (rest & 1) != 0;
  const double magnitude = std::ldexp(static_cast<double>(static_cast<uint64_t>(rest) | (lost ? 1u : 0u)), shift);
  return i < 0 ? -magnitude : magnitude;
}
}  // namespace

double asFloat(const Val& v, ir::DType t) {
  if (!v.is(Val::Kind::Int)) return rounded(v.real, t);
  return t == ir::DType::F64 ? static_cast<double>(v.integer) : rounded(oddDouble(v.integer), t);
}

double asDouble(const Val& v) { return v.is(Val::Kind::Int) ? static_cast<double>(v.integer) : v.real; }

}  // namespace tenc::frontend
