// Pooling and windows over (batch, channels, spatial dims...).
#include <algorithm>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/builtins/BuiltinWindows.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

using Windows = ir::Compose::Windows;

constexpr int64_t kFewParts = 64;  ///< of adaptive pooling, that are ops of their own
constexpr int64_t kMostParts = 1 << 24;

/// The window of a pooling op: an int means all dims after the first two.
std::optional<Dims> poolWindow(BuiltinCall& k, const ir::Value* x) {
  auto window = k.evaluator.constInts(k["window"], "`window`");
  if (!window) return std::nullopt;
  if (k["window"].is(Val::Kind::Int)) {
    if (!k.checkRank(x, 3)) return std::nullopt;
    window->assign(x->type.shape.size() - 2, (*window)[0]);
  }
  if (!k.checkRank(x, static_cast<int64_t>(window->size()))) return std::nullopt;
  return window;
}

/// ceil_mode: a last window that starts inside the input or its left padding may reach beyond the right padding.
Dims ceilExtra(const ir::Type& x, const Windows& w) {
  Dims extra(w.size.size(), 0);
  for (size_t i = 0; i < extra.size(); ++i) {
    int64_t n = x.shape[x.shape.size() - extra.size() + i], reach = w.dilation[i] * (w.size[i] - 1) + 1;
    int64_t rest = n + w.lo[i] + w.hi[i] - reach;
    int64_t count = (rest + w.stride[i] - 1) / w.stride[i] + 1;
    if ((count - 1) * w.stride[i] >= n + w.lo[i]) --count;
    extra[i] = std::max<int64_t>(0, (count - 1) * w.stride[i] + reach - (n + w.lo[i] + w.hi[i]));
  }
  return extra;
}

/// Where an argument is written; the call where it was left out.
Span written(BuiltinCall& k, std::string_view name) {
  const Span given = k.value(name).span;
  return given.valid() ? given : k.span;
}

/// What a pooling op is given, and its windows.
struct Pooled {
  ir::Value* x = nullptr;
  Windows w;
  Dims extra;    ///< what `ceil_mode` adds behind the padding
  Windows wide;  ///< `w` with it
};

std::optional<Pooled> pooled(BuiltinCall& k, ir::Value* x) {
  auto window = poolWindow(k, x);
  auto ceilMode = k.flag("ceil_mode");
  if (!window || !ceilMode) return std::nullopt;
  Pooled p{.x = x, .w = {}, .extra = Dims(window->size(), 0), .wide = {}};
  p.w.size = *window;
  if (!readWindows(k, x->type, p.w, *ceilMode) || tooManyPlaces(k, p.w)) return std::nullopt;
  for (size_t i = 0; i < p.w.size.size(); ++i) {
    // Beyond that a window may hold nothing but padding.
    const int64_t half = ((p.w.size[i] - 1) * p.w.dilation[i] + 1) / 2;
    if (p.w.lo[i] <= half && p.w.hi[i] <= half) continue;
    k.context.error(Code::E0204, written(k, "padding"),
                    "`padding` is at most half of the window, " + std::to_string(half) + ", not " +
                        std::to_string(std::max(p.w.lo[i], p.w.hi[i])));
    return std::nullopt;
  }
  if (*ceilMode) p.extra = ceilExtra(x->type, p.w);
  p.wide = p.w;
  for (size_t i = 0; i < p.extra.size(); ++i) p.wide.hi[i] += p.extra[i];
  return p;
}

/// A tensor of numbers; reports.
ir::Value* numbers(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x || x->type.dtype != DType::Bool) return x;
  k.fail(Code::E0201, "`" + std::string(k.row.name) + "` takes numbers, not bool");
  return nullptr;
}

Val maxPool(BuiltinCall& k) {
  ir::Value* x = numbers(k);
  auto p = x ? pooled(k, x) : std::nullopt;
  if (!p) return k.lost();
  return k.result(k.c.pool(OpKind::Max, x, p->wide, k.c.extreme(x->type.dtype, false)));
}

Val maxPoolPlaces(BuiltinCall& k) {
  ir::Value* x = numbers(k);
  auto p = x ? pooled(k, x) : std::nullopt;
  if (!p) return k.lost();
  const ir::Compose::Chosen best = k.c.poolPlaces(x, p->wide);
  return Val::ofTuple({k.result(best.values), k.result(best.places)}, k.span);
}

Val powerPool(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  auto p = x ? pooled(k, x) : std::nullopt;
  auto ord = k.real("ord");
  if (!p || !ord) return k.lost();
  ir::Compose& c = k.c;
  const DType t = x->type.dtype;
  ir::Value* v = ir::byteSize(t) == 2 ? c.cast(x, DType::F32) : x;
  v = c.pool(OpKind::Add, c.binary(OpKind::Pow, v, *ord), p->wide, c.literal(v, 0));
  return k.result(c.cast(c.binary(OpKind::Pow, v, 1 / *ord), t));
}

/// How many elements of each window count: it depends on the place, and the ones of an input of ones do.
ir::Value* counted(BuiltinCall& k, const Pooled& p, ir::Value* like, bool withPad) {
  ir::Compose& c = k.c;
  Dims ones(p.x->type.shape.end() - static_cast<int64_t>(p.w.size.size()), p.x->type.shape.end());
  ir::Value* one = c.fillOn(like, ones, c.literal(like, 1));
  Windows w = p.wide;
  if (withPad) {
    one = c.padWith(one, c.literal(like, 1), p.w.lo, p.w.hi);
    w.lo.assign(w.size.size(), 0);
    w.hi = p.extra;
  }
  return c.pool(OpKind::Add, one, w, c.literal(like, 0));
}

/// `divisor_override` of `avg_pool`; 0 without one, nothing after an error.
std::optional<int64_t> divisor(BuiltinCall& k) {
  if (!k.has("divisor_override")) return 0;
  auto n = k.integer("divisor_override");
  if (n && *n == 0) {
    k.context.error(Code::E0204, k["divisor_override"].span, "`divisor_override` cannot be 0");
    return std::nullopt;
  }
  return n;
}

Val averagePool(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  auto p = x ? pooled(k, x) : std::nullopt;
  auto withPad = k.flag("count_include_pad");
  auto by = divisor(k);
  if (!p || !withPad || !by) return k.lost();
  ir::Compose& c = k.c;
  const DType t = x->type.dtype;
  ir::Value* v = ir::byteSize(t) == 2 ? c.cast(x, DType::F32) : x;
  ir::Value* total = c.pool(OpKind::Add, v, p->wide, c.literal(v, 0));
  const auto none = [](const Dims& d) { return std::all_of(d.begin(), d.end(), [](int64_t e) { return e == 0; }); };
  const bool alike = none(p->extra) && (*withPad || (none(p->w.lo) && none(p->w.hi)));
  if (*by == 0 && !alike) return k.result(c.cast(c.div(total, counted(k, *p, v, *withPad)), t));
  const int64_t count = *by != 0 ? *by : ir::Compose::sizeOf(p->w.size);
  return k.result(c.cast(c.binary(OpKind::Div, total, static_cast<double>(count)), t));
}

/// Where part `j` of `m` of an axis of `n` elements begins, and ends.
std::pair<int64_t, int64_t> partOf(int64_t j, int64_t n, int64_t m) { return {j * n / m, ((j + 1) * n + m - 1) / m}; }

/// The value of each of few parts of an axis.
ir::Value* eachPart(BuiltinCall& k, OpKind kind, ir::Value* x, int64_t axis, int64_t m) {
  std::vector<ir::Value*> parts;
  for (int64_t j = 0; j < m; ++j) {
    const auto [lo, hi] = partOf(j, x->type.shape[axis], m);
    parts.push_back(k.c.reduce(kind, k.c.sliceAxis(x, axis, lo, hi - lo), {axis}, true));
  }
  return k.c.concat(parts, axis);
}

/// The same of many, without ops for each: of all parts the elements as rows, which the last one fills up.
ir::Value* allParts(BuiltinCall& k, OpKind kind, ir::Value* x, int64_t axis, int64_t m) {
  ir::Compose& c = k.c;
  const DType t = x->type.dtype;
  const int64_t n = x->type.shape[axis];
  int64_t longest = 0;
  for (int64_t j = 0; j < m; ++j) longest = std::max(longest, partOf(j, n, m).second - partOf(j, n, m).first);
  const auto divided = [&](ir::Value* v) { return c.binary(OpKind::FloorDiv, v, static_cast<double>(m)); };
  ir::Value* begins = c.binary(OpKind::Mul, c.iotaOn(x, {m, longest}, DType::I64, 0), static_cast<double>(n));
  ir::Value *lo = divided(begins), *hi = divided(c.binary(OpKind::Add, begins, static_cast<double>(n + m - 1)));
  ir::Value* at = c.add(lo, c.iotaOn(x, {m, longest}, DType::I64, 1));
  ir::Value* rows = c.gather(x, {c.binary(OpKind::Min, at, c.binary(OpKind::Sub, hi, 1))}, {axis}, axis);
  if (kind != OpKind::Mean) return c.reduce(kind, rows, {axis + 1}, false);
  Dims line(static_cast<size_t>(rows->type.rank() - axis), 1);
  line[0] = m;
  line[1] = longest;
  ir::Value* inside = c.reshape(c.binary(OpKind::Lt, at, hi), line);
  if (ir::byteSize(t) == 2) rows = c.cast(rows, DType::F32);
  ir::Value* total = c.reduce(OpKind::Sum, c.where(inside, rows, c.literal(rows, 0)), {axis + 1}, false);
  line.erase(line.begin() + 1);
  ir::Value* length = c.reshape(c.sliceAxis(c.sub(hi, lo), 1, 0, 1), line);
  return c.cast(c.div(total, c.cast(length, total->type.dtype)), t);
}

/// The value of each part of an axis that is cut into `out` parts, which may overlap by one element.
template <OpKind Kind>
Val adaptive(BuiltinCall& k) {
  ir::Value* x = Kind == OpKind::Mean ? k.floats("x") : numbers(k);
  auto out = x ? k.evaluator.constInts(k["out"], "`out`") : std::nullopt;
  if (!out) return k.lost();
  if (k["out"].is(Val::Kind::Int)) {
    if (!k.checkRank(x, 3)) return k.lost();
    out->assign(x->type.shape.size() - 2, (*out)[0]);
  }
  if (!k.checkRank(x, static_cast<int64_t>(out->size()))) return k.lost();
  const std::string name(k.row.name);
  size_t first = x->type.shape.size() - out->size();
  for (size_t j = 0; j < out->size(); ++j) {
    // Of equal largest elements the gradient is the first one's in row-major order: the last axis is reduced first.
    const size_t i = Kind == OpKind::Mean ? j : out->size() - 1 - j;
    const auto axis = static_cast<int64_t>(first + i);
    const int64_t n = x->type.shape[axis], m = (*out)[i];
    if (m > kMostParts) {
      return k.fail(Code::E0208, "`" + name + "` gives at most " + std::to_string(kMostParts) +
                                     " places along an axis, not " + std::to_string(m));
    }
    if (m < 1 || n < 1) return k.fail(Code::E0204, "`" + name + "` needs positive lengths");
    x = m <= kFewParts ? eachPart(k, Kind, x, axis, m) : allParts(k, Kind, x, axis, m);
  }
  return k.result(x);
}

/// The lengths that `max_unpool` gives: those of the smallest input that pools to x, or `output_size`.
std::optional<Dims> unpooledDims(BuiltinCall& k, const ir::Value* x, const Dims& window) {
  const size_t n = window.size();
  auto stride = k.perDim("stride", n), padding = k.perDim("padding", n);
  if (!stride || !padding) return std::nullopt;
  Dims out;
  for (size_t i = 0; i < n; ++i) {
    const int64_t length = x->type.shape[x->type.shape.size() - n + i];
    out.push_back((length - 1) * (*stride)[i] - 2 * (*padding)[i] + window[i]);
  }
  if (!k.has("output_size")) return out;
  auto given = k.perDim("output_size", n);
  for (size_t i = 0; given && i < n; ++i) {
    if (std::abs((*given)[i] - out[i]) < (*stride)[i]) continue;
    k.context.error(Code::E0204, k["output_size"].span,
                    "`output_size` is from " + std::to_string(out[i] - (*stride)[i] + 1) + " to " +
                        std::to_string(out[i] + (*stride)[i] - 1) + " along dim " + std::to_string(i + 2) + ", not " +
                        std::to_string((*given)[i]));
    return std::nullopt;
  }
  return given;
}

Val maxUnpool(BuiltinCall& k) {
  ir::Value *x = k.tensor("x"), *i = k.tensor("i", DType::I64);
  auto window = x && i ? poolWindow(k, x) : std::nullopt;
  auto out = window ? unpooledDims(k, x, *window) : std::nullopt;
  if (!out) return k.lost();
  if (!ir::isInt(i->type.dtype) || i->type.shape != x->type.shape) {
    return k.context.fail(ir::isInt(i->type.dtype) ? Code::E0202 : Code::E0201, k["i"].span,
                          "the indices of `max_unpool` are integers of the shape of `x`, " +
                              ir::toString(x->type.shape) + ", not " + ir::toString(i->type));
  }
  for (const int64_t n : *out) {
    if (n < 1) return k.fail(Code::E0204, "`max_unpool` gives positive lengths, not " + ir::toString(*out));
  }
  if (!k.inReach(*out, "output_size", k.span)) return k.lost();
  ir::Compose& c = k.c;
  const auto lead = static_cast<int64_t>(x->type.shape.size() - window->size());
  Dims rows(x->type.shape.begin(), x->type.shape.begin() + lead), flat = rows, shape = rows;
  rows.push_back(ir::Compose::sizeOf(std::span(x->type.shape).subspan(static_cast<size_t>(lead))));
  flat.push_back(ir::Compose::sizeOf(*out));
  shape.insert(shape.end(), out->begin(), out->end());
  ir::Value* zeros = c.fillOn(x, flat, c.literal(x, 0));
  std::vector<ir::Value*> operands = {zeros, c.reshape(x, rows)};
  for (ir::Value* v : c.alongIndices(c.cast(c.reshape(i, rows), DType::I64), lead)) operands.push_back(v);
  ir::Value* y =
      c.b.value(OpKind::Scatter, operands,
                {{"axes", ir::Compose::allAxes(zeros->type)}, {"at", int64_t{0}}, {"mode", std::string("set")}});
  return k.result(c.reshape(y, shape));
}

Val unfold(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x || !k.checkRank(x, 3)) return k.lost();
  auto window = poolWindow(k, x);
  if (!window) return k.lost();
  if (window->size() + 2 != x->type.shape.size()) {
    return k.fail(Code::E0202, "`unfold` takes (batch, channels, " + std::to_string(window->size()) + " dims), not " +
                                   ir::toString(x->type));
  }
  Windows w;
  w.size = *window;
  if (!readWindows(k, x->type, w) || tooManyPlaces(k, w)) return k.lost();
  // (batch, channels, places..., window...) to (batch, channels * window, places)
  ir::Value* v = k.c.unfold(x, w, k.c.literal(x, 0));
  auto n = static_cast<int64_t>(w.size.size());
  Dims perm = {0, 1};
  for (int64_t i = 0; i < n; ++i) perm.push_back(2 + n + i);
  for (int64_t i = 0; i < n; ++i) perm.push_back(2 + i);
  int64_t places = ir::Compose::sizeOf(ir::Compose::windowCounts(x->type, w));
  Dims shape = {x->type.shape[0], x->type.shape[1] * ir::Compose::sizeOf(w.size), places};
  return k.result(k.c.reshape(k.c.permute(v, perm), shape));
}

#define TENC_POOL "window: ints; stride: ints = window, padding: 0, dilation: 1, ceil_mode: false"
constexpr BuiltinRow kRows[] = {
    {"max_pool(x, " TENC_POOL ")", "The largest of each window.", maxPool},
    {"max_pool_with_indices(x, " TENC_POOL ")",
     "(the largest of each window, its index, i64, among the elements of the spatial dims); the first one of equals.",
     maxPoolPlaces},
    {"max_unpool(x, i, window: ints; stride: ints = window, padding: 0, output_size: ints?)",
     "Zeros, but x at the indices that max_pool_with_indices gave.", maxUnpool},
    {"avg_pool(x, " TENC_POOL ", count_include_pad: true, divisor_override: int?)",
     "The mean of each window; or its sum divided by `divisor_override`.", averagePool},
    {"lp_pool(x, ord: number, " TENC_POOL ")", "(sum of x ** ord) ** (1 / ord) of each window.", powerPool},
    {"adaptive_avg_pool(x, out: ints)", "Means of windows chosen to give `out` elements.", adaptive<OpKind::Mean>},
    {"adaptive_max_pool(x, out: ints)", "The largest of windows chosen to give `out` elements.",
     adaptive<OpKind::ReduceMax>},
    {"unfold(x, window: ints; stride: 1, padding: 0, dilation: 1)",
     "The windows of (n, c, ...) as columns: (n, c * window, windows).", unfold},
};
#undef TENC_POOL

}  // namespace

std::span<const BuiltinRow> poolingBuiltins() { return kRows; }

}  // namespace tenc::frontend
