#include "codegen/cpu/ExprEmitter.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <cassert>

#include "codegen/cpu/Loops.h"
#include "codegen/cpu/SharedFunction.h"

namespace tenc::codegen::cpu {
using llvm::Value;

ExprEmitter::ExprEmitter(llvm::IRBuilderBase& b, const KernelArgs& args, const Kernel& kernel, const Stage& stage,
                         size_t vectorVar, int lanes)
    : b_(b),
      args_(args),
      stage_(stage),
      facts_(kernel, stage, vectorVar),
      scalars_(b, args.fault, lanes),
      memory_(b, lanes),
      vars_{std::vector<Value*>(kernel.outer.size() + stage.innerLo.size() + kernel.product.batch.size() + 2)},
      addresses_(b, args, kernel, stage, facts_, vars_),
      accesses_(*this, args, kernel, stage, vars_, addresses_),
      memo_(stage.exprs.size()),
      reduced_(std::max<size_t>(kernel.reductions.size(), 1)) {}

void ExprEmitter::setReduced(uint32_t number, std::vector<Scalar> copies) {
  for (Scalar& s : copies) s.builder = &scalars_;
  reducedPerCopy_ = reducedPerCopy_ || copies.size() > 1;
  reduced_[number] = std::move(copies);
  for (size_t i = 0; i < memo_.size(); ++i)
    if (stage_.exprs[i].kind == Expr::Kind::Reduced) memo_[i].clear();
}

void ExprEmitter::clearVar(size_t var) {
  accesses_.varsChanged();
  vars_.bound &= ~(uint64_t{1} << var);
  for (ExprId e = 0; e < memo_.size(); ++e)
    if ((facts_.dependencies(e) >> var & 1) != 0) memo_[e].clear();
  addresses_.forget(var);
}

void ExprEmitter::setVar(size_t var, Value* value) {
  clearVar(var);
  vars_.bound |= uint64_t{1} << var;
  vars_.values[var] = value;
}

void ExprEmitter::setVector(Value* base, int copies, Value* mask) {
  if (facts_.vectorVar() != StageFacts::kNoVar) setVar(facts_.vectorVar(), base);
  vars_.vectorBase = base;
  vars_.copies = copies;
  scalars_.setMask(mask);
}

void ExprEmitter::emitInvariant() {
  addresses_.emitInvariant();
  for (ExprId id = 0; id < memo_.size(); ++id) {
    const Expr& e = stage_.exprs[id];
    if (!facts_.isNeeded(id) || facts_.isFromRunning(id) || (facts_.dependencies(id) & ~vars_.bound) != 0 ||
        e.kind == Expr::Kind::Constant || e.kind == Expr::Kind::LoopVar)
      continue;
    if (e.kind == Expr::Kind::Reduced && reduced_[e.index].empty()) continue;
    for (int c = 0; c < (isOneForAllCopies(id) ? 1 : vars_.copies); ++c) value(id, c);
  }
}

void ExprEmitter::setValue(ExprId e, int copy, Scalar s) {
  auto& slots = memo_[e];
  if (slots.size() <= static_cast<size_t>(copy)) slots.resize(static_cast<size_t>(copy) + 1);
  s.builder = &scalars_;
  slots[static_cast<size_t>(copy)] = s;
}

void ExprEmitter::setRunning(uint32_t number, int copy, Scalar s) {
  for (size_t i = 0; i < stage_.exprs.size(); ++i)
    if (stage_.exprs[i].kind == Expr::Kind::Running && stage_.exprs[i].index == number)
      setValue(static_cast<ExprId>(i), copy, s);
}

Scalar ExprEmitter::value(ExprId id, int copy) {
  const Expr& e = stage_.exprs[id];
  if (e.kind == Expr::Kind::Reduced) return reduced(e, copy);
  if (isOneForAllCopies(id)) copy = 0;
  auto& slots = memo_[id];
  if (slots.size() > static_cast<size_t>(copy) && slots[static_cast<size_t>(copy)].handle != nullptr)
    return slots[static_cast<size_t>(copy)];
  Scalar s = compute(id, copy);
  setValue(id, copy, s);
  return s;
}

Scalar ExprEmitter::reduced(const Expr& e, int copy) {
  auto& copies = reduced_[e.index];
  assert(!copies.empty());
  return copies[copies.size() > 1 ? static_cast<size_t>(copy) : 0];
}

Scalar ExprEmitter::narrowVar(size_t var, int copy) {
  auto* i32 = b_.getInt32Ty();
  if (var != facts_.vectorVar() || lanes() == 1)
    return scalars_.wrap(b_.CreateTrunc(vars_.values[var], i32), Repr::I32);
  Value* base = firstOf(copy);
  return scalars_.wrap(b_.CreateAdd(scalars_.splat(b_.CreateTrunc(base, i32)), memory_.laneOffsets(1, i32)), Repr::I32);
}

Value* ExprEmitter::firstLane(ExprId position, int copy) {
  const Expr& e = stage_.exprs[position];
  if (!facts_.isVector(position)) return LlvmScalars::value(value(position, copy));
  if (e.kind == Expr::Kind::LoopVar) return firstOf(copy);
  Value *x = firstLane(e.args[0], copy), *y = firstLane(e.args[1], copy);
  if (e.op == ir::OpKind::Add) return b_.CreateAdd(x, y);
  return e.op == ir::OpKind::Sub ? b_.CreateSub(x, y) : b_.CreateMul(x, y);
}

Scalar ExprEmitter::random(ExprId id, int copy) {
  const Expr& e = stage_.exprs[id];
  std::vector<Scalar> args;
  const bool oneDraw = facts_.dependencies(e.args[0]) == 0 && facts_.dependencies(e.args[1]) == 0;
  const ExprId element = e.args[2];
  if (lanes() == 1 || !oneDraw || !facts_.isVector(element) || facts_.laneStride(element) != 1) {
    for (ExprId a : e.args) args.push_back(value(a, copy));
    return callRandom(scalars_, e.op, e.dtype, args);
  }
  auto made = randomTiles_.find(id);
  if (made == randomTiles_.end()) made = randomTiles_.emplace(id, RandomTile(scalars_, e.op, e.dtype)).first;
  for (size_t i = 3; i < e.args.size(); ++i) args.push_back(value(e.args[i], copy));
  return made->second.elements(firstLane(element, copy), LlvmScalars::value(value(e.args[1])),
                               LlvmScalars::value(value(e.args[0])), args);
}

Scalar ExprEmitter::compute(ExprId id, int copy) {
  const Expr& e = stage_.exprs[id];
  llvm::LLVMContext& c = b_.getContext();
  switch (e.kind) {
    case Expr::Kind::Constant: {
      auto* bits =
          llvm::ConstantInt::get(llvm::Type::getIntNTy(c, static_cast<unsigned>(8 * ir::byteSize(e.dtype))), e.bits);
      return scalars_.fromMemory(llvm::ConstantExpr::getBitCast(bits, memoryType(c, e.dtype)), e.dtype);
    }
    case Expr::Kind::LoopVar: {
      const bool isVectorVar = e.index == facts_.vectorVar();
      if (!isVectorVar || lanes() == 1) {
        Value* v = vars_.values[e.index];
        if (isVectorVar && copy > 0) v = b_.CreateAdd(v, b_.getInt64(static_cast<uint64_t>(copy)));
        return scalars_.wrap(v, Repr::I64);
      }
      return scalars_.wrap(b_.CreateAdd(scalars_.splat(firstOf(copy)), memory_.laneOffsets(1, b_.getInt64Ty())),
                           Repr::I64);
    }
    case Expr::Kind::Scalar: return scalars_.fromMemory(args_.scalars[e.index], e.dtype);
    case Expr::Kind::Load: return accesses_.load(e, copy);
    case Expr::Kind::Reduced: return reduced(e, copy);
    case Expr::Kind::Running: assert(false && "a running value that is not set"); break;
    case Expr::Kind::Random: return random(id, copy);
    case Expr::Kind::Op: break;
  }
  bool divides = e.op == ir::OpKind::TruncDiv || e.op == ir::OpKind::Fmod;
  if (divides && facts_.isPosition(e.args[0]) && facts_.isVector(e.args[0]) &&
      stage_.exprs[e.args[1]].kind == Expr::Kind::Constant && stage_.exprs[e.args[1]].bits != 0)
    return dividePosition(e, copy);
  if (e.args.size() == 2 && e.args[1] < e.args[0]) value(e.args[1], copy);  // in the order of the graph
  std::vector<Scalar> args;
  for (ExprId a : e.args) args.push_back(value(a, copy));
  ir::DType operand = stage_.exprs[e.args[e.op == ir::OpKind::Where ? 1 : 0]].dtype;
  return scalars_.elementwise(e.op, operand, e.dtype, args, e.fault);
}

/// Vectors have no 64-bit division; positions are below 2^52, so that f64 quotients truncate to the right integer.
Scalar ExprEmitter::dividePosition(const Expr& e, int copy) {
  Scalar a = value(e.args[0], copy);
  uint64_t divisor = stage_.exprs[e.args[1]].bits;
  Scalar quotient = convert(ConvertInst::SIntToF, a, Repr::F64) / static_cast<double>(static_cast<int64_t>(divisor));
  Scalar q = convert(ConvertInst::FToSInt, quotient, Repr::I64);
  return e.op == ir::OpKind::TruncDiv ? q : a - q * bits(q, divisor);
}

}  // namespace tenc::codegen::cpu
