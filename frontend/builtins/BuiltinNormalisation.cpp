// Softmax, normalisations, attention.
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

Val softmax(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  if (!x) return k.lost();
  const bool single = x->type.rank() == 0;  // the only one of its axis
  if (single) x = k.c.reshape(x, {1});
  const Val axis = k.value("axis");
  auto axes = k.evaluator.constAxes(&axis, x->type.rank());
  if (!axes) return k.lost();
  ir::Value* y = k.c.b.value(k.row.op, {x}, {{"axes", *axes}});
  return k.result(single ? k.c.reshape(y, {}) : y);
}

/// weight and bias of x's dtype, reshaped by `fit`; false after an error.
template <class Fit>
bool scaled(BuiltinCall& k, ir::Value*& y, Fit fit) {
  for (std::string_view name : {"weight", "bias"}) {
    if (!k.has(name)) continue;
    ir::Value* v = k.tensor(name, y->type.dtype);
    if (!v) return false;
    if (v->type.dtype != y->type.dtype) {
      k.fail(Code::E0201, "`" + std::string(name) + "` is " + std::string(ir::name(v->type.dtype)) +
                              ", but the input is " + std::string(ir::name(y->type.dtype)));
      return false;
    }
    v = fit(v);
    if (!v) {
      k.fail(Code::E0202,
             "`" + std::string(name) + "` of `" + std::string(k.row.name) + "` does not fit " + ir::toString(y->type));
      return false;
    }
    y = name == "weight" ? k.c.mul(y, v) : k.c.add(y, v);
  }
  return true;
}

/// The trailing dims that `weight` names, or `axes`.
std::optional<Dims> rowAxes(BuiltinCall& k, const ir::Value* x) {
  if (k.has("axes")) return k.evaluator.constAxes(k.args.find("axes"), x->type.rank());
  int64_t n = 1;
  if (k.has("weight")) {
    ir::Value* w = k.tensor("weight", x->type.dtype);
    if (!w) return std::nullopt;
    n = w->type.rank();
    if (n > x->type.rank() || n == 0 ||
        !std::equal(w->type.shape.begin(), w->type.shape.end(), x->type.shape.end() - n)) {
      k.fail(Code::E0202,
             "the weight " + ir::toString(w->type) + " does not match the last dims of " + ir::toString(x->type));
      return std::nullopt;
    }
  } else {
    k.fail(Code::E0204, "`" + std::string(k.row.name) + "` without a weight needs `axes`");
    return std::nullopt;
  }
  Dims axes;
  for (int64_t i = x->type.rank() - n; i < x->type.rank(); ++i) axes.push_back(i);
  return axes;
}

/// Dims of weights that are given without `axes` line up with the last ones; with `axes` they stand at those.
auto fitRows(BuiltinCall& k, const ir::Type& x, const Dims& axes) {
  return [&k, &x, &axes](ir::Value* v) -> ir::Value* {
    Dims wide(x.shape.size(), 1), own;
    for (int64_t a : axes) wide[a] = x.shape[a], own.push_back(x.shape[a]);
    return v->type.shape == own ? k.c.reshape(v, wide) : nullptr;
  };
}

Val layerNorm(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  auto eps = k.real("eps");
  if (!x || !eps) return k.lost();
  auto axes = rowAxes(k, x);
  if (!axes) return k.lost();
  ir::Value* y = k.c.b.value(OpKind::LayerNorm, {x}, {{"axes", *axes}, {"eps", *eps}});
  return scaled(k, y, fitRows(k, x->type, *axes)) ? k.result(y) : k.lost();
}

Val rmsNorm(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  auto eps = k.real("eps");
  if (!x || !eps) return k.lost();
  auto axes = rowAxes(k, x);
  if (!axes) return k.lost();
  ir::Compose& c = k.c;
  DType t = x->type.dtype;
  ir::Value* wide = ir::byteSize(t) == 2 ? c.cast(x, DType::F32) : x;
  ir::Value* mean = c.reduce(OpKind::Mean, c.unary(OpKind::Square, wide), *axes, true);
  ir::Value* y = c.cast(c.mul(wide, c.unary(OpKind::Rsqrt, c.binary(OpKind::Add, mean, *eps))), t);
  return scaled(k, y, fitRows(k, x->type, *axes)) ? k.result(y) : k.lost();
}

/// One value a channel, on axis 1.
auto fitChannels(BuiltinCall& k, const ir::Type& x) {
  return [&k, &x](ir::Value* v) -> ir::Value* {
    if (v->type.shape != Dims{x.shape[1]}) return nullptr;
    Dims wide(x.shape.size(), 1);
    wide[1] = x.shape[1];
    return k.c.reshape(v, wide);
  };
}

Val batchNorm(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  auto eps = k.real("eps");
  if (!x || !eps || !k.checkRank(x, 2)) return k.lost();
  ir::Value *mean = k.tensor("mean", x->type.dtype), *variance = k.tensor("variance", x->type.dtype);
  if (!mean || !variance) return k.lost();
  auto fit = fitChannels(k, x->type);
  for (ir::Value** v : {&mean, &variance}) {
    if ((*v)->type.dtype != x->type.dtype) {
      return k.fail(Code::E0201, "the statistics are " + std::string(ir::name((*v)->type.dtype)) +
                                     ", but the input is " + std::string(ir::name(x->type.dtype)));
    }
    ir::Value* wide = fit(*v);
    if (!wide) {
      return k.fail(Code::E0202, "`batch_norm` of " + ir::toString(x->type) + " needs one value a channel, not " +
                                     ir::toString((*v)->type));
    }
    *v = wide;
  }
  ir::Compose& c = k.c;
  ir::Value* y = c.mul(c.sub(x, mean), c.unary(OpKind::Rsqrt, c.binary(OpKind::Add, variance, *eps)));
  return scaled(k, y, fit) ? k.result(y) : k.lost();
}

Val inGroups(BuiltinCall& k, ir::Value* x, std::optional<int64_t> groups) {
  auto eps = k.real("eps");
  if (!eps || !groups) return k.lost();
  const Dims& s = x->type.shape;
  if (*groups < 1 || s[1] % *groups != 0) {
    return k.fail(Code::E0202,
                  std::to_string(s[1]) + " channels do not split in " + std::to_string(*groups) + " groups");
  }
  Dims split = {s[0], *groups, s[1] / *groups};
  split.insert(split.end(), s.begin() + 2, s.end());
  Dims axes;
  for (size_t i = 2; i < split.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  ir::Value* y = k.c.b.value(OpKind::LayerNorm, {k.c.reshape(x, split)}, {{"axes", axes}, {"eps", *eps}});
  y = k.c.reshape(y, s);
  return scaled(k, y, fitChannels(k, x->type)) ? k.result(y) : k.lost();
}

Val groupNorm(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  if (!x || !k.checkRank(x, 2)) return k.lost();
  return inGroups(k, x, k.integer("groups"));
}

Val instanceNorm(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  if (!x || !k.checkRank(x, 3)) return k.lost();
  return inGroups(k, x, x->type.shape[1]);
}

Val normalize(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  auto eps = k.real("eps");
  if (!x || !eps || !k.checkRank(x, 1)) return k.lost();
  auto axes = k.evaluator.constAxes(k.args.find("axis"), x->type.rank());
  if (!axes) return k.lost();
  ir::Compose& c = k.c;
  DType t = x->type.dtype;
  ir::Value* wide = ir::byteSize(t) == 2 ? c.cast(x, DType::F32) : x;
  ir::Value* norm = c.length(c.reduce(OpKind::Sum, c.unary(OpKind::Square, wide), *axes, true));
  return k.result(c.cast(c.div(wide, c.binary(OpKind::Max, norm, *eps)), t));
}

/// Queries, keys and values with one set of dims before the heads, which broadcast; false where they do not fit.
bool broadcastBatch(ir::Compose& c, std::span<ir::Value*> parts) {
  int64_t rank = 0;
  for (const ir::Value* v : parts) {
    if (v->type.rank() < 2) return false;
    rank = std::max(rank, v->type.rank());
  }
  if (std::ranges::all_of(parts, [&](const ir::Value* v) { return v->type.rank() == rank; }) && rank < 4) return true;
  rank = std::max<int64_t>(rank, 3);
  Dims batch;
  for (ir::Value*& v : parts) {
    Dims shape(static_cast<size_t>(rank - v->type.rank()), 1);
    shape.insert(shape.end(), v->type.shape.begin(), v->type.shape.end());
    v = c.reshape(v, shape);
    auto both = ir::broadcastShapes(batch, std::span(shape).first(shape.size() - 3));
    if (!both) return false;
    batch = *both;
  }
  for (ir::Value*& v : parts) {
    Dims shape = batch;
    shape.insert(shape.end(), v->type.shape.end() - 3, v->type.shape.end());
    v = c.broadcastTo(v, shape);
  }
  return true;
}

Val attention(BuiltinCall& k) {
  auto t = commonDType(k.context, {k["q"], k["k"], k["v"]}, k.span, k.row.name);
  if (!t) return k.lost();
  ir::Value *q = k.tensor("q", t), *key = k.tensor("k", t), *v = k.tensor("v", t);
  auto causal = k.flag("causal");
  if (!q || !key || !v || !causal || !k.checkFloat(q)) return k.lost();
  ir::Compose& c = k.c;
  auto bad = [&](const std::string& why) {
    return k.fail(Code::E0202, "`attention` of " + ir::toString(q->type) + ", " + ir::toString(key->type) + " and " +
                                   ir::toString(v->type) + ": " + why);
  };
  ir::Value* parts[] = {q, key, v};
  if (!broadcastBatch(c, parts)) return bad("all three must be (..., heads, time, dim), and the dims before broadcast");
  q = parts[0], key = parts[1], v = parts[2];
  int64_t r = q->type.rank();
  if (r >= 3) {
    // One head of queries, or of keys or values alone, is for all heads.
    const auto headsOf = [&](const ir::Value* part) { return part->type.shape[r - 3]; };
    const auto ofHeads = [&](ir::Value* part, int64_t heads) {
      Dims shape = part->type.shape;
      shape[r - 3] = heads;
      return c.broadcastTo(part, shape);
    };
    if (headsOf(key) == 1 && headsOf(v) != 1) key = ofHeads(key, headsOf(v));
    if (headsOf(v) == 1 && headsOf(key) != 1) v = ofHeads(v, headsOf(key));
    if (headsOf(q) == 1) q = ofHeads(q, headsOf(key));
  }
  // Fewer key heads than query heads: each serves a run of query heads.
  if (r >= 3 && key->type.shape[r - 3] != q->type.shape[r - 3]) {
    int64_t heads = key->type.shape[r - 3];
    if (heads < 1 || q->type.shape[r - 3] % heads != 0 || v->type.shape[r - 3] != heads)
      return bad("the heads of the keys, " + std::to_string(heads) + ", do not divide those of the queries, " +
                 std::to_string(q->type.shape[r - 3]) + ", or are not those of the values");
    int64_t times = q->type.shape[r - 3] / heads;
    key = c.repeat(key, times, r - 3);
    v = c.repeat(v, times, r - 3);
  }
  const Dims &qs = q->type.shape, &ks = key->type.shape, &vs = v->type.shape;
  bool fits = qs[r - 1] == ks[r - 1] && ks[r - 2] == vs[r - 2] && std::equal(qs.begin(), qs.end() - 2, ks.begin()) &&
              std::equal(qs.begin(), qs.end() - 2, vs.begin());
  if (qs[r - 1] != ks[r - 1]) return bad("queries and keys differ in their last dim");
  if (ks[r - 2] != vs[r - 2]) return bad("keys and values must have the same length");
  if (!fits) return bad("the batch dims differ");
  ir::Value* scale = c.literal(q, 1 / std::sqrt(static_cast<double>(std::max<int64_t>(qs[r - 1], 1))));
  if (k.has("scale")) {
    scale = k.tensor("scale", t);
    if (!scale) return k.lost();
    if (scale->type.rank() != 0 || scale->type.dtype != *t) return k.fail(Code::E0203, "`scale` is one number");
  }
  std::vector<ir::Value*> operands = {q, key, v, scale};
  if (k.has("mask")) {
    ir::Value* mask = k.tensor("mask", t);
    if (!mask) return k.lost();
    Dims scores = qs;
    scores[r - 1] = ks[r - 2];
    auto shape = ir::broadcastShapes(mask->type.shape, scores);
    if (!shape || *shape != scores || (mask->type.dtype != DType::Bool && mask->type.dtype != *t)) {
      return k.fail(Code::E0202, "`mask` must be bool or " + std::string(ir::name(*t)) + " and fit " +
                                     ir::toString(scores) + ", not " + ir::toString(mask->type));
    }
    Dims full(static_cast<size_t>(r) - mask->type.shape.size(), 1);
    full.insert(full.end(), mask->type.shape.begin(), mask->type.shape.end());
    operands.push_back(c.reshape(mask, full));
  }
  return k.result(c.b.value(OpKind::Attention, operands, {{"causal", *causal}}));
}

constexpr BuiltinRow kRows[] = {
    {"softmax(x; axis: -1)", "exp(x) / sum(exp(x)) along an axis, without overflow.", softmax, OpKind::Softmax},
    {"log_softmax(x; axis: -1)", "log(softmax(x)) without overflow.", softmax, OpKind::LogSoftmax},
    {"layer_norm(x, weight?, bias?; eps: 1e-5, axes: ints?)",
     "Mean 0 and variance 1 over the trailing dims of weight, or over axes.", layerNorm},
    {"rms_norm(x, weight?, bias?; eps: 1e-5, axes: ints?)",
     "Divided by the root of the mean square over the trailing dims of weight, or over axes.", rmsNorm},
    {"batch_norm(x, mean, variance, weight?, bias?; eps: 1e-5)",
     "Normalised by given statistics of the channels on axis 1.", batchNorm},
    {"group_norm(x, groups: int, weight?, bias?; eps: 1e-5)",
     "Mean 0 and variance 1 over groups of the channels on axis 1.", groupNorm},
    {"instance_norm(x, weight?, bias?; eps: 1e-5)", "Mean 0 and variance 1 over the dims after the first two.",
     instanceNorm},
    {"normalize(x; axis: ints, eps: 1e-12)", "Divided by the Euclidean norm along an axis.", normalize},
    {"attention(q, k, v; causal: false, mask?, scale?)",
     "softmax(q @ k.T * scale) @ v on (..., heads, time, dim), whose dims before the heads broadcast. Fewer heads of "
     "keys and "
     "values each serve a run of heads of queries. Where `mask` is false a key is not attended to; numbers are added "
     "to the scores.",
     attention},
};

}  // namespace

std::span<const BuiltinRow> normalisationBuiltins() { return kRows; }

}  // namespace tenc::frontend
