// Derivatives of reductions, scans and of what is made of them.
#include <algorithm>

#include "ir/TargetTraits.h"
#include "transforms/TangentRules.h"

namespace tenc::transforms::rules {

using ir::Compose;
using ir::Dims;
using ir::DType;
using ir::OpKind;
using V = ir::Value*;

namespace {

/// Reductions along several axes as one along the last: the axes are moved behind the others and joined.
struct Rows {
  Dims perm, kept;  ///< kept: the shape without the axes
  int64_t length = 1;

  Rows(const ir::Type& t, const Dims& axes) {
    for (int64_t d = 0; d < t.rank(); ++d) {
      if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
      perm.push_back(d);
      kept.push_back(t.shape[static_cast<size_t>(d)]);
    }
    perm.insert(perm.end(), axes.begin(), axes.end());
    for (int64_t a : axes) length *= t.shape[static_cast<size_t>(a)];
  }
  V of(Compose& c, V x) const {
    Dims shape = kept;
    shape.push_back(length);
    return c.reshape(c.permute(x, perm), shape);
  }
  int64_t last() const { return static_cast<int64_t>(kept.size()); }
};

Dims sorted(Dims axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// A result of a reduction over `axes` spread over them again: [rows] as [rows, 1] where the axes were dropped.
V alongAxes(Compose& c, V reduced, const TangentCall& call) {
  Dims shape = call.in[0]->type.shape;
  for (int64_t a : call.op.intsAttr("axes")) shape[static_cast<size_t>(a)] = 1;
  return c.reshape(reduced, shape);
}

/// The sum over the op's axes, in the op's form of the result.
V sumLike(TangentCall& c, V x) {
  return c.t.reshape(c.t.reduce(OpKind::Sum, x, c.op.intsAttr("axes"), true), c.out[0]->type.shape);
}

/// Runs a rule of one operand and one result in the dtype that the op is computed in, and rounds its result once.
template <class F>
void inComputeType(TangentCall& c, F rule) {
  const DType t = c.in[0]->type.dtype, wide = ir::accumulatorOf(t);
  c.add(c.t.cast(rule(c.p.cast(c.x(), wide), c.p.cast(c.y(), wide), c.t.cast(c.dx(), wide)), t));
}

/// Whether the element is the first of its row that equals the row's extremum: [rows, n] of bools.
V firstChosen(TangentCall& c, const Rows& rows, bool largest) {
  V x = rows.of(c.p, c.x());
  V place = c.p.reduce(largest ? OpKind::ArgMax : OpKind::ArgMin, x, {rows.last()}, true);
  return c.p.binary(OpKind::Eq, c.p.iotaOn(x, x->type.shape, DType::I64, rows.last()), place);
}

}  // namespace

/// The product of the others for each element, so that zeros are exact.
void prod(TangentCall& c) {
  const Rows rows(c.in[0]->type, sorted(c.op.intsAttr("axes")));
  V x = rows.of(c.p, c.x());
  V before = c.p.cumulate("mul", x, rows.last(), false, true), behind = c.p.cumulate("mul", x, rows.last(), true, true);
  V sum = c.t.reduce(OpKind::Sum, c.t.mul(c.p.mul(before, behind), rows.of(c.t, c.dx())), {rows.last()}, false);
  c.add(c.t.reshape(sum, c.out[0]->type.shape));
}

/// The tangent of the first of the largest (or smallest).
void extremum(TangentCall& c) {
  const Rows rows(c.in[0]->type, sorted(c.op.intsAttr("axes")));
  V chosen = firstChosen(c, rows, c.op.kind == OpKind::ReduceMax);
  V part = c.t.where(chosen, rows.of(c.t, c.dx()), c.t.literal(c.dx(), 0));
  c.add(c.t.reshape(c.t.reduce(OpKind::Sum, part, {rows.last()}, false), c.out[0]->type.shape));
}

/// Running products and their tangents are running products of dual numbers (p, s): (p q, s q + p r), by the log-step
/// scan of Hillis and Steele 1986; no division, so zeros are exact. Running extrema take the tangent of the first
/// element that reached them.
void cumulate(TangentCall& c) {
  const std::string& mode = c.op.stringAttr("mode");
  const int64_t axis = c.op.intsAttr("axes")[0];
  const bool reverse = c.op.boolAttr("reverse"), exclusive = c.op.boolAttr("exclusive");
  if (mode == "add") return c.add(c.same(c.t, {c.dx()}));
  const int64_t n = c.in[0]->type.shape[static_cast<size_t>(axis)];
  if (n == 0) return;
  // Forward in both cases; exclusive ones are shifted at the end.
  V x = reverse ? c.p.flip(c.x(), {axis}) : c.x(), dx = reverse ? c.t.flip(c.dx(), {axis}) : c.dx();
  V result = nullptr;
  if (mode == "mul") {
    V s = dx;
    for (int64_t step = 1; step < n; step *= 2) {
      auto head = [&](Compose& at, V v) { return at.sliceAxis(v, axis, 0, n - step); };
      auto tail = [&](Compose& at, V v) { return at.sliceAxis(v, axis, step, n - step); };
      V joined = c.t.add(c.t.mul(tail(c.p, x), head(c.t, s)), c.t.mul(head(c.p, x), tail(c.t, s)));
      s = c.t.concat({c.t.sliceAxis(s, axis, 0, step), joined}, axis);
      x = c.p.concat({c.p.sliceAxis(x, axis, 0, step), c.p.mul(head(c.p, x), tail(c.p, x))}, axis);
    }
    result = s;
  } else {
    // Where an element exceeds all before it, its place is taken; the running maximum of places is the last such.
    V before = c.p.cumulate(mode, x, axis, false, true);
    V exceeds = c.p.binary(mode == "max" ? OpKind::Gt : OpKind::Lt, x, before);
    V places = c.p.iotaOn(x, x->type.shape, DType::I64, axis);
    V firstNan = c.p.binary(OpKind::Gt, c.p.unary(OpKind::IsNan, x), c.p.unary(OpKind::IsNan, before));
    V taken = c.p.where(c.p.binary(OpKind::Or, exceeds, firstNan), places, c.p.literalInt(places, 0));
    V last = c.p.cumulate("max", taken, axis, false, false);
    result = c.t.gather(dx, c.p.alongIndices(last, axis), Compose::allAxes(dx->type), 0);
  }
  if (exclusive) {
    Dims lo(c.in[0]->type.shape.size(), 0), hi = lo;
    lo[static_cast<size_t>(axis)] = 1;
    result = c.t.padWith(c.t.sliceAxis(result, axis, 0, n - 1), c.t.literal(result, 0), lo, hi);
  }
  c.add(reverse ? c.t.flip(result, {axis}) : result);
}

/// y (dx - sum(y dx)).
void softmax(TangentCall& c) {
  inComputeType(c, [&](V, V y, V dx) {
    V weighted = c.t.mul(y, dx);
    V sum = c.t.reduce(OpKind::Sum, weighted, c.op.intsAttr("axes"), true);
    return c.t.sub(weighted, c.t.mul(y, sum));
  });
}

/// dx - sum(exp(y) dx).
void logSoftmax(TangentCall& c) {
  inComputeType(c, [&](V, V y, V dx) {
    V sum = c.t.reduce(OpKind::Sum, c.t.mul(c.p.unary(OpKind::Exp, y), dx), c.op.intsAttr("axes"), true);
    return c.t.sub(dx, sum);
  });
}

/// sum(softmax(x) dx); 0 at elements of -inf.
void logSumExp(TangentCall& c) {
  inComputeType(c, [&](V x, V y, V dx) {
    V shifted = c.p.sub(x, alongAxes(c.p, y, c));
    V none = c.p.binary(OpKind::Eq, x, c.p.extreme(x->type.dtype, false));
    V share = c.p.where(none, c.p.literal(x, 0), c.p.unary(OpKind::Exp, shifted));
    return sumLike(c, c.t.mul(share, dx));
  });
}

/// (dx - mean(dx) - y mean(y dx)) / sqrt(variance + eps) (Ba, Kiros, Hinton 2016).
void layerNorm(TangentCall& c) {
  const Dims& axes = c.op.intsAttr("axes");
  inComputeType(c, [&](V x, V y, V dx) {
    V variance = c.p.reduce(OpKind::Variance, x, axes, true);
    V scale = c.p.unary(OpKind::Rsqrt, c.p.add(variance, c.p.literal(x, c.op.floatAttr("eps"))));
    auto mean = [&](V v) { return c.t.reduce(OpKind::Mean, v, axes, true); };
    return c.t.mul(scale, c.t.sub(c.t.sub(dx, mean(dx)), c.t.mul(y, mean(c.t.mul(y, dx)))));
  });
}

/// 2 / (n - correction) sum((x - mean) dx); the mean's own tangent adds nothing, as deviations sum to 0.
void variance(TangentCall& c) {
  const Dims& axes = c.op.intsAttr("axes");
  const double n = static_cast<double>(Compose::count(c.in[0]->type, axes)) - c.op.floatAttr("correction");
  inComputeType(c, [&](V x, V, V dx) {
    V centred = c.p.sub(x, c.p.reduce(OpKind::Mean, x, axes, true));
    return sumLike(c, c.t.mul(c.p.mul(centred, c.p.literal(x, 2 / n)), dx));
  });
}

}  // namespace tenc::transforms::rules
