// Convolutions, pooling and windows over (batch, channels, spatial dims...).
#include <algorithm>
#include <cmath>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Operands.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

using Windows = ir::Compose::Windows;

constexpr int64_t kMostExtent = int64_t{1} << 31;
constexpr int64_t kMostParts = 16384;  ///< of adaptive pooling: each is an op of its own

/// Every place of a window is an op of its own.
bool tooManyPlaces(BuiltinCall& k, const Windows& w) {
  constexpr int64_t kMostPlaces = 16384;
  const auto places = ir::elementCount(w.size);
  if (places && *places <= kMostPlaces) return false;
  k.context.notYet(k.span, "a window of " + ir::toString(w.size) + " (more than 16,384 elements)");
  return true;
}

/// stride, padding and dilation of `n` spatial dims. "same" padding keeps the lengths at stride 1. With `ceilMode` a
/// window may reach beyond the padding by less than its stride.
bool readWindows(BuiltinCall& k, const ir::Type& x, Windows& w, bool ceilMode = false) {
  size_t n = w.size.size();
  auto stride = k.perDim("stride", n), dilation = k.perDim("dilation", n);
  if (!stride || !dilation) return false;
  w.stride = *stride, w.dilation = *dilation;
  auto bad = [&](const std::string& message) {
    k.context.error(Code::E0204, k.span, message);
    return false;
  };
  for (size_t i = 0; i < n; ++i) {
    if (w.size[i] < 1) return bad("a window has at least one element in each dim");
    if (w.stride[i] < 1 || w.dilation[i] < 1) return bad("`stride` and `dilation` must be positive");
  }
  if (!k.inReach(w.size, "window", k.span)) return false;
  w.lo.assign(n, 0), w.hi.assign(n, 0);
  const Val padding = k.value("padding");
  if (padding.is(Val::Kind::String)) {
    if (padding.text != "same" && padding.text != "valid") return bad("`padding` is integers, pairs, or \"same\"");
    for (size_t i = 0; padding.text == "same" && i < n; ++i) {
      if (w.stride[i] != 1) return bad("\"same\" padding needs a stride of 1");
      int64_t total = w.dilation[i] * (w.size[i] - 1);
      w.lo[i] = total / 2;
      w.hi[i] = total - total / 2;
    }
  } else {
    auto pairs = k.pairs(padding, n, true);
    if (!pairs) return false;
    for (size_t i = 0; i < n; ++i) w.lo[i] = (*pairs)[i].first, w.hi[i] = (*pairs)[i].second;
  }
  for (size_t i = 0; i < n; ++i) {
    if (w.lo[i] < 0 || w.hi[i] < 0) return bad("`padding` cannot be negative");
    int64_t length = x.shape[x.shape.size() - n + i] + w.lo[i] + w.hi[i];
    if (w.dilation[i] * (w.size[i] - 1) + 1 > length + (ceilMode ? w.stride[i] - 1 : 0)) {
      k.context.error(Code::E0202, k.span,
                      "a window of " + ir::toString(w.size) + " does not fit in " + ir::toString(x));
      return false;
    }
  }
  return true;
}

struct Convolution {
  ir::Value* x = nullptr;
  ir::Value* weight = nullptr;
  ir::Value* bias = nullptr;
  int64_t groups = 1;
  bool unbatched = false;
};

/// Operands of one float dtype with `n` spatial dims; a missing batch dim is added.
std::optional<Convolution> readOperands(BuiltinCall& k, size_t n) {
  std::vector<Val> given = {k["x"], k["w"]};
  if (k.has("b")) given.push_back(k["b"]);
  auto t = commonDType(k.context, given, k.span, k.row.name);
  auto groups = k.integer("groups");
  if (!t || !groups) return std::nullopt;
  Convolution v;
  v.x = k.tensor("x", t), v.weight = k.tensor("w", t);
  v.groups = *groups;
  if (k.has("b")) v.bias = k.tensor("b", t);
  if (!v.x || !v.weight || (k.has("b") && !v.bias) || !k.checkFloat(v.x)) return std::nullopt;
  auto rank = static_cast<int64_t>(n + 2);
  if (v.x->type.rank() == rank - 1) v.unbatched = true, v.x = k.c.expandDims(v.x, 0);
  if (v.x->type.rank() != rank || v.weight->type.rank() != rank) {
    k.fail(Code::E0202, "`" + std::string(k.row.name) + "` takes tensors of " + std::to_string(rank) + " dims, not " +
                            ir::toString(v.x->type) + " and " + ir::toString(v.weight->type));
    return std::nullopt;
  }
  return v;
}

Val finish(BuiltinCall& k, const Convolution& v, ir::Value* y) {
  if (v.bias) {
    int64_t channels = y->type.shape[1];
    if (v.bias->type.shape != Dims{channels}) {
      return k.fail(Code::E0202,
                    "a bias for " + std::to_string(channels) + " channels cannot be " + ir::toString(v.bias->type));
    }
    Dims shape(y->type.shape.size(), 1);
    shape[1] = channels;
    y = k.c.add(y, k.c.reshape(v.bias, shape));
  }
  return k.result(v.unbatched ? k.c.squeeze(y, 0) : y);
}

/// `taken`: the channels that the weights are for.
Val misfit(BuiltinCall& k, const Convolution& v, int64_t taken) {
  const std::string groups = std::to_string(v.groups) + (v.groups == 1 ? " group" : " groups");
  const int64_t channels = v.x->type.shape[1];
  std::string why = ": the numbers of channels are no multiples of the groups";
  if (channels != taken) {
    why = ": the input has " + std::to_string(channels) + " channels on axis 1, the weights are for " +
          std::to_string(taken);
  }
  return k.fail(Code::E0202, "`" + std::string(k.row.name) + "` of " + ir::toString(v.x->type) + " and weights " +
                                 ir::toString(v.weight->type) + " in " + groups + why);
}

template <size_t N>
Val convolution(BuiltinCall& k) {
  auto v = readOperands(k, N);
  if (!v) return k.lost();
  const Dims &xs = v->x->type.shape, &ws = v->weight->type.shape;
  if (v->groups < 1 || xs[1] % v->groups || ws[0] % v->groups || ws[1] != xs[1] / v->groups) {
    const bool possible = v->groups >= 1 && v->groups <= xs[1];
    return misfit(k, *v, possible ? ws[1] * v->groups : xs[1]);
  }
  Windows w;
  w.size.assign(ws.begin() + 2, ws.end());
  if (!readWindows(k, v->x->type, w)) return k.lost();
  return finish(k, *v, k.c.convolution(v->x, v->weight, w, v->groups));
}

template <size_t N>
Val convolutionTranspose(BuiltinCall& k) {
  auto v = readOperands(k, N);
  if (!v) return k.lost();
  const Dims &xs = v->x->type.shape, &ws = v->weight->type.shape;
  if (v->groups < 1 || xs[1] != ws[0] || xs[1] % v->groups) return misfit(k, *v, ws[0]);
  Windows w;
  w.size.assign(ws.begin() + 2, ws.end());
  auto stride = k.perDim("stride", N), dilation = k.perDim("dilation", N), extra = k.perDim("output_padding", N);
  auto padding = k.pairs(k.value("padding"), N, true);
  if (!stride || !dilation || !extra || !padding) return k.lost();
  w.stride = *stride, w.dilation = *dilation;
  if (!k.inReach(w.size, "window", k.span)) return k.lost();
  for (size_t i = 0; i < N; ++i) {
    if (xs[2 + i] > kMostExtent)
      return k.fail(Code::E0208, "a length of " + std::to_string(xs[2 + i]) + " is too large");
    auto [lo, hi] = (*padding)[i];
    w.lo.push_back(lo), w.hi.push_back(hi);
    int64_t length = (xs[2 + i] - 1) * w.stride[i] - lo - hi + w.dilation[i] * (w.size[i] - 1) + 1 + (*extra)[i];
    if (w.stride[i] < 1 || w.dilation[i] < 1 || lo < 0 || hi < 0 || (*extra)[i] < 0 || length < 1) {
      return k.fail(Code::E0204, "`stride`, `padding`, `dilation` and `output_padding` leave nothing of " +
                                     ir::toString(v->x->type));
    }
  }
  return finish(k, *v, k.c.convolutionTranspose(v->x, v->weight, w, *extra, v->groups));
}

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

enum class Pooling : uint8_t { Largest, Average, Power };

template <Pooling Kind>
Val pool(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return k.lost();
  constexpr bool average = Kind == Pooling::Average, power = Kind == Pooling::Power;
  if ((average || power) && !k.checkFloat(x)) return k.lost();
  if (x->type.dtype == DType::Bool) return k.fail(Code::E0201, "`max_pool` takes numbers, not bool");
  auto window = poolWindow(k, x);
  auto ceilMode = k.flag("ceil_mode"), withPad = average ? k.flag("count_include_pad") : true;
  auto ord = power ? k.real("ord") : 0;
  if (!window || !ceilMode || !withPad || !ord) return k.lost();
  Windows w;
  w.size = *window;
  if (!readWindows(k, x->type, w, *ceilMode) || tooManyPlaces(k, w)) return k.lost();
  for (size_t i = 0; i < w.size.size(); ++i) {
    // Beyond that a window may hold nothing but padding.
    const int64_t half = ((w.size[i] - 1) * w.dilation[i] + 1) / 2;
    if (w.lo[i] <= half && w.hi[i] <= half) continue;
    const Span given = k.value("padding").span;
    return k.context.fail(Code::E0204, given.valid() ? given : k.span,
                          "`padding` is at most half of the window, " + std::to_string(half) + ", not " +
                              std::to_string(std::max(w.lo[i], w.hi[i])));
  }
  ir::Compose& c = k.c;
  Dims extra(w.size.size(), 0);
  if (*ceilMode) extra = ceilExtra(x->type, w);
  Windows wide = w;
  for (size_t i = 0; i < extra.size(); ++i) wide.hi[i] += extra[i];
  if (!average && !power) return k.result(c.pool(OpKind::Max, x, wide, c.extreme(x->type.dtype, false)));
  DType t = x->type.dtype;
  ir::Value* v = ir::byteSize(t) == 2 ? c.cast(x, DType::F32) : x;
  ir::Value* zero = c.literal(v, 0);
  if (power) {
    v = c.pool(OpKind::Add, c.binary(OpKind::Pow, v, *ord), wide, zero);
    return k.result(c.cast(c.binary(OpKind::Pow, v, 1 / *ord), t));
  }
  ir::Value* total = c.pool(OpKind::Add, v, wide, zero);
  bool plain = std::all_of(extra.begin(), extra.end(), [](int64_t e) { return e == 0; });
  bool padded = std::any_of(w.lo.begin(), w.lo.end(), [](int64_t e) { return e != 0; }) ||
                std::any_of(w.hi.begin(), w.hi.end(), [](int64_t e) { return e != 0; });
  if (plain && (*withPad || !padded)) {
    return k.result(c.cast(c.binary(OpKind::Div, total, static_cast<double>(ir::Compose::sizeOf(w.size))), t));
  }
  // How many elements count depends on the place: the ones of an input of ones do.
  Dims ones(x->type.shape.end() - static_cast<int64_t>(w.size.size()), x->type.shape.end());
  ir::Value* one = c.broadcastTo(c.literal(v, 1), ones);
  Windows counted = wide;
  if (*withPad) {
    one = c.padWith(one, c.literal(v, 1), w.lo, w.hi);
    counted.lo.assign(w.size.size(), 0);
    counted.hi = extra;
  }
  return k.result(c.cast(c.div(total, c.pool(OpKind::Add, one, counted, zero)), t));
}

Val adaptive(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  auto out = x ? k.evaluator.constInts(k["out"], "`out`") : std::nullopt;
  if (!out) return k.lost();
  if (k["out"].is(Val::Kind::Int)) {
    if (!k.checkRank(x, 3)) return k.lost();
    out->assign(x->type.shape.size() - 2, (*out)[0]);
  }
  if (!k.checkRank(x, static_cast<int64_t>(out->size()))) return k.lost();
  size_t first = x->type.shape.size() - out->size();
  for (size_t i = 0; i < out->size(); ++i) {
    auto axis = static_cast<int64_t>(first + i);
    int64_t n = x->type.shape[axis], m = (*out)[i];
    if (m > kMostParts) {
      return k.fail(Code::E0208, "`adaptive_avg_pool` gives at most " + std::to_string(kMostParts) +
                                     " places along an axis, not " + std::to_string(m));
    }
    if (m < 1 || n < 1) return k.fail(Code::E0204, "`adaptive_avg_pool` needs positive lengths");
    std::vector<ir::Value*> parts;
    for (int64_t j = 0; j < m; ++j) {
      int64_t lo = j * n / m, hi = ((j + 1) * n + m - 1) / m;
      parts.push_back(k.c.reduce(OpKind::Mean, k.c.sliceAxis(x, axis, lo, hi - lo), {axis}, true));
    }
    x = k.c.concat(parts, axis);
  }
  return k.result(x);
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

#define TENC_CONV "(x, w, b?; stride: 1, padding: 0, dilation: 1, groups: 1)"
#define TENC_CONV_T "(x, w, b?; stride: 1, padding: 0, output_padding: 0, dilation: 1, groups: 1)"
constexpr BuiltinRow kRows[] = {
    {"conv1d" TENC_CONV,
     "Convolution of (n, c, l) with weights (out, c / groups, window). Padding adds nothing, whatever the weight.",
     convolution<1>},
    {"conv2d" TENC_CONV,
     "Convolution of (n, c, h, w) with weights (out, c / groups, window...). Padding adds nothing, whatever the "
     "weight.",
     convolution<2>},
    {"conv3d" TENC_CONV,
     "Convolution of (n, c, d, h, w) with weights (out, c / groups, window...). Padding adds nothing, whatever the "
     "weight.",
     convolution<3>},
    {"conv_transpose1d" TENC_CONV_T, "The adjoint of conv1d, weights (in, out / groups, window).",
     convolutionTranspose<1>},
    {"conv_transpose2d" TENC_CONV_T, "The adjoint of conv2d, weights (in, out / groups, window...).",
     convolutionTranspose<2>},
    {"conv_transpose3d" TENC_CONV_T, "The adjoint of conv3d, weights (in, out / groups, window...).",
     convolutionTranspose<3>},
    {"max_pool(x, window: ints; stride: ints = window, padding: 0, dilation: 1, ceil_mode: false)",
     "The largest of each window.", pool<Pooling::Largest>},
    {"avg_pool(x, window: ints; stride: ints = window, padding: 0, dilation: 1, ceil_mode: false, count_include_pad: "
     "true)",
     "The mean of each window.", pool<Pooling::Average>},
    {"lp_pool(x, ord: number, window: ints; stride: ints = window, padding: 0, dilation: 1, ceil_mode: false)",
     "(sum of x ** ord) ** (1 / ord) of each window.", pool<Pooling::Power>},
    {"adaptive_avg_pool(x, out: ints)", "Means of windows chosen to give `out` elements.", adaptive},
    {"unfold(x, window: ints; stride: 1, padding: 0, dilation: 1)",
     "The windows of (n, c, ...) as columns: (n, c * window, windows).", unfold},
};
#undef TENC_CONV
#undef TENC_CONV_T

}  // namespace

std::span<const BuiltinRow> convolutionBuiltins() { return kRows; }

}  // namespace tenc::frontend
