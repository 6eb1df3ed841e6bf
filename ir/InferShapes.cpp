// Shape rules of reductions, products and structural ops.
#include "ir/InferShapes.h"

#include <algorithm>
#include <bitset>
#include <limits>

#include "ir/Windows.h"

namespace tenc::ir {
namespace {

DType widened(DType t) {
  if (t == DType::Bool || isSigned(t)) return DType::I64;
  return isUnsigned(t) ? DType::U64 : t;
}

/// "" when slice (start, size, step) of a dim of `extent` elements stays inside.
std::string checkSlice(int64_t start, int64_t size, int64_t step, int64_t extent) {
  if (size < 0) return "has a negative size " + std::to_string(size);
  if (step == 0) return "has a step of 0";
  if (size == 0) return {};
  int64_t last = 0;
  if (__builtin_mul_overflow(size - 1, step, &last) || __builtin_add_overflow(last, start, &last) || start < 0 ||
      start >= extent || last < 0 || last >= extent) {
    return "takes " + std::to_string(size) + " elements from " + std::to_string(start) + " in steps of " +
           std::to_string(step) + ", outside a dim of " + std::to_string(extent);
  }
  return {};
}

std::string wrongCount(std::string_view attr, size_t count, int64_t rank) {
  return "has " + std::to_string(count) + " " + std::string(attr) + " for a tensor of rank " + std::to_string(rank);
}

}  // namespace

std::string checkAxes(std::span<const int64_t> axes, int64_t rank) {
  std::bitset<kMaxRank> seen;
  for (int64_t a : axes) {
    if (a < 0 || a >= rank) return "has axis " + std::to_string(a) + ", but the rank is " + std::to_string(rank);
    if (seen[static_cast<size_t>(a)]) return "names axis " + std::to_string(a) + " twice";
    seen[static_cast<size_t>(a)] = true;
  }
  return {};
}

std::string checkIndex(const Type& t, bool rank0) {
  if (!isInt(t.dtype)) return "takes indices of integers, not " + std::string(name(t.dtype));
  if (rank0 && !t.shape.empty()) return "takes a rank-0 start, not a tensor of shape " + toString(t.shape);
  return {};
}

Inferred inferReduce(const InferContext& c, ShapeRule rule) {
  const Type& t = c.operand(0);
  const Dims& axes = c.ints("axes");
  if (std::string bad = checkAxes(axes, t.rank()); !bad.empty()) return c.fail(bad);
  int64_t reduced = 1;
  std::bitset<kMaxRank> isReduced;
  for (int64_t a : axes) {
    isReduced[static_cast<size_t>(a)] = true;
    reduced *= t.shape[static_cast<size_t>(a)];
  }
  const bool ordered = c.kind == OpKind::ReduceMax || c.kind == OpKind::ReduceMin;
  if (reduced == 0 && ((ordered && !isFloat(t.dtype)) || rule == ShapeRule::ReduceIndex)) {
    return c.fail("over an axis without elements has no value for " + std::string(name(t.dtype)));
  }
  if (rule == ShapeRule::ReduceIndex && axes.size() != 1 && axes.size() != t.shape.size()) {
    return c.fail("takes one axis, or all");
  }
  Dims shape;
  for (size_t i = 0; i < t.shape.size(); ++i) {
    if (!isReduced[i]) {
      shape.push_back(t.shape[i]);
    } else if (c.boolean("keep")) {
      shape.push_back(1);
    }
  }
  const DType dtype = rule == ShapeRule::ReduceWide    ? widened(t.dtype)
                      : rule == ShapeRule::ReduceBool  ? DType::Bool
                      : rule == ShapeRule::ReduceIndex ? DType::I64
                                                       : t.dtype;
  return c.result(dtype, std::move(shape));
}

Inferred inferScan(const InferContext& c) {
  const Type& t = c.operand(0);
  const Dims& axes = c.ints("axes");
  if (std::string bad = checkAxes(axes, t.rank()); !bad.empty()) return c.fail(bad);
  if (axes.size() != 1) return c.fail("takes one axis");
  const std::string& mode = c.string("mode");
  if (mode != "add" && mode != "mul" && mode != "max" && mode != "min") return c.fail("has no mode `" + mode + "`");
  const bool sums = mode == "add" || mode == "mul";
  if (sums && t.dtype == DType::Bool) return c.fail("does not add or multiply bools");
  const bool blocks = c.has("block");
  Dims totals = t.shape;
  if (blocks) {
    const int64_t block = c.integer("block");
    if (block < 1) return c.fail("needs blocks of at least 1 element");
    int64_t& n = totals[static_cast<size_t>(axes[0])];
    n = n / block + (n % block != 0 ? 1 : 0);
  }
  if (c.kind == OpKind::BlockTotals) return c.result(t.dtype, std::move(totals));
  if ((c.operands.size() == 2) != blocks) return c.fail("takes what blocks start from where there are blocks");
  if (blocks && (c.operand(1).dtype != t.dtype || c.operand(1).shape != totals)) {
    return c.fail("needs one start a block, of " + std::string(name(t.dtype)) + " and shape " + toString(totals));
  }
  return c.result(t.dtype, t.shape);
}

namespace {

/// What is wrong with the dtype of a product of these operands.
std::string checkSums(DType operands, DType given) {
  if (given == operands || (given == DType::F32 && (operands == DType::F16 || operands == DType::BF16))) return "";
  if (given == DType::I32 && (operands == DType::I8 || operands == DType::U8 || operands == DType::I16)) return "";
  return "of " + std::string(name(operands)) + " cannot give " + std::string(name(given));
}

/// What is wrong with attr `rounds`; "" for nothing.
std::string checkRounds(const InferContext& c) {
  if (!c.has("rounds")) return "";
  const DType to = c.dtype("rounds");
  if (to != DType::F16 && to != DType::BF16) return "cannot round to " + std::string(name(to));
  const DType from = c.operand(0).dtype;
  return from == DType::F32 ? "" : "that rounds needs operands of f32, not " + std::string(name(from));
}

/// A result whose dims are those of `shape` in the order of attr `perm`.
Inferred permuted(const InferContext& c, DType t, const Dims& shape) {
  const Dims& perm = c.ints("perm");
  const auto rank = static_cast<int64_t>(shape.size());
  if (perm.size() != shape.size()) return c.fail(wrongCount("axes", perm.size(), rank));
  if (std::string bad = checkAxes(perm, rank); !bad.empty()) return c.fail(bad);
  Dims to;
  for (int64_t p : perm) to.push_back(shape[static_cast<size_t>(p)]);
  return c.result(t, std::move(to));
}

}  // namespace

Inferred inferMatmul(const InferContext& c) {
  const Type& a = c.operand(0);
  const Type& b = c.operand(1);
  if (a.dtype != b.dtype) {
    return c.fail("needs operands of one dtype, not " + std::string(name(a.dtype)) + " and " +
                  std::string(name(b.dtype)));
  }
  if (a.rank() < 2 || b.rank() < 2) {
    return c.fail("needs matrices, not shapes " + toString(a.shape) + " and " + toString(b.shape));
  }
  const size_t ar = a.shape.size();
  const size_t br = b.shape.size();
  if (a.shape[ar - 1] != b.shape[br - 2]) {
    return c.fail("needs inner dims that agree: " + std::to_string(a.shape[ar - 1]) + " and " +
                  std::to_string(b.shape[br - 2]));
  }
  if (ar != br || !std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin())) {
    return c.fail("needs batch dims that agree: " + toString(std::span(a.shape).first(ar - 2)) + " and " +
                  toString(std::span(b.shape).first(br - 2)));
  }
  if (const std::string wrong = checkRounds(c); !wrong.empty()) return c.fail(wrong);
  const DType given = c.has("dtype") ? c.dtype("dtype") : a.dtype;
  if (const std::string wrong = checkSums(a.dtype, given); !wrong.empty()) return c.fail(wrong);
  Dims shape = a.shape;
  shape[ar - 1] = b.shape[br - 1];
  return c.result(given, std::move(shape));
}

Inferred inferConv(const InferContext& c) {
  const Type& x = c.operand(0);
  const Type& w = c.operand(1);
  if (x.dtype != w.dtype || !isFloat(x.dtype)) {
    return c.fail("needs floats of one dtype, not " + std::string(name(x.dtype)) + " and " +
                  std::string(name(w.dtype)));
  }
  if (const std::string wrong = checkRounds(c); !wrong.empty()) return c.fail(wrong);
  const Dims& stride = c.ints("stride");
  const Dims& dilation = c.ints("dilation");
  const size_t n = stride.size();
  const bool outLast = c.boolean("out_last"), fits = w.shape.size() == n + 2 || (outLast && w.shape.size() == n + 3);
  if (n == 0 || dilation.size() != n || x.shape.size() != n + 2 || !fits) {
    return c.fail("of " + std::to_string(n) + " strides needs as many dilations, and operands of " +
                  std::to_string(n + 2) + " dims, not " + toString(x.shape) + " and " + toString(w.shape));
  }
  const Dims lo = c.has("lo") ? c.ints("lo") : Dims(n, 0), hi = c.has("hi") ? c.ints("hi") : Dims(n, 0);
  if (lo.size() != n || hi.size() != n) {
    return c.fail("of " + std::to_string(n) + " strides needs as many widths of padding before and after");
  }
  const WeightDims dims(w.shape, n, outLast);
  const int64_t outs = dims.outs, depth = dims.depth;
  const int64_t groups = c.integer("groups");
  if (groups < 1 || outs % groups != 0 || x.shape[1] % groups != 0 || x.shape[1] / groups != depth) {
    return c.fail("of " + std::to_string(groups) + " groups cannot take channels of " + toString(x.shape) +
                  " with weights " + toString(w.shape));
  }
  Dims shape = {x.shape[0], outs};
  for (size_t i = 0; i < n; ++i) {
    const int64_t window = w.shape[dims.window + i];
    if (stride[i] < 1 || dilation[i] < 1 || window < 1) {
      return c.fail("needs strides, dilations and windows of at least 1");
    }
    int64_t reach = 0, length = x.shape[2 + i];
    if (__builtin_add_overflow(length, lo[i], &length) || __builtin_add_overflow(length, hi[i], &length)) {
      shape.resize(n + 2, std::numeric_limits<int64_t>::max());
      return c.tooLarge(x.dtype, shape, "makes a dim too large");
    }
    if (__builtin_mul_overflow(dilation[i], window - 1, &reach) || reach >= length) {
      return c.fail("has a window that does not fit into " + toString(x.shape));
    }
    shape.push_back((length - reach - 1) / stride[i] + 1);
  }
  const DType given = c.has("dtype") ? c.dtype("dtype") : x.dtype;
  if (const std::string wrong = checkSums(x.dtype, given); !wrong.empty()) return c.fail(wrong);
  return c.result(given, std::move(shape));
}

Inferred inferAttention(const InferContext& c) {
  const Type &q = c.operand(0), &k = c.operand(1), &v = c.operand(2), &scale = c.operand(3);
  const DType sums = c.has("dtype") ? c.dtype("dtype") : q.dtype;
  for (const Type* t : {&q, &k, &v, &scale}) {
    const bool fits = t->dtype == q.dtype || (t == &scale && t->dtype == sums);
    if (!fits || !isFloat(t->dtype)) return c.fail("needs floats of one dtype");
  }
  if (const std::string wrong = checkRounds(c); !wrong.empty()) return c.fail(wrong);
  if (const std::string wrong = checkSums(q.dtype, sums); !wrong.empty()) return c.fail(wrong);
  const size_t r = q.shape.size();
  const bool fits = r >= 2 && k.shape.size() == r && v.shape.size() == r && scale.shape.empty() &&
                    q.shape[r - 1] == k.shape[r - 1] && k.shape[r - 2] == v.shape[r - 2] &&
                    std::equal(q.shape.begin(), q.shape.end() - 2, k.shape.begin()) &&
                    std::equal(q.shape.begin(), q.shape.end() - 2, v.shape.begin());
  if (!fits) {
    return c.fail("of " + toString(q.shape) + ", " + toString(k.shape) + " and " + toString(v.shape) +
                  ": the dims do not fit");
  }
  Dims shape = q.shape;
  if (c.operands.size() > 4) {
    const Type& mask = c.operand(4);
    shape[r - 1] = k.shape[r - 2];
    bool covers = mask.shape.size() == r && (mask.dtype == DType::Bool || mask.dtype == q.dtype || mask.dtype == sums);
    for (size_t d = 0; covers && d < r; ++d) covers = mask.shape[d] == 1 || mask.shape[d] == shape[d];
    if (!covers) return c.fail("with scores of shape " + toString(shape) + " cannot take a mask " + toString(mask));
  }
  shape[r - 1] = v.shape[r - 1];
  return c.has("perm") ? permuted(c, sums, shape) : c.result(sums, std::move(shape));
}

Inferred inferAttentionSaved(const InferContext& c) {
  Inferred made = inferAttention(c);
  if (!made.ok()) return made;
  const Dims& q = c.operand(0).shape;
  made.types.push_back(made.types[0]);
  made.types[1].dtype = DType::F32;
  made.types[1].shape.assign(q.begin(), q.end() - 1);
  return made;
}

Inferred inferAttentionGrad(const InferContext& c) {
  constexpr size_t kOwn = 3;  // the cotangent and two numbers for each query, between the scale and the mask
  std::vector<const Type*> operands(c.operands.begin(), c.operands.begin() + 4);
  operands.insert(operands.end(), c.operands.begin() + 4 + kOwn, c.operands.end());
  const AttrLookup attr = [&](std::string_view name) { return name == "perm" ? nullptr : c.attr(name); };
  Inferred out = inferAttention(InferContext(c.kind, operands, attr));
  if (!out.ok()) return out;
  const Type &q = c.operand(0), &cotangent = c.operand(4);
  if (cotangent.shape != out.types[0].shape || cotangent.dtype != q.dtype)
    return c.fail("needs a cotangent " + toString(out.types[0]) + ", not " + toString(cotangent));
  const Dims rows(q.shape.begin(), q.shape.end() - 1);
  for (const size_t i : {size_t{5}, size_t{6}})
    if (c.operand(i).dtype != DType::F32 || c.operand(i).shape != rows)
      return c.fail("needs a number of f32 for each query, not " + toString(c.operand(i)));
  Inferred made;
  for (size_t i = 0; i < 3; ++i) {
    const Dims& shape = c.operand(i).shape;
    Inferred one = c.has("perm") ? permuted(c, out.types[0].dtype, shape) : c.result(out.types[0].dtype, shape);
    if (!one.ok()) return one;
    made.types.push_back(std::move(one.types[0]));
  }
  return made;
}

Inferred inferReshape(const InferContext& c) {
  const Type& t = c.operand(0);
  const Dims& shape = c.ints("shape");
  const auto to = elementCount(shape);
  if (!to || *to != elementCount(t.shape)) {
    return c.fail("cannot turn " + toString(t.shape) + " into " + toString(shape) +
                  ": they have different numbers of elements");
  }
  return c.result(t.dtype, shape);
}

Inferred inferPermute(const InferContext& c) { return permuted(c, c.operand(0).dtype, c.operand(0).shape); }

Inferred inferBroadcast(const InferContext& c) {
  const Type& t = c.operand(0);
  const Dims& shape = c.ints("shape");
  const auto joined = broadcastShapes(t.shape, shape);
  if (!joined || *joined != shape) { return c.fail("cannot stretch " + toString(t.shape) + " to " + toString(shape)); }
  return c.result(t.dtype, shape);
}

Inferred inferSlice(const InferContext& c) {
  const Type& t = c.operand(0);
  const Dims& starts = c.ints("starts");
  const Dims& sizes = c.ints("sizes");
  const Dims& steps = c.ints("steps");
  for (const auto& [what, dims] : {std::pair{"starts", &starts}, {"sizes", &sizes}, {"steps", &steps}}) {
    if (dims->size() != t.shape.size()) return c.fail(wrongCount(what, dims->size(), t.rank()));
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    if (std::string bad = checkSlice(starts[i], sizes[i], steps[i], t.shape[i]); !bad.empty()) return c.fail(bad);
  }
  return c.result(t.dtype, sizes);
}

Inferred inferPad(const InferContext& c) {
  const Type& t = c.operand(0);
  const Dims& lo = c.ints("lo");
  const Dims& hi = c.ints("hi");
  if (c.operand(1).dtype != t.dtype || !c.operand(1).shape.empty()) {
    return c.fail("needs a rank-0 value of dtype " + std::string(name(t.dtype)) + " around it, not " +
                  toString(c.operand(1)));
  }
  if (lo.size() != t.shape.size()) return c.fail(wrongCount("widths", lo.size(), t.rank()));
  if (hi.size() != t.shape.size()) return c.fail(wrongCount("widths", hi.size(), t.rank()));
  Dims shape = t.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (lo[i] < 0 || hi[i] < 0) return c.fail("has a negative width");
    if (__builtin_add_overflow(shape[i], lo[i], &shape[i]) || __builtin_add_overflow(shape[i], hi[i], &shape[i])) {
      shape[i] = std::numeric_limits<int64_t>::max();
      return c.tooLarge(t.dtype, shape, "makes a dim too large");
    }
  }
  return c.result(t.dtype, std::move(shape));
}

Inferred inferConcat(const InferContext& c) {
  Dims shape = c.operand(0).shape;
  const int64_t axis = c.integer("axis");
  const int64_t rank = c.operand(0).rank();
  if (axis < 0 || axis >= rank) {
    return c.fail("has axis " + std::to_string(axis) + ", but the rank is " + std::to_string(rank));
  }
  const auto at = static_cast<size_t>(axis);
  for (size_t i = 1; i < c.operands.size(); ++i) {
    const Type& t = c.operand(i);
    if (t.dtype != c.operand(0).dtype) {
      return c.fail("needs operands of one dtype, not " + std::string(name(c.operand(0).dtype)) + " and " +
                    std::string(name(t.dtype)));
    }
    Dims rest = t.shape;
    if (rest.size() == shape.size()) rest[at] = shape[at];
    if (rest != shape) {
      return c.fail("along axis " + std::to_string(axis) + " needs shapes that agree elsewhere, not " +
                    toString(c.operand(0).shape) + " and " + toString(t.shape));
    }
    if (__builtin_add_overflow(shape[at], t.shape[at], &shape[at])) {
      shape[at] = std::numeric_limits<int64_t>::max();
      return c.tooLarge(t.dtype, shape, "makes a dim too large");
    }
  }
  return c.result(c.operand(0).dtype, std::move(shape));
}

Inferred inferFlip(const InferContext& c) {
  if (std::string bad = checkAxes(c.ints("axes"), c.operand(0).rank()); !bad.empty()) return c.fail(bad);
  return c.result(c.operand(0).dtype, c.operand(0).shape);
}

}  // namespace tenc::ir
