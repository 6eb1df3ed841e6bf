#include <cstring>

#include "codegen/KernelBuilder.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

using ir::DType;
using ir::OpKind;
using ir::Trait;

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

std::optional<ExprId> StageBuilder::available(const ir::Value* v, const Index& index) {
  if (auto it = build_.saved.find(v); it != build_.saved.end()) {
    // A scratch row is addressed by the inner loop variables alone.
    Affine position;
    int64_t step = 1;
    size_t outer = build_.space.outer.size();
    for (size_t i = build_.space.inner.size(); i-- > 0;) {
      position.add(Affine::variable(outer + i), step);
      step *= build_.space.inner[i];
    }
    return load(it->second, position, v->type.dtype);
  }
  if (auto it = build_.scalars.find(v); it != build_.scalars.end()) {
    Expr e;
    e.kind = Expr::Kind::Scalar;
    e.dtype = v->type.dtype;
    e.index = it->second;
    return add(std::move(e));
  }
  if (auto it = build_.buffers.find(v); it != build_.buffers.end())
    return load(it->second, linearise(index, v->type.shape), v->type.dtype);
  if (auto it = build_.reductions.find(v->op); it != build_.reductions.end() && v->type.size() != 0) {
    Expr e;
    e.kind = Expr::Kind::Reduced;
    e.dtype = v->type.dtype;
    e.index = it->second;
    return add(std::move(e));
  }
  return std::nullopt;
}

ExprId StageBuilder::compute(const ir::Value* v, const Index& index) {
  if (const std::optional<ExprId> there = available(v, index)) return *there;
  if (!v->op) {
    fail("a value from outside the fused region");
    return 0;
  }
  if (v->type.size() == 0) return constant(v->type.dtype, 0);  // never read
  const ir::Op& o = *v->op;
  if (o.has(Trait::Elementwise)) return elementwise(o, index);
  if (&o == build_.scan) return running(o);
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
    default: fail("no kernel form for " + std::string(o.info().mnemonic) + madeBy(o)); return 0;
  }
}

ExprId StageBuilder::running(const ir::Op& o) {
  Expr e;
  e.kind = Expr::Kind::Running;
  e.dtype = o.result()->type.dtype;
  e.index = build_.scanNumber;
  ExprId here = add(std::move(e));
  if (o.operandCount() == 1) return here;
  OpKind combine = ir::combinerNamed(o.stringAttr("mode"));
  ExprId start = value(o.operand(1), build_.scanStart);
  return stopped() ? 0 : op(combine, o.result()->type.dtype, {start, here});
}

bool StageBuilder::isLoaded(const ir::Value* v) const {
  while (v->op && v->op->operandCount() == 1 && v->op->has(Trait::Structural)) v = v->op->operand(0);
  return build_.buffers.contains(v);
}

ExprId StageBuilder::elementwise(const ir::Op& o, const Index& index) {
  std::vector<ExprId> args(o.operandCount());
  // Computed before loaded, so that a chain which goes on in the second operand has no load waiting for its end.
  if (args.size() == 2 && isLoaded(o.operand(0))) args[1] = value(o.operand(1), index);
  for (size_t i = 0; i < args.size(); ++i) args[i] = value(o.operand(i), index);
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
    fail("no unrolled form for reduction " + std::string(o.info().mnemonic) + madeBy(o));
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
