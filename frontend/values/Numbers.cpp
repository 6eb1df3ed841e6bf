#include "frontend/values/Numbers.h"

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

double rounded(double v, ir::DType t) {
  if (t == ir::DType::F64) return v;
  const auto single = static_cast<double>(static_cast<float>(v));
  return t == ir::DType::F32 ? single : ir::floatValue(t, ir::floatBits(t, single));
}

double asDouble(const Val& v) { return v.is(Val::Kind::Int) ? static_cast<double>(v.integer) : v.real; }

}  // namespace tenc::frontend
