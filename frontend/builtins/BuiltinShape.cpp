// Built-ins that move elements: reshape, transpose, concat, pad, ...
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
  if (!x || !shape) return Val::none();
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
  if (!x) return Val::none();
  auto from = k.integer("start"), to = k.integer("end");
  if (!from || !to) return Val::none();
  int64_t rank = x->type.rank();
  if (rank == 0) return k.result(k.c.reshape(x, {1}));
  auto lo = k.evaluator.constAxis(Val::ofInt(*from, k.span), rank),
       hi = k.evaluator.constAxis(Val::ofInt(*to, k.span), rank);
  if (!lo || !hi) return Val::none();
  if (*lo > *hi) return k.fail(Code::E0204, "`start` stands behind `end`");
  Dims shape(x->type.shape.begin(), x->type.shape.begin() + *lo);
  int64_t n = 1;
  for (int64_t i = *lo; i <= *hi; ++i) n *= x->type.shape[i];
  shape.push_back(n);
  shape.insert(shape.end(), x->type.shape.begin() + *hi + 1, x->type.shape.end());
  return k.result(k.c.reshape(x, shape));
}

Val squeeze(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return Val::none();
  auto axes = k.evaluator.constAxes(k.args.find("axis"), x->type.rank());
  if (!axes) return Val::none();
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
  if (!x) return Val::none();
  auto given = k.evaluator.constInts(k["axis"], "an axis");
  if (!given) return Val::none();
  auto rank = x->type.rank() + static_cast<int64_t>(given->size());
  auto axes = k.evaluator.constAxes(k.args.find("axis"), rank);
  if (!axes) return Val::none();
  Dims shape = x->type.shape;
  for (int64_t a : *axes) shape.insert(shape.begin() + a, 1);
  return k.result(k.c.reshape(x, shape));
}

Val permuteDims(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto given = k.evaluator.constInts(k["axes"], "an axis");
  if (!x || !given) return Val::none();
  Dims perm;
  for (int64_t a : *given) {
    auto axis = k.evaluator.constAxis(Val::ofInt(a, k["axes"].span), x->type.rank());
    if (!axis) return Val::none();
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
  if (!x) return Val::none();
  if (!k.has("a") && !k.has("b")) {
    Dims perm = ir::Compose::allAxes(x->type);
    std::reverse(perm.begin(), perm.end());
    return k.result(k.c.permute(x, perm));
  }
  if (!k.has("a") || !k.has("b")) return k.fail(Code::E0204, "`transpose` swaps two dims, `a` and `b`");
  auto a = k.axis("a", x->type.rank()), b = k.axis("b", x->type.rank());
  if (!a || !b) return Val::none();
  return k.result(k.c.swapAxes(x, *a, *b));
}

Val moveaxis(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto from = k.evaluator.constInts(k["from"], "an axis"), to = k.evaluator.constInts(k["to"], "an axis");
  if (!x || !from || !to) return Val::none();
  if (from->size() != to->size()) return k.fail(Code::E0204, "`from` and `to` differ in length");
  int64_t rank = x->type.rank();
  Dims perm(rank, -1), rest;
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < from->size(); ++i) {
    auto f = k.evaluator.constAxis(Val::ofInt((*from)[i], k["from"].span), rank);
    auto t = k.evaluator.constAxis(Val::ofInt((*to)[i], k["to"].span), rank);
    if (!f || !t) return Val::none();
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
  if (!x || !shape) return Val::none();
  auto both = ir::broadcastShapes(x->type.shape, *shape);
  if (!both || *both != *shape) {
    return k.fail(Code::E0202, ir::toString(x->type) + " does not broadcast to " + ir::toString(*shape));
  }
  return k.result(k.c.broadcastTo(x, *shape));
}

bool checkSize(BuiltinCall& k, const Dims& shape) {
  if (ir::elementCount(shape)) return true;
  k.context.error(Code::E0208, k.span, "the result would be too large: " + ir::toString(shape));
  return false;
}

Val tile(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto times = k.evaluator.constShape(k["times"]);
  if (!x || !times) return Val::none();
  Dims shape = x->type.shape, t = *times;
  while (t.size() < shape.size()) t.insert(t.begin(), 1);
  while (shape.size() < t.size()) shape.insert(shape.begin(), 1);
  for (size_t i = 0; i < t.size(); ++i) {
    if (__builtin_mul_overflow(shape[i], t[i], &shape[i])) return k.fail(Code::E0208, "the result would be too large");
  }
  if (!checkSize(k, shape)) return Val::none();
  return k.result(k.c.tile(x, t));
}

/// Places that are listed while compiling, of one dim.
constexpr int64_t kMostPlaces = 1 << 24;

/// The elements of `x` at listed places of a dim; null after an error.
ir::Value* gatherPlaces(BuiltinCall& k, ir::Value* x, int64_t axis, const std::vector<int64_t>& places) {
  Val index = Val::ofPack({}, k.span);
  for (int64_t p : places) index.elems.push_back(Val::ofInt(p, k.span));
  ir::Value* at = k.tensors.tensorOf(index);
  return at ? k.c.gather(x, {at}, {axis}, axis) : nullptr;
}

/// The axis option; without it `x` becomes a vector.
std::optional<int64_t> axisOrFlat(BuiltinCall& k, ir::Value*& x) {
  if (!k.has("axis")) x = k.c.reshape(x, {x->type.size()});
  return k.axis("axis", x->type.rank());
}

/// repeat with a number of copies for each element along the axis.
Val repeatEach(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto times = k.evaluator.constInts(k["n"], "`n`");
  if (!x || !times) return Val::none();
  auto axis = axisOrFlat(k, x);
  if (!axis) return Val::none();
  if (static_cast<int64_t>(times->size()) != x->type.shape[*axis]) {
    return k.fail(Code::E0202, "`repeat` has " + number(static_cast<int64_t>(times->size())) +
                                   " numbers of copies for " + number(x->type.shape[*axis]) + " elements");
  }
  std::vector<int64_t> places;
  for (size_t i = 0; i < times->size(); ++i) {
    if ((*times)[i] < 0) return k.fail(Code::E0208, "an element cannot be repeated " + number((*times)[i]) + " times");
    if ((*times)[i] + static_cast<int64_t>(places.size()) > kMostPlaces)
      return k.fail(Code::E0208, "the result would be too large");
    places.insert(places.end(), static_cast<size_t>((*times)[i]), static_cast<int64_t>(i));
  }
  x = gatherPlaces(k, x, *axis, places);
  return x ? k.result(x) : Val::none();
}

Val repeat(BuiltinCall& k) {
  if (!k["n"].is(Val::Kind::Int)) return repeatEach(k);
  ir::Value* x = k.tensor("x");
  auto n = k.integer("n");
  if (!x || !n) return Val::none();
  if (*n < 0) return k.fail(Code::E0208, "a tensor cannot be repeated " + number(*n) + " times");
  auto axis = axisOrFlat(k, x);
  if (!axis) return Val::none();
  Dims shape = x->type.shape;
  if (__builtin_mul_overflow(shape[*axis], *n, &shape[*axis]))
    return k.fail(Code::E0208, "the result would be too large");
  if (!checkSize(k, shape)) return Val::none();
  return k.result(k.c.repeat(x, *n, *axis));
}

/// Whether a call may give so many values; reports E0208.
bool checkCount(BuiltinCall& k, int64_t count) {
  constexpr int64_t kMost = 100'000;
  if (count <= kMost) return true;
  k.fail(Code::E0208, "`" + std::string(k.row.name) + "` into more than 100,000 tensors; here are " + number(count));
  return false;
}

/// The tensor whose rows concat and stack are to join, or nullptr when they are given apart.
ir::Value* rowsOf(BuiltinCall& k) {
  const Val& xs = k["xs"];
  return xs.is(Val::Kind::Tensor) && xs.tensor->type.rank() > 0 && xs.tensor->type.shape[0] > 0 ? xs.tensor : nullptr;
}

/// `rows` with its first dim at `axis`.
ir::Value* firstDimAt(BuiltinCall& k, ir::Value* rows, int64_t axis) {
  Dims order;
  for (int64_t d = 1; d < rows->type.rank(); ++d) order.push_back(d);
  order.insert(order.begin() + axis, 0);
  return k.c.permute(rows, order);
}

/// The operands of concat and stack: a tuple, list or array of tensors of one dtype.
std::vector<ir::Value*> parts(BuiltinCall& k) {
  const Val& xs = k["xs"];
  std::vector<ir::Value*> out;
  std::vector<Val> elems = xs.elems;
  if (!xs.is(Val::Kind::Tensor) && !xs.is(Val::Kind::Tuple) && !xs.is(Val::Kind::List) && !xs.is(Val::Kind::Array)) {
    k.context.error(Code::E0203, xs.span,
                    "`" + std::string(k.row.name) + "` takes a tuple of tensors, not " + describe(xs));
    return {};
  }
  if (elems.empty()) {
    k.context.error(Code::E0204, k.span, "`" + std::string(k.row.name) + "` needs at least one tensor");
    return {};
  }
  if (!k.tensors.checkParts(elems.size(), xs.span)) return {};
  k.tensors.adoptDeclared(elems, k.expected);
  auto dtype = commonDType(k.context, elems, k.span, k.row.name);
  if (!dtype) return {};
  for (const Val& e : elems) {
    ir::Value* v = k.tensors.tensorOf(e, dtype);
    if (!v) return {};
    out.push_back(v);
  }
  return out;
}

Val concat(BuiltinCall& k) {
  if (ir::Value* rows = rowsOf(k)) {
    if (!k.checkRank(rows, 2)) return Val::none();
    auto axis = k.axis("axis", rows->type.rank() - 1);
    if (!axis) return Val::none();
    Dims joined(rows->type.shape.begin() + 1, rows->type.shape.end());
    joined[*axis] *= rows->type.shape[0];
    return k.result(k.c.reshape(firstDimAt(k, rows, *axis), joined));
  }
  std::vector<ir::Value*> xs = parts(k);
  if (xs.empty()) return Val::none();
  if (!k.checkRank(xs[0], 1)) return Val::none();
  auto axis = k.axis("axis", xs[0]->type.rank());
  if (!axis) return Val::none();
  for (ir::Value* x : xs) {
    Dims a = xs[0]->type.shape, b = x->type.shape;
    if (a.size() == b.size()) a[*axis] = b[*axis] = 0;
    if (a != b) {
      return k.fail(Code::E0202, "`concat` along dim " + number(*axis) +
                                     " needs tensors that agree in the other dims, not " + ir::toString(xs[0]->type) +
                                     " and " + ir::toString(x->type));
    }
  }
  return k.result(k.c.concat(xs, *axis));
}

Val stack(BuiltinCall& k) {
  if (ir::Value* rows = rowsOf(k)) {
    auto axis = k.axis("axis", rows->type.rank());
    return axis ? k.result(firstDimAt(k, rows, *axis)) : Val::none();
  }
  std::vector<ir::Value*> xs = parts(k);
  if (xs.empty()) return Val::none();
  auto axis = k.axis("axis", xs[0]->type.rank() + 1);
  if (!axis) return Val::none();
  for (ir::Value* x : xs) {
    if (x->type.shape == xs[0]->type.shape) continue;
    return k.fail(Code::E0202, "`stack` needs tensors of one shape, not " + ir::toString(xs[0]->type) + " and " +
                                   ir::toString(x->type));
  }
  return k.result(k.c.stack(xs, *axis));
}

Val split(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x || !k.checkRank(x, 1)) return Val::none();
  auto axis = k.axis("axis", x->type.rank());
  auto given = k.evaluator.constInts(k["n"], "the parts");
  if (!axis || !given) return Val::none();
  int64_t length = x->type.shape[*axis];
  Dims sizes = *given;
  if (k["n"].is(Val::Kind::Int)) {
    int64_t n = (*given)[0];
    if (n <= 0 || length % n != 0) {
      return k.fail(Code::E0202, "dim " + number(*axis) + " of " + ir::toString(x->type) + " does not split in " +
                                     number(n) + " equal parts");
    }
    if (!checkCount(k, n)) return Val::none();
    sizes.assign(n, length / n);
  }
  int64_t total = 0;
  for (int64_t s : sizes) {
    if (s < 0 || s > length) return k.fail(Code::E0202, "a part of " + number(s) + " of a dim of " + number(length));
    total += s;
  }
  if (total != length) {
    return k.fail(Code::E0202, "the parts have " + number(total) + " of the " + number(length) + " elements of dim " +
                                   number(*axis));
  }
  std::vector<Val> out;
  if (!checkCount(k, static_cast<int64_t>(sizes.size()))) return Val::none();
  int64_t at = 0;
  for (int64_t s : sizes) {
    out.push_back(k.result(k.c.sliceAxis(x, *axis, at, s)));
    at += s;
  }
  return Val::ofTuple(std::move(out), k.span);
}

Val unstack(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x || !k.checkRank(x, 1)) return Val::none();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis || !checkCount(k, x->type.shape[*axis])) return Val::none();
  std::vector<Val> out;
  for (int64_t i = 0; i < x->type.shape[*axis]; ++i) {
    out.push_back(k.result(k.c.squeeze(k.c.sliceAxis(x, *axis, i, 1), *axis)));
  }
  return Val::ofTuple(std::move(out), k.span);
}

Val flip(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return Val::none();
  auto axes = k.evaluator.constAxes(k.args.find("axis"), x->type.rank());
  if (!axes) return Val::none();
  return k.result(k.c.flip(x, *axes));
}

/// `x` moved along one axis by a run-time number of places: place i comes from i - n.
ir::Value* rolledBy(ir::Compose& c, ir::Value* x, ir::Value* n, int64_t axis) {
  const int64_t length = x->type.shape[axis];
  if (length == 0) return x;
  ir::Value* modulus = c.b.scalarInt(ir::DType::I64, length);
  ir::Value* places = c.binary(OpKind::Mod, c.cast(n, ir::DType::I64), modulus);
  ir::Value* from = c.sub(c.iotaOn(x, {length}, ir::DType::I64, 0), places);
  return c.gather(x, {c.binary(OpKind::Mod, from, modulus)}, {axis}, axis);
}

Val roll(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return Val::none();
  Dims shape = x->type.shape;
  if (!k.has("axis")) x = k.c.reshape(x, {x->type.size()});
  auto axes = k.has("axis") ? k.evaluator.constInts(k["axis"], "an axis") : Dims{0};
  if (!axes) return Val::none();
  const Val& n = k["n"];
  std::vector<Val> by = n.is(Val::Kind::Tuple) || n.is(Val::Kind::Array) ? n.elems : std::vector<Val>{n};
  if (by.size() == 1) by.resize(axes->size(), Val(by[0]));
  if (by.size() != axes->size()) return k.fail(Code::E0204, "`n` and `axis` differ in length");
  for (size_t i = 0; i < axes->size(); ++i) {
    auto axis = k.evaluator.constAxis(Val::ofInt((*axes)[i], k.span), x->type.rank());
    if (!axis) return Val::none();
    if (by[i].is(Val::Kind::Tensor)) {
      const ir::Type& t = by[i].tensor->type;
      if (t.rank() != 0 || !ir::isInt(t.dtype)) return k.fail(Code::E0203, "a run-time `n` must be one integer");
      x = rolledBy(k.c, x, by[i].tensor, *axis);
    } else {
      auto places = k.evaluator.constInt(by[i], "`n`");
      if (!places) return Val::none();
      x = k.c.roll(x, *places, *axis);
    }
  }
  return k.result(k.c.reshape(x, shape));
}

template <bool Lower>
Val triangle(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto diagonal = k.integer("k");
  if (!x || !diagonal || !k.checkRank(x, 2)) return Val::none();
  return k.result(k.c.triangle(x, *diagonal, Lower));
}

Val diagonal(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto offset = k.integer("offset");
  if (!x || !offset || !k.checkRank(x, 2)) return Val::none();
  int64_t rank = x->type.rank();
  auto given = k.evaluator.constInts(k.value("axes"), "an axis");
  if (!given) return Val::none();
  if (given->size() != 2) return k.fail(Code::E0204, "`axes` are two");
  Dims axes;
  for (const int64_t i : *given) {
    auto a = k.evaluator.constAxis(Val::ofInt(i, k.span), rank);
    if (!a) return Val::none();
    axes.push_back(*a);
  }
  if (axes[0] == axes[1]) return k.fail(Code::E0204, "`axes` must differ");
  Dims perm;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axes[0] && i != axes[1]) perm.push_back(i);
  }
  perm.insert(perm.end(), axes.begin(), axes.end());
  return k.result(k.c.diagonal(k.c.permute(x, perm), *offset));
}

Val diag(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto offset = k.integer("k");
  if (!x || !offset || !k.inReach({*offset}, "k", k.span)) return Val::none();
  if (x->type.rank() == 1) return k.result(k.c.diagonalMatrix(x, *offset));
  if (x->type.rank() == 2) return k.result(k.c.diagonal(x, *offset));
  return k.fail(Code::E0202, "`diag` takes one or two dims, not " + ir::toString(x->type));
}

/// Places along one padded dim for the modes that repeat elements; false when there is nothing to repeat. As in
/// PyTorch, what a negative width crops still shows in reflections, but does not come round.
bool padPlaces(const std::string& mode, int64_t n, int64_t lo, int64_t hi, std::vector<int64_t>& places) {
  const int64_t first = std::max<int64_t>(0, -lo), left = n - first - std::max<int64_t>(0, -hi);
  if ((mode == "wrap" ? left : n) == 0 && (lo > 0 || hi > 0)) return false;
  const auto modulo = [](int64_t i, int64_t period) { return ((i % period) + period) % period; };
  for (int64_t i = -lo; i < n + hi; ++i) {
    if (mode == "edge") {
      places.push_back(std::clamp<int64_t>(i, 0, n - 1));
    } else if (mode == "wrap") {
      places.push_back(first + modulo(i - first, left));
    } else {
      const int64_t period = std::max<int64_t>(1, 2 * (n - 1)), at = modulo(i, period);
      places.push_back(at < n ? at : period - at);
    }
  }
  return true;
}

Val pad(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto mode = k.string("mode");
  if (!x || !mode) return Val::none();
  auto widths = k.pairs(k["widths"], x->type.shape.size(), false);
  if (!widths) return Val::none();
  Dims lo, hi;
  for (size_t i = 0; i < widths->size(); ++i) {
    auto [l, h] = (*widths)[i];
    lo.push_back(l), hi.push_back(h);
    int64_t n = x->type.shape[i];
    if (l < -n || h < -n || n + l + h < 0) {
      return k.fail(Code::E0208, "the widths [" + number(l) + ", " + number(h) + "] leave nothing of dim " + number(i) +
                                     " of " + ir::toString(x->type));
    }
  }
  if (*mode == "constant") {
    ir::Value* value = k.tensors.tensorOf(k.value("value"), x->type.dtype);
    if (!value) return Val::none();
    if (value->type.rank() != 0 || value->type.dtype != x->type.dtype) {
      return k.fail(Code::E0201, "`value` must be one " + std::string(ir::name(x->type.dtype)) + ", not " +
                                     ir::toString(value->type));
    }
    return k.result(k.c.padWith(x, value, lo, hi));
  }
  if (*mode != "edge" && *mode != "reflect" && *mode != "wrap") {
    return k.fail(Code::E0204, "`mode` is \"constant\", \"edge\", \"reflect\" or \"wrap\"");
  }
  for (size_t i = 0; i < lo.size(); ++i) {
    if (lo[i] == 0 && hi[i] == 0) continue;
    if (x->type.shape[i] + lo[i] + hi[i] > kMostPlaces) return k.fail(Code::E0208, "the result would be too large");
    std::vector<int64_t> places;
    if (!padPlaces(*mode, x->type.shape[i], lo[i], hi[i], places)) {
      return k.fail(Code::E0202, "an empty dim cannot be padded with its own elements");
    }
    const auto axis = static_cast<int64_t>(i);
    // Elements that come again and again are gathered: joined, each turn would be code of its own.
    const bool joined = *mode == "edge" || lo[i] + hi[i] <= 16 * x->type.shape[i];
    x = joined ? k.c.takeStatic(x, axis, places) : gatherPlaces(k, x, axis, places);
    if (!x) return Val::none();
  }
  return k.result(x);
}

Val meshgrid(BuiltinCall& k) {
  auto indexing = k.string("indexing");
  if (!indexing) return Val::none();
  if (*indexing != "xy" && *indexing != "ij") return k.fail(Code::E0204, "`indexing` is \"xy\" or \"ij\"");
  std::vector<ir::Value*> axes;
  Dims shape;
  for (const Val* v : k.args.rest) {
    ir::Value* x = k.tensors.tensorOf(*v);
    if (!x) return Val::none();
    if (x->type.rank() > 1)
      return k.fail(Code::E0202, "`meshgrid` takes tensors of one dim, not " + ir::toString(x->type));
    axes.push_back(k.c.reshape(x, {x->type.size()}));
    shape.push_back(x->type.size());
  }
  bool swap = *indexing == "xy" && axes.size() >= 2;
  if (swap) std::swap(shape[0], shape[1]);
  std::vector<Val> out;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t at = swap && i < 2 ? 1 - i : i;
    Dims line(shape.size(), 1);
    line[at] = shape[at];
    out.push_back(k.result(k.c.broadcastTo(k.c.reshape(axes[i], line), shape)));
  }
  return Val::ofTuple(std::move(out), k.span);
}

constexpr BuiltinRow kRows[] = {
    {"reshape(x, shape: shape)", "The same elements in row-major order; one dim may be -1.", reshape},
    {"flatten(x; start: 0, end: -1)", "The dims from `start` to `end` as one.", flatten},
    {"squeeze(x; axis: ints?)", "Without dims of 1.", squeeze},
    {"expand_dims(x; axis: ints)", "With new dims of 1 at these places of the result.", expandDims},
    {"permute_dims(x, axes: ints)", "Dim i of the result is dim axes[i] of x.", permuteDims},
    {"transpose(x, a: int?, b: int?)", "Dims a and b swapped; without them all dims reversed.", transpose},
    {"moveaxis(x, from: ints, to: ints)", "Dims moved to other places, the rest in order.", moveaxis},
    {"broadcast_to(x, shape: shape)", "Repeated along dims of 1 and new leading dims.", broadcastTo},
    {"tile(x, times: shape)", "Copies of x side by side along each dim.", tile},
    {"repeat(x, n: ints; axis: int?)", "Each element n times along an axis; n may be one number for each.", repeat},
    {"concat(xs; axis: 0)", "Tensors joined along an axis.", concat},
    {"stack(xs; axis: 0)", "Tensors joined along a new axis.", stack},
    {"split(x, n: ints; axis: 0)", "A tuple of n equal parts, or of parts of the sizes given.", split},
    {"unstack(x; axis: 0)", "A tuple of the slices along an axis.", unstack},
    {"flip(x; axis: ints?)", "Reversed along axes, all by default.", flip},
    {"roll(x, n; axis: ints?)", "Moved n places along an axis, round the end.", roll},
    {"tril(x; k: 0)", "The lower triangle of the last two dims, up to diagonal k.", triangle<true>},
    {"triu(x; k: 0)", "The upper triangle of the last two dims, from diagonal k.", triangle<false>},
    {"diagonal(x; offset: 0, axes: (-2, -1))", "The diagonal of two dims, as the last dim.", diagonal},
    {"diag(x; k: 0)", "A matrix with the vector x on diagonal k, or that diagonal of a matrix.", diag},
    {"pad(x, widths: ints; mode: \"constant\", value: any = 0)", "Padded by [[lo, hi], ...]; negative widths crop.",
     pad},
    {"meshgrid(...; indexing: \"xy\")", "Coordinates of a grid from its axes, a tuple.", meshgrid},
};

}  // namespace

std::span<const BuiltinRow> shapeBuiltins() { return kRows; }

}  // namespace tenc::frontend
