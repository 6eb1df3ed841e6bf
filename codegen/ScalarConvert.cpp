#include "codegen/ScalarConvert.h"

#include <algorithm>
#include <cmath>

namespace tenc::codegen {
using ir::DType;

namespace {

/// An f64 rounded to f32 by "round to odd", after which rounding to 16 bits equals one rounding of the f64.
Scalar narrowToOdd(Scalar x) {
  Scalar near = narrow(x);
  Scalar back = widen(near);
  Scalar pattern = bitsOf(near);
  Scalar even = equal(pattern & uint64_t{1}, 0);
  Scalar tooLarge = abs(back) > abs(x);
  Scalar inexact = compare(Predicate::Une, back, x);
  Scalar odd = select(tooLarge, pattern - 1, pattern + 1);
  // A NaN is "inexact" too; its pattern must stay a NaN, which it does as its payload is not all ones.
  return floatOfBits(select(inexact & even & logicalNot(isNan(x)), odd, pattern));
}

}  // namespace

Scalar fmaToOdd(Scalar a, Scalar b, Scalar c) {
  Scalar product = a * b;
  Scalar sum = product + c;
  Scalar part = sum - product;  // two-sum (Knuth)
  Scalar error = (product - (sum - part)) + (c - part);
  Scalar pattern = bitsOf(sum);
  Scalar even = equal(pattern & uint64_t{1}, 0);
  Scalar outward = equal(copySign(error, sum), error);
  Scalar inexact = compare(Predicate::Une, error, like(error, 0)) & logicalNot(isNan(error));
  return floatOfBits(select(inexact & even, select(outward, pattern + 1, pattern - 1), pattern));
}

namespace {

Scalar roundToHalf(Scalar x) { return x.builder->halfOfBits(x.builder->halfBits(x)); }

}  // namespace

Scalar ScalarBuilder::roundToBFloat(Scalar x) {
  Scalar p = bitsOf(x);
  Scalar rounded = p + (bits(p, 0x7fff) + (lshr(p, 16) & uint64_t{1}));
  Scalar quiet = p | uint64_t{0x400000};
  return floatOfBits(select(isNan(x), quiet, rounded) & uint64_t{0xffff0000});
}

Scalar ScalarBuilder::bfloatBits(Scalar x) {
  return tenc::codegen::convert(ConvertInst::Trunc, lshr(bitsOf(x), 16), Repr::I16);
}

Scalar storedBits(Scalar x, DType t) {
  if (t == DType::F16) return x.builder->halfBits(x);
  if (t == DType::BF16) return x.builder->bfloatBits(x);
  if (isFloat(x.repr)) return bitsOf(x);
  return x;
}

Scalar fromStoredBits(Scalar x, DType t) {
  if (t == DType::F16) return x.builder->halfOfBits(x);
  if (t == DType::BF16) return floatOfBits(shl(convert(ConvertInst::ZExt, x, Repr::I32), 16));
  if (isFloat(reprOf(t))) return floatOfBits(x);
  return x;
}

Scalar intToInt(Scalar x, bool isSigned, Repr to) {
  int from = bitWidth(x.repr), width = bitWidth(to);
  if (from == width) return x;
  if (from > width) return convert(ConvertInst::Trunc, x, to);
  return convert(isSigned ? ConvertInst::SExt : ConvertInst::ZExt, x, to);
}

namespace {

/// Integers to floats, rounded once.
Scalar intToFloat(Scalar x, DType from, DType to) {
  bool isSigned = ir::isSigned(from);
  if (bitWidth(x.repr) < 32) {
    x = intToInt(x, isSigned, Repr::I32);
    return roundTo(convert(ConvertInst::SIntToF, x, to == DType::F64 ? Repr::F64 : Repr::F32), to);
  }
  ConvertInst inst = isSigned ? ConvertInst::SIntToF : ConvertInst::UIntToF;
  if (!isHalf(to)) return convert(inst, x, reprOf(to));
  if (x.repr == Repr::I64) {
    // Bits that f64 cannot hold are collected in one sticky bit, so that the conversion to f64 is exact.
    Scalar low = x & uint64_t{0x7ff};
    Scalar sticky = (x ^ low) | select(equal(low, 0), 0.0, bits(x, 0x800));
    Scalar high = isSigned ? ashr(x, 53) : lshr(x, 53);
    Scalar fits = equal(high, 0) | equal(high, -1.0);
    if (!isSigned) fits = equal(high, 0);
    x = select(fits, x, sticky);
  }
  return roundTo(convert(inst, x, Repr::F64), to);
}

/// Truncates, saturates; NaN gives 0.
Scalar floatToInt(Scalar x, DType to) {
  Repr r = reprOf(to);
  int width = bitWidth(r);
  bool isSigned = ir::isSigned(to);
  double low = isSigned ? -std::ldexp(1.0, width - 1) : 0;
  double end = std::ldexp(1.0, isSigned ? width - 1 : width);  // the first value above the range
  Scalar number = select(isNan(x), 0.0, x);
  // The largest float below `end` of the operand's own precision is in range.
  int precision = x.repr == Repr::F64 ? 53 : 24;
  double most = end - std::ldexp(1.0, std::max(0, (isSigned ? width - 1 : width) - precision));
  Scalar clamped = lesser(greater(number, like(x, low)), like(x, most));
  Repr via = width < 32 ? Repr::I32 : r;
  bool signedVia = isSigned || width < 32;
  Scalar whole = convert(signedVia ? ConvertInst::FToSInt : ConvertInst::FToUInt, clamped, via);
  if (via != r) return convert(ConvertInst::Trunc, whole, r);
  if (most == end - 1) return whole;
  uint64_t largest = (isSigned ? uint64_t{1} << (width - 1) : (width == 64 ? 0 : uint64_t{1} << width)) - 1;
  return select(number >= end, bits(whole, largest), whole);
}

}  // namespace

Scalar roundTo(Scalar x, DType t) {
  if (isHalf(t) && x.repr == Repr::F64) x = narrowToOdd(x);
  switch (t) {
    case DType::F16: return roundToHalf(x);
    case DType::BF16: return x.builder->roundToBFloat(x);
    case DType::F32: return x.repr == Repr::F64 ? narrow(x) : x;
    case DType::F64: return x.repr == Repr::F32 ? widen(x) : x;
    default: return x;
  }
}

Scalar emitCast(ScalarBuilder& b, Scalar x, DType from, DType to) {
  (void)b;
  if (from == to) return x;
  if (to == DType::Bool)
    return isFloat(x.repr) ? compare(Predicate::Une, x, like(x, 0)) : compare(Predicate::Ne, x, like(x, 0));
  if (ir::isFloat(from)) {
    if (ir::isFloat(to)) {
      bool widens = to == DType::F32 || to == DType::F64;  // an f16 held as f32 is an f32
      return widens || from != DType::F16 || to != DType::F16 ? roundTo(x, to) : x;
    }
    return floatToInt(x, to);
  }
  if (ir::isFloat(to)) {
    if (from == DType::Bool) return select(x, b.floatConstant(reprOf(to), 1), b.floatConstant(reprOf(to), 0));
    return intToFloat(x, from, to);
  }
  return intToInt(x, ir::isSigned(from), reprOf(to));
}

}  // namespace tenc::codegen
