// Built-ins that repeat, move and mask elements: tile, roll, pad, triangles and diagonals.
#include <algorithm>
#include <span>
#include <utility>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

using ir::Dims;
using ir::OpKind;

namespace {

bool checkSize(BuiltinCall& k, const Dims& shape) {
  if (ir::elementCount(shape)) return true;
  k.context.error(Code::E0208, k.span, "the result would be too large: " + ir::toString(shape));
  return false;
}

Val tile(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto times = k.evaluator.constShape(k["times"]);
  if (!x || !times) return k.lost();
  Dims shape = x->type.shape, t = *times;
  while (t.size() < shape.size()) t.insert(t.begin(), 1);
  while (shape.size() < t.size()) shape.insert(shape.begin(), 1);
  for (size_t i = 0; i < t.size(); ++i) {
    if (__builtin_mul_overflow(shape[i], t[i], &shape[i])) return k.fail(Code::E0208, "the result would be too large");
  }
  if (!checkSize(k, shape)) return k.lost();
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
  if (!x || !times) return k.lost();
  auto axis = axisOrFlat(k, x);
  if (!axis) return k.lost();
  if (static_cast<int64_t>(times->size()) != x->type.shape[*axis]) {
    return k.fail(Code::E0202, "`repeat` takes a number of copies for each of " + std::to_string(x->type.shape[*axis]) +
                                   " elements, but " + std::to_string(times->size()) +
                                   (times->size() == 1 ? " is given" : " are given"));
  }
  std::vector<int64_t> places;
  for (size_t i = 0; i < times->size(); ++i) {
    if ((*times)[i] < 0)
      return k.failAt("n", Code::E0208, "an element cannot be repeated " + std::to_string((*times)[i]) + " times");
    if ((*times)[i] + static_cast<int64_t>(places.size()) > kMostPlaces)
      return k.fail(Code::E0208, "the result would be too large");
    places.insert(places.end(), static_cast<size_t>((*times)[i]), static_cast<int64_t>(i));
  }
  x = gatherPlaces(k, x, *axis, places);
  return x ? k.result(x) : k.lost();
}

Val repeat(BuiltinCall& k) {
  if (!k["n"].is(Val::Kind::Int)) return repeatEach(k);
  ir::Value* x = k.tensor("x");
  auto n = k.integer("n");
  if (!x || !n) return k.lost();
  if (*n < 0) return k.failAt("n", Code::E0208, "a tensor cannot be repeated " + std::to_string(*n) + " times");
  auto axis = axisOrFlat(k, x);
  if (!axis) return k.lost();
  Dims shape = x->type.shape;
  if (__builtin_mul_overflow(shape[*axis], *n, &shape[*axis]))
    return k.fail(Code::E0208, "the result would be too large");
  if (!checkSize(k, shape)) return k.lost();
  return k.result(k.c.repeat(x, *n, *axis));
}

Val flip(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x) return k.lost();
  auto axes = k.evaluator.constAxes(k.args.find("axis"), x->type.rank());
  if (!axes) return k.lost();
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

/// `x` moved along one axis after the other, each at most once. The parts of one axis are moved along the next by
/// themselves, so that all parts are of `x` itself, and one pass makes the result.
ir::Value* rolledByParts(ir::Compose& c, ir::Value* x, std::span<const std::pair<int64_t, int64_t>> moves) {
  if (moves.empty()) return x;
  const auto [axis, places] = moves.front();
  const int64_t n = x->type.shape[axis], by = n == 0 ? 0 : (places % n + n) % n;
  const auto rest = moves.subspan(1);
  if (rest.empty()) return c.roll(x, places, axis);
  if (by == 0) return rolledByParts(c, x, rest);
  ir::Value* last = rolledByParts(c, c.sliceAxis(x, axis, n - by, by), rest);
  ir::Value* first = rolledByParts(c, c.sliceAxis(x, axis, 0, n - by), rest);
  return c.concat({last, first}, axis);
}

Val roll(BuiltinCall& k) {
  constexpr size_t kMostTogether = 3;  // axes, of eight parts
  ir::Value* x = k.tensor("x");
  if (!x) return k.lost();
  Dims shape = x->type.shape;
  if (!k.has("axis")) x = k.c.reshape(x, {x->type.size()});
  auto axes = k.has("axis") ? k.evaluator.constInts(k["axis"], "an axis") : Dims{0};
  if (!axes) return k.lost();
  const Val& n = k["n"];
  std::vector<Val> by = n.is(Val::Kind::Tuple) || n.is(Val::Kind::Array) ? n.elems : Elements{n};
  if (by.size() == 1) by.resize(axes->size(), Val(by[0]));
  if (by.size() != axes->size()) return k.fail(Code::E0204, "`n` and `axis` differ in length");
  std::vector<std::pair<int64_t, int64_t>> moves;
  const auto move = [&] { x = rolledByParts(k.c, x, std::exchange(moves, {})); };
  for (size_t i = 0; i < axes->size(); ++i) {
    auto axis = k.evaluator.constAxis(Val::ofInt((*axes)[i], k.span), x->type.rank());
    if (!axis) return k.lost();
    const bool again = std::ranges::any_of(moves, [&](const auto& m) { return m.first == *axis; });
    if (again || moves.size() == kMostTogether) move();
    if (by[i].is(Val::Kind::Tensor)) {
      const ir::Type& t = by[i].tensor->type;
      if (t.rank() != 0 || !ir::isInt(t.dtype)) return k.fail(Code::E0203, "a run-time `n` must be one integer");
      move();
      x = rolledBy(k.c, x, by[i].tensor, *axis);
    } else {
      auto places = k.evaluator.constInt(by[i], "`n`");
      if (!places) return k.lost();
      moves.emplace_back(*axis, *places);
    }
  }
  move();
  return k.result(k.c.reshape(x, shape));
}

template <bool Lower>
Val triangle(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto diagonal = k.integer("k");
  if (!x || !diagonal || !k.checkRank(x, 2)) return k.lost();
  return k.result(k.c.triangle(x, *diagonal, Lower));
}

Val diagonal(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto offset = k.integer("offset");
  if (!x || !offset || !k.checkRank(x, 2)) return k.lost();
  int64_t rank = x->type.rank();
  auto given = k.evaluator.constInts(k.value("axes"), "an axis");
  if (!given) return k.lost();
  if (given->size() != 2) return k.failAt("axes", Code::E0204, "`axes` takes two axes");
  Dims axes;
  for (const int64_t i : *given) {
    auto a = k.evaluator.constAxis(Val::ofInt(i, k.span), rank);
    if (!a) return k.lost();
    axes.push_back(*a);
  }
  if (axes[0] == axes[1]) return k.failAt("axes", Code::E0204, "`axes` must differ");
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
  if (!x || !offset || !k.inReach({*offset}, "k", k.span)) return k.lost();
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

/// Runs of places that are equally far apart.
std::vector<std::vector<int64_t>> evenRuns(const std::vector<int64_t>& places) {
  std::vector<std::vector<int64_t>> runs;
  for (size_t i = 0; i < places.size();) {
    size_t end = i + 1;
    while (end < places.size() && places[end] - places[end - 1] == places[i + 1] - places[i]) ++end;
    runs.emplace_back(places.begin() + static_cast<std::ptrdiff_t>(i),
                      places.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
  return runs;
}

Val pad(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  auto mode = k.string("mode");
  if (!x || !mode) return k.lost();
  auto widths = k.pairs(k["widths"], x->type.shape.size(), false);
  if (!widths) return k.lost();
  Dims lo, hi;
  for (size_t i = 0; i < widths->size(); ++i) {
    auto [l, h] = (*widths)[i];
    lo.push_back(l), hi.push_back(h);
    int64_t n = x->type.shape[i];
    if (l < -n || h < -n || n + l + h < 0) {
      return k.fail(Code::E0208, "the widths [" + std::to_string(l) + ", " + std::to_string(h) +
                                     "] leave nothing of dim " + std::to_string(i) + " of " + ir::toString(x->type));
    }
  }
  if (*mode == "constant") {
    const bool off = x->type.dtype == ir::DType::Bool && !k.has("value");
    ir::Value* value = off ? k.c.b.scalarInt(ir::DType::Bool, 0) : k.tensors.tensorOf(k.value("value"), x->type.dtype);
    if (!value) return k.lost();
    if (value->type.rank() != 0 || value->type.dtype != x->type.dtype) {
      return k.failAt(
          "value", Code::E0201,
          "`value` must be one " + std::string(ir::name(x->type.dtype)) + ", not " + ir::toString(value->type));
    }
    return k.result(k.c.padWith(x, value, lo, hi));
  }
  if (*mode != "edge" && *mode != "reflect" && *mode != "wrap") {
    return k.failAt("mode", Code::E0204, "`mode` is \"constant\", \"edge\", \"reflect\" or \"wrap\"");
  }
  std::vector<std::pair<int64_t, std::vector<int64_t>>> joined;
  for (size_t i = 0; i < lo.size(); ++i) {
    if (lo[i] == 0 && hi[i] == 0) continue;
    if (x->type.shape[i] + lo[i] + hi[i] > kMostPlaces) return k.fail(Code::E0208, "the result would be too large");
    std::vector<int64_t> places;
    if (!padPlaces(*mode, x->type.shape[i], lo[i], hi[i], places)) {
      return k.fail(Code::E0202, "an empty dim cannot be padded with its own elements");
    }
    const auto axis = static_cast<int64_t>(i);
    // Elements that come again and again are gathered: joined, each turn would be code of its own.
    if (*mode == "edge" || lo[i] + hi[i] <= 16 * x->type.shape[i]) {
      joined.emplace_back(axis, std::move(places));
    } else {
      x = gatherPlaces(k, x, axis, places);
      if (!x) return k.lost();
    }
  }
  // The last two dims together: parts that are joined one way and then the other are used once each, so that all is one
  // kernel. Of more dims there would be too many.
  for (size_t i = 0; i < joined.size(); ++i) {
    const auto& [axis, places] = joined[i];
    if (i + 2 != joined.size() || places.empty()) {
      x = k.c.takeStatic(x, axis, places);
      continue;
    }
    std::vector<ir::Value*> parts;
    for (const std::vector<int64_t>& run : evenRuns(places))
      parts.push_back(k.c.takeStatic(k.c.takeStatic(x, axis, run), joined[i + 1].first, joined[i + 1].second));
    x = k.c.concat(parts, axis);
    break;
  }
  return k.result(x);
}

constexpr BuiltinRow kRows[] = {
    {"tile(x, times: shape)", "Copies of x side by side along each dim.", tile},
    {"repeat(x, n: ints; axis: int?)", "Each element n times along an axis; n may be one number for each.", repeat},
    {"flip(x; axis: ints?)", "Reversed along axes, all by default.", flip},
    {"roll(x, n; axis: ints?)", "Shifted by n elements along an axis, wrapping around.", roll},
    {"tril(x; k: 0)", "The lower triangle of the last two dims, up to diagonal k.", triangle<true>},
    {"triu(x; k: 0)", "The upper triangle of the last two dims, from diagonal k.", triangle<false>},
    {"diagonal(x; offset: 0, axes: (-2, -1))", "The diagonal of two dims, as the last dim.", diagonal},
    {"diag(x; k: 0)", "A matrix with the vector x on diagonal k, or that diagonal of a matrix.", diag},
    {"pad(x, widths: ints; mode: \"constant\", value: any = 0)", "Padded by [[lo, hi], ...]; negative widths crop.",
     pad},
};

}  // namespace

std::span<const BuiltinRow> rearrangeBuiltins() { return kRows; }

}  // namespace tenc::frontend
