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
      kernel_(kernel),
      stage_(stage),
      vectorVar_(vectorVar),
      scalars_(b, args.fault, lanes),
      memory_(b, lanes),
      vars_(kernel.outer.size() + stage.innerLo.size() + kernel.product.batch.size() + 2),
      depends_(stage.exprs.size()),
      positions_(stage.exprs.size()),
      fromReduced_(stage.exprs.size()),
      fromRunning_(stage.exprs.size()),
      needed_(stage.exprs.size()),
      memo_(stage.exprs.size()),
      reduced_(std::max<size_t>(kernel.reductions.size(), 1)) {
  for (size_t i = 0; i < stage.exprs.size(); ++i) {
    const Expr& e = stage.exprs[i];
    uint64_t d = 0;
    bool r = e.kind == Expr::Kind::Reduced;
    for (ExprId a : e.args) {
      d |= depends_[a];
      r = r || fromReduced_[a];
    }
    fromReduced_[i] = r;
    positions_[i] = isPosition(e);
    bool running = e.kind == Expr::Kind::Running;
    for (ExprId a : e.args) running = running || fromRunning_[a];
    if (e.kind == Expr::Kind::Load) {
      for (const Access::Term& t : e.access.terms) {
        running = running || fromRunning_[t.index];
        fromReduced_[i] = fromReduced_[i] || fromReduced_[t.index];
      }
    }
    fromRunning_[i] = running;
    if (e.kind == Expr::Kind::Running) d |= (uint64_t{1} << (kernel.outer.size() + stage.innerLo.size())) - 1;
    if (e.kind == Expr::Kind::LoopVar) d |= uint64_t{1} << e.index;
    if (e.kind == Expr::Kind::Load) d |= accessVars(e.access);
    if (e.kind == Expr::Kind::Load && stage.ordered && isStored(e.access.buffer)) {
      // What an earlier iteration stored is read again, even at an unchanging place.
      for (size_t v = 0; v < stage.innerLo.size(); ++v) d |= uint64_t{1} << (kernel.outer.size() + v);
    }
    depends_[i] = d;
  }
  for (const Store& s : stage.stores) {
    collectNeeded(s.value);
    for (const auto& t : s.access.terms) collectNeeded(t.index);
  }
  for (uint32_t r : stage.reductions) {
    collectNeeded(kernel.reductions[r].value);
    if (kernel.reductions[r].position != kNoExpr) collectNeeded(kernel.reductions[r].position);
  }
  for (size_t i = 0; i < stage.exprs.size(); ++i)
    if (needed_[i] && stage.exprs[i].kind == Expr::Kind::Load) partials_.push_back({&stage.exprs[i].access, {}});
  for (const Store& s : stage.stores) partials_.push_back({&s.access, {}});
}

bool ExprEmitter::isStored(uint32_t buffer) const {
  return std::any_of(stage_.stores.begin(), stage_.stores.end(),
                     [&](const Store& s) { return s.access.buffer == buffer; });
}

uint64_t ExprEmitter::accessVars(const Access& a) const {
  uint64_t d = 0;
  for (size_t v = 0; v < a.strides.size(); ++v)
    if (a.strides[v] != 0) d |= uint64_t{1} << v;
  for (const auto& t : a.terms) d |= depends_[t.index];
  return d;
}

bool ExprEmitter::isPosition(const Expr& e) const {
  if (e.dtype != ir::DType::I64) return false;
  if (e.kind == Expr::Kind::LoopVar || e.kind == Expr::Kind::Constant) return true;
  if (e.kind != Expr::Kind::Op) return false;
  switch (e.op) {
    case ir::OpKind::Add:
    case ir::OpKind::Sub:
    case ir::OpKind::Mul:
    case ir::OpKind::TruncDiv:
    case ir::OpKind::Fmod: break;
    default: return false;
  }
  return std::all_of(e.args.begin(), e.args.end(), [&](ExprId a) { return positions_[a] != 0; });
}

void ExprEmitter::collectNeeded(ExprId e) {
  if (needed_[e]) return;
  needed_[e] = 1;
  for (ExprId a : stage_.exprs[e].args) collectNeeded(a);
  if (stage_.exprs[e].kind == Expr::Kind::Load)
    for (const auto& t : stage_.exprs[e].access.terms) collectNeeded(t.index);
}

void ExprEmitter::setReduced(uint32_t number, std::vector<Scalar> copies) {
  for (Scalar& s : copies) s.builder = &scalars_;
  reducedPerCopy_ = reducedPerCopy_ || copies.size() > 1;
  reduced_[number] = std::move(copies);
  for (size_t i = 0; i < memo_.size(); ++i)
    if (stage_.exprs[i].kind == Expr::Kind::Reduced) memo_[i].clear();
}

void ExprEmitter::setReducedVaries() {
  for (size_t i = 0; i < depends_.size(); ++i)
    if (fromReduced_[i]) depends_[i] |= uint64_t{1} << vectorVar_;
}

bool ExprEmitter::readsReduced(uint32_t number) const {
  for (size_t i = 0; i < stage_.exprs.size(); ++i)
    if (needed_[i] && stage_.exprs[i].kind == Expr::Kind::Reduced && stage_.exprs[i].index == number) return true;
  return false;
}

void ExprEmitter::clearVar(size_t var) {
  ++epoch_;
  uint64_t bit = uint64_t{1} << var;
  bound_ &= ~bit;
  for (size_t i = 0; i < memo_.size(); ++i)
    if ((depends_[i] & bit) != 0) memo_[i].clear();
  for (auto& [access, list] : partials_)
    while (!list.empty() && (list.back().vars & bit) != 0) list.pop_back();
}

void ExprEmitter::setVar(size_t var, Value* value) {
  clearVar(var);
  bound_ |= uint64_t{1} << var;
  vars_[var] = value;
}

void ExprEmitter::setVector(Value* base, int copies, Value* mask) {
  if (vectorVar_ != kNoVar) setVar(vectorVar_, base);
  vectorBase_ = base;
  copies_ = copies;
  scalars_.setMask(mask);
}

Value* ExprEmitter::advance(const Access& a, Value* pointer, uint64_t vars) {
  llvm::Type* element = memoryType(b_.getContext(), kernel_.buffers[a.buffer].dtype);
  for (size_t v = 0; v < a.strides.size(); ++v) {
    if ((vars >> v & 1) == 0 || a.strides[v] == 0) continue;
    Value* steps =
        a.strides[v] == 1 ? vars_[v] : b_.CreateMul(vars_[v], b_.getInt64(static_cast<uint64_t>(a.strides[v])));
    pointer = b_.CreateGEP(element, pointer, steps);
  }
  return pointer;
}

Value* ExprEmitter::address(const Access& a) {
  uint64_t wanted = 0;
  for (size_t v = 0; v < a.strides.size(); ++v)
    if (a.strides[v] != 0 && v != vectorVar_) wanted |= uint64_t{1} << v;
  assert((wanted & ~bound_) == 0);
  for (auto& [access, list] : partials_) {
    if (access != &a || list.empty()) continue;
    return advance(a, list.back().pointer, wanted & ~list.back().vars);
  }
  llvm::Type* element = memoryType(b_.getContext(), kernel_.buffers[a.buffer].dtype);
  Value* start = b_.CreateConstGEP1_64(element, args_.buffers[a.buffer], static_cast<uint64_t>(a.offset));
  return advance(a, start, wanted);
}

void ExprEmitter::emitInvariant() {
  for (auto& [access, list] : partials_) {
    uint64_t known = 0;
    for (size_t v = 0; v < access->strides.size(); ++v)
      if (access->strides[v] != 0 && v != vectorVar_) known |= uint64_t{1} << v;
    known &= bound_;
    if (!list.empty() && list.back().vars == known) continue;
    llvm::Type* element = memoryType(b_.getContext(), kernel_.buffers[access->buffer].dtype);
    Value* from = !list.empty() ? list.back().pointer
                                : b_.CreateConstGEP1_64(element, args_.buffers[access->buffer],
                                                        static_cast<uint64_t>(access->offset));
    uint64_t before = list.empty() ? 0 : list.back().vars;
    list.push_back({known, advance(*access, from, known & ~before)});
  }
  for (size_t i = 0; i < memo_.size(); ++i) {
    const Expr& e = stage_.exprs[i];
    if (!needed_[i] || fromRunning_[i] || (depends_[i] & ~bound_) != 0 || e.kind == Expr::Kind::Constant ||
        e.kind == Expr::Kind::LoopVar)
      continue;
    if (e.kind == Expr::Kind::Reduced && reduced_[e.index].empty()) continue;
    bool vector = isVector(static_cast<ExprId>(i));
    if (vector && mask() != nullptr) {
      for (int c = 0; c < copies_; ++c) value(static_cast<ExprId>(i), c);
      continue;
    }
    for (int c = 0; c < (vector || (fromReduced_[i] && reducedPerCopy_) ? copies_ : 1); ++c)
      value(static_cast<ExprId>(i), c);
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
  if (!isVector(id)) {
    // A value that depends on a reduction is one for each copy, as the reduction is.
    if (!fromReduced_[id] || !reducedPerCopy_) copy = 0;
  }
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
  if (var != vectorVar_ || lanes() == 1) return scalars_.wrap(b_.CreateTrunc(vars_[var], i32), Repr::I32);
  Value* base = b_.CreateAdd(vectorBase_, b_.getInt64(static_cast<uint64_t>(copy * lanes())));
  return scalars_.wrap(b_.CreateAdd(scalars_.splat(b_.CreateTrunc(base, i32)), memory_.laneOffsets(1, i32)), Repr::I32);
}

std::optional<int64_t> ExprEmitter::laneStride(ExprId position) const {
  const Expr& e = stage_.exprs[position];
  if (!isVector(position)) return 0;
  if (e.kind == Expr::Kind::LoopVar) return 1;
  if (!positions_[position] || e.kind != Expr::Kind::Op) return std::nullopt;
  const std::optional<int64_t> x = laneStride(e.args[0]), y = laneStride(e.args[1]);
  if (!x || !y) return std::nullopt;
  switch (e.op) {
    case ir::OpKind::Add: return *x + *y;
    case ir::OpKind::Sub: return *x - *y;
    case ir::OpKind::Mul: {
      auto times = [&](int64_t step, ExprId factor) -> std::optional<int64_t> {
        const Expr& f = stage_.exprs[factor];
        if (f.kind != Expr::Kind::Constant) return std::nullopt;
        return step * static_cast<int64_t>(f.bits);
      };
      return isVector(e.args[0]) ? times(*x, e.args[1]) : times(*y, e.args[0]);
    }
    default: return std::nullopt;
  }
}

Value* ExprEmitter::firstLane(ExprId position, int copy) {
  const Expr& e = stage_.exprs[position];
  if (!isVector(position)) return LlvmScalars::value(value(position, copy));
  if (e.kind == Expr::Kind::LoopVar)
    return b_.CreateAdd(vectorBase_, b_.getInt64(static_cast<uint64_t>(copy * lanes())));
  Value *x = firstLane(e.args[0], copy), *y = firstLane(e.args[1], copy);
  if (e.op == ir::OpKind::Add) return b_.CreateAdd(x, y);
  return e.op == ir::OpKind::Sub ? b_.CreateSub(x, y) : b_.CreateMul(x, y);
}

Scalar ExprEmitter::random(ExprId id, int copy) {
  const Expr& e = stage_.exprs[id];
  std::vector<Scalar> args;
  const bool oneDraw = depends_[e.args[0]] == 0 && depends_[e.args[1]] == 0;
  const ExprId element = e.args[2];
  if (lanes() == 1 || !oneDraw || !isVector(element) || laneStride(element) != 1) {
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
      if (e.index != vectorVar_ || lanes() == 1) {
        Value* v = vars_[e.index];
        if (e.index == vectorVar_ && copy > 0) v = b_.CreateAdd(v, b_.getInt64(static_cast<uint64_t>(copy)));
        return scalars_.wrap(v, Repr::I64);
      }
      Value* base = b_.CreateAdd(vectorBase_, b_.getInt64(static_cast<uint64_t>(copy * lanes())));
      return scalars_.wrap(b_.CreateAdd(scalars_.splat(base), memory_.laneOffsets(1, b_.getInt64Ty())), Repr::I64);
    }
    case Expr::Kind::Scalar: return scalars_.fromMemory(args_.scalars[e.index], e.dtype);
    case Expr::Kind::Load: return load(e, copy);
    case Expr::Kind::Reduced: return reduced(e, copy);
    case Expr::Kind::Running: assert(false && "a running value that is not set"); break;
    case Expr::Kind::Random: return random(id, copy);
    case Expr::Kind::Op: break;
  }
  bool divides = e.op == ir::OpKind::TruncDiv || e.op == ir::OpKind::Fmod;
  if (divides && positions_[e.args[0]] && isVector(e.args[0]) && stage_.exprs[e.args[1]].kind == Expr::Kind::Constant &&
      stage_.exprs[e.args[1]].bits != 0)
    return dividePosition(e, copy);
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
