// Derivatives of matrix products, convolutions and attention.
#include "ir/TargetTraits.h"
#include "transforms/TangentRules.h"

namespace tenc::transforms::rules {

using ir::Compose;
using ir::Dims;
using ir::DType;
using ir::OpKind;
using V = ir::Value*;

/// Linear in each operand: the op with either tangent in its place.
void bilinear(TangentCall& c) {
  if (c.dx(0) != nullptr) c.add(c.same(c.t, {c.dx(0), c.x(1)}));
  if (c.dx(1) != nullptr) c.add(c.same(c.t, {c.x(0), c.dx(1)}));
}

/// Scores, their softmax and the product with v, each by its own rule.
void attention(TangentCall& c) {
  const DType wide = ir::accumulatorOf(c.in[0]->type.dtype);
  auto wideP = [&](V v) { return c.p.cast(v, wide); };
  auto wideT = [&](V v) { return v != nullptr ? c.t.cast(v, wide) : v; };
  V q = wideP(c.x(0)), k = wideP(c.x(1)), v = wideP(c.x(2)), scale = wideP(c.x(3));
  V dq = wideT(c.dx(0)), dk = wideT(c.dx(1)), dv = wideT(c.dx(2)), dScale = wideT(c.dx(3));
  V mask = c.in.size() > 4 ? c.x(4) : nullptr;
  V dMask = mask != nullptr ? wideT(c.dx(4)) : nullptr;
  auto swapped = [](Compose& at, V m) { return at.swapAxes(m, m->type.rank() - 2, m->type.rank() - 1); };

  V raw = c.p.matmul(q, swapped(c.p, k));
  V scores = c.p.mul(raw, scale);
  V least = c.p.extreme(scores->type.dtype, false);
  if (c.op.boolAttr("causal")) {
    const Dims& s = scores->type.shape;
    const Dims matrix = {s[s.size() - 2], s.back()};
    V row = c.p.iotaOn(scores, matrix, DType::I64, 0), column = c.p.iotaOn(scores, matrix, DType::I64, 1);
    scores = c.p.where(c.p.binary(OpKind::Le, column, row), scores, least);
  }
  if (mask != nullptr) {
    scores = mask->type.dtype == DType::Bool ? c.p.where(mask, scores, least) : c.p.add(scores, wideP(mask));
  }
  const Dims axis = {scores->type.rank() - 1};
  V weights = c.p.b.value(OpKind::Softmax, {scores}, {{"axes", axis}});

  V dScores = nullptr;
  auto plus = [&](V part) { dScores = dScores == nullptr ? part : c.t.add(dScores, part); };
  if (dq != nullptr) plus(c.t.mul(c.t.matmul(dq, swapped(c.p, k)), scale));
  if (dk != nullptr) plus(c.t.mul(c.t.matmul(q, swapped(c.t, dk)), scale));
  if (dScale != nullptr) plus(c.t.mul(raw, dScale));
  if (dMask != nullptr) plus(c.t.broadcastTo(dMask, scores->type.shape));
  V result = nullptr;
  if (dScores != nullptr) {
    // Scores that are masked out have a weight of 0, and their tangents come to nothing with it.
    V weighted = c.t.mul(weights, dScores);
    V dWeights = c.t.sub(weighted, c.t.mul(weights, c.t.reduce(OpKind::Sum, weighted, axis, true)));
    result = c.t.matmul(dWeights, v);
  }
  if (dv != nullptr) {
    V part = c.t.matmul(weights, dv);
    result = result == nullptr ? part : c.t.add(result, part);
  }
  c.add(c.t.cast(result, c.out[0]->type.dtype));
}

}  // namespace tenc::transforms::rules
