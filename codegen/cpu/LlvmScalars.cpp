#include "codegen/cpu/LlvmScalars.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <limits>

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/SharedFunction.h"

namespace tenc::codegen::cpu {
using llvm::Value;

llvm::Type* registerType(llvm::LLVMContext& c, Repr r) {
  switch (r) {
    case Repr::I1: return llvm::Type::getInt1Ty(c);
    case Repr::I8: return llvm::Type::getInt8Ty(c);
    case Repr::I16: return llvm::Type::getInt16Ty(c);
    case Repr::I32: return llvm::Type::getInt32Ty(c);
    case Repr::I64: return llvm::Type::getInt64Ty(c);
    case Repr::F32: return llvm::Type::getFloatTy(c);
    case Repr::F64: return llvm::Type::getDoubleTy(c);
  }
  return nullptr;
}

llvm::Type* memoryType(llvm::LLVMContext& c, ir::DType t) {
  if (isHalf(t)) return llvm::Type::getInt16Ty(c);
  if (t == ir::DType::Bool) return llvm::Type::getInt8Ty(c);
  return registerType(c, reprOf(t));
}

Value* LlvmScalars::splat(Value* v) {
  if (lanes_ == 1 || v->getType()->isVectorTy()) return v;
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), v);
}

llvm::Type* LlvmScalars::typeLike(Repr r, Value* shape) {
  llvm::Type* element = registerType(b_.getContext(), r);
  if (!shape->getType()->isVectorTy()) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
}

void LlvmScalars::unify(Value*& a, Value*& b) {
  if (a->getType()->isVectorTy() != b->getType()->isVectorTy()) {
    a = splat(a);
    b = splat(b);
  }
}

Scalar LlvmScalars::fromMemory(Value* v, ir::DType t) {
  if (t == ir::DType::F16) return halfOfBits(wrap(v, Repr::I16));
  if (t == ir::DType::BF16) return floatOfBits(shl(convert(ConvertInst::ZExt, wrap(v, Repr::I16), Repr::I32), 16));
  if (t == ir::DType::Bool) return wrap(b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())), Repr::I1);
  return wrap(v, reprOf(t));
}

Value* LlvmScalars::toMemory(Scalar s, ir::DType t) {
  if (t == ir::DType::F16) return value(halfBits(s));
  if (t == ir::DType::BF16) return value(convert(ConvertInst::Trunc, lshr(bitsOf(s), 16), Repr::I16));
  if (t == ir::DType::Bool) return value(convert(ConvertInst::ZExt, s, Repr::I8));
  return value(s);
}

namespace {
/// Whether an op is worth a call.
bool isLong(ir::OpKind kind, ir::DType operand, ir::DType result) {
  constexpr int kLong = 12;
  return (ir::isFloat(result) || !ir::opInfo(kind).has(ir::Trait::CanFault)) &&
         std::max(elementwiseCost(kind, operand), elementwiseCost(kind, result)) > kLong;
}
}  // namespace

Scalar LlvmScalars::elementwise(ir::OpKind kind, ir::DType operand, ir::DType result, std::span<const Scalar> args,
                                uint32_t fault) {
  if (shortCode && isLong(kind, operand, result) &&
      std::none_of(args.begin(), args.end(), [](Scalar s) { return llvm::isa<llvm::Constant>(value(s)); }))
    return callElementwise(*this, kind, operand, result, args);
  bool fuses = contract && (kind == ir::OpKind::Add || kind == ir::OpKind::Sub || kind == ir::OpKind::Mul);
  llvm::FastMathFlags flags;
  flags.setAllowContract(fuses);
  b_.setFastMathFlags(flags);
  Scalar s = emitElementwise(*this, kind, operand, result, args, fault);
  b_.setFastMathFlags({});
  return s;
}

Scalar LlvmScalars::floatConstant(Repr r, double v) {
  return wrap(llvm::ConstantFP::get(registerType(b_.getContext(), r), v), r);
}

Scalar LlvmScalars::intConstant(Repr r, uint64_t v) {
  return wrap(llvm::ConstantInt::get(registerType(b_.getContext(), r), v), r);
}

Scalar LlvmScalars::unary(UnaryInst op, Scalar a) {
  Value* v = value(a);
  namespace intrinsic = llvm::Intrinsic;
  auto call = [&](intrinsic::ID id) { return wrap(b_.CreateUnaryIntrinsic(id, v), a.repr); };
  switch (op) {
    case UnaryInst::FNeg: return wrap(b_.CreateFNeg(v), a.repr);
    case UnaryInst::FAbs: return call(intrinsic::fabs);
    case UnaryInst::Sqrt: return call(intrinsic::sqrt);
    case UnaryInst::Floor: return call(intrinsic::floor);
    case UnaryInst::Ceil: return call(intrinsic::ceil);
    case UnaryInst::RoundEven: return call(intrinsic::roundeven);
    case UnaryInst::Truncate: return call(intrinsic::trunc);
    case UnaryInst::Popcount: return call(intrinsic::ctpop);
  }
  return a;
}

Scalar LlvmScalars::binary(BinaryInst op, Scalar a, Scalar b) {
  if (op == BinaryInst::FMaximum || op == BinaryInst::FMinimum) return maximum(a, b, op == BinaryInst::FMaximum);
  Value *x = value(a), *y = value(b);
  unify(x, y);
  auto call = [&](llvm::Intrinsic::ID id) { return b_.CreateBinaryIntrinsic(id, x, y); };
  using P = llvm::CmpInst::Predicate;
  auto choose = [&](P first, llvm::Intrinsic::ID id) -> Value* {
    if (lanes_ > 1) return call(id);
    return value(select(wrap(b_.CreateICmp(first, x, y), Repr::I1), a, b));
  };
  auto emit = [&]() -> Value* {
    switch (op) {
      case BinaryInst::FAdd: return b_.CreateFAdd(x, y);
      case BinaryInst::FSub: return b_.CreateFSub(x, y);
      case BinaryInst::FMul: return b_.CreateFMul(x, y);
      case BinaryInst::FDiv: return b_.CreateFDiv(x, y);
      case BinaryInst::FCopySign: return call(llvm::Intrinsic::copysign);
      case BinaryInst::Add: return b_.CreateAdd(x, y);
      case BinaryInst::Sub:
        // As the optimiser has it: constants are added.
        if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(y)) return b_.CreateAdd(x, llvm::ConstantExpr::getNeg(c));
        return b_.CreateSub(x, y);
      case BinaryInst::Mul: return b_.CreateMul(x, y);
      case BinaryInst::SDiv: return b_.CreateSDiv(x, y);
      case BinaryInst::UDiv: return b_.CreateUDiv(x, y);
      case BinaryInst::And: return b_.CreateAnd(x, y);
      case BinaryInst::Or: return b_.CreateOr(x, y);
      case BinaryInst::Xor: return b_.CreateXor(x, y);
      case BinaryInst::Shl: return b_.CreateShl(x, y);
      case BinaryInst::LShr: return b_.CreateLShr(x, y);
      case BinaryInst::AShr: return b_.CreateAShr(x, y);
      case BinaryInst::SMin: return choose(P::ICMP_SLT, llvm::Intrinsic::smin);
      case BinaryInst::SMax: return choose(P::ICMP_SGT, llvm::Intrinsic::smax);
      case BinaryInst::UMin: return choose(P::ICMP_ULT, llvm::Intrinsic::umin);
      case BinaryInst::UMax: return choose(P::ICMP_UGT, llvm::Intrinsic::umax);
      case BinaryInst::FMaximum:
      case BinaryInst::FMinimum: break;
    }
    return x;
  };
  return wrap(emit(), a.repr);
}

template <typename Body>
Value* LlvmScalars::inHalves(std::initializer_list<Value*> operands, Body body) {
  Value* halves[2];
  const int half = lanes_ / 2;
  for (int h = 0; h < 2; ++h) {
    llvm::SmallVector<int, 16> lanes;
    for (int i = 0; i < half; ++i) lanes.push_back(half * h + i);
    llvm::SmallVector<Value*, 2> parts;
    for (Value* v : operands) parts.push_back(b_.CreateShuffleVector(v, lanes));
    halves[h] = body(parts);
  }
  llvm::SmallVector<int, 32> all;
  for (int i = 0; i < lanes_; ++i) all.push_back(i);
  return b_.CreateShuffleVector(halves[0], halves[1], all);
}

namespace {
/// The constant that a value is in every lane, or null.
const llvm::ConstantFP* floatConstantOf(Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c != nullptr && c->getType()->isVectorTy()) c = c->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(c);
}
}  // namespace

Scalar LlvmScalars::maximumOfConstant(Scalar x, Scalar constant, bool isMax) {
  const llvm::APFloat& c = floatConstantOf(value(constant))->getValueAPF();
  // One instruction, which gives x when x is NaN or both are zeros.
  Scalar result = isMax ? greater(constant, x) : lesser(constant, x);
  if (!c.isZero() || c.isNegative() == isMax) return result;
  if (isMax) return result + constant;  // -0 becomes +0
  return floatOfBits(bitsOf(result) | bitsOf(constant));
}

Scalar LlvmScalars::maximum(Scalar a, Scalar b, bool isMax) {
  for (auto [x, c] : {std::pair(a, b), std::pair(b, a)})
    if (auto* constant = floatConstantOf(value(c)); constant != nullptr && !constant->isNaN())
      return maximumOfConstant(x, c, isMax);
  if (ordered && lanes_ == 1) {  // of a native loop: its passes make vectors of it, or expandExtremes does
    const auto id = isMax ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum;
    return wrap(b_.CreateBinaryIntrinsic(id, value(a), value(b)), a.repr);
  }
  bool d = a.repr == Repr::F64;
  bool vector = value(a)->getType()->isVectorTy() || value(b)->getType()->isVectorTy();
  if (usesAvx512(module()) && lanes_ == 16 && vector) {
    // VRANGE orders the zeros, and ignores a NaN if it can.
    Value *x = splat(value(a)), *y = splat(value(b));
    auto* which = b_.getInt32(isMax ? 5 : 4);  // of the two values, with the sign of the chosen one
    auto* rounding = b_.getInt32(4);           // the current mode
    Value* result;
    if (d) {
      result = inHalves({x, y}, [&](llvm::ArrayRef<Value*> v) {
        return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_range_pd_512, {},
                                  {v[0], v[1], which, v[0], b_.getInt8(0xff), rounding});
      });
    } else {
      result = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_range_ps_512, {},
                                  {x, y, which, x, b_.getInt16(0xffff), rounding});
    }
    Scalar nan = floatConstant(a.repr, std::numeric_limits<double>::quiet_NaN());
    return select(compare(Predicate::Uno, a, b), nan, wrap(result, a.repr));
  }
  // The machine's comparison gives its second operand for two zeros and for NaN. Both ways round, the two results
  // differ in those cases only: in the sign of the zero, or one is the NaN, which an OR keeps.
  Scalar first = isMax ? greater(a, b) : lesser(a, b), second = isMax ? greater(b, a) : lesser(b, a);
  Scalar either = floatOfBits(bitsOf(first) | bitsOf(second));
  if (!isMax) return either;
  return either - floatOfBits(bitsOf(first) ^ bitsOf(second));  // -0 - -0 = +0; else minus +0
}

Scalar LlvmScalars::fma(Scalar a, Scalar b, Scalar c) {
  Value *x = value(a), *y = value(b), *z = value(c);
  unify(x, y);
  unify(x, z);
  unify(x, y);
  return wrap(b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z}), a.repr);
}

Scalar LlvmScalars::compare(Predicate p, Scalar a, Scalar b) {
  Value *x = value(a), *y = value(b);
  unify(x, y);
  using P = llvm::CmpInst::Predicate;
  constexpr P kPredicates[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE,
                               P::FCMP_UNO, P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT,
                               P::ICMP_SGE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return wrap(b_.CreateCmp(kPredicates[static_cast<int>(p)], x, y), Repr::I1);
}

Scalar LlvmScalars::select(Scalar condition, Scalar a, Scalar b) {
  Value *x = value(a), *y = value(b), *c = value(condition);
  if (c->getType()->isVectorTy()) x = splat(x);
  unify(x, y);
  // A single condition chooses between whole vectors.
  Value* chosen = b_.CreateSelect(c, x, y);
  // Single elements are moved by the condition; a jump would be guessed wrong as soon as data decide.
  if (auto* inst = llvm::dyn_cast<llvm::Instruction>(chosen); inst != nullptr && lanes_ == 1)
    inst->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(b_.getContext(), {}));
  return wrap(chosen, a.repr);
}

Scalar LlvmScalars::convert(ConvertInst op, Scalar a, Repr to) {
  Value* v = value(a);
  llvm::Type* type = typeLike(to, v);
  auto emit = [&]() -> Value* {
    switch (op) {
      case ConvertInst::FExt: return b_.CreateFPExt(v, type);
      case ConvertInst::FTrunc: return b_.CreateFPTrunc(v, type);
      case ConvertInst::SIntToF: return b_.CreateSIToFP(v, type);
      case ConvertInst::UIntToF: return b_.CreateUIToFP(v, type);
      case ConvertInst::FToSInt: return b_.CreateFPToSI(v, type);
      case ConvertInst::FToUInt: return b_.CreateFPToUI(v, type);
      case ConvertInst::Trunc: return b_.CreateTrunc(v, type);
      case ConvertInst::ZExt: return b_.CreateZExt(v, type);
      case ConvertInst::SExt: return b_.CreateSExt(v, type);
      case ConvertInst::Bits: return b_.CreateBitCast(v, type);
    }
    return v;
  };
  return wrap(emit(), to);
}

Scalar LlvmScalars::scaleByPowerOf2(Scalar x, Scalar n) {
  bool d = x.repr == Repr::F64;
  if (usesAvx512(module()) && lanes_ == 16 &&
      (value(x)->getType()->isVectorTy() || value(n)->getType()->isVectorTy())) {
    Value *v = splat(value(x)), *e = splat(value(n));
    auto* current = b_.getInt32(4);  // the current rounding mode
    if (!d) {
      return wrap(b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                     {v, e, v, b_.getInt16(0xffff), current}),
                  x.repr);
    }
    Value* result = inHalves({v, e}, [&](llvm::ArrayRef<Value*> part) {
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_pd_512, {},
                                {part[0], part[1], part[0], b_.getInt8(0xff), current});
    });
    return wrap(result, x.repr);
  }
  // Two steps, of which only the second can round. The exponents become the low bits of large numbers' significands.
  Scalar first = roundEven(n * 0.5), second = n - first;
  auto power = [&](Scalar e) {
    return floatOfBits(shl(bitsOf(e + (d ? 0x1.8p52 + 1023 : 0x1.8p23 + 127)), d ? 52 : 23));
  };
  return x * power(first) * power(second);
}

Scalar LlvmScalars::lookup(std::span<const double, 16> table, Scalar index) {
  const bool d = index.repr == Repr::I64;
  llvm::LLVMContext& c = b_.getContext();
  Value* i = value(index);
  const llvm::SmallVector<float, 16> floats(table.begin(), table.end());
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(i->getType()))
    return d ? wrap(lookupDoubles(table, i, vector->getNumElements()), Repr::F64)
             : wrap(lookupFloats(floats, i, vector->getNumElements()), Repr::F32);
  llvm::Constant* array = d ? llvm::ConstantDataArray::get(c, llvm::ArrayRef<double>(table.data(), table.size()))
                            : llvm::ConstantDataArray::get(c, llvm::ArrayRef<float>(floats));
  auto* memory = new llvm::GlobalVariable(module(), array->getType(), true, llvm::GlobalValue::PrivateLinkage, array);
  Value* place = b_.CreateZExt(b_.CreateAnd(i, llvm::ConstantInt::get(i->getType(), 15)), b_.getInt64Ty());
  llvm::Type* element = d ? b_.getDoubleTy() : b_.getFloatTy();
  return wrap(b_.CreateLoad(element, b_.CreateGEP(element, memory, place)), d ? Repr::F64 : Repr::F32);
}

namespace {
llvm::SmallVector<int, 16> rangeOf(unsigned from, unsigned count) {
  llvm::SmallVector<int, 16> order;
  for (unsigned k = 0; k < count; ++k) order.push_back(static_cast<int>(from + k));
  return order;
}
}  // namespace

Value* LlvmScalars::lookupFloats(llvm::ArrayRef<float> table, Value* i, unsigned lanes) {
  llvm::LLVMContext& c = b_.getContext();
  if (usesAvx512(module()) && lanes == 16)
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                              {llvm::ConstantDataVector::get(c, table), i});
  // Permutations of 8 elements, one for each half of the table.
  auto half = [&](unsigned from) { return llvm::ConstantDataVector::get(c, table.slice(from, 8)); };
  llvm::SmallVector<Value*, 2> parts;
  for (unsigned from = 0; from < lanes; from += 8) {
    Value* part = b_.CreateShuffleVector(i, rangeOf(from, 8));  // lanes beyond a shorter vector are poison
    Value *low = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {half(0), part}),
          *high = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {half(8), part});
    Value* upper = b_.CreateICmpNE(b_.CreateAnd(part, b_.CreateVectorSplat(8, b_.getInt32(8))),
                                   llvm::Constant::getNullValue(part->getType()));
    parts.push_back(b_.CreateSelect(upper, high, low));
  }
  return lanes > 8 ? b_.CreateShuffleVector(parts[0], parts[1], rangeOf(0, lanes))
                   : b_.CreateShuffleVector(parts[0], rangeOf(0, lanes));
}

Value* LlvmScalars::lookupDoubles(std::span<const double, 16> table, Value* i, unsigned lanes) {
  llvm::LLVMContext& c = b_.getContext();
  const llvm::ArrayRef<double> elements(table.data(), table.size());
  const bool permutes = usesAvx512(module());
  const unsigned width = permutes ? 8 : 4;
  llvm::SmallVector<Value*, 4> parts;
  for (unsigned from = 0; from < lanes; from += width) {
    Value* part = b_.CreateShuffleVector(i, rangeOf(from, width));  // lanes beyond a shorter vector are poison
    parts.push_back(permutes ? b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_pd_512, {},
                                                  {llvm::ConstantDataVector::get(c, elements.slice(0, 8)), part,
                                                   llvm::ConstantDataVector::get(c, elements.slice(8, 8))})
                             : lookupInQuarters(elements, part));
  }
  Value* all = llvm::concatenateVectors(b_, parts);
  return width > lanes ? b_.CreateShuffleVector(all, rangeOf(0, lanes)) : all;
}

/// Of a table of 16, in AVX2: both halves of each double are picked from the quarters of the table, and the quarter by
/// the upper bits of the index. A gather takes longer.
Value* LlvmScalars::lookupInQuarters(llvm::ArrayRef<double> table, Value* i) {
  constexpr unsigned kWidth = 4;
  auto splat = [&](uint64_t v) { return b_.CreateVectorSplat(kWidth, b_.getInt64(v)); };
  auto* floats = llvm::FixedVectorType::get(b_.getFloatTy(), 2 * kWidth);
  auto* doubles = llvm::FixedVectorType::get(b_.getDoubleTy(), kWidth);
  Value* first = b_.CreateShl(b_.CreateAnd(i, splat(kWidth - 1)), splat(1));
  Value* halves = b_.CreateOr(b_.CreateShl(first, splat(32)), b_.CreateOr(first, splat(uint64_t{1} << 32)));
  halves = b_.CreateBitCast(halves, llvm::FixedVectorType::get(b_.getInt32Ty(), 2 * kWidth));
  auto quarter = [&](unsigned from) {
    llvm::Constant* values = llvm::ConstantDataVector::get(b_.getContext(), table.slice(from, kWidth));
    Value* picked =
        b_.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {b_.CreateBitCast(values, floats), halves});
    return b_.CreateBitCast(picked, doubles);
  };
  auto isSet = [&](uint64_t bit) {
    return b_.CreateICmpSLT(b_.CreateShl(i, splat(63 - bit)), llvm::Constant::getNullValue(i->getType()));
  };
  Value *odd = isSet(2), *upper = isSet(3);
  return b_.CreateSelect(upper, b_.CreateSelect(odd, quarter(12), quarter(8)),
                         b_.CreateSelect(odd, quarter(4), quarter(0)));
}

Scalar LlvmScalars::halfBits(Scalar x) {
  Value* v = value(x);
  llvm::Type* half = v->getType()->getWithNewType(llvm::Type::getHalfTy(b_.getContext()));
  return wrap(b_.CreateBitCast(b_.CreateFPTrunc(v, half), typeLike(Repr::I16, v)), Repr::I16);
}

Scalar LlvmScalars::halfOfBits(Scalar bits) {
  Value* v = value(bits);
  llvm::Type* half = v->getType()->getWithNewType(llvm::Type::getHalfTy(b_.getContext()));
  return wrap(b_.CreateFPExt(b_.CreateBitCast(v, half), typeLike(Repr::F32, v)), Repr::F32);
}

bool LlvmScalars::dividesCheaply(Scalar divisor) {
  return llvm::isa<llvm::Constant>(value(divisor)) || !value(divisor)->getType()->isVectorTy();
}

Value* LlvmScalars::any(Value* condition) {
  return condition->getType()->isVectorTy() ? b_.CreateOrReduce(condition) : condition;
}

}  // namespace tenc::codegen::cpu
