// The expressions of a stage: operations, memory accesses, indices as affine functions of loop variables.
#include <algorithm>
#include <limits>

#include "codegen/IndexRanges.h"
#include "codegen/KernelBuilder.h"

namespace tenc::codegen {

using ir::DType;
using ir::OpKind;
using ir::Trait;

void ExprGraph::fail(std::string why) {
  if (build_.kernel.error.empty()) build_.kernel.error = std::move(why);
}

ExprId ExprGraph::add(Expr e) {
  stage.exprs.push_back(std::move(e));
  return static_cast<ExprId>(stage.exprs.size() - 1);
}

ExprId ExprGraph::load(uint32_t buffer, const Affine& position, DType t) {
  Expr e;
  e.kind = Expr::Kind::Load;
  e.dtype = t;
  e.access = access(buffer, position);
  return add(std::move(e));
}

ExprId ExprGraph::constant(DType t, uint64_t bits) {
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

ExprId ExprGraph::op(OpKind kind, DType t, std::vector<ExprId> args) {
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

ExprId ExprGraph::cast(ExprId e, DType to) { return stage.exprs[e].dtype == to ? e : op(OpKind::Cast, to, {e}); }

ExprId ExprGraph::affine(const Affine& a) {
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

namespace {

/// What an integer expression can be, as far as that follows from literals, dtypes and the last ops that make it.
Range rangeOf(const Stage& stage, ExprId id, int depth = 0) {
  constexpr int kDeepest = 4;
  const Expr& e = stage.exprs[id];
  if (!ir::isInt(e.dtype) || e.dtype == DType::U64) return ofDtype(DType::U64);
  if (e.kind == Expr::Kind::Constant && e.dtype == DType::I64)
    return {static_cast<int64_t>(e.bits), static_cast<int64_t>(e.bits)};
  const Range all = ofDtype(e.dtype);
  if (e.kind != Expr::Kind::Op || depth == kDeepest) return all;
  const auto operand = [&](size_t i) { return rangeOf(stage, e.args[i], depth + 1); };
  switch (e.op) {
    case OpKind::Cast: {
      const Range from = operand(0);
      return from.least >= all.least && from.most <= all.most ? from : all;
    }
    case OpKind::Mod: {
      const Range divisor = operand(1);
      return divisor.least > 0 ? Range{0, divisor.most - 1} : all;
    }
    case OpKind::BitAnd: {
      const Range a = operand(0), b = operand(1);
      if (a.least < 0 && b.least < 0) return all;
      return {0, a.least < 0 ? b.most : b.least < 0 ? a.most : std::min(a.most, b.most)};
    }
    case OpKind::Min: {
      const Range a = operand(0), b = operand(1);
      return {std::min(a.least, b.least), std::min(a.most, b.most)};
    }
    case OpKind::Max: {
      const Range a = operand(0), b = operand(1);
      return {std::max(a.least, b.least), std::max(a.most, b.most)};
    }
    default: return all;
  }
}

}  // namespace

Affine ExprGraph::term(ExprId index, int64_t extent, int64_t size, uint32_t faultNumber, size_t axis) {
  if (extent >= 0) {
    // What surely is in range needs no check: an index by `arange`, a remainder, a byte into 256 elements.
    if (auto known = affineOf(index)) {
      auto [least, largest] = bounds(*known, ranges_);
      if (least >= 0 && largest < extent) return *known;
    }
    const Range range = rangeOf(stage, index);
    if (range.least >= 0 && range.most < extent) extent = -1;
  }
  Affine a;
  // As i64 a large u64 would be negative, and count from the end.
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (stage.exprs[index].dtype == DType::U64) index = op(OpKind::Min, DType::U64, {index, constant(DType::U64, kMost)});
  a.terms.push_back({cast(index, DType::I64), 1, extent, faultNumber, size, static_cast<int64_t>(axis)});
  return a;
}

std::optional<Affine> ExprGraph::affineOf(ExprId index, int depth) const {
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

Access ExprGraph::access(uint32_t buffer, const Affine& position) {
  Access a;
  a.buffer = buffer;
  a.offset = position.offset;
  a.strides.resize(build_.space.varCount());
  for (size_t v = 0; v < a.strides.size(); ++v) a.strides[v] = position.coefOf(v);
  a.terms = position.terms;
  return a;
}

uint32_t ExprGraph::fault(const ir::Op& op, uint8_t kind) {
  Kernel& k = build_.kernel;
  for (uint32_t i = 0; i < k.faults.size(); ++i) {
    if (k.faults[i].index == op.loc.index && k.faultCodes[i] == kind) return i;
  }
  k.faults.push_back(op.loc);
  k.faultCodes.push_back(kind);
  return static_cast<uint32_t>(k.faults.size() - 1);
}

}  // namespace tenc::codegen
