// Activations, products, scans and sorting as compositions.
#include <algorithm>
#include <cassert>
#include <limits>

#include "ir/Ir.h"
#include "ir/build/Compose.h"

namespace tenc::ir {

// ---- activations

Compose::V Compose::softplus(V x) { return binary(OpKind::LogAddExp, x, literal(x, 0)); }

Compose::V Compose::mish(V x) {
  // With e = exp x, tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2), which is 1 long before 40.
  V e = unary(OpKind::Exp, binary(OpKind::Min, x, 40.0));
  V n = mul(e, binary(OpKind::Add, e, 2.0));
  return mul(x, div(n, binary(OpKind::Add, n, 2.0)));
}

Compose::V Compose::hardSigmoid(V x) {
  // Divided last: near -3 the sum is exact, and what is left of it keeps its bits.
  return binary(OpKind::Div, clamp(binary(OpKind::Add, x, 3.0), literal(x, 0), literal(x, 6)), 6.0);
}

// Below stands for 0 too: min(0, x) and not min(x, 0), as the gradient of a tie goes to the second operand.
Compose::V Compose::elu(V x, V alpha) {
  V below = mul(alpha, unary(OpKind::Expm1, binary(OpKind::Min, literal(x, 0), x)));
  return where(binary(OpKind::Gt, x, 0.0), x, below);
}

Compose::V Compose::celu(V x, V alpha) {
  V below = mul(alpha, unary(OpKind::Expm1, div(binary(OpKind::Min, literal(x, 0), x), alpha)));
  return where(binary(OpKind::Gt, x, 0.0), x, below);
}

Compose::V Compose::selu(V x) {
  // Klambauer et al. 2017: the fixed point of mean 0 and variance 1.
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return binary(OpKind::Mul, elu(x, literal(x, kAlpha)), kScale);
}

Compose::V Compose::leakyRelu(V x, V slope) { return where(binary(OpKind::Gt, x, 0.0), x, mul(slope, x)); }

Compose::V Compose::softsign(V x) { return div(x, binary(OpKind::Add, unary(OpKind::Abs, x), 1.0)); }

// ---- products

std::optional<Compose::ProductPlan> Compose::planProduct(Dims x, Dims y) {
  if (x.empty() || y.empty()) return std::nullopt;
  const bool oneRow = x.size() == 1, oneColumn = y.size() == 1;
  if (oneRow) x.insert(x.begin(), 1);
  if (oneColumn) y.push_back(1);
  const int64_t depth = x.back();
  if (depth != y[y.size() - 2]) return std::nullopt;
  const auto batchOf = [](const Dims& d) { return std::span(d).first(d.size() - 2); };
  const auto batch = broadcastShapes(batchOf(x), batchOf(y));
  if (!batch) return std::nullopt;
  ProductPlan plan;
  plan.out = *batch;
  if (!oneRow) plan.out.push_back(x[x.size() - 2]);
  if (!oneColumn) plan.out.push_back(y.back());
  const size_t rank = batch->size();
  const size_t xMissing = rank + 2 - x.size(), yMissing = rank + 2 - y.size();
  x.insert(x.begin(), xMissing, 1);
  y.insert(y.begin(), yMissing, 1);
  // Rows of every matrix that meets the same right operand are rows of one product, which reads it once.
  size_t kept = rank;
  Dims rows = {x[rank]};
  while (kept > 0 && y[kept - 1] == 1 && x[kept - 1] == (*batch)[kept - 1]) rows.push_back(x[--kept]);
  const auto keptOf = [&](const Dims& d, size_t missing) {
    const auto from = d.begin() + static_cast<std::ptrdiff_t>(std::min(missing, kept));
    return Dims(from, d.begin() + static_cast<std::ptrdiff_t>(kept));
  };
  plan.left = keptOf(x, xMissing);
  plan.left.insert(plan.left.end(), {sizeOf(rows), depth});
  plan.right = keptOf(y, yMissing);
  plan.right.insert(plan.right.end(), {depth, y.back()});
  plan.batch = keptOf(*batch, 0);
  return plan;
}

Dims Compose::ProductPlan::spread(const Dims& operand) const {
  Dims shape = batch;
  shape.insert(shape.end(), operand.end() - 2, operand.end());
  return shape;
}

Compose::V Compose::matmul(V x, V y) {
  const auto plan = planProduct(x->type.shape, y->type.shape);
  assert(plan && "matmul operands were checked");
  V left = broadcastTo(reshape(x, plan->left), plan->spread(plan->left));
  V right = broadcastTo(reshape(y, plan->right), plan->spread(plan->right));
  return reshape(b.value(OpKind::Matmul, {left, right}), plan->out);
}

Compose::V Compose::tensordot(V x, V y, const Dims& xAxes, const Dims& yAxes) {
  auto split = [](const Type& t, const Dims& axes, Dims& free, Dims& freeShape) {
    for (int64_t i = 0; i < t.rank(); ++i) {
      if (std::find(axes.begin(), axes.end(), i) != axes.end()) continue;
      free.push_back(i);
      freeShape.push_back(t.shape[i]);
    }
  };
  Dims xFree, yFree, xShape, yShape;
  split(x->type, xAxes, xFree, xShape);
  split(y->type, yAxes, yFree, yShape);
  int64_t depth = count(x->type, xAxes);
  Dims xPerm = xFree, yPerm = yAxes;
  xPerm.insert(xPerm.end(), xAxes.begin(), xAxes.end());
  yPerm.insert(yPerm.end(), yFree.begin(), yFree.end());
  V left = reshape(permute(x, xPerm), {Compose::sizeOf(xShape), depth});
  V right = reshape(permute(y, yPerm), {depth, Compose::sizeOf(yShape)});
  Dims out = xShape;
  out.insert(out.end(), yShape.begin(), yShape.end());
  return reshape(matmul(left, right), out);
}

Compose::V Compose::cross(V x, V y, int64_t axis) {
  auto part = [&](V v, int64_t i) { return sliceAxis(v, axis, i, 1); };
  std::vector<V> parts;
  for (int64_t i = 0; i < 3; ++i) {
    int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(sub(mul(part(x, j), part(y, k)), mul(part(x, k), part(y, j))));
  }
  return concat(parts, axis);
}

// ---- indexed

Compose::V Compose::gather(V x, std::vector<V> indices, const Dims& axes, int64_t at) {
  indices.insert(indices.begin(), x);
  return b.value(OpKind::Gather, indices, {{"axes", axes}, {"at", at}});
}

std::vector<Compose::V> Compose::alongIndices(V places, int64_t axis) {
  std::vector<V> indices;
  for (int64_t i = 0; i < places->type.rank(); ++i) {
    indices.push_back(i == axis ? places : iotaOn(places, places->type.shape, places->type.dtype, i));
  }
  return indices;
}

Compose::V Compose::takeAlong(V x, V places, int64_t axis) {
  if (places->type.dtype != DType::I64) places = cast(places, DType::I64);
  return gather(x, alongIndices(places, axis), allAxes(x->type), 0);
}

// ---- scans and order

Compose::V Compose::cumulate(const std::string& mode, V x, int64_t axis, bool reverse, bool exclusive) {
  return b.value(OpKind::Cumulate, {x},
                 {{"axes", Dims{axis}}, {"mode", mode}, {"reverse", reverse}, {"exclusive", exclusive}});
}

Compose::V Compose::scan(OpKind kind, V x, int64_t axis, bool reverse) {
  int64_t n = x->type.shape[axis];
  for (int64_t s = 1; s < n; s *= 2) {
    V head = sliceAxis(x, axis, 0, n - s), tail = sliceAxis(x, axis, s, n - s);
    V both = reverse ? binary(kind, head, tail) : binary(kind, tail, head);
    x = reverse ? concat({both, sliceAxis(x, axis, n - s, s)}, axis) : concat({sliceAxis(x, axis, 0, s), both}, axis);
  }
  return x;
}

Compose::V Compose::sort(V x, int64_t axis, bool descending) {
  const int64_t last = x->type.rank() - 1;
  return moveAxis(b.value(OpKind::Sort, {moveAxis(x, axis, last)}, {{"descending", descending}}), last, axis);
}

Compose::V Compose::argsort(V x, int64_t axis, bool descending) {
  const int64_t last = x->type.rank() - 1;
  return moveAxis(b.value(OpKind::ArgSort, {moveAxis(x, axis, last)}, {{"descending", descending}}), last, axis);
}

Compose::Chosen Compose::topk(V x, int64_t k, int64_t axis, bool largest) {
  const int64_t last = x->type.rank() - 1;
  Op* op = b.make(OpKind::TopK, {moveAxis(x, axis, last)}, {{"k", k}, {"largest", largest}});
  return {moveAxis(op->result(0), last, axis), moveAxis(op->result(1), last, axis)};
}

Compose::V Compose::searchSorted(V sorted, V x, bool right) {
  const int64_t last = sorted->type.rank() - 1;
  int64_t n = sorted->type.shape.back(), top = 1;
  while (top <= n) top *= 2;
  auto number = [this](int64_t i) { return b.scalarInt(DType::I64, i); };
  // A number alone goes where the tensors are.
  auto shaped = [&](V v) { return v->type.shape == x->type.shape ? v : fillOn(sorted, x->type.shape, v, x); };
  if (n == 0) return shaped(number(0));
  V found = number(0);
  V nan = isFloat(x->type.dtype) ? unary(OpKind::IsNan, x) : nullptr;
  // The largest count whose last element is still below x, bit by bit.
  for (int64_t step = top / 2; step > 0; step /= 2) {
    V next = add(found, number(step));
    V place = shaped(sub(binary(OpKind::Min, next, number(n)), number(1)));
    V probe = last == 0 ? gather(sorted, {place}, {0}, 0) : takeAlong(sorted, place, last);
    V before = binary(right ? OpKind::Le : OpKind::Lt, probe, x);
    // NaN is the largest, as for sort.
    if (nan)
      before = binary(OpKind::Or, before, right ? nan : binary(OpKind::And, nan, binary(OpKind::Eq, probe, probe)));
    V below = binary(OpKind::And, before, binary(OpKind::Le, next, number(n)));
    found = where(below, next, found);
  }
  return found;
}

}  // namespace tenc::ir
