// Attention groups: attention as one kernel, with what is made of its result.
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
  if (op.operandCount() > 4) {
    const ir::Value* mask = op.operand(4);
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

/// The result's dims are the batch dims, queries and columns of values, perhaps in another order.
void buildEpilogue(KernelBuild& g, const ir::Op& op) {
  Attention& a = g.kernel.attention;
  std::vector<int64_t> extents = a.batch;
  extents.insert(extents.end(), {a.queries, a.width});
  ir::Dims order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  if (op.hasAttr("perm")) order = op.intsAttr("perm");
  Index index;
  for (const int64_t d : order) index.dims.push_back(along(static_cast<size_t>(d), extents[static_cast<size_t>(d)]));
  StageBuilder b(g, boxOf(extents), false);
  b.refinable = false;
  a.product = b.value(op.result(), index);
  storeResults(g, b, index);
  a.epilogue = finished(b, extents);
}

}  // namespace

void buildAttention(KernelBuild& g, const ir::Op& op) {
  Kernel& k = g.kernel;
  Attention& a = k.attention;
  const ir::Dims &q = op.operand(0)->type.shape, &keys = op.operand(1)->type.shape, &v = op.operand(2)->type.shape;
  const size_t rank = q.size();
  a.operands = op.operand(0)->type.dtype;
  a.batch.assign(q.begin(), q.end() - 2);
  a.queries = q[rank - 2], a.keys = keys[rank - 2], a.depth = q[rank - 1], a.width = v[rank - 1];
  a.causal = op.boolAttr("causal");
  a.zero = op.operandCount() > 4 || a.keys == 0;
  if (!view(g, op, 0, a.q) || !view(g, op, 1, a.k) || !view(g, op, 2, a.v)) return;
  Reduction total;
  total.kind = Reduction::Kind::Sum;
  total.value = kNoExpr;
  total.accumulator = DType::F32;
  total.result = op.result()->type.dtype;
  k.reductions.push_back(total);
  g.reductions[&op] = 0;
  g.space.outer = a.batch;  // with two more variables, which each of the stages has its own extents of
  g.space.outer.insert(g.space.outer.end(), {a.queries, a.width});
  buildScores(g, op);
  buildEpilogue(g, op);
}

}  // namespace tenc::codegen
