#include "ir/build/Compose.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/Ir.h"
#include "ir/Scalar.h"

namespace tenc::ir {

Compose::V Compose::binary(OpKind kind, V x, V y) {
  auto shape = broadcastShapes(x->type.shape, y->type.shape);
  assert(shape && "operands were checked to broadcast");
  return b.value(kind, {b.broadcastTo(x, *shape), b.broadcastTo(y, *shape)});
}

Compose::V Compose::literal(V x, double value) {
  DType t = x->type.dtype;
  return isFloat(t) ? b.scalar(t, value) : b.scalarInt(t, static_cast<int64_t>(value));
}

Compose::V Compose::where(V c, V x, V y) {
  auto shape = broadcastShapes(x->type.shape, y->type.shape);
  assert(shape);
  shape = broadcastShapes(*shape, c->type.shape);
  assert(shape);
  return b.value(OpKind::Where, {b.broadcastTo(c, *shape), b.broadcastTo(x, *shape), b.broadcastTo(y, *shape)});
}

Compose::V Compose::checkedStep(V step) {
  if (const auto known = constantScalar(step); known && known->i != 0) return step;
  // One trip by that step, which gives 0 + step, so that it is not dropped.
  const auto i64 = [&](int64_t v) { return b.scalarInt(DType::I64, v); };
  Op* once = b.makeTyped(OpKind::For, {i64(0), i64(1), step, step}, {step->type});
  Region* region = b.addRegion(once);
  V i = region->addArg({DType::I64, {}, {}}, "i");
  region->addArg(step->type, "step");
  Builder trip(region);
  trip.setLoc(b.loc());
  trip.makeTyped(OpKind::Yield, {trip.value(OpKind::Add, {i, step})}, {});
  return once->result();
}

Compose::V Compose::nextIndex(V i, V hi, V step) {
  if (const auto known = constantScalar(step); known && known->i == 1) return add(i, step);
  V most = literalInt(step, std::numeric_limits<int64_t>::max());
  return where(binary(OpKind::Gt, i, sub(most, step)), hi, add(i, step));
}

Compose::V Compose::cast(V x, DType t) { return x->type.dtype == t ? x : b.value(OpKind::Cast, {x}, {{"dtype", t}}); }

Compose::V Compose::extreme(DType t, bool largest) {
  if (isFloat(t)) {
    double inf = std::numeric_limits<double>::infinity();
    return b.scalar(t, largest ? inf : -inf);
  }
  if (t == DType::Bool) return b.scalarInt(t, largest ? 1 : 0);
  int bits = 8 * byteSize(t);
  if (isUnsigned(t)) return b.scalarInt(t, largest ? static_cast<int64_t>(~uint64_t{0} >> (64 - bits)) : 0);
  int64_t most = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  return b.scalarInt(t, largest ? most : -most - 1);
}

Compose::V Compose::widen(V x) {
  DType t = x->type.dtype;
  if (isFloat(t) || t == DType::I64 || t == DType::U64) return x;
  return cast(x, isUnsigned(t) ? DType::U64 : DType::I64);
}

// ---- reductions

Compose::Dims Compose::allAxes(const Type& t) {
  Dims axes(t.shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

int64_t Compose::count(const Type& t, const Dims& axes) {
  int64_t n = 1;
  for (int64_t a : axes) n *= t.shape[a];
  return n;
}

Compose::V Compose::reduce(OpKind kind, V x, const Dims& axes, bool keep) {
  if (axes.empty()) {
    switch (kind) {
      case OpKind::Sum:
      case OpKind::Prod: return widen(x);
      case OpKind::ArgMax:
      case OpKind::ArgMin: return broadcastTo(b.scalarInt(DType::I64, 0), x->type.shape);
      case OpKind::Variance: return sub(x, x);
      default: return x;
    }
  }
  return b.value(kind, {x}, {{"axes", axes}, {"keep", keep}});
}

// ---- structure

Compose::V Compose::reshape(V x, const Dims& shape) {
  return x->type.shape == shape ? x : b.value(OpKind::Reshape, {x}, {{"shape", shape}});
}

Compose::V Compose::permute(V x, const Dims& perm) {
  bool same = true;
  for (size_t i = 0; i < perm.size(); ++i) same = same && perm[i] == static_cast<int64_t>(i);
  return same ? x : b.value(OpKind::Permute, {x}, {{"perm", perm}});
}

Compose::V Compose::swapAxes(V x, int64_t a, int64_t c) {
  Dims perm = allAxes(x->type);
  std::swap(perm[a], perm[c]);
  return permute(x, perm);
}

Compose::V Compose::moveAxis(V x, int64_t from, int64_t to) {
  Dims perm = allAxes(x->type);
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return permute(x, perm);
}

Compose::V Compose::expandDims(V x, int64_t axis) {
  Dims shape = x->type.shape;
  shape.insert(shape.begin() + axis, 1);
  return reshape(x, shape);
}

Compose::V Compose::squeeze(V x, int64_t axis) {
  Dims shape = x->type.shape;
  shape.erase(shape.begin() + axis);
  return reshape(x, shape);
}

Compose::V Compose::slice(V x, const Dims& starts, const Dims& sizes, const Dims& steps) {
  bool whole = sizes == x->type.shape;
  for (size_t i = 0; i < steps.size(); ++i) whole = whole && (sizes[i] <= 1 || steps[i] == 1);
  if (whole) return x;
  return b.value(OpKind::Slice, {x}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
}

Compose::V Compose::sliceAxis(V x, int64_t axis, int64_t start, int64_t size, int64_t step) {
  Dims starts(x->type.shape.size(), 0), sizes = x->type.shape, steps(x->type.shape.size(), 1);
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  return slice(x, starts, sizes, steps);
}

Compose::V Compose::concat(const std::vector<V>& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : b.value(OpKind::Concat, parts, {{"axis", axis}});
}

Compose::V Compose::stack(const std::vector<V>& parts, int64_t axis) {
  std::vector<V> rows;
  rows.reserve(parts.size());
  for (V p : parts) rows.push_back(expandDims(p, axis));
  return concat(rows, axis);
}

Compose::V Compose::flip(V x, const Dims& axes) {
  return axes.empty() ? x : b.value(OpKind::Flip, {x}, {{"axes", axes}});
}

Compose::V Compose::padWith(V x, V value, const Dims& lo, const Dims& hi) {
  Dims starts(lo.size(), 0), sizes = x->type.shape, steps(lo.size(), 1), low(lo), high(hi);
  bool none = true;
  for (size_t i = 0; i < lo.size(); ++i) {
    if (lo[i] < 0) starts[i] = -lo[i], sizes[i] += lo[i], low[i] = 0;
    if (hi[i] < 0) sizes[i] += hi[i], high[i] = 0;
    none = none && low[i] == 0 && high[i] == 0;
  }
  x = slice(x, starts, sizes, steps);
  return none ? x : b.value(OpKind::Pad, {x, value}, {{"lo", low}, {"hi", high}});
}

Compose::V Compose::takeStatic(V x, int64_t axis, const std::vector<int64_t>& places) {
  std::vector<V> parts;
  size_t n = places.size();
  for (size_t i = 0; i < n;) {
    size_t j = i + 1;
    int64_t step = j < n ? places[j] - places[i] : 1;
    while (j < n && places[j] - places[j - 1] == step) ++j;
    auto length = static_cast<int64_t>(j - i);
    if (step == 0) {
      V one = sliceAxis(x, axis, places[i], 1);
      Dims shape = one->type.shape;
      shape[axis] = length;
      parts.push_back(broadcastTo(one, shape));
    } else {
      parts.push_back(sliceAxis(x, axis, places[i], length, step));
    }
    i = j;
  }
  return parts.empty() ? sliceAxis(x, axis, 0, 0) : concat(parts, axis);
}

Compose::V Compose::tile(V x, Dims times) {
  Dims shape = x->type.shape;
  while (times.size() < shape.size()) times.insert(times.begin(), 1);
  while (shape.size() < times.size()) shape.insert(shape.begin(), 1);
  Dims split, wide, out;
  for (size_t i = 0; i < shape.size(); ++i) {
    split.insert(split.end(), {1, shape[i]});
    wide.insert(wide.end(), {times[i], shape[i]});
    out.push_back(times[i] * shape[i]);
  }
  if (split.size() <= kMaxRank) return reshape(broadcastTo(reshape(x, split), wide), out);
  // Two dims for each are too many: one dim after the other, between all that lie before and behind it.
  x = reshape(x, shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t before = 1, behind = 1;
    for (size_t d = 0; d < i; ++d) before *= out[d];
    for (size_t d = i; d < shape.size(); ++d) behind *= shape[d];
    x = broadcastTo(reshape(x, {before, 1, behind}), {before, times[i], behind});
  }
  return reshape(x, out);
}

Compose::V Compose::repeat(V x, int64_t times, int64_t axis) {
  Dims out = x->type.shape;
  V wide = expandDims(x, axis + 1);
  Dims shape = wide->type.shape;
  shape[axis + 1] = times;
  out[axis] *= times;
  return reshape(broadcastTo(wide, shape), out);
}

Compose::V Compose::roll(V x, int64_t by, int64_t axis) {
  int64_t n = x->type.shape[axis];
  if (n == 0) return x;
  by = ((by % n) + n) % n;
  if (by == 0) return x;
  return concat({sliceAxis(x, axis, n - by, by), sliceAxis(x, axis, 0, n - by)}, axis);
}

Compose::V Compose::diagonal(V x, int64_t offset) {
  Dims shape = x->type.shape;
  int64_t cols = shape.back(), rows = shape[shape.size() - 2];
  shape.resize(shape.size() - 2);
  offset = std::clamp(offset, -rows, cols);
  int64_t row = offset < 0 ? -offset : 0, col = offset > 0 ? offset : 0;
  int64_t n = std::max<int64_t>(0, std::min(rows - row, cols - col));
  Dims flat = shape;
  flat.push_back(rows * cols);
  V f = reshape(x, flat);
  auto axis = static_cast<int64_t>(flat.size()) - 1;
  return n == 0 ? sliceAxis(f, axis, 0, 0) : sliceAxis(f, axis, row * cols + col, n, cols + 1);
}

Compose::V Compose::diagonalMatrix(V x, int64_t offset) {
  // Row r holds element r of x with room before or behind it, where its column is r + offset.
  const auto rank = x->type.rank();
  const int64_t k = std::max(offset, -std::numeric_limits<int64_t>::max());
  V zero = literal(x, 0);
  Dims lo(static_cast<size_t>(rank), 0), hi = lo;
  (k < 0 ? lo : hi).back() = std::abs(k);
  V rows = padWith(x, zero, lo, hi);
  const int64_t n = rows->type.shape.back();
  Dims shape = rows->type.shape;
  shape.push_back(n);
  V spread = broadcastTo(expandDims(rows, rank), shape);
  if (!elementCount(shape)) return spread;  // has been reported
  const Dims matrix = {n, n};
  V row = iotaOn(x, matrix, DType::I64, 0), col = iotaOn(x, matrix, DType::I64, 1);
  return where(binary(OpKind::Eq, col, binary(OpKind::Add, row, b.scalarInt(DType::I64, k))), spread, zero);
}

Compose::V Compose::triangle(V x, int64_t k, bool lower) {
  const Dims& s = x->type.shape;
  Dims matrix = {s[s.size() - 2], s.back()};
  k = std::clamp(k, -matrix[0], matrix[1]);  // the sum below does not wrap
  V row = iotaOn(x, matrix, DType::I64, 0), col = iotaOn(x, matrix, DType::I64, 1);
  V keep = binary(lower ? OpKind::Le : OpKind::Ge, col, binary(OpKind::Add, row, b.scalarInt(DType::I64, k)));
  return where(keep, x, literal(x, 0));
}

Compose::Dims Compose::windowCounts(const Type& t, const Windows& w) {
  size_t n = w.size.size(), outer = t.shape.size() - n;
  Dims counts(n);
  for (size_t i = 0; i < n; ++i) {
    int64_t extent = t.shape[outer + i] + w.lo[i] + w.hi[i] - w.dilation[i] * (w.size[i] - 1) - 1;
    counts[i] = extent < 0 ? 0 : extent / w.stride[i] + 1;
  }
  return counts;
}

namespace {

/// Calls f(place) for every place of a window, row-major.
template <class F>
void eachPlace(const Dims& size, F f) {
  Dims at(size.size(), 0);
  if (Compose::sizeOf(size) == 0) return;
  while (true) {
    f(at);
    size_t i = size.size();
    while (i > 0 && ++at[i - 1] == size[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace

/// One strided slice of the padded input for each place of the window.
static std::vector<Value*> windowSlices(Compose& c, Value* x, const Compose::Windows& w, Value* padValue) {
  size_t n = w.size.size(), outer = x->type.shape.size() - n;
  Dims counts = Compose::windowCounts(x->type, w);
  Dims lo(outer, 0), hi(outer, 0);
  lo.insert(lo.end(), w.lo.begin(), w.lo.end());
  hi.insert(hi.end(), w.hi.begin(), w.hi.end());
  Value* padded = c.padWith(x, padValue, lo, hi);
  Dims sizes(x->type.shape.begin(), x->type.shape.begin() + static_cast<int64_t>(outer)), steps(outer, 1);
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  steps.insert(steps.end(), w.stride.begin(), w.stride.end());
  std::vector<Value*> slices;
  eachPlace(w.size, [&](const Dims& place) {
    Dims starts(outer, 0);
    for (size_t i = 0; i < n; ++i) starts.push_back(place[i] * w.dilation[i]);
    slices.push_back(c.slice(padded, starts, sizes, steps));
  });
  return slices;
}

Compose::V Compose::unfold(V x, const Windows& w, V padValue) {
  auto rank = static_cast<int64_t>(x->type.shape.size());
  std::vector<V> slices = windowSlices(*this, x, w, padValue);
  Dims shape(x->type.shape.begin(), x->type.shape.end() - static_cast<int64_t>(w.size.size()));
  for (int64_t n : windowCounts(x->type, w)) shape.push_back(n);
  shape.insert(shape.end(), w.size.begin(), w.size.end());
  return reshape(stack(slices, rank), shape);
}

Compose::V Compose::pool(OpKind kind, V x, const Windows& w, V padValue) {
  std::vector<V> slices = windowSlices(*this, x, w, padValue);
  V total = slices[0];
  for (size_t i = 1; i < slices.size(); ++i) {
    // Of equal elements the gradient belongs to the first: that of a maximum goes to its second operand.
    total = kind == OpKind::Max ? binary(kind, slices[i], total) : binary(kind, total, slices[i]);
  }
  return total;
}

Compose::Chosen Compose::poolPlaces(V x, const Windows& w) {
  const size_t n = w.size.size();
  const Dims spatial(x->type.shape.end() - static_cast<int64_t>(n), x->type.shape.end());
  V numbers = reshape(iotaOn(x, {sizeOf(spatial)}, DType::I64, 0), spatial);
  const std::vector<V> values = windowSlices(*this, x, w, extreme(x->type.dtype, false));
  const std::vector<V> places = windowSlices(*this, numbers, w, b.scalarInt(DType::I64, -1));
  Chosen best{values[0], broadcastTo(places[0], values[0]->type.shape)};
  const bool floats = isFloat(x->type.dtype);
  for (size_t i = 1; i < values.size(); ++i) {
    V better = binary(OpKind::Gt, values[i], best.values);
    if (floats) {
      V first = binary(OpKind::Eq, best.values, best.values);
      better = binary(OpKind::Or, better, binary(OpKind::And, unary(OpKind::IsNan, values[i]), first));
    }
    // Padding is never chosen, not even before elements that are as small.
    V padding = binary(OpKind::Lt, best.places, b.scalarInt(DType::I64, 0));
    V inside = binary(OpKind::Ge, places[i], b.scalarInt(DType::I64, 0));
    better = binary(OpKind::And, binary(OpKind::Or, better, padding), inside);
    best = {where(better, values[i], best.values), where(better, places[i], best.places)};
  }
  return best;
}

Compose::V Compose::convolution(V x, V weight, const Windows& w, int64_t groups) {
  std::vector<Builder::NamedAttr> attrs = {{"stride", w.stride}, {"dilation", w.dilation}, {"groups", groups}};
  auto zero = [](int64_t n) { return n == 0; };
  if (!std::all_of(w.lo.begin(), w.lo.end(), zero) || !std::all_of(w.hi.begin(), w.hi.end(), zero)) {
    attrs.push_back({"lo", w.lo});
    attrs.push_back({"hi", w.hi});
  }
  return b.value(OpKind::Conv, {x, weight}, std::move(attrs));
}

namespace {

/// Weights [C, O / g, window...] as [O, C / g, window...], backwards along the window.
Value* flippedWeights(Compose& c, Value* weight, size_t n, int64_t groups) {
  Dims ws = weight->type.shape, split = {groups, ws[0] / groups, ws[1]}, merged = {groups * ws[1], ws[0] / groups};
  split.insert(split.end(), ws.begin() + 2, ws.end());
  merged.insert(merged.end(), ws.begin() + 2, ws.end());
  Value* flipped = c.reshape(c.swapAxes(c.reshape(weight, split), 1, 2), merged);
  Dims spatial;
  for (size_t i = 0; i < n; ++i) spatial.push_back(static_cast<int64_t>(2 + i));
  return c.flip(flipped, spatial);
}

/// A transposed convolution with strides s, as one convolution for each phase of the places: place s * q + r of the
/// whole output is a sum over x[q - j] * w[r + s * j], so no zeros are put between elements. `flipped` is what
/// flippedWeights gives. Null where that does not apply.
Value* transposedInPhases(Compose& c, Value* x, Value* flipped, const Compose::Windows& w, const Dims& outputPadding,
                          int64_t groups) {
  constexpr int64_t kMostPhases = 16;
  const size_t n = w.size.size();
  const int64_t phases = Compose::sizeOf(w.stride);
  if (phases < 2 || phases > kMostPhases || x->type.size() == 0) return nullptr;
  Dims length(n);  // places of the result
  for (size_t i = 0; i < n; ++i) {
    if (w.stride[i] > w.size[i] || (w.stride[i] > 1 && w.dilation[i] > 1)) return nullptr;
    length[i] = (x->type.shape[2 + i] - 1) * w.stride[i] - w.lo[i] - w.hi[i] + w.dilation[i] * (w.size[i] - 1) + 1 +
                outputPadding[i];
  }
  std::vector<Value*> parts;
  eachPlace(w.stride, [&](const Dims& phase) {
    Dims starts(2, 0), sizes(flipped->type.shape.begin(), flipped->type.shape.begin() + 2), steps(2, 1);
    Compose::Windows one{Dims(n), Dims(n, 1), Dims(n), Dims(n), w.dilation};
    for (size_t i = 0; i < n; ++i) {
      // Places before the first one are left out where lo is negative.
      const int64_t s = w.stride[i], at = phase[i] + w.lo[i], r = (at % s + s) % s, taps = (w.size[i] - r + s - 1) / s;
      one.size[i] = taps;
      // Backwards, the last of the phase's taps comes first.
      starts.push_back(w.size[i] - 1 - (r + s * (taps - 1)));
      sizes.push_back(taps);
      steps.push_back(s);
      const int64_t reach = w.dilation[i] * (taps - 1), count = (length[i] + s - 1) / s;
      one.lo[i] = reach - (at - r) / s;
      one.hi[i] = count + reach - one.lo[i] - x->type.shape[2 + i];
    }
    parts.push_back(c.convolution(x, c.slice(flipped, starts, sizes, steps), one, groups));
  });
  // The phases of one dim after the other are put side by side, from the last one, which runs fastest.
  Dims starts(2, 0), sizes(parts[0]->type.shape.begin(), parts[0]->type.shape.begin() + 2);
  for (size_t i = n; i-- > 0;) {
    const auto s = static_cast<size_t>(w.stride[i]);
    std::vector<Value*> joined;
    for (size_t at = 0; s > 1 && at < parts.size(); at += s) {
      const std::vector<Value*> group(parts.begin() + static_cast<std::ptrdiff_t>(at),
                                      parts.begin() + static_cast<std::ptrdiff_t>(at + s));
      Dims shape = group[0]->type.shape;
      shape[2 + i] *= w.stride[i];
      joined.push_back(c.reshape(c.stack(group, static_cast<int64_t>(3 + i)), shape));
    }
    if (s > 1) parts = std::move(joined);
  }
  for (size_t i = 0; i < n; ++i) {
    starts.push_back(0);
    sizes.push_back(length[i]);
  }
  return c.slice(parts[0], starts, sizes, Dims(sizes.size(), 1));
}

}  // namespace

Compose::V Compose::convolutionTranspose(V x, V weight, const Windows& w, const Dims& outputPadding, int64_t groups) {
  // The adjoint: strides become zeros between the elements, and the weight is flipped.
  size_t n = w.size.size();
  if (V v = transposedInPhases(*this, x, flippedWeights(*this, weight, n, groups), w, outputPadding, groups)) return v;
  V zero = literal(x, 0);
  for (size_t i = 0; i < n; ++i) {
    auto axis = static_cast<int64_t>(2 + i);
    int64_t s = w.stride[i], length = x->type.shape[axis];
    if (s == 1 || length == 0) continue;
    V wide = expandDims(x, axis + 1);
    Dims lo(wide->type.shape.size(), 0), hi = lo, shape = x->type.shape;
    hi[axis + 1] = s - 1;
    shape[axis] = length * s;
    x = sliceAxis(reshape(padWith(wide, zero, lo, hi), shape), axis, 0, (length - 1) * s + 1);
  }
  Windows inner{w.size, Dims(n, 1), w.lo, w.hi, w.dilation};
  for (size_t i = 0; i < n; ++i) {
    int64_t reach = w.dilation[i] * (w.size[i] - 1);
    inner.lo[i] = reach - w.lo[i];
    inner.hi[i] = reach - w.hi[i] + outputPadding[i];
  }
  return convolution(x, flippedWeights(*this, weight, n, groups), inner, groups);
}

// ---- creation on the device of another value

Compose::V Compose::madeOn(const std::vector<V>& like, const std::function<V(Builder&)>& make) {
  Op* on = b.makeTyped(OpKind::On, like, {}, {{"device", std::string()}});
  Builder inner(b.addRegion(on));
  inner.setLoc(b.loc());
  V v = make(inner);
  inner.make(OpKind::Yield, {v});
  return on->addResult({v->type.dtype, v->type.shape, {}});
}

Compose::V Compose::iotaOn(V like, const Dims& shape, DType t, int64_t axis) {
  return madeOn({like}, [&](Builder& at) {
    return at.value(OpKind::Iota, {}, {{"shape", shape}, {"dtype", t}, {"axis", axis}});
  });
}

Compose::V Compose::fillOn(V like, const Dims& shape, V value, V otherwise) {
  std::vector<V> homes = {like};
  if (otherwise) homes.push_back(otherwise);
  return madeOn(homes, [&](Builder& at) {
    return at.makeTyped(OpKind::Fill, {value}, {{value->type.dtype, shape, {}}}, {{"shape", shape}})->result();
  });
}

Compose::V Compose::withoutShape(V x) {
  V scalar = x;
  while (!scalar->type.shape.empty() && scalar->op != nullptr &&
         (scalar->op->kind == OpKind::Broadcast || scalar->op->kind == OpKind::Reshape))
    scalar = scalar->op->operand(0);
  return scalar->type.shape.empty() ? scalar : x;
}

Compose::V Compose::asTensor(V x) {
  V scalar = withoutShape(x);
  if (scalar == x) return x;
  return b.makeTyped(OpKind::Fill, {scalar}, {{x->type.dtype, x->type.shape, {}}}, {{"shape", x->type.shape}})
      ->result();
}

}  // namespace tenc::ir
