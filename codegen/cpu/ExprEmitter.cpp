#include "codegen/cpu/ExprEmitter.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/SharedFunction.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

constexpr int64_t kNarrowElements = int64_t{1} << 30;  // positions and what may be added to them have 32 bits

uint64_t scratchOffset(const Kernel& kernel, size_t buffer) {
  uint64_t offset = 0;
  for (size_t i = 0; i < buffer; ++i) {
    const Buffer& b = kernel.buffers[i];
    if (b.role == Buffer::Role::Scratch)
      offset += (static_cast<uint64_t>(b.elements) * static_cast<uint64_t>(ir::byteSize(b.dtype)) + 63) / 64 * 64;
  }
  return offset;
}

}  // namespace

uint64_t scratchBytes(const Kernel& kernel) { return scratchOffset(kernel, kernel.buffers.size()); }

void setCodeAttributes(llvm::Function& f) {
  f.addFnAttr(llvm::Attribute::NoUnwind);
  if (usesAvx512(*f.getParent())) {
    f.addFnAttr("prefer-vector-width", "512");
    f.addFnAttr("min-legal-vector-width", "512");
  }
}

llvm::Function* createKernelFunction(llvm::Module& m, const std::string& name) {
  llvm::LLVMContext& c = m.getContext();
  auto* pointer = llvm::PointerType::get(c, 0);
  auto* i64 = llvm::Type::getInt64Ty(c);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), {pointer, pointer, i64, i64, pointer, pointer}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, m);
  setCodeAttributes(*f);
  for (unsigned i : {0u, 1u, 4u, 5u}) f->addParamAttr(i, llvm::Attribute::NoAlias);
  return f;
}

KernelArgs loadArguments(llvm::IRBuilderBase& b, llvm::Function* function, const Kernel& kernel) {
  KernelArgs args;
  auto* pointer = b.getPtrTy();
  args.fault = function->getArg(4);
  args.scratch = function->getArg(5);
  unsigned slot = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == Buffer::Role::Scratch) {
      args.buffers.push_back(b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), args.scratch, scratchOffset(kernel, i)));
    } else {
      args.buffers.push_back(b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, function->getArg(0), slot++)));
    }
  }
  for (size_t i = 0; i < kernel.scalars.size(); ++i) {
    Value* at = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(1), i);
    args.scalars.push_back(b.CreateLoad(memoryType(b.getContext(), kernel.scalars[i]), at));
  }
  return args;
}

ExprEmitter::ExprEmitter(llvm::IRBuilderBase& b, const KernelArgs& args, const Kernel& kernel, const Stage& stage,
                         size_t vectorVar, int lanes)
    : b_(b),
      args_(args),
      kernel_(kernel),
      stage_(stage),
      vectorVar_(vectorVar),
      scalars_(b, args.fault, lanes),
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
  Scalar s = compute(e, copy);
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
  return scalars_.wrap(b_.CreateAdd(scalars_.splat(b_.CreateTrunc(base, i32)), laneOffsets(1, i32)), Repr::I32);
}

Scalar ExprEmitter::compute(const Expr& e, int copy) {
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
      return scalars_.wrap(b_.CreateAdd(scalars_.splat(base), laneOffsets(1, b_.getInt64Ty())), Repr::I64);
    }
    case Expr::Kind::Scalar: return scalars_.fromMemory(args_.scalars[e.index], e.dtype);
    case Expr::Kind::Load: return load(e, copy);
    case Expr::Kind::Reduced: return reduced(e, copy);
    case Expr::Kind::Running: assert(false && "a running value that is not set"); break;
    case Expr::Kind::Random: {
      std::vector<Scalar> args;
      for (ExprId a : e.args) args.push_back(value(a, copy));
      return callRandom(scalars_, e.op, e.dtype, args);
    }
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

Value* ExprEmitter::laneOffsets(int64_t stride, llvm::Type* element) {
  std::vector<llvm::Constant*> values;
  for (int i = 0; i < lanes(); ++i)
    values.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(stride * i), true));
  return llvm::ConstantVector::get(values);
}

/// The index of a term: negative ones counted from the end, if they do; out of range sets the fault and gives 0. An
/// index that is the same for all lanes is checked once for all accesses and copies between two changes of variables.
ExprEmitter::CheckedIndex ExprEmitter::checkedIndex(const Access::Term& t, int copy, bool narrow) {
  const bool shared = !isVector(t.index) && (!fromReduced_[t.index] || !reducedPerCopy_);
  for (const CheckedIndex& c : checked_)
    if (shared && c.epoch == epoch_ && c.term->index == t.index && c.term->extent == t.extent &&
        c.term->size == t.size && c.term->fault == t.fault && c.term->fromEnd == t.fromEnd && c.narrow == narrow)
      return c;
  CheckedIndex c{&t, narrow, epoch_, value(t.index, copy), nullptr};
  const Scalar asked = c.index;
  const ir::DType from = stage_.exprs[t.index].dtype;
  if (!narrow) {
    if (c.index.repr != Repr::I64) c.index = emitCast(scalars_, c.index, from, ir::DType::I64);
  } else if (ir::byteSize(from) == 8) {
    // What 32 bits do not hold is out of range still when it is the nearest that they hold.
    Value* v = LlvmScalars::value(c.index);
    auto bound = [&](int64_t n) { return llvm::ConstantInt::get(v->getType(), static_cast<uint64_t>(n), true); };
    auto most = std::numeric_limits<int32_t>::max();
    if (t.extent >= 0 && ir::isSigned(from)) {
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, bound(std::numeric_limits<int32_t>::min()));
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, bound(most));
    } else if (t.extent >= 0) {
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v, bound(most));
    }
    c.index = scalars_.wrap(b_.CreateTrunc(v, v->getType()->getWithNewBitWidth(32)), Repr::I32);
  } else if (c.index.repr != Repr::I32 || !ir::isSigned(from)) {
    c.index = emitCast(scalars_, c.index, from, ir::DType::I64);
    Value* v = LlvmScalars::value(c.index);
    if (ir::byteSize(from) == 4)  // u32
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, v,
                                   llvm::ConstantInt::get(v->getType(), std::numeric_limits<int32_t>::max()));
    c.index = scalars_.wrap(b_.CreateTrunc(v, v->getType()->getWithNewBitWidth(32)), Repr::I32);
  }
  if (t.extent >= 0) {
    const int64_t whole = t.size != 0 ? t.size : t.extent;
    const Scalar wrapped = t.fromEnd ? select(c.index < 0.0, c.index + static_cast<double>(whole), c.index) : c.index;
    Scalar outside = codegen::compare(Predicate::Uge, wrapped, like(wrapped, static_cast<double>(t.extent)));
    scalars_.setFault(outside, t.fault, [&] {
      return LlvmScalars::BadIndex{emitCast(scalars_, asked, from, ir::DType::I64), whole - t.extent + 1, whole,
                                   t.axis};
    });
    c.index = select(outside, 0.0, wrapped);
    c.inside = LlvmScalars::value(logicalNot(outside));
  }
  if (shared) checked_.push_back(c);
  return c;
}

Value* ExprEmitter::terms(const Access& a, int copy, Value*& inRange) {
  Value* sum = nullptr;
  auto both = [&](Value* x, Value* y, auto make) -> Value* {
    if (x->getType()->isVectorTy() || y->getType()->isVectorTy()) {
      x = scalars_.splat(x);
      y = scalars_.splat(y);
    }
    return make(x, y);
  };
  // Vectors of positions in a small buffer are of 32 bits.
  const bool narrow =
      lanes() > 1 && kernel_.buffers[a.buffer].elements < kNarrowElements &&
      std::any_of(a.terms.begin(), a.terms.end(), [&](const Access::Term& t) { return isVector(t.index); });
  for (const auto& t : a.terms) {
    const CheckedIndex at = checkedIndex(t, copy, narrow);
    if (at.inside != nullptr)
      inRange = inRange == nullptr ? at.inside
                                   : both(inRange, at.inside, [&](Value* x, Value* y) { return b_.CreateAnd(x, y); });
    Value* part = LlvmScalars::value(at.index * like(at.index, static_cast<double>(t.stride)));
    sum = sum == nullptr ? part : both(sum, part, [&](Value* x, Value* y) { return b_.CreateAdd(x, y); });
  }
  return sum;
}

bool ExprEmitter::gathers(llvm::Type* element) const {
  return usesAvx512(*b_.GetInsertBlock()->getModule()) && element->getScalarSizeInBits() >= 32;
}

Value* ExprEmitter::gather(llvm::Type* element, Value* base, Value* index, Value* mask) {
  auto n = static_cast<unsigned>(lanes());
  auto* type = llvm::FixedVectorType::get(element, n);
  Value* pointers = b_.CreateGEP(element, base, index);
  if (gathers(element))
    return b_.CreateMaskedGather(type, pointers, llvm::Align(element->getScalarSizeInBits() / 8), mask,
                                 llvm::Constant::getNullValue(type));  // not poison: lanes that are off are divided too
  // Lanes that are off read the first element.
  if (mask != nullptr) pointers = b_.CreateSelect(mask, pointers, scalars_.splat(base));
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < n; ++i)
    result = b_.CreateInsertElement(result, b_.CreateLoad(element, b_.CreateExtractElement(pointers, i)), i);
  return result;
}

void ExprEmitter::scatter(Value* value, Value* base, Value* index, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  auto align = llvm::Align(element->getScalarSizeInBits() / 8);
  b_.CreateMaskedScatter(value, b_.CreateGEP(element, base, index), align, mask);
}

namespace {
/// How many leading lanes a constant mask has on, or 0 if it has others.
int leadingLanes(Value* mask, int lanes) {
  auto* c = llvm::dyn_cast<llvm::Constant>(mask);
  if (c == nullptr) return 0;
  int n = 0;
  for (int i = 0; i < lanes; ++i) {
    llvm::Constant* lane = c->getAggregateElement(static_cast<unsigned>(i));
    if (lane == nullptr) return 0;
    if (!lane->isOneValue()) continue;
    if (n != i) return 0;
    ++n;
  }
  return n;
}

/// Stores the first `n` lanes in pieces of 2^i. A masked store would hold up loads of what follows in memory, where the
/// processor looks at the whole vector's range.
void storeLeading(llvm::IRBuilderBase& b, Value* v, Value* at, llvm::Align align, int n) {
  llvm::Type* element = v->getType()->getScalarType();
  for (int from = 0, piece = 0; from < n; from += piece) {
    piece = 1;
    while (2 * piece <= n - from) piece *= 2;
    llvm::SmallVector<int, 16> lanes;
    for (int i = 0; i < piece; ++i) lanes.push_back(from + i);
    Value* part = piece == 1 ? b.CreateExtractElement(v, static_cast<uint64_t>(from)) : b.CreateShuffleVector(v, lanes);
    b.CreateAlignedStore(part, b.CreateConstGEP1_64(element, at, static_cast<uint64_t>(from)), align);
  }
}

Value* reversed(llvm::IRBuilderBase& b, Value* v, int lanes) {
  llvm::SmallVector<int, 16> order;
  for (int i = lanes; i-- > 0;) order.push_back(i);
  return b.CreateShuffleVector(v, order);
}
}  // namespace

/// Every `step`-th element, from vectors that lie side by side; nothing beyond the last element is read.
Value* ExprEmitter::loadStrided(llvm::Type* element, Value* base, int step, Value* mask) {
  const int n = lanes();
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(n));
  auto align = llvm::Align(static_cast<uint64_t>(element->getScalarSizeInBits() / 8));
  Value* result = nullptr;
  for (int part = 0, firstLane = 0; part < step; ++part) {
    // The last vector ends with the last element.
    const int first = part + 1 < step ? part * n : (n - 1) * (step - 1);
    llvm::SmallVector<int, 64> take, on(static_cast<size_t>(n), n);
    int lane = 0;
    for (; lane < n; ++lane) {
      const int at = lane * step - first;
      const bool here = lane >= firstLane && at < n;
      take.push_back(here ? at + (part == 0 ? 0 : n) : lane);
      if (here) on[static_cast<size_t>(at)] = lane;
    }
    while (firstLane < n && firstLane * step - first < n) ++firstLane;
    Value* from = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(first));
    Value* v = nullptr;
    if (mask == nullptr) {
      v = b_.CreateAlignedLoad(vector, from, align);
    } else {
      Value* wanted = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), on);
      v = b_.CreateMaskedLoad(vector, from, align, wanted, llvm::Constant::getNullValue(vector));
    }
    result = result == nullptr ? b_.CreateShuffleVector(v, take) : b_.CreateShuffleVector(result, v, take);
  }
  return result;
}

bool ExprEmitter::indexesNothing(const Access& a, int copy) {
  const bool nothing = std::any_of(a.terms.begin(), a.terms.end(), [](const auto& term) { return term.extent == 0; });
  Value* ignored = nullptr;
  if (nothing) terms(a, copy, ignored);
  return nothing;
}

ExprEmitter::Lanes ExprEmitter::lanesOf(const Access& a, llvm::Type* element, int copy) {
  Lanes at{};
  Value* run = terms(a, copy, at.inRange);
  at.base = address(a);
  at.step = vectorVar_ == kNoVar ? 0 : stride(a, vectorVar_);
  if (run != nullptr && run->getType()->isVectorTy()) {
    at.offsets = run;
  } else if (run != nullptr) {
    at.base = b_.CreateGEP(element, at.base, run);
  }
  if (at.step != 0) {
    at.base = b_.CreateGEP(element, at.base, b_.CreateMul(vectorBase_, b_.getInt64(static_cast<uint64_t>(at.step))));
    const auto ahead = static_cast<uint64_t>(at.step * copy * lanes());
    if (copy != 0) at.base = b_.CreateConstGEP1_64(element, at.base, ahead);
  }
  return at;
}

Scalar ExprEmitter::load(const Expr& e, int copy) {
  const Access& a = e.access;
  ir::DType t = kernel_.buffers[a.buffer].dtype;
  llvm::Type* element = memoryType(b_.getContext(), t);
  auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t)));
  if (indexesNothing(a, copy)) return scalars_.fromMemory(llvm::Constant::getNullValue(element), t);
  auto [base, offsets, step, inRange] = lanesOf(a, element, copy);  // out of range is index 0, which can be read
  if (offsets == nullptr && (step == 0 || lanes() == 1))
    return scalars_.fromMemory(b_.CreateAlignedLoad(element, base, align), t);

  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes()));
  Value* m = mask();
  Value* v = nullptr;
  if (offsets == nullptr && step == 1) {
    v = m == nullptr ? static_cast<Value*>(b_.CreateAlignedLoad(vector, base, align))
                     : b_.CreateMaskedLoad(vector, base, align, m, llvm::Constant::getNullValue(vector));
  } else if (offsets == nullptr && step == -1) {
    base = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(1 - lanes()));
    v = m == nullptr
            ? static_cast<Value*>(b_.CreateAlignedLoad(vector, base, align))
            : b_.CreateMaskedLoad(vector, base, align, reversed(b_, m, lanes()), llvm::Constant::getNullValue(vector));
    v = reversed(b_, v, lanes());
  } else if (offsets == nullptr && step > 1 && step <= kMostStride && !(scalars_.shortCode && gathers(element))) {
    v = loadStrided(element, base, static_cast<int>(step), m);
  } else {
    llvm::Type* indexType = kernel_.buffers[a.buffer].elements < kNarrowElements ? b_.getInt32Ty() : b_.getInt64Ty();
    Value* index = step == 0 ? nullptr : laneOffsets(step, indexType);
    if (offsets != nullptr) {
      Value* narrow =
          b_.CreateSExtOrTrunc(offsets, llvm::FixedVectorType::get(indexType, static_cast<unsigned>(lanes())));
      index = index == nullptr ? narrow : b_.CreateAdd(index, narrow);
    }
    v = gather(element, base, index, m);
  }
  return scalars_.fromMemory(v, t);
}

void ExprEmitter::store(const Store& s, int copy) {
  const Access& a = s.access;
  ir::DType t = kernel_.buffers[a.buffer].dtype;
  llvm::Type* element = memoryType(b_.getContext(), t);
  auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t)));
  Value* v = scalars_.toMemory(value(s.value, copy), t);
  if (indexesNothing(a, copy)) return;
  auto [base, offsets, step, inRange] = lanesOf(a, element, copy);
  if (lanes() == 1 || (offsets == nullptr && step == 0)) {
    if (v->getType()->isVectorTy()) v = b_.CreateExtractElement(v, static_cast<uint64_t>(lanes() - 1));
    auto storeOne = [&] { b_.CreateAlignedStore(v, base, align); };
    if (inRange == nullptr) return storeOne();
    if (inRange->getType()->isVectorTy())
      inRange = b_.CreateExtractElement(inRange, static_cast<uint64_t>(lanes() - 1));
    // Out of range nothing is stored; the branch is foreseen.
    emitIf(b_, inRange, {}, [&] {
      storeOne();
      return Values();
    });
    return;
  }
  v = scalars_.splat(v);
  Value* m = mask();
  if (inRange != nullptr) m = m == nullptr ? scalars_.splat(inRange) : b_.CreateAnd(m, scalars_.splat(inRange));
  if (offsets == nullptr && step == 1) {
    if (m == nullptr) {
      b_.CreateAlignedStore(v, base, align);
    } else if (int n = leadingLanes(m, lanes()); n > 0) {
      storeLeading(b_, v, base, align, n);
    } else {
      b_.CreateMaskedStore(v, base, align, m);
    }
  } else if (offsets == nullptr && step == -1) {
    base = b_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(1 - lanes()));
    v = reversed(b_, v, lanes());
    if (m == nullptr) {
      b_.CreateAlignedStore(v, base, align);
    } else {
      b_.CreateMaskedStore(v, base, align, reversed(b_, m, lanes()));
    }
  } else {
    auto* i64 = b_.getInt64Ty();
    Value* index = step == 0 ? nullptr : laneOffsets(step, i64);
    if (offsets != nullptr) {
      Value* wide = b_.CreateSExtOrTrunc(offsets, llvm::FixedVectorType::get(i64, static_cast<unsigned>(lanes())));
      index = index == nullptr ? wide : b_.CreateAdd(index, wide);
    }
    scatter(v, base, index, m);
  }
}

}  // namespace tenc::codegen::cpu
