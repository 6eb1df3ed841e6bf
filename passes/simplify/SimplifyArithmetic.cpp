// Identities of arithmetic, comparisons, selections and casts that keep every bit, NaN and -0 included; of integers
// also those that hold modulo the width. Called by Simplify.cpp for one op at a time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "ir/SmallProducts.h"
#include "ir/TargetTraits.h"
#include "passes/simplify/SimplifyRules.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

bool isNumber(const Value* v, int64_t number) {
  const auto s = constantScalar(v);
  if (!s) return false;
  if (isFloat(s->dtype)) return s->f == static_cast<double>(number) && !(number == 0 && std::signbit(s->f));
  return isSigned(s->dtype) ? s->i == number : s->u == static_cast<uint64_t>(number);
}

bool isBool(const Value* v, bool value) {
  const auto s = constantScalar(v);
  return s && s->dtype == DType::Bool && (s->u != 0) == value;
}

/// The operand of `v` when an op of this kind makes it.
Value* through(const Value* v, OpKind kind) {
  return v->op != nullptr && v->op->kind == kind ? v->op->operand(0) : nullptr;
}

/// Whether every value of `from` is kept by a conversion to `to`.
bool holdsAll(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  const int fromBits = 8 * byteSize(from);
  const int toBits = 8 * byteSize(to);
  if (isFloat(from)) return isFloat(to) && toBits > fromBits;
  if (isFloat(to)) {
    const int precision = to == DType::F64 ? 53 : to == DType::F32 ? 24 : to == DType::F16 ? 11 : 8;
    return fromBits - (isSigned(from) ? 1 : 0) <= precision;
  }
  if (isSigned(from)) return isSigned(to) && toBits >= fromBits;
  return isUnsigned(to) ? toBits >= fromBits : toBits > fromBits;
}

Value* simplifyCast(Op& op) {
  Value* x = op.operand(0);
  const DType to = op.result()->type.dtype;
  if (x->type.dtype == to) return x;
  Value* inner = through(x, OpKind::Cast);
  if (inner != nullptr && inner->type.dtype == to && holdsAll(to, x->type.dtype)) return inner;
  return nullptr;
}

Value* simplifyWhere(Op& op) {
  if (op.operand(1) == op.operand(2)) return op.operand(1);
  if (isBool(op.operand(0), true)) return op.operand(1);
  if (isBool(op.operand(0), false)) return op.operand(2);
  return nullptr;
}

/// Small constant powers as products: the square and the reciprocal are the power rounded right, cubes and fourth
/// powers round twice, within the bound of `pow`. An overflow or underflow on the way is one of the result too. In 16
/// bits only what rounds once.
Value* simplifyPow(Op& op, Builder& b) {
  Value *x = op.operand(0), *exponent = op.operand(1);
  const DType t = x->type.dtype;
  if (isNumber(exponent, 1)) return x;
  if (isNumber(exponent, 2)) return b.value(OpKind::Square, {x});
  if (isFloat(t) && isNumber(exponent, -1)) return b.value(OpKind::Reciprocal, {x});
  if (isFloat(t) && byteSize(t) < 4) return nullptr;
  if (isNumber(exponent, 3)) return b.value(OpKind::Mul, {b.value(OpKind::Square, {x}), x});
  if (isNumber(exponent, 4)) return b.value(OpKind::Square, {b.value(OpKind::Square, {x})});
  return nullptr;
}

/// Floor division of integers by a power of two is a shift, and its remainder the bits that are shifted out. Single
/// numbers stay as they are: loops count with them, and ranges of indices follow from quotients.
Value* simplifyFloorDivision(Op& op, Builder& b) {
  const Type& type = op.result()->type;
  const auto divisor = constantScalar(op.operand(1));
  if (type.rank() == 0 || isFloat(type.dtype) || !divisor) return nullptr;
  const uint64_t number = isSigned(type.dtype) ? static_cast<uint64_t>(std::max<int64_t>(divisor->i, 0)) : divisor->u;
  if (!std::has_single_bit(number)) return nullptr;
  const bool isQuotient = op.kind == OpKind::FloorDiv;
  const auto bits = static_cast<int64_t>(isQuotient ? std::countr_zero(number) : number - 1);
  Value* other = b.broadcastTo(b.scalarInt(type.dtype, bits), type.shape);
  return b.value(isQuotient ? OpKind::Shr : OpKind::BitAnd, {op.operand(0), other});
}

/// A product with one column, or of one row with a transposed matrix, is a sum along rows as they lie in memory:
/// vectors run along it, and there is no second use of anything that tiles would serve. Rows of many small matrices are
/// too short for that.
Value* simplifyMatmul(Op& op, Builder& b) {
  Value *x = op.operand(0), *y = op.operand(1);
  const DType t = x->type.dtype;
  const int64_t last = x->type.rank() - 1;
  if (op.hasAttr("rounds") || last < 1 || !isFloat(t) || x->type.shape.back() == 0) return nullptr;
  if (areSmallProducts(op)) return nullptr;
  Value* matrix = nullptr;
  Value* vector = nullptr;  // [..., 1, k]
  if (y->type.shape.back() == 1) {
    Dims row = y->type.shape;
    std::swap(row[static_cast<size_t>(last)], row[static_cast<size_t>(last) - 1]);
    matrix = x;
    vector = b.value(OpKind::Reshape, {y}, {{"shape", row}});
  } else if (Value* turned = through(y, OpKind::Permute); turned && x->type.shape[static_cast<size_t>(last) - 1] == 1) {
    const Dims& perm = y->op->intsAttr("perm");
    for (int64_t d = 0; d + 1 < last; ++d) {
      if (perm[static_cast<size_t>(d)] != d) return nullptr;
    }
    if (perm.back() != last - 1) return nullptr;
    matrix = turned;
    vector = x;
  }
  if (!matrix) return nullptr;
  auto as = [&](Value* v, DType to) { return v->type.dtype == to ? v : b.value(OpKind::Cast, {v}, {{"dtype", to}}); };
  const DType wide = accumulatorOf(t);
  Value* products = b.value(OpKind::Mul, {as(matrix, wide), b.broadcastTo(as(vector, wide), matrix->type.shape)});
  Value* sum = as(b.value(OpKind::Sum, {products}, {{"axes", Dims{last}}, {"keep", true}}), op.result()->type.dtype);
  return b.value(OpKind::Reshape, {sum}, {{"shape", op.result()->type.shape}});
}

}  // namespace

Value* simplifyArithmetic(Op& op, Builder& b) {
  if (op.kind == OpKind::Matmul) return simplifyMatmul(op, b);
  if (!op.has(Trait::Elementwise)) {
    // A reduction over no axes of one element each is the element itself.
    const bool keepsValue = op.kind == OpKind::ReduceMax || op.kind == OpKind::ReduceMin || op.kind == OpKind::Sum ||
                            op.kind == OpKind::Prod || op.kind == OpKind::Any || op.kind == OpKind::All;
    return keepsValue && op.intsAttr("axes").empty() ? op.operand(0) : nullptr;
  }
  Value* x = op.operand(0);
  Value* y = op.operandCount() > 1 ? op.operand(1) : nullptr;
  const bool integers = !isFloat(x->type.dtype);
  switch (op.kind) {
    case OpKind::Neg:
    case OpKind::Not:
    case OpKind::BitNot: return through(x, op.kind);
    case OpKind::Floor:
    case OpKind::Ceil:
    case OpKind::Round:
    case OpKind::Trunc: return integers || through(x, op.kind) != nullptr ? x : nullptr;
    case OpKind::Abs: return through(x, OpKind::Abs) != nullptr || isUnsigned(x->type.dtype) ? x : nullptr;
    case OpKind::Mul:
      if (isNumber(y, 1)) return x;
      if (isNumber(x, 1)) return y;
      if (integers && isNumber(y, 0)) return y;
      return integers && isNumber(x, 0) ? x : nullptr;
    case OpKind::Add:
      if (!integers) return nullptr;
      return isNumber(y, 0) ? x : isNumber(x, 0) ? y : nullptr;
    case OpKind::Sub: return isNumber(y, 0) ? x : nullptr;
    case OpKind::Div: return isNumber(y, 1) ? x : nullptr;
    case OpKind::FloorDiv:
      if (integers && isNumber(y, 1)) return x;
      return simplifyFloorDivision(op, b);
    case OpKind::Mod: return simplifyFloorDivision(op, b);
    case OpKind::TruncDiv: return integers && isNumber(y, 1) ? x : nullptr;
    case OpKind::Shl:
    case OpKind::Shr: return isNumber(y, 0) ? x : nullptr;
    case OpKind::Max:
    case OpKind::Min: return x == y ? x : nullptr;
    case OpKind::And:
      if (x == y || isBool(y, true)) return x;
      if (isBool(x, true)) return y;
      return isBool(x, false) ? x : isBool(y, false) ? y : nullptr;
    case OpKind::Or:
      if (x == y || isBool(y, false)) return x;
      if (isBool(x, false)) return y;
      return isBool(x, true) ? x : isBool(y, true) ? y : nullptr;
    case OpKind::BitAnd:
    case OpKind::BitOr: return x == y ? x : nullptr;
    case OpKind::Where: return simplifyWhere(op);
    case OpKind::Pow: return simplifyPow(op, b);
    case OpKind::Cast: return simplifyCast(op);
    case OpKind::Bitcast: return x->type.dtype == op.result()->type.dtype ? x : nullptr;
    // x == true is x; other comparisons of a value with itself depend on NaN.
    case OpKind::Eq: return isBool(y, true) ? x : isBool(x, true) ? y : nullptr;
    case OpKind::Ne:
      if (isBool(y, true)) return b.value(OpKind::Not, {x});
      return isBool(y, false) ? x : isBool(x, false) ? y : nullptr;
    default: return nullptr;
  }
}

}  // namespace tenc::passes
