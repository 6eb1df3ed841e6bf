// Built-ins that give tensors other shapes: reshape, transpose, broadcast_to, ...
#include <algorithm>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Operands.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

using ir::Dims;
using ir::OpKind;

namespace {

std::string number(int64_t i) { return std::to_string(i); }

/// The tensor `x`; literals alone are of the dtype that is declared for the result.
ir::Value* declaredTensor(BuiltinCall& k) {
  std::vector<Val> x = {k["x"]};
  k.tensors.adoptDeclared(x, k.expected);
  ir::Value* v = k.tensors.tensorOf(x[0]);
  k.context.at(k.span);
  return v;
}

Val reshape(BuiltinCall& k) {
  ir::Value* x = declaredTensor(k);
  auto shape = k.evaluator.constInts(k["shape"], "a shape");
  if (!x || !shape) return k.lost();
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < shape->size(); ++i) {
    int64_t d = (*shape)[i];
    if (d == -1 && open < 0) {
      open = static_cast<int64_t>(i);
    } else if (d < 0) {
      return k.fail(Code::E0208, "a shape has dims that are not negative, and at most one -1: " + ir::toString(*shape));
    } else if (__builtin_mul_overflow(known, d, &known)) {
      return k.fail(Code::E0208, "the shape " + ir::toString(*shape) + " is too large");
    }
  }
  int64_t size = x->type.size();
  if (open >= 0 && known > 0 && size % known == 0) (*shape)[open] = size / known;
  auto count = ir::elementCount(*shape);
  if (!count || *count != size || shape->size() > ir::kMaxRank) {
    return k.fail(Code::E0202, "cannot reshape " + ir::toString(x->type) + " (" + number(size) + " elements) to " +
                                   ir::toString(*shape));
  }
  return k.result(k.c.reshape(x, *shape));
}

Val flatten(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return k.lost();
  auto from = k.integer("start"), to = k.integer("end");
  if (!from || !to) return k.lost();
  int64_t rank = x->type.rank();
  if (rank == 0) return k.result(k.c.reshape(x, {1}));
  auto lo = k.evaluator.constAxis(Val::ofInt(*from, k.span), rank),
       hi = k.evaluator.constAxis(Val::ofInt(*to, k.span), rank);
  if (!lo || !hi) return k.lost();
  if (*lo > *hi) return k.fail(Code::E0204, "`start` is after `end`");
  Dims shape(x->type.shape.begin(), x->type.shape.begin() + *lo);
  int64_t n = 1;
  for (int64_t i = *lo; i <= *hi; ++i) n *= x->type.shape[i];
  shape.push_back(n);
  shape.insert(shape.end(), x->type.shape.begin() + *hi + 1, x->type.shape.end());
  return k.result(k.c.reshape(x, shape));
}

Val squeeze(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return k.lost();
  auto axes = k.evaluator.constAxes(k.args.find("axis"), x->type.rank());
  if (!axes) return k.lost();
  Dims shape;
  for (int64_t i = 0; i < x->type.rank(); ++i) {
    bool named = std::find(axes->begin(), axes->end(), i) != axes->end();
    if (named && x->type.shape[i] == 1) continue;
    if (named && k.has("axis")) {
      return k.fail(Code::E0202,
                    "dim " + number(i) + " of " + ir::toString(x->type) + " is not 1 and cannot be removed");
    }
    shape.push_back(x->type.shape[i]);
  }
  return k.result(k.c.reshape(x, shape));
}

Val expandDims(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return k.lost();
  auto given = k.evaluator.constInts(k["axis"], "an axis");
  if (!given) return k.lost();
  auto rank = x->type.rank() + static_cast<int64_t>(given->size());
  auto axes = k.evaluator.constAxes(k.args.find("axis"), rank);
  if (!axes) return k.lost();
  Dims shape = x->type.shape;
  for (int64_t a : *axes) shape.insert(shape.begin() + a, 1);
  return k.result(k.c.reshape(x, shape));
}

Val permuteDims(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto given = k.evaluator.constInts(k["axes"], "an axis");
  if (!x || !given) return k.lost();
  Dims perm;
  for (int64_t a : *given) {
    auto axis = k.evaluator.constAxis(Val::ofInt(a, k["axes"].span), x->type.rank());
    if (!axis) return k.lost();
    perm.push_back(*axis);
  }
  Dims sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != ir::Compose::allAxes(x->type)) {
    return k.fail(Code::E0204,
                  ir::toString(*given) + " does not name each of the " + number(x->type.rank()) + " dims once");
  }
  return k.result(k.c.permute(x, perm));
}

Val transpose(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return k.lost();
  if (!k.has("a") && !k.has("b")) {
    Dims perm = ir::Compose::allAxes(x->type);
    std::reverse(perm.begin(), perm.end());
    return k.result(k.c.permute(x, perm));
  }
  if (!k.has("a") || !k.has("b")) return k.fail(Code::E0204, "`transpose` swaps two dims, `a` and `b`");
  auto a = k.axis("a", x->type.rank()), b = k.axis("b", x->type.rank());
  if (!a || !b) return k.lost();
  return k.result(k.c.swapAxes(x, *a, *b));
}

Val moveaxis(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto from = k.evaluator.constInts(k["from"], "an axis"), to = k.evaluator.constInts(k["to"], "an axis");
  if (!x || !from || !to) return k.lost();
  if (from->size() != to->size()) return k.fail(Code::E0204, "`from` and `to` differ in length");
  int64_t rank = x->type.rank();
  Dims perm(rank, -1), rest;
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < from->size(); ++i) {
    auto f = k.evaluator.constAxis(Val::ofInt((*from)[i], k["from"].span), rank);
    auto t = k.evaluator.constAxis(Val::ofInt((*to)[i], k["to"].span), rank);
    if (!f || !t) return k.lost();
    if (moved[*f] || perm[*t] >= 0) return k.fail(Code::E0204, "an axis is given twice");
    moved[*f] = true;
    perm[*t] = *f;
  }
  int64_t next = 0;
  for (int64_t& p : perm) {
    if (p >= 0) continue;
    while (moved[next]) ++next;
    p = next++;
  }
  return k.result(k.c.permute(x, perm));
}

Val broadcastTo(BuiltinCall& k) {
  ir::Value* x = declaredTensor(k);
  auto shape = k.evaluator.constShape(k["shape"]);
  if (!x || !shape) return k.lost();
  auto both = ir::broadcastShapes(x->type.shape, *shape);
  if (!both || *both != *shape) {
    return k.fail(Code::E0202, ir::toString(x->type) + " does not broadcast to " + ir::toString(*shape));
  }
  return k.result(k.c.broadcastTo(x, *shape));
}

constexpr BuiltinRow kRows[] = {
    {"reshape(x, shape: shape)", "The same elements in row-major order; one dim may be -1.", reshape},
    {"flatten(x; start: 0, end: -1)", "The dims from `start` to `end` as one.", flatten},
    {"squeeze(x; axis: ints?)", "Without dims of 1.", squeeze},
    {"expand_dims(x; axis: ints)", "With new dims of 1 at these positions of the result.", expandDims},
    {"permute_dims(x, axes: ints)", "Dim i of the result is dim axes[i] of x.", permuteDims},
    {"transpose(x, a: int?, b: int?)", "Dims a and b swapped; without them all dims reversed.", transpose},
    {"moveaxis(x, from: ints, to: ints)", "Dims moved to other positions, the rest in order.", moveaxis},
    {"broadcast_to(x, shape: shape)", "Repeated along dims of 1 and new leading dims.", broadcastTo},
};

}  // namespace

std::span<const BuiltinRow> shapeBuiltins() { return kRows; }

}  // namespace tenc::frontend
