// The abstract machine in which every elementwise op is written once (ScalarBodies.h). A target implements the virtual
// functions: codegen/cpu on LLVM vectors, another target as text. A `Scalar` is one element for the body's author and
// may be a whole vector for the implementation.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ir/Type.h"

namespace tenc::codegen {

/// How an element is held while it is computed with. f16 and bf16 values are held as f32 that are exactly representable
/// in the narrow type; bool as I1.
enum class Repr : uint8_t { I1, I8, I16, I32, I64, F32, F64 };

Repr reprOf(ir::DType t);
inline bool isFloat(Repr r) { return r >= Repr::F32; }
int bitWidth(Repr r);

class ScalarBuilder;

/// A value of the builder: cheap to copy, valid as long as its builder. Operators are IEEE operations on floats,
/// wrapping ones on integers; mixed with a C++ number, that number becomes a constant of the same representation.
struct Scalar {
  ScalarBuilder* builder = nullptr;
  void* handle = nullptr;
  Repr repr = Repr::F32;
};

enum class UnaryInst : uint8_t {
  FNeg,
  FAbs,
  Sqrt,
  Floor,
  Ceil,
  RoundEven,
  Truncate,  ///< floats
  Popcount,  ///< integers
};
enum class BinaryInst : uint8_t {
  FAdd,
  FSub,
  FMul,
  FDiv,
  FCopySign,
  Add,
  Sub,
  Mul,
  SDiv,
  UDiv,
  And,
  Or,
  Xor,
  Shl,
  LShr,
  AShr,
  SMin,
  SMax,
  UMin,
  UMax,
  FMaximum,
  FMinimum,  ///< IEEE 754-2019 maximum and minimum: NaN when either is NaN, -0 below +0
};
/// Float predicates are ordered (false with a NaN) but for Une and Uno.
enum class Predicate : uint8_t { Oeq, Une, Olt, Ole, Ogt, Oge, Uno, Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge };
enum class ConvertInst : uint8_t {
  FExt,
  FTrunc,  ///< f32 <-> f64, rounded to nearest even
  SIntToF,
  UIntToF,
  FToSInt,
  FToUInt,  ///< the operand is in range
  Trunc,
  ZExt,
  SExt,
  Bits,  ///< the same bits in a representation of the same width
};

class ScalarBuilder {
 public:
  virtual ~ScalarBuilder() = default;

  virtual Scalar floatConstant(Repr r, double v) = 0;
  virtual Scalar intConstant(Repr r, uint64_t v) = 0;
  virtual Scalar unary(UnaryInst op, Scalar a) = 0;
  virtual Scalar binary(BinaryInst op, Scalar a, Scalar b) = 0;
  /// a * b + c rounded once.
  virtual Scalar fma(Scalar a, Scalar b, Scalar c) = 0;
  virtual Scalar compare(Predicate p, Scalar a, Scalar b) = 0;
  virtual Scalar select(Scalar condition, Scalar a, Scalar b) = 0;
  virtual Scalar convert(ConvertInst op, Scalar a, Repr to) = 0;
  /// x * 2^n for an integral float n, rounded once, with overflow to infinity and gradual underflow; |n| <= 2000 (f64)
  /// or 250 (f32).
  virtual Scalar scaleByPowerOf2(Scalar x, Scalar n) = 0;
  /// Whether an instruction that underflows may take a hundred times as long as others, as on processors of Intel.
  virtual bool isUnderflowSlow() const { return false; }
  /// Element (index mod 16) of a table of 16 values: of F32 for an I32 index, of F64 for an I64 one.
  virtual Scalar lookup(std::span<const double, 16> table, Scalar index) = 0;
  /// The I16 bits of the f16 nearest to an f32, and the f32 of f16 bits.
  virtual Scalar halfBits(Scalar x) = 0;
  virtual Scalar halfOfBits(Scalar bits) = 0;
  /// An f32 rounded to bf16, and the I16 bits of one that is a bf16. By integers, unless the target has more.
  virtual Scalar roundToBFloat(Scalar x);
  virtual Scalar bfloatBits(Scalar x);
  /// Whether integer division by `divisor` is cheap here (a constant, or no vector).
  virtual bool dividesCheaply(Scalar divisor) = 0;

  /// The function `name` of the C library (on doubles) or of runtime/cpu/HostFunctions.h, where `condition` holds,
  /// `otherwise` elsewhere. All arguments and the result are F64, or all are I64. Meant for rare cases and rare
  /// functions: slow, element by element.
  virtual Scalar libraryCall(std::string_view name, std::initializer_list<Scalar> args, Scalar condition,
                             Scalar otherwise) = 0;
  /// `body()` where `condition` holds, `otherwise` elsewhere. The body stands aside and runs only if some element needs
  /// it.
  virtual Scalar rarely(Scalar condition, Scalar otherwise, const std::function<Scalar()>& body) = 0;
  /// `step` applied to `state` so many times: a loop where the target can print one, so that long recurrences stay
  /// small code. By default the steps are printed one after the other.
  virtual void repeat(int times, std::span<Scalar> state, const std::function<void(std::span<Scalar>)>& step) {
    for (int i = 0; i < times; ++i) step(state);
  }
  /// Sets the fault number `fault` of the kernel if `condition` holds (in a lane that is in use).
  virtual void setFault(Scalar condition, uint32_t fault) = 0;

  /// A constant of any representation.
  Scalar constant(Repr r, double v) {
    return isFloat(r) ? floatConstant(r, v) : intConstant(r, static_cast<uint64_t>(static_cast<int64_t>(v)));
  }
};

// ---- notation for bodies
inline Scalar like(Scalar x, double v) { return x.builder->constant(x.repr, v); }
inline Scalar arithmetic(BinaryInst onFloats, BinaryInst onInts, Scalar a, Scalar b) {
  return a.builder->binary(isFloat(a.repr) ? onFloats : onInts, a, b);
}
inline Scalar operator+(Scalar a, Scalar b) { return arithmetic(BinaryInst::FAdd, BinaryInst::Add, a, b); }
inline Scalar operator-(Scalar a, Scalar b) { return arithmetic(BinaryInst::FSub, BinaryInst::Sub, a, b); }
inline Scalar operator*(Scalar a, Scalar b) { return arithmetic(BinaryInst::FMul, BinaryInst::Mul, a, b); }
inline Scalar operator/(Scalar a, Scalar b) { return a.builder->binary(BinaryInst::FDiv, a, b); }
inline Scalar operator-(Scalar a) { return isFloat(a.repr) ? a.builder->unary(UnaryInst::FNeg, a) : like(a, 0) - a; }
inline Scalar operator+(Scalar a, double b) { return a + like(a, b); }
inline Scalar operator-(Scalar a, double b) { return a - like(a, b); }
inline Scalar operator*(Scalar a, double b) { return a * like(a, b); }
inline Scalar operator/(Scalar a, double b) { return a / like(a, b); }
inline Scalar operator+(double a, Scalar b) { return like(b, a) + b; }
inline Scalar operator-(double a, Scalar b) { return like(b, a) - b; }
inline Scalar operator*(double a, Scalar b) { return like(b, a) * b; }
inline Scalar operator/(double a, Scalar b) { return like(b, a) / b; }
inline Scalar operator&(Scalar a, Scalar b) { return a.builder->binary(BinaryInst::And, a, b); }
inline Scalar operator|(Scalar a, Scalar b) { return a.builder->binary(BinaryInst::Or, a, b); }
inline Scalar operator^(Scalar a, Scalar b) { return a.builder->binary(BinaryInst::Xor, a, b); }
inline Scalar bits(Scalar x, uint64_t v) { return x.builder->intConstant(x.repr, v); }  ///< integer constant like x
inline Scalar operator&(Scalar a, uint64_t b) { return a & bits(a, b); }
inline Scalar operator|(Scalar a, uint64_t b) { return a | bits(a, b); }
inline Scalar shl(Scalar a, uint64_t n) { return a.builder->binary(BinaryInst::Shl, a, bits(a, n)); }
inline Scalar lshr(Scalar a, uint64_t n) { return a.builder->binary(BinaryInst::LShr, a, bits(a, n)); }
inline Scalar ashr(Scalar a, uint64_t n) { return a.builder->binary(BinaryInst::AShr, a, bits(a, n)); }
inline Scalar logicalNot(Scalar c) { return c ^ bits(c, 1); }

inline Scalar compare(Predicate p, Scalar a, Scalar b) { return a.builder->compare(p, a, b); }
// Comparisons of floats (ordered) or signed integers.
inline Scalar operator<(Scalar a, Scalar b) { return compare(isFloat(a.repr) ? Predicate::Olt : Predicate::Slt, a, b); }
inline Scalar operator<=(Scalar a, Scalar b) {
  return compare(isFloat(a.repr) ? Predicate::Ole : Predicate::Sle, a, b);
}
inline Scalar operator>(Scalar a, Scalar b) { return compare(isFloat(a.repr) ? Predicate::Ogt : Predicate::Sgt, a, b); }
inline Scalar operator>=(Scalar a, Scalar b) {
  return compare(isFloat(a.repr) ? Predicate::Oge : Predicate::Sge, a, b);
}
inline Scalar operator<(Scalar a, double b) { return a < like(a, b); }
inline Scalar operator<=(Scalar a, double b) { return a <= like(a, b); }
inline Scalar operator>(Scalar a, double b) { return a > like(a, b); }
inline Scalar operator>=(Scalar a, double b) { return a >= like(a, b); }
inline Scalar equal(Scalar a, Scalar b) { return compare(isFloat(a.repr) ? Predicate::Oeq : Predicate::Eq, a, b); }
inline Scalar equal(Scalar a, double b) { return equal(a, like(a, b)); }
inline Scalar isNan(Scalar a) { return compare(Predicate::Uno, a, a); }

inline Scalar select(Scalar c, Scalar a, Scalar b) { return c.builder->select(c, a, b); }
inline Scalar select(Scalar c, double a, Scalar b) { return c.builder->select(c, like(b, a), b); }
inline Scalar select(Scalar c, Scalar a, double b) { return c.builder->select(c, a, like(a, b)); }
inline Scalar fma(Scalar a, Scalar b, Scalar c) { return a.builder->fma(a, b, c); }
inline Scalar fma(Scalar a, Scalar b, double c) { return fma(a, b, like(a, c)); }
inline Scalar fma(Scalar a, double b, Scalar c) { return fma(a, like(a, b), c); }
inline Scalar fma(Scalar a, double b, double c) { return fma(a, like(a, b), like(a, c)); }
inline Scalar abs(Scalar a) { return a.builder->unary(UnaryInst::FAbs, a); }
inline Scalar sqrt(Scalar a) { return a.builder->unary(UnaryInst::Sqrt, a); }
inline Scalar floor(Scalar a) { return a.builder->unary(UnaryInst::Floor, a); }
inline Scalar roundEven(Scalar a) { return a.builder->unary(UnaryInst::RoundEven, a); }
inline Scalar truncate(Scalar a) { return a.builder->unary(UnaryInst::Truncate, a); }
inline Scalar copySign(Scalar a, Scalar sign) { return a.builder->binary(BinaryInst::FCopySign, a, sign); }
/// min and max without care for NaN: b when either is NaN.
inline Scalar lesser(Scalar a, Scalar b) { return select(a < b, a, b); }
inline Scalar greater(Scalar a, Scalar b) { return select(a > b, a, b); }
inline Scalar lesser(double a, Scalar b) { return lesser(like(b, a), b); }
inline Scalar greater(double a, Scalar b) { return greater(like(b, a), b); }
inline Scalar convert(ConvertInst op, Scalar a, Repr to) { return a.builder->convert(op, a, to); }
inline Scalar bitsOf(Scalar x) { return convert(ConvertInst::Bits, x, x.repr == Repr::F64 ? Repr::I64 : Repr::I32); }
inline Scalar floatOfBits(Scalar x) {
  return convert(ConvertInst::Bits, x, x.repr == Repr::I64 ? Repr::F64 : Repr::F32);
}
inline Scalar widen(Scalar x) { return convert(ConvertInst::FExt, x, Repr::F64); }
inline Scalar narrow(Scalar x) { return convert(ConvertInst::FTrunc, x, Repr::F32); }
/// c[0] + x * (c[1] + x * ...), by Horner's rule with fused multiply-adds.
Scalar polynomial(Scalar x, std::span<const double> coefficients);

}  // namespace tenc::codegen
