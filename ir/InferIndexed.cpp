// Shape rules of ops with run-time indices, and of updates.
#include <algorithm>

#include "ir/InferShapes.h"

namespace tenc::ir {
namespace {

struct GatherShape {
  Dims shape;
  std::string error;
};

/// The shape of `gather` of a tensor of shape `source` along `axes` by operands `first`.., one an axis and of one
/// shape.
GatherShape gatherShape(const InferContext& c, size_t first) {
  const Type& source = c.operand(0);
  const Dims& axes = c.ints("axes");
  if (axes.size() + first != c.operands.size()) {
    return {
        {},
        "has " + std::to_string(axes.size()) + " axes and " + std::to_string(c.operands.size() - first) + " indices"};
  }
  if (std::string bad = checkAxes(axes, source.rank()); !bad.empty()) return {{}, bad};
  for (size_t i = first; i < c.operands.size(); ++i) {
    if (std::string bad = checkIndex(c.operand(i), false); !bad.empty()) return {{}, bad};
    if (c.operand(i).shape != c.operand(first).shape) {
      return {{},
              "needs indices of one shape, not " + toString(c.operand(first).shape) + " and " +
                  toString(c.operand(i).shape)};
    }
  }
  Dims shape;
  for (int64_t i = 0; i < source.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) shape.push_back(source.shape[static_cast<size_t>(i)]);
  }
  const int64_t at = c.integer("at");
  if (at < 0 || at > static_cast<int64_t>(shape.size())) {
    return {{}, "cannot insert the indices' dims at " + std::to_string(at)};
  }
  const Dims& inserted = c.operand(first).shape;
  shape.insert(shape.begin() + at, inserted.begin(), inserted.end());
  return {std::move(shape), {}};
}

Inferred checkUpdate(const InferContext& c, bool sameRank) {
  const Type& t = c.operand(0);
  const Type& u = c.operand(1);
  if (t.dtype != u.dtype) {
    return c.fail("writes " + std::string(name(u.dtype)) + " into " + std::string(name(t.dtype)));
  }
  if (sameRank && t.rank() != u.rank()) {
    return c.fail("needs operands of one rank, not shapes " + toString(t.shape) + " and " + toString(u.shape));
  }
  return {};
}

}  // namespace

Inferred inferGather(const InferContext& c) {
  GatherShape g = gatherShape(c, 1);
  if (!g.error.empty()) return c.fail(g.error);
  return c.result(c.operand(0).dtype, std::move(g.shape));
}

Inferred inferRows(const InferContext& c) {
  const Type &table = c.operand(0), &numbers = c.operand(1);
  if (table.shape.empty() || table.size() == 0 || numbers.shape.empty() || numbers.dtype != DType::I64)
    return c.fail("needs rows and i64 numbers");
  const int64_t first = c.integer("first"), count = c.integer("count");
  if (first < 0 || count < 0 || first > table.shape[0] - count)
    return c.fail("takes " + std::to_string(count) + " rows from row " + std::to_string(first) + " on of " +
                  std::to_string(table.shape[0]));
  Dims shape = numbers.shape;
  shape.insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  return c.result(table.dtype, std::move(shape));
}

Inferred inferDynamicSlice(const InferContext& c) {
  const Type& t = c.operand(0);
  const Dims& axes = c.ints("axes");
  const Dims& sizes = c.ints("sizes");
  if (axes.size() != sizes.size() || axes.size() + 1 != c.operands.size()) {
    return c.fail("needs one size and one start for each axis");
  }
  if (std::string bad = checkAxes(axes, t.rank()); !bad.empty()) return c.fail(bad);
  Dims shape = t.shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (std::string bad = checkIndex(c.operand(i + 1), true); !bad.empty()) return c.fail(bad);
    int64_t& extent = shape[static_cast<size_t>(axes[i])];
    if (sizes[i] < 0 || sizes[i] > extent) {
      return c.fail("takes " + std::to_string(sizes[i]) + " elements of a dim of " + std::to_string(extent));
    }
    extent = sizes[i];
  }
  return c.result(t.dtype, std::move(shape));
}

Inferred inferUpdateSlice(const InferContext& c) {
  if (Inferred bad = checkUpdate(c, true); !bad.ok()) return bad;
  const Type& t = c.operand(0);
  const Type& u = c.operand(1);
  const Dims& starts = c.ints("starts");
  const Dims& steps = c.ints("steps");
  if (starts.size() != t.shape.size() || steps.size() != t.shape.size()) {
    return c.fail("needs one start and one step for each dim");
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) return c.fail("has a step of 0");
    if (u.shape[i] == 0) continue;
    int64_t last = 0;
    if (__builtin_mul_overflow(u.shape[i] - 1, steps[i], &last) || __builtin_add_overflow(last, starts[i], &last) ||
        starts[i] < 0 || starts[i] >= t.shape[i] || last < 0 || last >= t.shape[i]) {
      return c.fail("writes " + std::to_string(u.shape[i]) + " elements from " + std::to_string(starts[i]) +
                    ", outside a dim of " + std::to_string(t.shape[i]));
    }
  }
  return c.result(t.dtype, t.shape);
}

Inferred inferDynamicUpdate(const InferContext& c) {
  if (Inferred bad = checkUpdate(c, true); !bad.ok()) return bad;
  const Type& t = c.operand(0);
  const Type& u = c.operand(1);
  const Dims& axes = c.ints("axes");
  if (axes.size() + 2 != c.operands.size()) return c.fail("needs one start for each axis");
  if (std::string bad = checkAxes(axes, t.rank()); !bad.empty()) return c.fail(bad);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (std::string bad = checkIndex(c.operand(i + 2), true); !bad.empty()) return c.fail(bad);
  }
  for (size_t i = 0; i < t.shape.size(); ++i) {
    if (u.shape[i] > t.shape[i]) {
      return c.fail("writes a block of shape " + toString(u.shape) + " into one of shape " + toString(t.shape));
    }
  }
  return c.result(t.dtype, t.shape);
}

Inferred inferScatter(const InferContext& c) {
  if (Inferred bad = checkUpdate(c, false); !bad.ok()) return bad;
  const Type& t = c.operand(0);
  const std::string& mode = c.string("mode");
  if (mode != "set" && mode != "add" && mode != "mul" && mode != "max" && mode != "min") {
    return c.fail("has mode `" + mode + "`; there are set, add, mul, max and min");
  }
  if (t.dtype == DType::Bool && (mode == "add" || mode == "mul")) return c.fail("cannot " + mode + " bools");
  GatherShape g = gatherShape(c, 2);
  if (!g.error.empty()) return c.fail(g.error);
  if (g.shape != c.operand(1).shape) {
    return c.fail("needs updates of shape " + toString(g.shape) + ", not " + toString(c.operand(1).shape));
  }
  return c.result(t.dtype, t.shape);
}

}  // namespace tenc::ir
