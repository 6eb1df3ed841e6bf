// Cumulative operations, sorting, searching and counting.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Operands.h"
#include "frontend/habits/Idioms.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// Running results of the row's op.
ir::Value* running(BuiltinCall& k, ir::Value* x, int64_t along, bool reversed, bool without) {
  const OpKind op = k.row.op;
  const DType t = x->type.dtype;
  ir::Compose& c = k.c;
  if (op == OpKind::Add || op == OpKind::Mul) x = c.widen(x);
  bool half = ir::isFloat(t) && ir::byteSize(t) == 2;
  if (half) x = c.cast(x, DType::F32);
  ir::Value* v;
  if (op != OpKind::LogAddExp) {
    const char* mode = op == OpKind::Add ? "add" : op == OpKind::Mul ? "mul" : op == OpKind::Max ? "max" : "min";
    v = c.cumulate(mode, x, along, reversed, without);
    // The op starts from -0, which changes nothing; a sum of no elements is 0.
    if (without && op == OpKind::Add && ir::isFloat(t)) v = c.binary(OpKind::Add, v, 0.0);
    return half ? c.cast(v, t) : v;
  }
  v = c.scan(op, x, along, reversed);
  const int64_t n = x->type.shape[along];
  if (without && n > 0) {
    Dims edge = x->type.shape;
    edge[along] = 1;
    ir::Value* none = c.broadcastTo(c.extreme(x->type.dtype, false), edge);
    v = reversed ? c.concat({c.sliceAxis(v, along, 1, n - 1), none}, along)
                 : c.concat({none, c.sliceAxis(v, along, 0, n - 1)}, along);
  }
  return half ? c.cast(v, t) : v;
}

Val cumulative(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x || !k.checkRank(x, 1)) return k.lost();
  if (!k.has("axis") && x->type.rank() != 1) {
    return k.fail(Code::E0204, "`" + std::string(k.row.name) + "` needs its `axis` for a tensor of several dims");
  }
  auto axis = k.axis("axis", x->type.rank());
  auto reverse = k.flag("reverse"), exclusive = k.flag("exclusive");
  if (!axis || !reverse || !exclusive) return k.lost();
  OpKind op = k.row.op;
  if (op == OpKind::LogAddExp && !k.checkFloat(x)) return k.lost();
  ir::Compose& c = k.c;
  if (k.has("dtype")) {
    auto named = k.dtype();
    if (!named) return k.lost();
    return k.result(c.cast(running(k, c.cast(x, *named), *axis, *reverse, *exclusive), *named));
  }
  return k.result(running(k, x, *axis, *reverse, *exclusive));
}

template <bool Places>
Val sort(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto descending = k.flag("descending");
  if (!x || !descending || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis) return k.lost();
  return k.result(Places ? k.c.argsort(x, *axis, *descending) : k.c.sort(x, *axis, *descending));
}

Val topk(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto count = k.integer("k");
  auto largest = k.flag("largest");
  if (!x || !count || !largest || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis) return k.lost();
  int64_t n = x->type.shape[*axis];
  if (*count < 0 || *count > n) {
    return k.fail(Code::E0205, "`topk` of " + std::to_string(*count) + " out of " + std::to_string(n) + " elements");
  }
  auto chosen = k.c.topk(x, *count, *axis, *largest);
  return Val::ofTuple({k.result(chosen.values), k.result(chosen.places)}, k.span);
}

Val searchsorted(BuiltinCall& k) {
  auto dtype = commonDType(k.context, {k["sorted"], k["x"]}, k.span, k.row.name);
  auto right = k.flag("right");
  if (!dtype || !right) return k.lost();
  ir::Value *s = k.tensor("sorted", dtype), *x = k.tensor("x", dtype);
  if (!s || !x) return k.lost();
  if (!k.checkRank(s, 1)) return k.lost();
  const auto rows = [](const ir::Value* v) { return std::span(v->type.shape).first(v->type.shape.size() - 1); };
  if (s->type.rank() > 1 && (x->type.rank() != s->type.rank() || !std::ranges::equal(rows(s), rows(x)))) {
    return k.context.fail(Code::E0202, k["x"].span,
                          "`searchsorted` in the rows of " + ir::toString(s->type) + " looks for as many rows, not " +
                              ir::toString(x->type));
  }
  return k.result(k.c.searchSorted(s, x, *right));
}

/// The number that takes the place of the first or last value of a table; null where none is given.
ir::Value* beyond(BuiltinCall& k, std::string_view name, DType t) {
  ir::Value* v = k.tensor(name, t);
  if (v && v->type.rank() == 0) return v;
  if (v) k.context.error(Code::E0202, k[name].span, "`" + std::string(name) + "` is one number");
  return nullptr;
}

/// The line between two points of a table. As in NumPy, from the left point, or from the right one where that gives
/// NaN. At a point it goes on to the right, so that there is a derivative.
Val interp(BuiltinCall& k) {
  std::vector<Val> given{k["x"], k["xp"], k["fp"]};
  for (const char* end : {"left", "right"})
    if (k.has(end)) given.push_back(k[end]);
  const auto dtype = commonDType(k.context, given, k.span, k.row.name);
  if (!dtype) return k.lost();
  ir::Value *x = k.floats("x", dtype), *places = k.tensor("xp", dtype), *values = k.tensor("fp", dtype);
  if (!x || !places || !values) return k.lost();
  const bool table = places->type.rank() == 1 && values->type.shape == places->type.shape;
  if (!table || places->type.shape[0] == 0) {
    return k.fail(Code::E0202, "`interp` takes a table of two vectors of one length, with an element at least, not " +
                                   ir::toString(places->type) + " and " + ir::toString(values->type));
  }
  ir::Value* left = k.has("left") ? beyond(k, "left", *dtype) : nullptr;
  ir::Value* right = k.has("right") ? beyond(k, "right", *dtype) : nullptr;
  if ((k.has("left") && !left) || (k.has("right") && !right)) return k.lost();
  ir::Compose& c = k.c;
  const int64_t n = places->type.shape[0];
  const auto wide = [&](ir::Value* v) { return ir::byteSize(*dtype) == 2 ? c.cast(v, DType::F32) : v; };
  ir::Value* at = wide(x);
  const auto read = [&](ir::Value* table, ir::Value* i) { return wide(c.gather(table, {i}, {0}, 0)); };
  const auto end = [&](ir::Value* table, int64_t i) { return wide(c.squeeze(c.sliceAxis(table, 0, i, 1), 0)); };
  ir::Value* result = nullptr;
  if (n == 1) {
    result = c.where(c.unary(OpKind::IsNan, at), at, end(values, 0));
  } else {
    ir::Value* i = c.searchSorted(places, x, true);
    i = c.sub(i, c.literalInt(i, 1));
    i = c.clamp(i, c.literalInt(i, 0), c.literalInt(i, n - 2));
    ir::Value* next = c.add(i, c.literalInt(i, 1));
    ir::Value *x0 = read(places, i), *x1 = read(places, next), *y0 = read(values, i), *y1 = read(values, next);
    // The last two may be at one place, where nothing is between them.
    ir::Value* apart = c.sub(x1, x0);
    ir::Value* slope = c.div(c.sub(y1, y0), c.where(c.binary(OpKind::Eq, apart, 0.0), c.literal(apart, 1), apart));
    const auto line = [&](ir::Value* from, ir::Value* value) { return c.add(c.mul(slope, c.sub(at, from)), value); };
    ir::Value* inside = line(x0, y0);
    ir::Value* level = c.binary(OpKind::Or, c.binary(OpKind::Eq, at, x0), c.binary(OpKind::Eq, y0, y1));
    inside = c.where(c.unary(OpKind::IsNan, inside), c.where(level, y0, line(x1, y1)), inside);
    result = c.where(c.unary(OpKind::IsNan, at), at, inside);
  }
  const auto from = [&](OpKind compared, int64_t place, ir::Value* otherwise) {
    ir::Value* given = otherwise ? wide(otherwise) : end(values, place);
    result = c.where(c.binary(compared, at, end(places, place)), given, result);
  };
  from(OpKind::Lt, 0, left);
  from(OpKind::Ge, n - 1, nullptr);
  if (right) from(OpKind::Gt, n - 1, right);
  return k.result(c.cast(result, *dtype));
}

/// (value, place), without the axis unless it is kept.
Val valueAndPlace(BuiltinCall& k, ir::Value* value, ir::Value* place, int64_t axis, bool keep) {
  const auto shaped = [&](ir::Value* v) { return k.result(keep ? v : k.c.squeeze(v, axis)); };
  return Val::ofTuple({shaped(value), shaped(place)}, k.span);
}

/// Where the element is that a stable sort along an axis, of `n` elements, puts at place `nth`.
ir::Value* placeOfNth(ir::Compose& c, ir::Value* x, int64_t nth, int64_t axis, int64_t n) {
  constexpr int64_t kFew = 32, kShort = 64;
  // Of the few first ones nothing else need be in order.
  if ((nth + 1) * kFew <= n) return c.sliceAxis(c.topk(x, nth + 1, axis, false).places, axis, nth, 1);
  if (n <= kShort || x->type.dtype == DType::Bool) return c.sliceAxis(c.argsort(x, axis, false), axis, nth, 1);
  // Elements are sorted faster than places. So many of its equals come before it as are left of those before it.
  ir::Value* value = c.broadcastTo(c.sliceAxis(c.sort(x, axis, false), axis, nth, 1), x->type.shape);
  ir::Value *below = c.binary(OpKind::Lt, x, value), *equal = c.binary(OpKind::Eq, x, value);
  if (ir::isFloat(x->type.dtype)) {
    ir::Value *isNan = c.unary(OpKind::IsNan, x), *last = c.unary(OpKind::IsNan, value);
    below = c.where(last, c.unary(OpKind::Not, isNan), below);
    equal = c.binary(OpKind::Or, equal, c.binary(OpKind::And, isNan, last));
  }
  const DType count = n <= std::numeric_limits<int32_t>::max() ? DType::I32 : DType::I64;
  ir::Value* before = c.cast(c.reduce(OpKind::Sum, c.cast(below, count), {axis}, true), count);
  ir::Value* which = c.cumulate("add", c.cast(equal, count), axis, false, false);
  ir::Value* wanted = c.sub(c.fillOn(before, before->type.shape, c.literalInt(before, nth + 1)), before);
  ir::Value* found = c.binary(OpKind::And, equal, c.binary(OpKind::Eq, which, c.broadcastTo(wanted, x->type.shape)));
  return c.reduce(OpKind::ArgMax, found, {axis}, true);
}

/// The element that would be at place k - 1 of an axis, were it sorted.
Val kthValue(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto nth = k.integer("k");
  auto keep = k.flag("keep");
  if (!x || !nth || !keep || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis) return k.lost();
  const int64_t n = x->type.shape[*axis];
  if (*nth < 1 || *nth > n) {
    return k.context.fail(Code::E0205, k["k"].span,
                          "`k` of `kthvalue` counts from 1 to " + std::to_string(n) +
                              ", the elements of the axis, not " + std::to_string(*nth));
  }
  ir::Value* place = placeOfNth(k.c, x, *nth - 1, *axis, n);
  return valueAndPlace(k, k.c.takeAlong(x, place, *axis), place, *axis, *keep);
}

/// The longest run of a sorted axis.
Val mode(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto keep = k.flag("keep");
  if (!x || !keep || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis) return k.lost();
  const int64_t n = x->type.shape[*axis];
  if (n == 0) return k.fail(Code::E0202, "`mode` over an empty axis of " + ir::toString(x->type));
  ir::Compose& c = k.c;
  ir::Value* order = c.argsort(x, *axis, false);
  ir::Value* sorted = c.takeAlong(x, order, *axis);
  ir::Value* i = c.iotaOn(x, x->type.shape, DType::I64, *axis);
  Dims before = x->type.shape, none(before.size(), 0), lo = none;
  before[*axis] = n - 1;
  lo[*axis] = 1;
  ir::Value* differs = c.binary(OpKind::Ne, c.sliceAxis(sorted, *axis, 1, n - 1), c.sliceAxis(sorted, *axis, 0, n - 1));
  ir::Value* starts = c.padWith(differs, c.b.scalarInt(DType::Bool, 1), lo, none);
  ir::Value* start = c.cumulate("max", c.where(starts, i, c.literalInt(i, 0)), *axis, false, false);
  // The first of the longest runs is that of the smallest element; its last place is that of the last occurrence.
  ir::Value* best = c.reduce(OpKind::ArgMax, c.sub(i, start), {*axis}, true);
  return valueAndPlace(k, c.takeAlong(sorted, best, *axis), c.takeAlong(order, best, *axis), *axis, *keep);
}

/// Adds a weight for each place, in row-major order. A negative place is none, and stops as one beyond the last does.
ir::Value* countPlaces(BuiltinCall& k, ir::Value* places, ir::Value* weights, int64_t n) {
  ir::Compose& c = k.c;
  int64_t m = places->type.size();
  ir::Value* zero = c.fillOn(places, {n}, c.literal(weights, 0));
  return c.b.value(OpKind::Scatter, {zero, c.reshape(weights, {m}), c.reshape(places, {m})},
                   {{"axes", Dims{0}}, {"at", int64_t{0}}, {"mode", std::string("add")}, {"from_start", true}});
}

Val bincount(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto n = k.integer("length");
  if (!x || !n) return k.lost();
  if (!ir::isInt(x->type.dtype)) return k.fail(Code::E0201, "`bincount` counts integers, not " + ir::toString(x->type));
  if (*n < 0) return k.failAt("length", Code::E0208, "`length` cannot be negative");
  if (!k.has("weights"))
    return k.result(countPlaces(k, x, k.c.broadcastTo(k.c.b.scalarInt(DType::I64, 1), x->type.shape), *n));
  ir::Value* weights = k.tensor("weights");
  if (!weights) return k.lost();
  if (weights->type.shape != x->type.shape || weights->type.dtype == DType::Bool) {
    return k.context.fail(Code::E0202, k["weights"].span,
                          "the weights of `bincount` are numbers in the shape of `x`, " + ir::toString(x->type.shape) +
                              ", not " + ir::toString(weights->type));
  }
  const DType t = weights->type.dtype;
  const bool half = ir::isFloat(t) && ir::byteSize(t) == 2;
  ir::Value* sums = countPlaces(k, x, half ? k.c.cast(weights, DType::F32) : k.c.widen(weights), *n);
  return k.result(half ? k.c.cast(sums, t) : sums);
}

Val histogram(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto bins = k.integer("bins");
  if (!x || !bins) return k.lost();
  if (*bins < 1) return k.failAt("bins", Code::E0208, "`bins` must be positive");
  const Val& range = k["range"];
  if (range.elems.size() != 2) return k.failAt("range", Code::E0204, "`range` is a pair (lo, hi)");
  const auto isRunTime = [](const Val& v) { return v.is(Val::Kind::Tensor) && v.tensor->type.shape.empty(); };
  if (std::ranges::any_of(range.elems, isRunTime)) {
    auto d =
        k.context.error(Code::E0111, range.span, "`range` must be known at compile time, but this is a run-time value");
    d.help("move the values to a range that is known: `histogram((x - lo) / (hi - lo), bins: 10, range: (0.0, 1.0))`",
           movedToUnit(k.context.sources, k["x"], range));
    return d;
  }
  auto lo = k.evaluator.constFloat(range.elems[0], "`range`"), hi = k.evaluator.constFloat(range.elems[1], "`range`");
  if (!lo || !hi) return k.lost();
  if (!(*lo < *hi)) return k.failAt("range", Code::E0204, "`range` must go from a smaller to a larger number");
  const double width = (*hi - *lo) / static_cast<double>(*bins);
  if (!std::isfinite(*lo) || !std::isfinite(*hi) || !std::isfinite(width))
    return k.failAt("range", Code::E0204, "`range` must be finite");
  // As NumPy: bins are half open but for the last, what is outside is not counted, and an element beside an edge goes
  // by that edge as `linspace` gives it, rounded to the dtype of x.
  ir::Compose& c = k.c;
  const DType t = ir::isFloat(x->type.dtype) ? x->type.dtype : DType::F64;
  ir::Value* v = c.cast(x, DType::F64);
  ir::Value* inside = c.binary(OpKind::And, c.binary(OpKind::Ge, v, *lo), c.binary(OpKind::Le, v, *hi));
  ir::Value* place =
      c.cast(c.unary(OpKind::Floor, c.binary(OpKind::Div, c.binary(OpKind::Sub, v, *lo), width)), DType::I64);
  place = c.clamp(place, c.literalInt(place, 0), c.literalInt(place, *bins - 1));
  auto edge = [&](ir::Value* at) {
    ir::Value* e = c.binary(OpKind::Add, c.binary(OpKind::Mul, c.cast(at, DType::F64), width), *lo);
    e = c.where(c.binary(OpKind::Eq, at, c.literalInt(at, *bins)), c.literal(e, *hi), e);
    return c.cast(c.cast(e, t), DType::F64);
  };
  ir::Value* next = c.binary(OpKind::Add, place, c.literalInt(place, 1));
  ir::Value* below = c.cast(c.binary(OpKind::Lt, v, edge(place)), DType::I64);
  ir::Value* above = c.cast(c.binary(OpKind::Ge, v, edge(next)), DType::I64);
  place = c.add(c.sub(place, below), above);
  place = c.clamp(place, c.literalInt(place, 0), c.literalInt(place, *bins - 1));
  return k.result(countPlaces(k, place, c.cast(inside, DType::I64), *bins));
}

/// A single number as the one element of an axis, as PyTorch has it; results of one element along that are numbers
/// again.
template <BuiltinHandler Along>
Val orNumber(BuiltinCall& k) {
  const Val& x = k["x"];
  const bool single = x.isNumber() || (x.is(Val::Kind::Tensor) && x.tensor->type.rank() == 0);
  ir::Value* number = single ? k.tensor("x") : nullptr;
  if (!number) return Along(k);
  const Val row = Val::ofTensor(k.c.reshape(number, {1}), x.span);
  BoundArgs args = k.args;
  for (auto& [name, value] : args.named)
    if (name == "x") value = &row;
  BuiltinCall along{static_cast<const BuiltinTools&>(k), k.row, args, k.span, k.callee, nullptr, k.c};
  const Val result = Along(along);
  const auto back = [&](const Val& v) {
    const bool one = v.is(Val::Kind::Tensor) && v.tensor->type.shape == Dims{1};
    return one ? Val::ofTensor(k.c.reshape(v.tensor, {}), v.span) : v;
  };
  if (!result.isTree()) return result.poison() ? result : back(result);
  return mapLeaves(result, [&](const Val& leaf, const std::string&, bool) { return back(leaf); });
}

#define TENC_SCAN "(x; axis: int?, reverse: false, exclusive: false)"
#define TENC_SUMS "(x; axis: int?, reverse: false, exclusive: false, dtype: dtype?)"
constexpr BuiltinRow kRows[] = {
    {"cumsum" TENC_SUMS, "Running sum along an axis. With `dtype`, of x converted to it.", orNumber<cumulative>,
     OpKind::Add},
    {"cumprod" TENC_SUMS, "Running product along an axis. With `dtype`, of x converted to it.", orNumber<cumulative>,
     OpKind::Mul},
    {"cummax" TENC_SCAN, "Running maximum along an axis.", orNumber<cumulative>, OpKind::Max},
    {"cummin" TENC_SCAN, "Running minimum along an axis.", orNumber<cumulative>, OpKind::Min},
    {"logcumsumexp" TENC_SCAN, "Logarithm of the running sum of exponentials.", orNumber<cumulative>,
     OpKind::LogAddExp},
    {"sort(x; axis: -1, descending: false)", "Sorted along an axis; stable, NaN is the largest.",
     orNumber<sort<false>>},
    {"argsort(x; axis: -1, descending: false)", "The indices, i64, that sort x; stable.", orNumber<sort<true>>},
    {"topk(x, k: int; axis: -1, largest: true)", "(values, indices) of the k largest; ties go to the lower index.",
     orNumber<topk>},
    {"kthvalue(x, k: int; axis: -1, keep: false)", "(the k-th smallest along an axis, its index); k counts from 1.",
     orNumber<kthValue>},
    {"mode(x; axis: -1, keep: false)",
     "(the most frequent element along an axis, the index of its last occurrence); the smallest of equally frequent "
     "ones.",
     orNumber<mode>},
    {"searchsorted(sorted, x; right: false)",
     "Where x would be inserted into the sorted tensor; of several rows, each row of x in its own.", searchsorted},
    {"interp(x, xp, fp; left?, right?)",
     "The values at x of the piecewise linear function through the points (xp, fp), xp ascending. Outside of xp it is "
     "the first or last of fp, or `left` and `right`.",
     interp},
    {"bincount(x, weights?; length: int)",
     "How often each of 0, 1, ..., length - 1 occurs in x; or the sums of the weights of its occurrences.", bincount},
    {"histogram(x; bins: int, range: number)", "Counts in equal bins of the range (lo, hi), as i64.", histogram},
};
#undef TENC_SCAN
#undef TENC_SUMS

}  // namespace

std::span<const BuiltinRow> orderBuiltins() { return kRows; }

}  // namespace tenc::frontend
