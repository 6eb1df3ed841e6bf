#include "codegen/ScalarArithmetic.h"

#include <cmath>

namespace tenc::codegen {
using ir::DType;
using ir::OpKind;

namespace {

struct Quotient {
  Scalar value;      ///< truncated
  Scalar remainder;  ///< sign of the dividend
};

/// Truncated division; a divisor of 0 sets the fault and divides by 1 instead.
Quotient divide(Scalar a, Scalar b, bool isSigned, uint32_t fault) {
  ScalarBuilder& builder = *a.builder;
  Scalar zero = equal(b, 0);
  builder.setFault(zero, fault);
  Scalar divisor = select(zero, 1.0, b);
  // The least integer divided by -1 wraps; the instruction would trap.
  Scalar minusOne = isSigned ? equal(divisor, -1) : builder.intConstant(Repr::I1, 0);
  Scalar safe = isSigned ? select(minusOne, 1.0, divisor) : divisor;
  Scalar q;
  if (builder.dividesCheaply(b) || bitWidth(a.repr) == 64) {
    q = builder.binary(isSigned ? BinaryInst::SDiv : BinaryInst::UDiv, a, safe);
  } else {
    // 32 bits and fewer are exact through f64: the quotient is never rounded up to an integer.
    ConvertInst in = isSigned ? ConvertInst::SIntToF : ConvertInst::UIntToF;
    ConvertInst out = isSigned ? ConvertInst::FToSInt : ConvertInst::FToUInt;
    Scalar wideA = intToInt(a, isSigned, Repr::I32), wideB = intToInt(safe, isSigned, Repr::I32);
    Scalar real = convert(in, wideA, Repr::F64) / convert(in, wideB, Repr::F64);
    q = intToInt(convert(out, real, Repr::I32), isSigned, a.repr);
  }
  if (isSigned) q = select(minusOne, -a, q);
  return {q, a - q * divisor};
}

/// Exact remainder of truncated division, by one fused step while the quotient is small, else by the library.
Scalar floatFmod(Scalar a, Scalar b) {
  Scalar q = truncate(a / b);
  Scalar r = fma(-q, b, a);
  // q is one off where a / b was rounded up to an integer.
  Scalar magnitude = abs(b);
  r = select(((r < 0.0) & (a > 0.0)) | ((r > 0.0) & (a < 0.0)), r + copySign(magnitude, a), r);
  r = select(abs(r) >= magnitude, r - copySign(magnitude, a), r);
  r = copySign(r, a);
  double limit = a.repr == Repr::F64 ? 0x1p52 : 0x1p23;
  Scalar ordinary = (magnitude > (a.repr == Repr::F64 ? 0x1p-960 : 0x1p-100)) & (magnitude < like(a, INFINITY));
  Scalar rare = logicalNot((abs(q) < limit) & ordinary);
  if (a.repr == Repr::F64) return a.builder->libraryCall("fmod", {a, b}, rare, r);
  return narrow(a.builder->libraryCall("fmod", {widen(a), widen(b)}, rare, widen(r)));
}

/// The greatest integer not above the exact quotient, as long as the type has all integers of its size. The fused
/// remainder tells where a / b was rounded up to one; a quotient too small for the type counts with its sign.
Scalar floatFloorDiv(Scalar a, Scalar b) {
  Scalar q = floor(a / b);
  Scalar r = fma(-q, b, a);
  Scalar over = ((r < 0.0) & (b > 0.0)) | ((r > 0.0) & (b < 0.0));
  Scalar tiny = equal(q, 0) & (((a < 0.0) & (b > 0.0)) | ((a > 0.0) & (b < 0.0)));
  Scalar exact = abs(q) <= (a.repr == Repr::F64 ? 0x1p53 : 0x1p24);
  Scalar result = select((over & exact) | tiny, q - 1.0, q);
  return select(equal(abs(a), INFINITY) & logicalNot(equal(b, 0)), like(a, NAN), result);
}

}  // namespace

Scalar integerDivision(OpKind kind, Scalar a, Scalar b, bool isSigned, uint32_t fault) {
  Quotient d = divide(a, b, isSigned, fault);
  if (kind == OpKind::TruncDiv || (kind == OpKind::FloorDiv && !isSigned)) return d.value;
  if (kind == OpKind::Fmod || !isSigned) return d.remainder;
  Scalar divisor = select(equal(b, 0), 1.0, b);
  Scalar differ = logicalNot(equal(d.remainder, 0)) & (((d.remainder ^ divisor)) < 0.0);
  if (kind == OpKind::FloorDiv) return d.value - select(differ, 1.0, like(a, 0));
  return d.remainder + select(differ, divisor, 0.0);
}

Scalar floatDivision(OpKind kind, Scalar a, Scalar b) {
  switch (kind) {
    case OpKind::TruncDiv: return truncate(a / b);
    case OpKind::FloorDiv: return floatFloorDiv(a, b);
    case OpKind::Fmod: return floatFmod(a, b);
    default: {
      Scalar r = floatFmod(a, b);
      Scalar differ = compare(Predicate::Une, r, like(r, 0)) & compare(Predicate::Une, copySign(r, b), r);
      Scalar shifted = select(differ, r + b, r);
      return select(equal(r, 0), copySign(like(r, 0), b), shifted);
    }
  }
}

Scalar integerPower(Scalar a, Scalar b, DType t, uint32_t fault) {
  Scalar wideA = intToInt(a, ir::isSigned(t), Repr::I64), wideB = intToInt(b, ir::isSigned(t), Repr::I64);
  if (ir::isSigned(t)) a.builder->setFault(wideB < 0.0, fault);
  Scalar all = a.builder->intConstant(Repr::I1, 1);
  return intToInt(a.builder->libraryCall("tenc_integer_power", {wideA, wideB}, all, wideA), true, a.repr);
}

Scalar shiftWithin(OpKind kind, Scalar a, Scalar b, bool isSigned) {
  const BinaryInst right = isSigned ? BinaryInst::AShr : BinaryInst::LShr;
  return a.builder->binary(kind == OpKind::Shl ? BinaryInst::Shl : right, a, b);
}

Scalar shift(OpKind kind, Scalar a, Scalar b, bool isSigned) {
  uint64_t width = static_cast<uint64_t>(bitWidth(a.repr));
  Scalar inside = compare(Predicate::Ult, b, bits(b, width));
  if (kind == OpKind::Shr && isSigned) return shiftWithin(kind, a, select(inside, b, bits(b, width - 1)), isSigned);
  return select(inside, shiftWithin(kind, a, select(inside, b, 0.0), isSigned), 0.0);
}

Scalar nextAfter(Scalar a, Scalar b, DType t) {
  Scalar p = storedBits(a, t);
  uint64_t sign = uint64_t{1} << (bitWidth(p.repr) - 1);
  Scalar away =
      compare(Predicate::Ogt, abs(b), abs(a)) & logicalNot(compare(Predicate::Slt, p ^ storedBits(b, t), like(p, 0)));
  Scalar isZero = equal(a, 0);
  Scalar step = fromStoredBits(select(away, p + 1, p - 1), t);
  Scalar leastBits = (storedBits(b, t) & sign) | uint64_t{1};
  Scalar result = select(isZero, fromStoredBits(leastBits, t), step);
  result = select(equal(a, b), b, result);
  return select(compare(Predicate::Uno, a, b), a + b, result);
}

Scalar maxMin(OpKind kind, Scalar a, Scalar b, DType t) {
  bool isMax = kind == OpKind::Max;
  if (t == DType::Bool) return isMax ? a | b : a & b;
  if (isFloat(a.repr)) return a.builder->binary(isMax ? BinaryInst::FMaximum : BinaryInst::FMinimum, a, b);
  BinaryInst inst =
      ir::isSigned(t) ? (isMax ? BinaryInst::SMax : BinaryInst::SMin) : (isMax ? BinaryInst::UMax : BinaryInst::UMin);
  return a.builder->binary(inst, a, b);
}

Scalar comparison(OpKind kind, Scalar a, Scalar b, DType t) {
  int column = isFloat(a.repr) ? 0 : (ir::isSigned(t) ? 1 : 2);
  using P = Predicate;
  auto pick = [&](P onFloats, P onSigned, P onUnsigned) {
    const P row[] = {onFloats, onSigned, onUnsigned};
    return compare(row[column], a, b);
  };
  switch (kind) {
    case OpKind::Eq: return pick(P::Oeq, P::Eq, P::Eq);
    case OpKind::Ne: return pick(P::Une, P::Ne, P::Ne);
    case OpKind::Lt: return pick(P::Olt, P::Slt, P::Ult);
    case OpKind::Le: return pick(P::Ole, P::Sle, P::Ule);
    case OpKind::Gt: return pick(P::Ogt, P::Sgt, P::Ugt);
    default: return pick(P::Oge, P::Sge, P::Uge);
  }
}

Scalar sign(Scalar x, DType t) {
  if (ir::isUnsigned(t)) return select(equal(x, 0), 0.0, like(x, 1));
  Scalar s = select(x > 0.0, 1.0, select(x < 0.0, -1.0, x));  // the sign of zero stays
  return isFloat(x.repr) ? select(isNan(x), x, s) : s;
}

}  // namespace tenc::codegen
