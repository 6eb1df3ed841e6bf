// Attention groups: attention as one kernel, with what is made of its result; its gradient.
#include <numeric>

#include "codegen/KernelBuilder.h"
#include "ir/Views.h"

namespace tenc::codegen {
namespace {

using ir::DType;
using ir::OpKind;

/// Operand `operand`, a strided view of a region argument; its batch dims are those of the scores.
bool view(KernelBuild& g, const ir::Op& op, size_t operand, MatrixView& to) {
  const auto found = ir::stridedView(op.operand(operand), [&](const ir::Value* x) { return g.buffers.contains(x); });
  if (!found) {
    g.kernel.error = "an operand of attention is no view of a buffer";
    return false;
  }
  const size_t rank = found->strides.size();
  to.buffer = g.buffers.at(found->base);
  to.offset = found->offset;
  to.batch.assign(found->strides.begin(), found->strides.end() - 2);
  to.row = found->strides[rank - 2];
  to.col = found->strides[rank - 1];
  return true;
}

std::vector<VarRange> boxOf(const std::vector<int64_t>& extents) {
  std::vector<VarRange> box;
  for (int64_t n : extents) box.push_back({0, n, n});
  return box;
}

Affine along(size_t variable, int64_t extent) { return extent == 1 ? Affine{} : Affine::variable(variable); }

Stage finished(StageBuilder& b, const std::vector<int64_t>& extents) {
  b.stage.outerLo.assign(extents.size(), 0);
  b.stage.outerHi = extents;
  return std::move(b.stage);
}

const ir::Value* maskOf(const ir::Op& op) {
  const size_t at = op.kind == OpKind::AttentionGrad ? 7 : 4;
  return op.operandCount() > at ? op.operand(at) : nullptr;
}

/// What the product of a query and a key is made into: scaled, and masked.
void buildScores(KernelBuild& g, const ir::Op& op) {
  Attention& a = g.kernel.attention;
  std::vector<int64_t> extents = a.batch;
  extents.insert(extents.end(), {a.queries, a.keys});
  StageBuilder b(g, boxOf(extents), false);
  b.refinable = false;
  Expr raw;
  raw.kind = Expr::Kind::Reduced;
  raw.dtype = DType::F32;
  ExprId s =
      b.op(OpKind::Mul, DType::F32, {b.add(std::move(raw)), b.cast(b.value(op.operand(3), Index{}), DType::F32)});
  if (const ir::Value* mask = maskOf(op)) {
    Index at;
    for (size_t d = 0; d < extents.size(); ++d) at.dims.push_back(along(d, mask->type.shape[d]));
    const ExprId m = b.value(mask, at);
    if (mask->type.dtype == DType::Bool) {
      constexpr uint64_t kMinusInfinity = 0xff800000;
      s = b.op(OpKind::Where, DType::F32, {m, s, b.constant(DType::F32, kMinusInfinity)});
    } else {
      s = b.op(OpKind::Add, DType::F32, {s, b.cast(m, DType::F32)});
    }
  }
  a.score = s;
  a.scores = finished(b, extents);
}

/// Where the numbers of rows lie, [..., rows].
MatrixView rowsOf(uint32_t buffer, int64_t offset, const std::vector<int64_t>& strides) {
  MatrixView to;
  to.buffer = buffer;
  to.offset = offset;
  to.batch.assign(strides.begin(), strides.end() - 1);
  to.row = strides.back();
  return to;
}

/// The buffer of a result that the group yields.
std::optional<uint32_t> bufferOf(const KernelBuild& g, const ir::Value* result) {
  const ir::Op* yield = g.fused.regions[0]->terminator();
  for (uint32_t i = 0; i < g.kernel.buffers.size(); ++i) {
    const int32_t r = g.kernel.bufferResult[i];
    if (r >= 0 && yield->operand(static_cast<size_t>(r)) == result) return i;
  }
  return std::nullopt;
}

/// Where a result lies whose dims are the batch dims, rows and columns, perhaps in another order.
Index placeOf(const ir::Op& op, const std::vector<int64_t>& extents) {
  ir::Dims order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  if (op.hasAttr("perm")) order = op.intsAttr("perm");
  Index index;
  for (const int64_t d : order) index.dims.push_back(along(static_cast<size_t>(d), extents[static_cast<size_t>(d)]));
  return index;
}

std::vector<int64_t> pointsOf(const Attention& a, int64_t rows, int64_t columns) {
  std::vector<int64_t> extents = a.batch;
  extents.insert(extents.end(), {rows, columns});
  return extents;
}

void buildEpilogue(KernelBuild& g, const ir::Op& op) {
  Attention& a = g.kernel.attention;
  const std::vector<int64_t> extents = pointsOf(a, a.queries, a.width);
  const Index index = placeOf(op, extents);
  StageBuilder b(g, boxOf(extents), false);
  b.refinable = false;
  a.product = b.value(op.result(), index);
  storeResults(g, b, index);
  a.epilogue = finished(b, extents);
}

/// A result as it is, with nothing made of it; whether it is wanted.
bool buildStore(KernelBuild& g, const ir::Value* result, const std::vector<int64_t>& extents, Stage& stage,
                ExprId& product) {
  const auto buffer = bufferOf(g, result);
  if (!buffer) return false;
  StageBuilder b(g, boxOf(extents), false);
  Expr e;
  e.kind = Expr::Kind::Reduced;
  e.dtype = result->type.dtype;
  product = b.add(std::move(e));
  b.stage.stores.push_back({b.access(*buffer, linearise(placeOf(*result->op, extents), result->type.shape)), product});
  stage = finished(b, extents);
  return true;
}

/// What all forms have: operands, scores, the dtype of results.
bool buildOperands(KernelBuild& g, const ir::Op& op) {
  Kernel& k = g.kernel;
  Attention& a = k.attention;
  const ir::Dims &q = op.operand(0)->type.shape, &keys = op.operand(1)->type.shape, &v = op.operand(2)->type.shape;
  const size_t rank = q.size();
  a.operands = op.operand(0)->type.dtype;
  a.batch.assign(q.begin(), q.end() - 2);
  a.queries = q[rank - 2], a.keys = keys[rank - 2], a.depth = q[rank - 1], a.width = v[rank - 1];
  a.causal = op.boolAttr("causal");
  a.zero = maskOf(op) != nullptr || a.keys == 0;
  if (!view(g, op, 0, a.q) || !view(g, op, 1, a.k) || !view(g, op, 2, a.v)) return false;
  Reduction total;
  total.kind = Reduction::Kind::Sum;
  total.value = kNoExpr;
  total.accumulator = DType::F32;
  total.result = op.result()->type.dtype;
  k.reductions.push_back(total);
  g.reductions[&op] = 0;
  g.space.outer = pointsOf(a, a.queries, a.width);  // of the last two each stage has its own extents
  buildScores(g, op);
  return true;
}

/// [..., rows] of an operand.
bool rowView(KernelBuild& g, const ir::Op& op, size_t operand, MatrixView& to) {
  const auto found = ir::stridedView(op.operand(operand), [&](const ir::Value* x) { return g.buffers.contains(x); });
  if (!found) {
    g.kernel.error = "an operand of attention is no view of a buffer";
    return false;
  }
  to = rowsOf(g.buffers.at(found->base), found->offset, found->strides);
  return true;
}

}  // namespace

void buildAttention(KernelBuild& g, const ir::Op& op) {
  if (!buildOperands(g, op)) return;
  if (op.kind == OpKind::Attention) return buildEpilogue(g, op);
  Attention& a = g.kernel.attention;
  buildStore(g, op.result(0), pointsOf(a, a.queries, a.width), a.epilogue, a.product);
  if (const auto buffer = bufferOf(g, op.result(1)))
    a.totals = rowsOf(*buffer, 0, ir::denseStrides(op.result(1)->type.shape));
}

void buildAttentionGradient(KernelBuild& g, const ir::Op& op) {
  if (!buildOperands(g, op)) return;
  const Attention& a = g.kernel.attention;
  AttentionGradient& to = g.kernel.gradient;
  if (!view(g, op, 4, to.cotangent) || !rowView(g, op, 5, to.totals) || !rowView(g, op, 6, to.deltas)) return;
  StageBuilder b(g, boxOf(a.batch), false);
  to.slope = b.cast(b.value(op.operand(3), Index{}), DType::F32);
  to.slopes = finished(b, a.batch);
  to.q.wanted = buildStore(g, op.result(0), pointsOf(a, a.queries, a.depth), to.q.epilogue, to.q.product);
  to.k.wanted = buildStore(g, op.result(1), pointsOf(a, a.keys, a.depth), to.k.epilogue, to.k.product);
  to.v.wanted = buildStore(g, op.result(2), pointsOf(a, a.keys, a.width), to.v.epilogue, to.v.product);
}

}  // namespace tenc::codegen
