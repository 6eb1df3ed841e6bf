// Derivatives of updates at run-time places, and of what puts elements in order.
#include <algorithm>

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
  return at.b.value(OpKind::Scatter, operands,
                    {{"axes", c.op.intsAttr("axes")},
                     {"at", c.op.intAttr("at")},
                     {"mode", mode},
                     {"from_start", c.op.boolAttr("from_start")}});
}

V gatherLike(const TangentCall& c, Compose& at, V from) {
  return at.gather(from, indicesOf(c), c.op.intsAttr("axes"), c.op.intAttr("at"));
}

/// The number of each update in row-major order: [updates' shape] of i64.
V orderOf(TangentCall& c) {
  const Dims& shape = c.in[1]->type.shape;
  return c.p.reshape(c.p.iotaOn(c.in[1], {Compose::sizeOf(shape)}, DType::I64, 0), shape);
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

}  // namespace

/// Of `set` only the last update of a place counts; of `max` and `min` the first that gives the result, the old value
/// before all; `mul` is a product of the old value and all updates of the place.
void scatter(TangentCall& c) {
  const std::string& mode = c.op.stringAttr("mode");
  if (mode == "add") return c.add(scatterLike(c, c.t, c.whole(0), c.whole(1), "add"));
  if (mode == "set") {
    const std::vector<V> places = indicesOf(c);
    if (std::all_of(places.begin(), places.end(), [](V i) { return i->type.shape.empty(); }))  // one place
      return c.add(scatterLike(c, c.t, c.whole(0), c.whole(1), "set"));
    V order = orderOf(c);
    V none = c.p.fillOn(c.in[0], c.in[0]->type.shape, c.p.b.scalarInt(DType::I64, -1));
    V last = scatterLike(c, c.p, none, order, "max");
    V old = c.p.binary(OpKind::Lt, last, c.p.literalInt(last, 0));
    V kept = c.dx(0) != nullptr ? c.t.where(old, c.dx(0), c.t.literal(c.dx(0), 0)) : c.zeros(0);
    if (c.dx(1) == nullptr) return c.add(kept);
    V written = c.p.binary(OpKind::Eq, gatherLike(c, c.p, last), order);
    return c.add(scatterLike(c, c.t, kept, c.t.where(written, c.dx(1), c.t.literal(c.dx(1), 0)), "add"));
  }
  V zero = c.number(0);
  if (mode == "mul") {
    // The product of the others is that of all factors that are not zero, divided by the own one if it is none of them.
    // It is 0 where another factor is zero.
    V isZero = c.p.binary(OpKind::Eq, c.x(1), zero);
    V ones = c.p.fillOn(c.in[0], c.in[0]->type.shape, c.number(1));
    V factors = scatterLike(c, c.p, ones, c.p.where(isZero, c.number(1), c.x(1)), "mul");
    V counts = c.p.fillOn(c.in[0], c.in[0]->type.shape, c.p.b.scalarInt(DType::I64, 0));
    V zeros = scatterLike(c, c.p, counts, c.p.cast(isZero, DType::I64), "add");
    V none = c.p.literalInt(zeros, 0);
    V all = c.p.where(c.p.binary(OpKind::Eq, zeros, none), factors, zero);
    V result = c.dx(0) != nullptr ? c.t.mul(all, c.dx(0)) : c.zeros(0);
    if (c.dx(1) == nullptr) return c.add(result);
    V others = gatherLike(c, c.p, c.p.mul(c.x(0), factors)), zerosHere = gatherLike(c, c.p, zeros);
    V without = c.p.div(others, c.p.where(isZero, c.number(1), c.x(1)));
    V counted = c.p.binary(OpKind::Eq, zerosHere, c.p.cast(isZero, DType::I64));
    V share = c.p.where(counted, without, zero);
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
