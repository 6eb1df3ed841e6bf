// Medians and quantiles, and reductions that skip NaN.
#include <algorithm>
#include <cmath>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/builtins/BuiltinReduction.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// x with the reduced dims as one, last, and sorted along it: NaN is behind all.
struct Rows {
  ir::Value* sorted = nullptr;
  Dims outer;  ///< the dims that are not reduced
  int64_t n = 0;
  int64_t last = 0;
};

Rows sortedRows(BuiltinCall& k, const Reduced& r) {
  ir::Compose& c = k.c;
  Rows rows;
  Dims perm;
  for (int64_t i = 0; i < r.x->type.rank(); ++i) {
    if (std::find(r.axes.begin(), r.axes.end(), i) != r.axes.end()) continue;
    perm.push_back(i);
    rows.outer.push_back(r.x->type.shape[i]);
  }
  perm.insert(perm.end(), r.axes.begin(), r.axes.end());
  rows.n = ir::Compose::count(r.x->type, r.axes);
  rows.last = static_cast<int64_t>(rows.outer.size());
  Dims flat = rows.outer;
  flat.push_back(rows.n);
  rows.sorted = c.sort(c.reshape(c.permute(r.x, perm), flat), rows.last, false);
  return rows;
}

/// The shape of a reduction's result.
Dims resultDims(const Reduced& r, const Rows& rows) {
  if (!r.keep) return rows.outer;
  Dims kept = r.x->type.shape;
  for (int64_t a : r.axes) kept[a] = 1;
  return kept;
}

Val median(BuiltinCall& k) {
  auto r = reductionOperands(k);
  if (!r || !k.checkFloat(r->x)) return k.lost();
  if (r->axes.empty()) return k.result(r->x);
  ir::Compose& c = k.c;
  const Rows rows = sortedRows(k, *r);
  const int64_t n = rows.n;
  ir::Value* result = nullptr;
  if (n == 0) {
    result = c.fillOn(r->x, rows.outer, c.literal(r->x, std::nan("")));
  } else {
    auto at = [&](int64_t i) { return c.reshape(c.sliceAxis(rows.sorted, rows.last, i, 1), rows.outer); };
    DType t = r->x->type.dtype;
    auto wide = [&](ir::Value* v) { return ir::byteSize(t) == 2 ? c.cast(v, DType::F32) : v; };
    ir::Value* pair = n % 2 ? nullptr : c.add(wide(at(n / 2 - 1)), wide(at(n / 2)));
    ir::Value* middle = n % 2 ? at(n / 2) : c.cast(c.binary(OpKind::Mul, pair, 0.5), t);
    result = c.where(c.unary(OpKind::IsNan, at(n - 1)), at(n - 1), middle);  // NaN sorts last
  }
  return k.result(c.reshape(result, resultDims(*r, rows)));
}

constexpr std::string_view kMethods[] = {"linear", "lower", "higher", "midpoint", "nearest"};

/// The place of a quantile between two places: how far it is from the lower toward the upper one.
ir::Value* between(ir::Compose& c, ir::Value* place, std::string_view method) {
  ir::Value* part = c.sub(place, c.unary(OpKind::Floor, place));
  if (method == "linear") return part;
  if (method == "nearest") return c.sub(c.unary(OpKind::Round, place), c.unary(OpKind::Floor, place));
  const double inside = method == "lower" ? 0 : method == "higher" ? 1 : 0.5;
  return c.where(c.binary(OpKind::Gt, part, 0.0), c.literal(part, inside), c.literal(part, 0));
}

/// Quantiles of sorted rows: `counts` elements of each are there, or all. `q` is 1-D, of f64; the result is [q, outer].
ir::Value* quantiles(BuiltinCall& k, const Rows& rows, ir::Value* q, ir::Value* counts, std::string_view method) {
  ir::Compose& c = k.c;
  const DType t = rows.sorted->type.dtype;
  const int64_t m = q->type.size();
  Dims every = rows.outer;
  every.push_back(m);
  auto spread = [&](ir::Value* v) {  // of a number for each row
    return c.broadcastTo(c.expandDims(v, rows.last), every);
  };
  ir::Value* most = counts ? c.binary(OpKind::Sub, spread(c.cast(counts, DType::F64)), 1.0)
                           : c.fillOn(rows.sorted, every, c.literal(q, static_cast<double>(rows.n - 1)));
  ir::Value* given = c.broadcastTo(q, every);
  ir::Value* place = c.mul(given, c.binary(OpKind::Max, most, 0.0));
  ir::Value* low = c.unary(OpKind::Floor, place);
  auto at = [&](ir::Value* f) {
    ir::Value* i = c.cast(f, DType::I64);
    i = c.clamp(i, c.literalInt(i, 0), c.literalInt(i, rows.n - 1));
    return c.cast(c.takeAlong(rows.sorted, i, rows.last), ir::byteSize(t) == 2 ? DType::F32 : t);
  };
  ir::Value *from = at(low), *to = at(c.unary(OpKind::Ceil, place));
  ir::Value* part = c.cast(between(c, place, method), from->type.dtype);
  ir::Value* mixed = c.add(c.mul(from, c.sub(c.literal(part, 1), part)), c.mul(to, part));
  ir::Value* exact = c.binary(OpKind::Or, c.binary(OpKind::Eq, part, 0.0), c.binary(OpKind::Eq, from, to));
  ir::Value* v = c.where(exact, from, c.where(c.binary(OpKind::Eq, part, 1.0), to, mixed));
  // Of rows with a NaN, or of nothing but NaN, it is NaN; so it is beside the range of q.
  ir::Value* lost =
      counts
          ? c.binary(OpKind::Lt, most, 0.0)
          : spread(c.reshape(c.unary(OpKind::IsNan, c.sliceAxis(rows.sorted, rows.last, rows.n - 1, 1)), rows.outer));
  ir::Value* inside = c.binary(OpKind::And, c.binary(OpKind::Ge, given, 0.0), c.binary(OpKind::Le, given, 1.0));
  lost = c.binary(OpKind::Or, lost, c.unary(OpKind::Not, inside));
  return c.cast(c.moveAxis(c.where(lost, c.literal(v, std::nan("")), v), rows.last, 0), t);
}

/// How many elements along the axes are not NaN, as i64.
ir::Value* present(BuiltinCall& k, const Reduced& r, bool keep) {
  ir::Value* there = k.c.unary(OpKind::Not, k.c.unary(OpKind::IsNan, r.x));
  return k.c.reduce(OpKind::Sum, k.c.cast(there, DType::I64), r.axes, keep);
}

/// Quantiles known at compile time lie in 0 to 1; reports.
bool checkQuantiles(BuiltinCall& k, const Val& q) {
  if (q.is(Val::Kind::Array))
    return std::all_of(q.elems.begin(), q.elems.end(), [&](const Val& e) { return checkQuantiles(k, e); });
  const double v = q.is(Val::Kind::Int) ? static_cast<double>(q.integer) : q.is(Val::Kind::Float) ? q.real : 0;
  if (v >= 0 && v <= 1) return true;
  k.context.error(Code::E0204, q.span, "a quantile is a number from 0 to 1");
  return false;
}

template <bool SkipNan>
Val quantile(BuiltinCall& k) {
  auto r = reductionOperands(k);
  auto method = k.string("method");
  if (!r || !method || !k.checkFloat(r->x) || !checkQuantiles(k, k["q"])) return k.lost();
  ir::Value* q = k.floats("q", DType::F64);
  if (!q) return k.lost();
  if (std::ranges::find(kMethods, *method) == std::end(kMethods)) {
    return k.context.fail(Code::E0204, k["method"].span,
                          "`method` is \"linear\", \"lower\", \"higher\", \"midpoint\" or \"nearest\"");
  }
  if (q->type.rank() > 1) {
    return k.context.fail(Code::E0202, k["q"].span,
                          "`q` is a number or a tensor of one dim, not " + ir::toString(q->type));
  }
  if (ir::Compose::count(r->x->type, r->axes) == 0) {
    return k.fail(Code::E0202, "`" + std::string(k.row.name) + "` over an empty axis of " + ir::toString(r->x->type));
  }
  ir::Compose& c = k.c;
  const Rows rows = sortedRows(k, *r);
  // A number is made a tensor where x lives: what is computed of it alone is computed there too.
  ir::Value* line = q->type.rank() == 0 ? k.filledOn(r->x, {1}, c.cast(q, DType::F64), "q") : c.cast(q, DType::F64);
  ir::Value* v = quantiles(k, rows, line, SkipNan ? present(k, *r, false) : nullptr, *method);
  Dims shape = q->type.shape;
  for (const int64_t n : resultDims(*r, rows)) shape.push_back(n);
  return k.result(c.reshape(v, shape));
}

Val nanMedian(BuiltinCall& k) {
  auto r = reductionOperands(k);
  if (!r || !k.checkFloat(r->x)) return k.lost();
  ir::Compose& c = k.c;
  const Rows rows = sortedRows(k, *r);
  if (rows.n == 0) return k.result(c.fillOn(r->x, resultDims(*r, rows), c.literal(r->x, std::nan(""))));
  ir::Value* half = c.fillOn(r->x, {1}, c.b.scalar(DType::F64, 0.5));
  return k.result(c.reshape(quantiles(k, rows, half, present(k, *r, false), "linear"), resultDims(*r, rows)));
}

/// Of the elements that are not NaN; of none, a sum is 0, a product 1, and everything else NaN.
Val nanReduce(BuiltinCall& k) {
  const OpKind op = k.row.op;
  const bool mean = op == OpKind::Mean;
  auto r = reductionOperands(k);
  if (!r || (mean && !k.checkFloat(r->x))) return k.lost();
  if (!ir::isFloat(r->x->type.dtype)) return reduction(k);  // which have no NaN
  ir::Compose& c = k.c;
  const double neutral = op == OpKind::Prod        ? 1
                         : op == OpKind::ReduceMax ? -INFINITY
                         : op == OpKind::ReduceMin ? INFINITY
                                                   : 0;
  ir::Value* nan = c.unary(OpKind::IsNan, r->x);
  ir::Value* count = present(k, *r, r->keep);
  const DType t = r->x->type.dtype;
  ir::Value* x = mean && ir::byteSize(t) == 2 ? c.cast(r->x, DType::F32) : r->x;
  ir::Value* v = c.reduce(mean ? OpKind::Sum : op, c.where(nan, c.literal(x, neutral), x), r->axes, r->keep);
  if (mean) v = c.cast(c.div(v, c.cast(count, x->type.dtype)), t);
  if (op == OpKind::ReduceMax || op == OpKind::ReduceMin)
    v = c.where(c.binary(OpKind::Eq, count, c.literalInt(count, 0)), c.literal(v, std::nan("")), v);
  return k.result(v);
}

/// Of the elements that are not NaN, as `variance` and `std` are.
template <bool Root>
Val nanSpread(BuiltinCall& k) {
  auto r = reductionOperands(k);
  auto correction = k.real("correction");
  if (!r || !correction || !k.checkFloat(r->x)) return k.lost();
  ir::Compose& c = k.c;
  const DType t = r->x->type.dtype;
  ir::Value* x = ir::byteSize(t) == 2 ? c.cast(r->x, DType::F32) : r->x;
  ir::Value* there = c.unary(OpKind::Not, c.unary(OpKind::IsNan, x));
  // A NaN is masked before anything is computed of it, so that no gradient meets it.
  auto masked = [&](ir::Value* v) { return c.where(there, v, c.literal(v, 0)); };
  x = masked(x);
  ir::Value* mean = c.div(c.reduce(OpKind::Sum, x, r->axes, true), c.cast(present(k, *r, true), x->type.dtype));
  ir::Value* squares = c.unary(OpKind::Square, masked(c.sub(x, mean)));
  ir::Value* count = c.cast(present(k, *r, r->keep), x->type.dtype);
  ir::Value* free = c.binary(OpKind::Max, c.binary(OpKind::Sub, count, *correction), 0.0);
  ir::Value* v = c.div(c.reduce(OpKind::Sum, squares, r->axes, r->keep), free);
  // Without a degree of freedom left it is NaN, where the sum of squares is rounded to more than 0 too.
  v = c.where(c.binary(OpKind::Gt, free, 0.0), v, c.literal(v, std::nan("")));
  return k.result(c.cast(Root ? c.length(v) : v, t));
}

constexpr BuiltinRow kRows[] = {
    {"median(x; axis: ints?, keep: false)", "Middle value, or the mean of the middle two.", median},
    {"quantile(x, q; axis: ints?, keep: false, method: \"linear\")",
     "The value below which a share q of the elements lies; between two by `method`: \"linear\", \"lower\", "
     "\"higher\", "
     "\"midpoint\" or \"nearest\". Several q are the first dim; NaN is passed on, and is what a q that is computed and "
     "not "
     "from 0 to 1 gives.",
     quantile<false>},
    {"nansum(x; axis: ints?, keep: false)", "Sum of the elements that are not NaN.", nanReduce, OpKind::Sum},
    {"nanprod(x; axis: ints?, keep: false)", "Product of the elements that are not NaN.", nanReduce, OpKind::Prod},
    {"nanmean(x; axis: ints?, keep: false)", "Mean of the elements that are not NaN; NaN of none.", nanReduce,
     OpKind::Mean},
    {"nanmax(x; axis: ints?, keep: false)", "The largest of the elements that are not NaN; NaN of none.", nanReduce,
     OpKind::ReduceMax},
    {"nanmin(x; axis: ints?, keep: false)", "The smallest of the elements that are not NaN; NaN of none.", nanReduce,
     OpKind::ReduceMin},
    {"nanstd(x; axis: ints?, keep: false, correction: number = 0)",
     "Standard deviation of the elements that are not NaN.", nanSpread<true>},
    {"nanvariance(x; axis: ints?, keep: false, correction: number = 0)", "Variance of the elements that are not NaN.",
     nanSpread<false>},
    {"nanmedian(x; axis: ints?, keep: false)", "Median of the elements that are not NaN.", nanMedian},
    {"nanquantile(x, q; axis: ints?, keep: false, method: \"linear\")", "`quantile` of the elements that are not NaN.",
     quantile<true>},
};

}  // namespace

std::span<const BuiltinRow> quantileBuiltins() { return kRows; }

}  // namespace tenc::frontend
