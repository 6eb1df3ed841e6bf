// Built-ins that read and write at run-time places.
#include <algorithm>
#include <limits>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/values/Literals.h"
#include "ir/HiddenDims.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// Compile-time places are checked against the dim that they index.
bool checkPlaces(BuiltinCall& k, const Val& v, int64_t n) {
  if (v.is(Val::Kind::Int)) {
    if (v.integer >= -n && v.integer < n) return true;
    k.context.error(Code::E0205, v.span,
                    "index " + toString(v.integer) + " is out of range for a dim of " + std::to_string(n));
    return false;
  }
  if (!v.is(Val::Kind::Array)) return true;
  return std::all_of(v.elems.begin(), v.elems.end(), [&](const Val& e) { return checkPlaces(k, e, n); });
}

ir::Value* places(BuiltinCall& k, std::string_view name) {
  ir::Value* i = k.tensor(name, DType::I64);
  // What i64 does not hold is out of range, and does not count from the end.
  if (i && i->type.dtype == DType::U64)
    return k.c.binary(OpKind::Min, i, k.c.literalInt(i, std::numeric_limits<int64_t>::max()));
  if (!i || ir::isInt(i->type.dtype)) return i;
  k.context.error(Code::E0201, k.span,
                  "the index of `" + std::string(k.row.name) + "` must be of integers, not " + ir::toString(i->type));
  return nullptr;
}

Val take(BuiltinCall& k) {
  ir::Value *x = k.tensor("x"), *i = places(k, "i");
  if (!x || !i) return k.lost();
  if (!k.has("axis") && x->type.rank() != 1) x = k.c.reshape(x, {x->type.size()});
  auto axis = k.axis("axis", x->type.rank());
  if (!axis || !checkPlaces(k, k["i"], x->type.shape[*axis])) return k.lost();
  return k.result(k.c.gather(x, {i}, {*axis}, *axis));
}

/// Whether an index of x's rank fits x in all dims but one; reports.
bool checkAlong(BuiltinCall& k, const ir::Value* x, const ir::Value* i, int64_t axis) {
  bool fits = x->type.rank() == i->type.rank();
  for (int64_t d = 0; fits && d < x->type.rank(); ++d) fits = d == axis || i->type.shape[d] <= x->type.shape[d];
  if (fits) return true;
  k.context.error(Code::E0202, k.span,
                  "the index of `" + std::string(k.row.name) + "` must have the dims of " + ir::toString(x->type) +
                      " but for axis " + std::to_string(axis) + ", not " + ir::toString(i->type));
  return false;
}

/// Class numbers as indices of a dim of `n`: what is no class tells of itself where it is out of range.
ir::Value* classIndex(BuiltinCall& k, ir::Value* i, int64_t n) {
  ir::Compose& c = k.c;
  i = c.cast(i, DType::I64);
  ir::Value* isClass =
      c.binary(OpKind::And, c.binary(OpKind::Ge, i, c.literalInt(i, 0)), c.binary(OpKind::Lt, i, c.literalInt(i, n)));
  ir::Value* place = c.reshape(c.iotaOn(i, {i->type.size()}, DType::I64, 0), i->type.shape);
  ir::Value* number =
      c.binary(OpKind::Min, c.binary(OpKind::Max, i, c.literalInt(i, kLeastClass)), c.literalInt(i, kMostClass));
  ir::Value* told = c.binary(OpKind::Add, c.mul(place, c.literalInt(i, kClassPlace)), number);
  return c.where(isClass, i, c.binary(OpKind::Add, told, c.literalInt(i, kNoClass - kLeastClass)));
}

/// NumPy's: dims of 1 of either operand repeat, but for the axis.
Val takeAlong(BuiltinCall& k) {
  ir::Value *x = k.tensor("x"), *i = places(k, "i");
  if (!x || !i || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis) return k.lost();
  Dims from = x->type.shape, to = i->type.shape;
  bool fits = from.size() == to.size();
  for (size_t d = 0; fits && d < from.size(); ++d) {
    if (static_cast<int64_t>(d) == *axis) continue;
    fits = from[d] == to[d] || from[d] == 1 || to[d] == 1;
    from[d] = to[d] = from[d] == 1 ? to[d] : from[d];
  }
  if (!fits) {
    return k.fail(Code::E0202, "the index of `take_along_axis` must have the dims of " + ir::toString(x->type) +
                                   " but for axis " + std::to_string(*axis) + ", or 1 there, not " +
                                   ir::toString(i->type));
  }
  const int64_t n = x->type.shape[static_cast<size_t>(*axis)];
  if (!checkPlaces(k, k["i"], n)) return k.lost();
  const auto ofClasses = k.flag("classes");
  if (!ofClasses) return k.lost();
  if (*ofClasses) i = classIndex(k, i, n);
  ir::Value* taken = k.c.takeAlong(k.c.broadcastTo(x, from), k.c.broadcastTo(i, to), *axis);
  if (*ofClasses) taken->op->set(ir::kOfClasses, true);
  return k.result(taken);
}

/// PyTorch's: the result has the index's shape, whose dims are at most those of x; nothing broadcasts.
Val gather(BuiltinCall& k) {
  ir::Value *x = k.tensor("x"), *i = places(k, "i");
  if (!x || !i || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis || !checkAlong(k, x, i, *axis) || !checkPlaces(k, k["i"], x->type.shape[static_cast<size_t>(*axis)]))
    return k.lost();
  return k.result(k.c.takeAlong(x, i, *axis));
}

/// The operands of a scatter behind the tensor that is written, and where they go.
struct Updates {
  ir::Value* u = nullptr;
  std::vector<ir::Value*> indices;
  Dims axes;
  int64_t at = 0;
};

/// The updates broadcast to the shape that the index asks for; reports.
std::optional<Updates> updates(BuiltinCall& k, ir::Value* x, ir::Value* i, ir::Value* u, int64_t axis) {
  Updates r{.u = nullptr, .indices = {i}, .axes = {axis}, .at = axis};
  Dims shape;
  if (i->type.rank() == x->type.rank() && x->type.rank() > 1) {
    if (!checkAlong(k, x, i, axis)) return std::nullopt;
    r.indices = k.c.alongIndices(k.c.cast(i, DType::I64), axis);
    r.axes = ir::Compose::allAxes(x->type);
    r.at = 0;
    shape = i->type.shape;
  } else {
    shape = x->type.shape;
    shape.erase(shape.begin() + axis);
    shape.insert(shape.begin() + axis, i->type.shape.begin(), i->type.shape.end());
  }
  auto fits = ir::broadcastShapes(u->type.shape, shape);
  if (!fits || *fits != shape) {
    k.fail(Code::E0202, "updates of shape " + ir::toString(u->type.shape) + " do not fit " + ir::toString(shape));
    return std::nullopt;
  }
  r.u = k.c.broadcastTo(u, shape);
  return r;
}

ir::Value* written(BuiltinCall& k, ir::Value* into, ir::Value* u, const Updates& r, const std::string& mode) {
  std::vector<ir::Value*> operands = {into, u};
  operands.insert(operands.end(), r.indices.begin(), r.indices.end());
  return k.c.b.value(OpKind::Scatter, operands, {{"axes", r.axes}, {"at", r.at}, {"mode", mode}});
}

/// The mean of what meets in an element: its sum by its number, rounded down for integers.
ir::Value* meanOf(BuiltinCall& k, ir::Value* sum, ir::Value* count) {
  const DType t = sum->type.dtype;
  count = k.c.binary(OpKind::Max, count, k.c.literalInt(count, 1));
  return k.c.binary(ir::isFloat(t) ? OpKind::Div : OpKind::FloorDiv, sum, k.c.cast(count, t));
}

/// Without the tensor's own values where something is written, or with a mean.
ir::Value* scattered(BuiltinCall& k, ir::Value* x, const Updates& r, const std::string& mode, bool own) {
  ir::Compose& c = k.c;
  const DType t = x->type.dtype;
  ir::Value* ones = c.broadcastTo(c.b.scalarInt(DType::I64, 1), r.u->type.shape);
  ir::Value* met = written(k, c.fillOn(x, x->type.shape, c.b.scalarInt(DType::I64, 0)), ones, r, "add");
  ir::Value* untouched = c.binary(OpKind::Eq, met, c.literalInt(met, 0));
  const bool mean = mode == "mean", wide = mean && (ir::isFloat(t) ? ir::byteSize(t) == 2 : ir::byteSize(t) < 8);
  const DType exact = !wide ? t : ir::isFloat(t) ? DType::F32 : ir::isSigned(t) ? DType::I64 : DType::U64;
  ir::Value* base = c.cast(x, exact);
  ir::Value* none = mode == "mul"   ? c.literal(base, 1)
                    : mode == "max" ? c.extreme(exact, false)
                    : mode == "min" ? c.extreme(exact, true)
                                    : c.literal(base, 0);
  ir::Value* v = written(k, own ? base : c.where(untouched, base, none), c.cast(r.u, exact), r, mean ? "add" : mode);
  if (!mean) return v;
  if (own) met = c.binary(OpKind::Add, met, c.literalInt(met, 1));
  return c.cast(meanOf(k, v, met), t);
}

Val scatter(BuiltinCall& k) {
  ir::Value *x = k.tensor("x"), *i = places(k, "i");
  auto mode = k.string("reduce");
  auto own = k.flag("include_self");
  if (!x || !i || !mode || !own || !k.checkRank(x, 1)) return k.lost();
  constexpr std::string_view kModes[] = {"set", "add", "mul", "max", "min", "mean"};
  if (std::ranges::find(kModes, *mode) == std::end(kModes)) {
    return k.failAt("reduce", Code::E0204, "`reduce` is \"set\", \"add\", \"mul\", \"max\", \"min\" or \"mean\"");
  }
  ir::Value* u = k.tensor("u", x->type.dtype);
  auto axis = k.axis("axis", x->type.rank());
  if (!u || !axis || !checkPlaces(k, k["i"], x->type.shape[*axis])) return k.lost();
  if (u->type.dtype != x->type.dtype || (x->type.dtype == DType::Bool && *mode != "set")) {
    return k.fail(Code::E0201,
                  "`scatter` with \"" + *mode + "\" of " + ir::toString(u->type) + " into " + ir::toString(x->type));
  }
  // Sums and products of f16 and bf16 are rounded once.
  const DType t = x->type.dtype;
  const bool half = ir::isFloat(t) && ir::byteSize(t) == 2 && (*mode == "add" || *mode == "mul");
  if (half) x = k.c.cast(x, DType::F32), u = k.c.cast(u, DType::F32);
  auto r = updates(k, x, i, u, *axis);
  if (!r) return k.lost();
  const bool plain = *mode == "set" || (*mode != "mean" && *own);
  ir::Value* v = plain ? written(k, x, r->u, *r, *mode) : scattered(k, x, *r, *mode, *own);
  return k.result(half ? k.c.cast(v, t) : v);
}

Val oneHot(BuiltinCall& k) {
  ir::Value* i = places(k, "i");
  auto n = k.integer("n");
  if (!i || !n) return k.lost();
  if (*n < 0) return k.failAt("n", Code::E0208, "`n` cannot be negative");
  auto axis = k.axis("axis", i->type.rank() + 1);
  auto t = k.dtype();
  if (!axis || !t) return k.lost();
  Dims line(static_cast<size_t>(i->type.rank()) + 1, 1);
  line[*axis] = *n;
  // Of u8 the class numbers from 256 on would be 0, 1, ... again.
  if (!fits(*n, i->type.dtype)) i = k.c.cast(i, DType::I64);
  ir::Value* classes = k.c.iotaOn(i, line, i->type.dtype, *axis);
  ir::Value* hot = k.c.binary(OpKind::Eq, k.c.expandDims(i, *axis), classes);
  return k.result(k.c.cast(hot, *t));
}

/// What would have a shape that depends on run-time values.
Val refused(BuiltinCall& k, std::string help) {
  return Val(
      k.context.error(Code::E0210, k.span, "the shape of `" + std::string(k.row.name) + "` depends on run-time values")
          .help(std::move(help)));
}

Val refusedPlaces(BuiltinCall& k) {
  return refused(k,
                 "keep the shape: `where(mask, x, other)`; for indices `topk` or `argsort`, to count `count_nonzero`");
}

Val unique(BuiltinCall& k) {
  return refused(k, "keep the shape: `sort(x)`, or `bincount(x, length: n)` of small integers");
}

constexpr std::string_view kRefused = "Rejected: its shape depends on run-time values.";
constexpr BuiltinRow kRows[] = {
    {"nonzero(x)", kRefused, refusedPlaces, OpKind::Count, {.refused = true}},
    {"argwhere(x)", kRefused, refusedPlaces, OpKind::Count, {.refused = true}},
    {"unique(x)", kRefused, unique, OpKind::Count, {.refused = true}},
    {"masked_select(x, mask)", kRefused, refusedPlaces, OpKind::Count, {.refused = true}},
    {"take(x, i; axis: int?)", "Elements of x at indices i along an axis.", take},
    {"take_along_axis(x, i; axis: -1, classes: false)",
     "For each element of i, the element of x at that index along the axis; with `classes`, the elements of i are "
     "class numbers, and a negative one is none.",
     takeAlong},
    {"gather(x, i; axis: -1)", "Elements of x at indices along an axis, of the index's shape.", gather},
    {"scatter(x, i, u; axis: 0, reduce: \"set\", include_self: true)",
     "x with u written, added, ... at indices i along the axis: `reduce` is \"set\", \"add\", \"mul\", \"max\", "
     "\"min\" or "
     "\"mean\". Without `include_self` the values of x that something meets do not count.",
     scatter},
    {"one_hot(i, n: int; axis: -1, dtype: bool)",
     "True at index i of n along a new axis; all false if i is out of range.", oneHot},
};

}  // namespace

std::span<const BuiltinRow> indexedBuiltins() { return kRows; }

}  // namespace tenc::frontend
