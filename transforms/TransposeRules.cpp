#include <algorithm>
#include <array>

#include "ir/HiddenDims.h"
#include "transforms/Transpose.h"

namespace tenc::transforms {

using ir::Compose;
using ir::Dims;
using ir::DType;
using ir::Op;
using ir::OpKind;
using V = ir::Value*;

namespace {

size_t index(int64_t i) { return static_cast<size_t>(i); }

V swapped(Compose& c, V m) { return c.swapAxes(m, m->type.rank() - 2, m->type.rank() - 1); }

// ---- elementwise

void add(TransposeCall& t) {
  for (size_t k = 0; k < 2; ++k) {
    if (t.linear(k)) t.give(k, t.ct);
  }
}
void sub(TransposeCall& t) {
  if (t.linear(0)) t.give(0, t.ct);
  if (t.linear(1)) t.give(1, t.c.unary(OpKind::Neg, t.ct));
}
void neg(TransposeCall& t) { t.give(0, t.c.unary(OpKind::Neg, t.ct)); }
void mul(TransposeCall& t) {
  const size_t k = t.linear(0) ? 0 : 1;
  t.give(k, t.c.mul(t.in[1 - k], t.ct));
}
void div(TransposeCall& t) { t.give(0, t.c.div(t.ct, t.in[1])); }
void where(TransposeCall& t) {
  V zero = t.c.literal(t.ct, 0);
  if (t.linear(1)) t.give(1, t.c.where(t.in[0], t.ct, zero));
  if (t.linear(2)) t.give(2, t.c.where(t.in[0], zero, t.ct));
}
void cast(TransposeCall& t) { t.give(0, t.c.cast(t.ct, t.type(0).dtype)); }

// ---- reductions and scans

/// The cotangent of a reduction with dims of 1 where the axes were.
V keptDims(TransposeCall& t) {
  Dims shape = t.type(0).shape;
  for (int64_t a : t.op.intsAttr("axes")) shape[index(a)] = 1;
  return t.c.reshape(t.ct, shape);
}
void sum(TransposeCall& t) { t.give(0, t.c.broadcastTo(keptDims(t), t.type(0).shape)); }
void mean(TransposeCall& t) {
  const auto n = static_cast<double>(Compose::count(t.type(0), t.op.intsAttr("axes")));
  V share = t.c.div(keptDims(t), t.c.literal(t.ct, n));
  t.give(0, t.c.broadcastTo(share, t.type(0).shape));
}
void cumulate(TransposeCall& t) {
  t.give(0, t.c.cumulate("add", t.ct, t.op.intsAttr("axes")[0], !t.op.boolAttr("reverse"), t.op.boolAttr("exclusive")));
}

// ---- structure

void reshape(TransposeCall& t) { t.give(0, t.c.reshape(t.ct, t.type(0).shape)); }
void permute(TransposeCall& t) {
  const Dims& perm = t.op.intsAttr("perm");
  Dims inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[index(perm[i])] = static_cast<int64_t>(i);
  t.give(0, t.c.permute(t.ct, inverse));
}
/// The sum over what was repeated.
void broadcast(TransposeCall& t) {
  const Dims &from = t.type(0).shape, &to = t.ct->type.shape;
  Dims axes;
  const size_t more = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i) {
    if (i < more || (from[i - more] == 1 && to[i] != 1)) axes.push_back(static_cast<int64_t>(i));
  }
  t.give(0, t.c.reshape(t.c.reduce(OpKind::Sum, t.ct, axes, true), from));
}
void fill(TransposeCall& t) {
  t.give(0, t.c.reshape(t.c.reduce(OpKind::Sum, t.ct, Compose::allAxes(t.ct->type), true), {}));
}
void slice(TransposeCall& t) {
  Dims starts = t.op.intsAttr("starts"), steps = t.op.intsAttr("steps");
  const Dims& sizes = t.ct->type.shape;
  Dims lo(sizes.size()), hi(sizes.size());
  bool dense = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    dense = dense && (steps[i] == 1 || sizes[i] <= 1);
    lo[i] = starts[i];
    hi[i] = t.type(0).shape[i] - starts[i] - sizes[i];
    if (sizes[i] <= 1) steps[i] = 1;
  }
  if (t.ct->type.size() == 0) return t.give(0, t.zerosOf(0));
  if (t.repeated && t.ct->type.size() == 1 && t.type(0).size() > 1) {
    // One element in a loop, which is not to touch the others.
    V element = t.ct;
    while (!element->type.shape.empty() && element->op != nullptr && element->op->kind == OpKind::Reshape)
      element = element->op->operand(0);
    std::vector<V> operands = {t.sumOrZeros(0), t.c.reshape(element, {})};
    for (int64_t start : starts) operands.push_back(t.c.b.scalarInt(DType::I64, start));
    return t.set(
        0, t.c.b.value(OpKind::Scatter, operands,
                       {{"axes", Compose::allAxes(t.type(0))}, {"at", int64_t{0}}, {"mode", std::string("add")}}));
  }
  if (dense) return t.give(0, t.c.padWith(t.ct, t.c.literal(t.ct, 0), lo, hi));
  // Added in its places to what there is already: whole tensors, as of each place in a window, would be mostly zeros.
  V sum = t.sum(0);
  V part = sum == nullptr ? t.ct : t.c.add(t.c.slice(sum, starts, sizes, steps), t.ct);
  t.set(0, t.c.b.value(OpKind::UpdateSlice, {t.sumOrZeros(0), part}, {{"starts", starts}, {"steps", steps}}));
}
void pad(TransposeCall& t) {
  const Dims &lo = t.op.intsAttr("lo"), &shape = t.type(0).shape;
  if (t.linear(0)) t.give(0, t.c.slice(t.ct, lo, shape, Dims(lo.size(), 1)));
  if (!t.linear(1)) return;
  // What surrounds operand 0: all less what is inside.
  V inside = t.c.fillOn(t.ct, shape, t.c.b.scalarInt(DType::Bool, 1));
  V mask = t.c.padWith(inside, t.c.b.scalarInt(DType::Bool, 0), lo, t.op.intsAttr("hi"));
  V around = t.c.where(mask, t.c.literal(t.ct, 0), t.ct);
  t.give(1, t.c.reshape(t.c.reduce(OpKind::Sum, around, Compose::allAxes(t.ct->type), true), {}));
}
void concat(TransposeCall& t) {
  const int64_t axis = t.op.intAttr("axis");
  int64_t start = 0;
  for (size_t k = 0; k < t.in.size(); ++k) {
    const int64_t length = t.type(k).shape[index(axis)];
    if (t.linear(k)) t.give(k, t.c.sliceAxis(t.ct, axis, start, length));
    start += length;
  }
}
void barrier(TransposeCall& t) { t.give(0, t.ct); }
void flip(TransposeCall& t) { t.give(0, t.c.flip(t.ct, t.op.intsAttr("axes"))); }

// ---- indices

std::vector<V> operandsFrom(const TransposeCall& t, size_t first) {
  return {t.in.begin() + static_cast<std::ptrdiff_t>(first), t.in.end()};
}

V scatterAdd(TransposeCall& t, V into, V updates, size_t firstIndex) {
  std::vector<V> operands = {into, updates};
  for (V i : operandsFrom(t, firstIndex)) operands.push_back(i);
  V v = t.c.b.value(OpKind::Scatter, operands,
                    {{"axes", t.op.intsAttr("axes")}, {"at", t.op.intAttr("at")}, {"mode", std::string("add")}});
  ir::keepWritten(t.op, *v->op);
  return v;
}
/// Adds in row-major order of the places.
void gather(TransposeCall& t) { t.set(0, scatterAdd(t, t.sumOrZeros(0), t.ct, 1)); }
/// Of mode `add`, and of `set` at one place. What is read of the cotangent is read before it is changed.
void scatter(TransposeCall& t) {
  const Dims& axes = t.op.intsAttr("axes");
  const int64_t at = t.op.intAttr("at");
  V part = t.linear(1) ? t.c.gather(t.ct, operandsFrom(t, 2), axes, at) : nullptr;
  if (t.linear(0)) {
    V old = t.ct;
    if (t.op.stringAttr("mode") == "set") {
      V zero = t.c.literal(t.ct, 0);
      std::vector<V> operands = {t.ct, t.type(1).rank() == 0 ? zero : t.c.fillOn(t.ct, t.type(1).shape, zero)};
      for (V i : operandsFrom(t, 2)) operands.push_back(i);
      old = t.c.b.value(OpKind::Scatter, operands, {{"axes", axes}, {"at", at}, {"mode", std::string("set")}});
    }
    t.give(0, old);
  }
  if (part != nullptr) t.give(1, part);
}
/// What starts along some axes at run-time places.
V blockAt(TransposeCall& t, V of, const std::vector<V>& starts, const Dims& sizes) {
  std::vector<V> operands = {of};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return t.c.b.value(OpKind::DynamicSlice, operands, {{"axes", t.op.intsAttr("axes")}, {"sizes", sizes}});
}
void dynamicSlice(TransposeCall& t) {
  const std::vector<V> starts = operandsFrom(t, 1);
  V sum = t.sum(0);
  V block = sum == nullptr ? t.ct : t.c.add(blockAt(t, sum, starts, t.op.intsAttr("sizes")), t.ct);
  std::vector<V> operands = {t.sumOrZeros(0), block};
  operands.insert(operands.end(), starts.begin(), starts.end());
  V v = t.c.b.value(OpKind::DynamicUpdate, operands, {{"axes", t.op.intsAttr("axes")}});
  ir::keepWritten(t.op, *v->op);
  t.set(0, v);
}
void updateSlice(TransposeCall& t) {
  const Dims &starts = t.op.intsAttr("starts"), &steps = t.op.intsAttr("steps");
  const Dims& block = t.type(1).shape;
  if (t.linear(0)) {
    V none = t.c.fillOn(t.ct, block, t.c.literal(t.ct, 0));
    t.give(0, t.c.b.value(OpKind::UpdateSlice, {t.ct, none}, {{"starts", starts}, {"steps", steps}}));
  }
  if (t.linear(1)) t.give(1, t.c.slice(t.ct, starts, block, steps));
}
void dynamicUpdate(TransposeCall& t) {
  const Dims& axes = t.op.intsAttr("axes");
  const Dims& block = t.type(1).shape;
  const std::vector<V> starts = operandsFrom(t, 2);
  V part = nullptr;
  if (t.linear(1)) {
    // Along dims without a start the block begins at 0.
    Dims sizes;
    for (int64_t a : axes) sizes.push_back(block[index(a)]);
    part = t.c.slice(blockAt(t, t.ct, starts, sizes), Dims(block.size(), 0), block, Dims(block.size(), 1));
  }
  if (t.linear(0)) {
    std::vector<V> operands = {t.ct, t.c.fillOn(t.ct, block, t.c.literal(t.ct, 0))};
    operands.insert(operands.end(), starts.begin(), starts.end());
    t.give(0, t.c.b.value(OpKind::DynamicUpdate, operands, {{"axes", axes}}));
  }
  if (part != nullptr) t.give(1, part);
}

/// Back to where the value came from, operand 1 of a move in linear code.
void move(TransposeCall& t) {
  std::vector<ir::Builder::NamedAttr> attrs;
  for (const auto& [name, value] : t.op.attrs()) attrs.push_back({name, value});
  t.give(0, t.c.b.value(OpKind::To, {t.ct, t.in[1]}, attrs));
}

// ---- products

void matmul(TransposeCall& t) {
  if (t.linear(0)) t.give(0, t.c.b.value(OpKind::Matmul, {t.ct, swapped(t.c, t.in[1])}));
  if (t.linear(1)) t.give(1, t.c.b.value(OpKind::Matmul, {swapped(t.c, t.in[0]), t.ct}));
}

/// Gradients of convolutions are convolutions: by the input the transposed one, by the weights one of the input with
/// the cotangent as its window, where strides and dilations change places.
void conv(TransposeCall& t) {
  const Dims &stride = t.op.intsAttr("stride"), &dilation = t.op.intsAttr("dilation");
  const size_t n = stride.size();
  Dims lo = t.op.intsAttr("lo"), hi = t.op.intsAttr("hi");
  if (lo.empty()) lo.assign(n, 0), hi.assign(n, 0);
  const int64_t groups = t.op.intAttr("groups");
  const Dims &x = t.type(0).shape, &w = t.type(1).shape, &y = t.ct->type.shape;
  Dims left(n);  // places of the padded input behind the last window
  for (size_t i = 0; i < n; ++i)
    left[i] = x[2 + i] + lo[i] + hi[i] - ((y[2 + i] - 1) * stride[i] + dilation[i] * (w[2 + i] - 1) + 1);
  if (t.linear(0)) {
    const Compose::Windows windows{Dims(w.begin() + 2, w.end()), stride, lo, hi, dilation};
    t.give(0, t.c.convolutionTranspose(t.ct, t.in[1], windows, left, groups));
  }
  if (!t.linear(1)) return;
  const int64_t batch = x[0], perGroup = x[1] / groups;
  // [N, g c, s] as [c, g N, s] and [N, g o, s] as [g o, N, s]: a convolution of g groups with N channels each.
  Dims split = {batch, groups, perGroup}, merged = {perGroup, groups * batch};
  split.insert(split.end(), x.begin() + 2, x.end());
  merged.insert(merged.end(), x.begin() + 2, x.end());
  Dims perm = {2, 1, 0};
  for (size_t i = 0; i < n; ++i) perm.push_back(static_cast<int64_t>(3 + i));
  V input = t.c.reshape(t.c.permute(t.c.reshape(t.in[0], split), perm), merged);
  V window = t.c.swapAxes(t.ct, 0, 1);
  Compose::Windows windows{Dims(y.begin() + 2, y.end()), dilation, lo, hi, stride};
  for (size_t i = 0; i < n; ++i) windows.hi[i] -= left[i];
  V grad = t.c.swapAxes(t.c.convolution(input, window, windows, groups), 0, 1);
  t.give(1, grad);
}

// ---- linear algebra

void solve(TransposeCall& t) { t.give(1, t.c.b.value(OpKind::Solve, {swapped(t.c, t.in[0]), t.ct})); }
void solveTriangular(TransposeCall& t) {
  t.give(1, t.c.b.value(OpKind::SolveTriangular, {swapped(t.c, t.in[0]), t.ct},
                        {{"lower", !t.op.boolAttr("lower")}, {"unit", t.op.boolAttr("unit")}}));
}

struct Row {
  OpKind kind;
  TransposeRule rule;
};
constexpr Row kRows[] = {
    {OpKind::Add, add},
    {OpKind::Sub, sub},
    {OpKind::Neg, neg},
    {OpKind::Mul, mul},
    {OpKind::Div, div},
    {OpKind::Where, where},
    {OpKind::Cast, cast},
    {OpKind::Sum, sum},
    {OpKind::Mean, mean},
    {OpKind::Cumulate, cumulate},
    {OpKind::Reshape, reshape},
    {OpKind::Permute, permute},
    {OpKind::Broadcast, broadcast},
    {OpKind::Fill, fill},
    {OpKind::Slice, slice},
    {OpKind::Pad, pad},
    {OpKind::Concat, concat},
    {OpKind::Flip, flip},
    {OpKind::Barrier, barrier},
    {OpKind::Gather, gather},
    {OpKind::Scatter, scatter},
    {OpKind::DynamicSlice, dynamicSlice},
    {OpKind::UpdateSlice, updateSlice},
    {OpKind::DynamicUpdate, dynamicUpdate},
    {OpKind::To, move},
    {OpKind::Matmul, matmul},
    {OpKind::Conv, conv},
    {OpKind::Solve, solve},
    {OpKind::SolveTriangular, solveTriangular},
};

}  // namespace

TransposeRule transposeRule(OpKind kind) {
  static constexpr auto kByKind = [] {
    std::array<TransposeRule, static_cast<size_t>(OpKind::Count)> table{};
    for (const Row& r : kRows) table[static_cast<size_t>(r.kind)] = r.rule;
    return table;
  }();
  return kByKind[static_cast<size_t>(kind)];
}

}  // namespace tenc::transforms
