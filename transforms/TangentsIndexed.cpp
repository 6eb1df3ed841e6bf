// Derivatives of updates at run-time places, and of what puts elements in order.
#include <algorithm>

#include "ir/HiddenDims.h"
#include "transforms/TangentRules.h"

namespace tenc::transforms::rules {

using ir::Compose;
using ir::Dims;
using ir::DType;
using ir::OpKind;
using V = ir::Value*;

namespace {

std::vector<V> indicesOf(const TangentCall& c) { return {c.in.begin() + 2, c.in.end()}; }

/// The scatter of other updates into another tensor at the same places.
V scatterLike(const TangentCall& c, Compose& at, V into, V updates, const std::string& mode) {
  std::vector<V> operands = {into, updates};
  for (V i : indicesOf(c)) operands.push_back(i);
  V v = at.b.value(OpKind::Scatter, operands,
                   {{"axes", c.op.intsAttr("axes")},
                    {"at", c.op.intAttr("at")},
                    {"mode", mode},
                    {"from_start", c.op.boolAttr("from_start")}});
  ir::keepWritten(c.op, *v->op);
  return v;
}

V gatherLike(const TangentCall& c, Compose& at, V from) {
  return at.gather(from, indicesOf(c), c.op.intsAttr("axes"), c.op.intAttr("at"));
}

/// The number of each update in row-major order: [updates' shape] of i64.
V orderOf(TangentCall& c) {
  const Dims& shape = c.in[1]->type.shape;
  // Updates may be free numbers; what is updated has the place where all of this is.
  return c.p.reshape(c.p.iotaOn(c.in[0], {Compose::sizeOf(shape)}, DType::I64, 0), shape);
}

/// For each update whether it is the first of those that write what its place holds in the end.
V firstWriters(TangentCall& c, V writes) {
  const int64_t n = Compose::sizeOf(c.in[1]->type.shape);
  V order = orderOf(c);
  V none = c.p.fillOn(c.in[0], c.in[0]->type.shape, c.p.b.scalarInt(DType::I64, n));
  V asked = writes == nullptr ? order : c.p.where(writes, order, c.p.literalInt(order, n));
  V first = scatterLike(c, c.p, none, asked, "min");
  return c.p.binary(OpKind::Eq, gatherLike(c, c.p, first), order);
}

/// Of [n] factors in runs of equal `places`, the product of those of its run before each (1 for the first), by the
/// log-step scan of Hillis and Steele 1986. Without a division and without a choice by a factor's value, so that
/// derivatives of every order are exact where factors are zero.
V factorsBefore(TangentCall& c, V factors, V places) {
  const int64_t n = factors->type.shape[0];
  V product = factors;
  for (int64_t step = 1; step < n; step *= 2) {
    auto head = [&](V v) { return c.p.sliceAxis(v, 0, 0, n - step); };
    auto tail = [&](V v) { return c.p.sliceAxis(v, 0, step, n - step); };
    V joined = c.p.mul(tail(product), c.p.where(c.p.binary(OpKind::Eq, head(places), tail(places)), head(product),
                                                c.p.literal(factors, 1)));
    product = c.p.concat({c.p.sliceAxis(product, 0, 0, step), joined}, 0);
  }
  if (n == 0) return product;
  V same = c.p.binary(OpKind::Eq, c.p.sliceAxis(places, 0, 0, n - 1), c.p.sliceAxis(places, 0, 1, n - 1));
  V shifted = c.p.where(same, c.p.sliceAxis(product, 0, 0, n - 1), c.p.literal(factors, 1));
  return c.p.padWith(shifted, c.p.literal(factors, 1), {1}, {0});
}

/// For each update the product of the others of its place.
V otherUpdates(TangentCall& c) {
  const Dims &shape = c.in[1]->type.shape, &whole = c.in[0]->type.shape;
  const Dims flat = {Compose::sizeOf(shape)};
  V numbers = c.p.reshape(c.p.iotaOn(c.in[0], {Compose::sizeOf(whole)}, DType::I64, 0), whole);
  V places = c.p.reshape(gatherLike(c, c.p, numbers), flat);
  V order = c.p.b.value(OpKind::ArgSort, {places}, {{"descending", false}});
  auto ordered = [&](V v, V by) { return c.p.gather(v, {by}, {0}, 0); };
  V runs = ordered(places, order), factors = ordered(c.p.reshape(c.in[1], flat), order);
  V behind = c.p.flip(factorsBefore(c, c.p.flip(factors, {0}), c.p.flip(runs, {0})), {0});
  V others = c.p.mul(factorsBefore(c, factors, runs), behind);
  V back = c.p.b.value(OpKind::ArgSort, {order}, {{"descending", false}});
  return c.p.reshape(ordered(others, back), shape);
}

}  // namespace

/// Of `set` only the last update of a place counts; of `max` and `min` the first that gives the result, the old value
/// before all; `mul` is a product of the old value and all updates of the place.
void scatter(TangentCall& c) {
  const std::string& mode = c.op.stringAttr("mode");
  const std::vector<V> places = indicesOf(c);
  const bool isOnePlace = std::ranges::all_of(places, [](V i) { return i->type.shape.empty(); });
  if (mode == "add") return c.add(scatterLike(c, c.t, c.changed(0), c.whole(1), "add"));
  if (mode == "set") {
    if (isOnePlace) return c.add(scatterLike(c, c.t, c.changed(0), c.whole(1), "set"));
    V order = orderOf(c);
    V none = c.p.fillOn(c.in[0], c.in[0]->type.shape, c.p.b.scalarInt(DType::I64, -1));
    V last = scatterLike(c, c.p, none, order, "max");
    V old = c.p.binary(OpKind::Lt, last, c.p.literalInt(last, 0));
    V kept = c.dx(0) != nullptr ? c.t.where(old, c.dx(0), c.t.literal(c.dx(0), 0)) : c.zeros(0);
    if (c.dx(1) == nullptr) return c.add(kept);
    V written = c.p.binary(OpKind::Eq, gatherLike(c, c.p, last), order);
    return c.add(scatterLike(c, c.t, kept, c.t.where(written, c.dx(1), c.t.literal(c.dx(1), 0)), "add"));
  }
  if (mode == "mul") {
    V ones = c.p.fillOn(c.in[0], c.in[0]->type.shape, c.number(1));
    V all = scatterLike(c, c.p, ones, c.x(1), "mul");
    V result = c.dx(0) != nullptr ? c.t.mul(all, c.dx(0)) : c.changed(0);
    if (c.dx(1) == nullptr) return c.add(result);
    V share = gatherLike(c, c.p, c.x(0));
    if (!isOnePlace) share = c.p.mul(share, otherUpdates(c));
    return c.add(scatterLike(c, c.t, result, c.t.mul(share, c.dx(1)), "add"));
  }
  V chosen = gatherLike(c, c.p, c.y());
  V oldStays = c.p.binary(OpKind::Eq, c.x(0), c.y());
  V wins = c.p.binary(OpKind::And, c.p.binary(OpKind::Eq, c.x(1), chosen),
                      c.p.unary(OpKind::Not, gatherLike(c, c.p, oldStays)));
  V kept = c.dx(0) != nullptr ? c.t.where(oldStays, c.dx(0), c.t.literal(c.dx(0), 0)) : c.zeros(0);
  if (c.dx(1) == nullptr) return c.add(kept);
  V first = c.p.binary(OpKind::And, wins, firstWriters(c, wins));
  c.add(scatterLike(c, c.t, kept, c.t.where(first, c.dx(1), c.t.literal(c.dx(1), 0)), "add"));
}

void sort(TangentCall& c) {
  V places = c.p.b.value(OpKind::ArgSort, {c.x()}, {{"descending", c.op.boolAttr("descending")}});
  const int64_t axis = c.in[0]->type.rank() - 1;
  c.add(c.t.gather(c.dx(), c.p.alongIndices(places, axis), Compose::allAxes(c.dx()->type), 0));
}

void topK(TangentCall& c) {
  const int64_t axis = c.in[0]->type.rank() - 1;
  c.add(c.t.gather(c.dx(), c.p.alongIndices(c.y(1), axis), Compose::allAxes(c.dx()->type), 0));
}

}  // namespace tenc::transforms::rules
