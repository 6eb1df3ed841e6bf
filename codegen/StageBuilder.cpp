#include <cstring>
#include <limits>

#include "codegen/KernelBuilder.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

using ir::DType;
using ir::OpKind;
using ir::Trait;

StageBuilder::StageBuilder(Group& group, std::vector<VarRange> ranges, bool split)
    : group_(group), ranges_(std::move(ranges)), split_(split) {}

void StageBuilder::fail(std::string why) {
  if (group_.kernel.error.empty()) group_.kernel.error = std::move(why);
}

ExprId StageBuilder::add(Expr e) {
  stage.exprs.push_back(std::move(e));
  return static_cast<ExprId>(stage.exprs.size() - 1);
}

ExprId StageBuilder::load(uint32_t buffer, const Affine& position, DType t) {
  Expr e;
  e.kind = Expr::Kind::Load;
  e.dtype = t;
  e.access = access(buffer, position);
  return add(std::move(e));
}

ExprId StageBuilder::constant(DType t, uint64_t bits) {
  for (ExprId e : constants_[bits]) {
    if (stage.exprs[e].dtype == t) return e;
  }
  Expr e;
  e.kind = Expr::Kind::Constant;
  e.dtype = t;
  e.bits = bits;
  ExprId id = add(std::move(e));
  constants_[bits].push_back(id);
  return id;
}

ExprId StageBuilder::op(OpKind kind, DType t, std::vector<ExprId> args) {
  // Equal operations are one; those that may stop keep their own place.
  bool stops = ir::opInfo(kind).has(Trait::CanFault) && ir::isInt(t);
  if (!stops) {
    auto [it, fresh] = ops_.try_emplace({kind, t, args}, static_cast<ExprId>(stage.exprs.size()));
    if (!fresh) return it->second;
  }
  Expr e;
  e.kind = Expr::Kind::Op;
  e.op = kind;
  e.dtype = t;
  e.args = std::move(args);
  return add(std::move(e));
}

ExprId StageBuilder::cast(ExprId e, DType to) { return stage.exprs[e].dtype == to ? e : op(OpKind::Cast, to, {e}); }

ExprId StageBuilder::affine(const Affine& a) {
  ExprId sum = kNoExpr;
  auto plus = [&](ExprId e) { sum = sum == kNoExpr ? e : op(OpKind::Add, DType::I64, {sum, e}); };
  auto times = [&](ExprId e, int64_t c) {
    return c == 1 ? e : op(OpKind::Mul, DType::I64, {e, constant(DType::I64, static_cast<uint64_t>(c))});
  };
  for (size_t v = 0; v < a.coef.size(); ++v) {
    if (a.coef[v] == 0) continue;
    Expr e;
    e.kind = Expr::Kind::LoopVar;
    e.dtype = DType::I64;
    e.index = static_cast<uint32_t>(v);
    plus(times(add(std::move(e)), a.coef[v]));
  }
  for (const Access::Term& t : a.terms) plus(times(t.index, t.stride));
  if (sum == kNoExpr || a.offset != 0) plus(constant(DType::I64, static_cast<uint64_t>(a.offset)));
  return sum;
}

Affine StageBuilder::term(ExprId index, int64_t extent, int64_t size, uint32_t faultNumber, size_t axis) {
  if (extent >= 0) {
    // What surely is in range (an index by `arange`) needs no check.
    if (auto known = affineOf(index)) {
      auto [least, largest] = bounds(*known, ranges_);
      if (least >= 0 && largest < extent) return *known;
    }
  }
  Affine a;
  // As i64 a large u64 would be negative, and count from the end.
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (stage.exprs[index].dtype == DType::U64) index = op(OpKind::Min, DType::U64, {index, constant(DType::U64, kMost)});
  a.terms.push_back({cast(index, DType::I64), 1, extent, faultNumber, size, static_cast<int64_t>(axis)});
  return a;
}

std::optional<Affine> StageBuilder::affineOf(ExprId index, int depth) const {
  constexpr int kDeepest = 4;
  constexpr int64_t kMostFactor = int64_t{1} << 20, kMost = int64_t{1} << 40;  // far from overflow
  auto isSmall = [](int64_t n, int64_t most) { return n <= most && n >= -most; };
  const Expr& e = stage.exprs[index];
  if (e.dtype != DType::I64 || depth == kDeepest) return std::nullopt;
  if (e.kind == Expr::Kind::LoopVar) return Affine::variable(e.index);
  std::optional<Affine> sum;
  if (e.kind == Expr::Kind::Constant) {
    sum = Affine::constant(static_cast<int64_t>(e.bits));
  } else if (e.kind == Expr::Kind::Op && (e.op == OpKind::Add || e.op == OpKind::Mul)) {
    auto a = affineOf(e.args[0], depth + 1), b = affineOf(e.args[1], depth + 1);
    if (!a || !b) return std::nullopt;
    if (e.op == OpKind::Add) {
      sum = a->add(*b);
    } else {
      if (!b->isConstant()) std::swap(a, b);
      if (!b->isConstant() || !isSmall(b->offset, kMostFactor)) return std::nullopt;
      sum = a->scaled(b->offset);
    }
  }
  if (!sum || !isSmall(sum->offset, kMost)) return std::nullopt;
  for (int64_t c : sum->coef)
    if (!isSmall(c, kMost)) return std::nullopt;
  return sum;
}

Access StageBuilder::access(uint32_t buffer, const Affine& position) {
  Access a;
  a.buffer = buffer;
  a.offset = position.offset;
  a.strides.resize(group_.space.varCount());
  for (size_t v = 0; v < a.strides.size(); ++v) a.strides[v] = position.coefOf(v);
  a.terms = position.terms;
  return a;
}

uint32_t StageBuilder::fault(const ir::Op& op, uint8_t kind) {
  Kernel& k = group_.kernel;
  for (uint32_t i = 0; i < k.faults.size(); ++i) {
    if (k.faults[i].index == op.loc.index && k.faultCodes[i] == kind) return i;
  }
  k.faults.push_back(op.loc);
  k.faultCodes.push_back(kind);
  return static_cast<uint32_t>(k.faults.size() - 1);
}

std::vector<Affine> StageBuilder::dims(const Index& index, std::span<const int64_t> shape) {
  if (!index.flat) return index.dims;
  auto divide = [&](const Affine& a, int64_t n, bool remainder) {
    // Positions are never negative, so truncated division is floor division.
    ExprId e = op(remainder ? OpKind::Fmod : OpKind::TruncDiv, DType::I64,
                  {affine(a), constant(DType::I64, static_cast<uint64_t>(n))});
    return term(e, -1, 0, 0, 0);
  };
  return delinearise(*index.flat, shape, ranges_, refinable ? &refinement : nullptr, divide);
}

ExprId StageBuilder::value(const ir::Value* v, const Index& index) {
  if (stopped()) return 0;
  auto& known = memo_[v];
  for (const auto& [at, e] : known) {
    if (at == index) return e;
  }
  ExprId e = compute(v, index);
  memo_[v].emplace_back(index, e);
  return e;
}

ExprId StageBuilder::compute(const ir::Value* v, const Index& index) {
  if (auto it = group_.saved.find(v); it != group_.saved.end()) {
    // A scratch row is addressed by the inner loop variables alone.
    Affine position;
    int64_t step = 1;
    size_t outer = group_.space.outer.size();
    for (size_t i = group_.space.inner.size(); i-- > 0;) {
      position.add(Affine::variable(outer + i), step);
      step *= group_.space.inner[i];
    }
    return load(it->second, position, v->type.dtype);
  }
  if (auto it = group_.scalars.find(v); it != group_.scalars.end()) {
    Expr e;
    e.kind = Expr::Kind::Scalar;
    e.dtype = v->type.dtype;
    e.index = it->second;
    return add(std::move(e));
  }
  if (auto it = group_.buffers.find(v); it != group_.buffers.end())
    return load(it->second, linearise(index, v->type.shape), v->type.dtype);
  if (!v->op) {
    fail("a value from outside the fused region");
    return 0;
  }
  if (v->type.size() == 0) return constant(v->type.dtype, 0);  // never read
  const ir::Op& o = *v->op;
  if (o.has(Trait::Elementwise)) return elementwise(o, index);
  if (auto it = group_.reductions.find(&o); it != group_.reductions.end()) {
    Expr e;
    e.kind = Expr::Kind::Reduced;
    e.dtype = v->type.dtype;
    e.index = it->second;
    return add(std::move(e));
  }
  if (&o == group_.scan) return running(o);
  if (o.has(Trait::Reduction)) return unrolled(o, index);
  switch (o.kind) {
    case OpKind::Constant: {
      const ir::Data& data = std::get<ir::Data>(*o.find("value"));
      uint64_t bits = 0;
      if (data && !data->empty()) std::memcpy(&bits, data->data(), static_cast<size_t>(ir::byteSize(v->type.dtype)));
      return constant(v->type.dtype, bits);
    }
    case OpKind::Fill: return value(o.operand(0), Index{});
    case OpKind::Iota: {
      auto at = dims(index, v->type.shape);
      return stopped() ? 0 : cast(affine(at[static_cast<size_t>(o.intAttr("axis"))]), v->type.dtype);
    }
    case OpKind::RandomUniform:
    case OpKind::RandomNormal:
    case OpKind::RandomInt: return random(o, index);
    case OpKind::Reshape: return value(o.operand(0), throughStructural(o, index));
    case OpKind::Permute:
    case OpKind::Broadcast:
    case OpKind::Slice:
    case OpKind::Flip: {
      Index at{dims(index, v->type.shape), std::nullopt};
      return stopped() ? 0 : value(o.operand(0), throughStructural(o, at));
    }
    case OpKind::Pad:
    case OpKind::Concat:
    case OpKind::UpdateSlice: return piecewise(o, index);
    case OpKind::Gather: return gather(o, index);
    case OpKind::DynamicSlice: return dynamicSlice(o, index);
    default: fail("no kernel form for " + std::string(o.info().mnemonic)); return 0;
  }
}

ExprId StageBuilder::running(const ir::Op& o) {
  Expr e;
  e.kind = Expr::Kind::Running;
  e.dtype = o.result()->type.dtype;
  e.index = group_.scanNumber;
  ExprId here = add(std::move(e));
  if (o.operandCount() == 1) return here;
  OpKind combine = ir::combinerNamed(o.stringAttr("mode"));
  ExprId start = value(o.operand(1), group_.scanStart);
  return stopped() ? 0 : op(combine, o.result()->type.dtype, {start, here});
}

ExprId StageBuilder::elementwise(const ir::Op& o, const Index& index) {
  std::vector<ExprId> args;
  for (const ir::Value* operand : o.operands()) args.push_back(value(operand, index));
  if (stopped()) return 0;
  DType t = o.result()->type.dtype;
  ExprId e = op(o.kind, t, std::move(args));
  if (o.has(Trait::CanFault) && ir::isInt(t)) {
    auto kind = o.kind == OpKind::Pow ? abi::FaultKind::NegativePower : abi::FaultKind::Division;
    uint32_t number = fault(o, static_cast<uint8_t>(kind));
    stage.exprs[e].fault = number;
  }
  return e;
}

ExprId StageBuilder::random(const ir::Op& o, const Index& index) {
  Expr e;
  e.kind = Expr::Kind::Random;
  e.op = o.kind;
  e.dtype = o.result()->type.dtype;
  e.args = {value(o.operand(0), Index{}), value(o.operand(1), Index{})};
  e.args.push_back(affine(linearise(index, o.result()->type.shape)));
  for (size_t i = 2; i < o.operandCount(); ++i) e.args.push_back(value(o.operand(i), Index{}));
  return stopped() ? 0 : add(std::move(e));
}

/// A reduction over few elements as a chain of operations: marked so by fusion.
ExprId StageBuilder::unrolled(const ir::Op& o, const Index& index) {
  if (!o.boolAttr("unrolled")) {
    fail("a reduction is used away from its row");
    return 0;
  }
  const ir::Value* operand = o.operand(0);
  const ir::Dims& shape = operand->type.shape;
  const auto& axes = o.intsAttr("axes");
  auto outside = dims(index, o.result()->type.shape);
  if (stopped()) return 0;
  bool keep = o.boolAttr("keep");
  DType result = o.result()->type.dtype;
  bool sums = o.kind == OpKind::Sum || o.kind == OpKind::Prod;
  DType accumulator = sums ? ir::accumulatorOf(result) : result;
  const std::optional<OpKind> combine = ir::combinerOf(o.kind);
  if (!combine) {
    fail("no unrolled form for reduction " + std::string(o.info().mnemonic));
    return 0;
  }
  std::vector<bool> isReduced(shape.size(), false);
  int64_t count = 1;
  for (int64_t a : axes) {
    isReduced[static_cast<size_t>(a)] = true;
    count *= shape[static_cast<size_t>(a)];
  }
  ExprId total = kNoExpr;
  for (int64_t i = 0; i < count; ++i) {
    Index at;
    at.dims.resize(shape.size());
    int64_t rest = i;
    size_t from = outside.size();
    for (size_t d = shape.size(); d-- > 0;) {
      if (isReduced[d]) {
        at.dims[d] = Affine::constant(rest % shape[d]);
        rest /= shape[d];
        if (keep) --from;
      } else {
        at.dims[d] = outside[--from];
      }
    }
    ExprId e = value(operand, at);
    if (stopped()) return 0;
    e = cast(e, accumulator);
    total = total == kNoExpr ? e : op(*combine, accumulator, {total, e});
  }
  return cast(total, result);
}

}  // namespace tenc::codegen
