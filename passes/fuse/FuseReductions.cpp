// Reductions are reshaped before grouping: many elements to few results go in two steps, so that there are rows to
// share out (how many follows from the shape alone, so the bits never depend on threads); tiny ones are unrolled.
#include <algorithm>

#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

using Traits = ir::TargetTraits::Reductions;

constexpr int64_t kSideBySide = 32;  // elements
constexpr int kSmallTree = 32;       // operations that are repeated for the tail of a reduction

int64_t mostParts(int64_t n, const Traits& t) { return std::clamp(n / t.largePart, t.mostParts, t.mostLargeParts); }

/// The largest number of equal parts of a useful size; 0 when there is none.
int64_t partsOf(int64_t n, const Traits& t) {
  const int64_t most = mostParts(n, t), least = most / (t.mostParts / t.leastParts);
  for (int64_t p = std::min(most, n / t.leastPart); p >= least; --p) {
    if (n % p == 0) return p;
  }
  return 0;
}

/// Where there are none: as many equal parts as leave the shortest tail, if any.
int64_t partsWithTail(int64_t n, const Traits& t) {
  const int64_t most = mostParts(n, t), upper = std::max(most / 4, std::min(most, n / t.leastPart));
  int64_t best = upper;
  for (int64_t p = upper; p >= upper / 2; --p)
    if (n % p < n % best) best = p;
  return best;
}

Value* reshaped(ir::Builder& b, Value* v, const ir::Dims& shape) {
  return v->type.shape == shape ? v : b.value(OpKind::Reshape, {v}, {{"shape", shape}});
}

/// Positions `start` to `start + size` of `v` along `axis`.
Value* slice(ir::Builder& b, Value* v, size_t axis, int64_t start, int64_t size) {
  ir::Dims starts(v->type.shape.size(), 0);
  ir::Dims steps(v->type.shape.size(), 1);
  ir::Dims sizes = v->type.shape;
  starts[axis] = start;
  sizes[axis] = size;
  return b.value(OpKind::Slice, {v}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
}

/// A part of an elementwise tree along one dim, for a reader of its own: the tree is rebuilt down to broadcasts and
/// what is in memory, so that what the part shares with others need not be stored.
class TreePart {
 public:
  /// Positions `start` to `start + size` of dim `axis`, which goes with `dropped` (`size` is 1 then).
  TreePart(ir::Builder& b, size_t axis, int64_t start, int64_t size, bool dropped)
      : b_(b), axis_(axis), start_(start), size_(size), dropped_(dropped) {}

  Value* of(Value* v) {
    if (auto it = made_.find(v); it != made_.end()) return it->second;
    return made_[v] = make(v);
  }

 private:
  Value* make(Value* v) {
    const ir::Dims shape = partOf(v->type.shape, axis_);
    Op* op = v->op;
    if (op && op->has(ir::Trait::Elementwise)) {
      std::vector<Value*> operands;
      for (Value* o : op->operands()) operands.push_back(of(o));
      std::vector<ir::Builder::NamedAttr> attrs;
      for (const auto& [name, value] : op->attrs()) attrs.push_back({name, value});
      ir::Type type = v->type;
      type.shape = shape;
      Op* made = b_.makeTyped(op->kind, operands, {type}, attrs);
      made->loc = op->loc;  // of faults
      return made->result();
    }
    if (op && op->kind == OpKind::Broadcast) {
      Value* from = op->operand(0);
      const size_t missing = v->type.shape.size() - from->type.shape.size();
      if (missing > axis_) return broadcastTo(from, {v->type.dtype, shape, v->type.place});
      const size_t axis = axis_ - missing;
      Value* part = from->type.shape[axis] == 1 ? from : slice(b_, from, axis, start_, size_);
      if (dropped_) {
        ir::Dims inner = from->type.shape;
        inner.erase(inner.begin() + static_cast<std::ptrdiff_t>(axis));
        part = reshaped(b_, part, inner);
      }
      return broadcastTo(part, {v->type.dtype, shape, v->type.place});
    }
    return reshaped(b_, slice(b_, v, axis_, start_, size_), shape);
  }

  ir::Dims partOf(ir::Dims shape, size_t axis) const {
    if (dropped_)
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    else
      shape[axis] = size_;
    return shape;
  }

  Value* broadcastTo(Value* from, const ir::Type& type) {
    if (from->type.shape == type.shape) return from;
    return b_.makeTyped(OpKind::Broadcast, {from}, {type}, {{"shape", type.shape}})->result();
  }

  ir::Builder& b_;
  size_t axis_;
  int64_t start_, size_;
  bool dropped_;
  std::unordered_map<Value*, Value*> made_;
};

/// Whether an elementwise tree has at most as many operations as `budget`.
bool isSmallTree(const Value* v, int& budget) {
  if (!v->op || !v->op->has(ir::Trait::Elementwise)) return true;
  if (--budget < 0) return false;
  return std::all_of(v->op->operands().begin(), v->op->operands().end(),
                     [&](const Value* o) { return isSmallTree(o, budget); });
}

/// Reduces `v` along `axis` in two steps; the result has no such axis.
Value* inParts(ir::Builder& b, OpKind kind, Value* v, size_t axis, const Traits& t) {
  int64_t n = v->type.shape[axis];
  int64_t parts = partsOf(n, t);
  Value* rest = nullptr;
  if (parts == 0) parts = partsWithTail(n, t);
  if (n % parts != 0) {
    const int64_t main = n / parts * parts;
    int budget = kSmallTree;
    Value* tail =
        isSmallTree(v, budget) ? TreePart(b, axis, main, n - main, false).of(v) : slice(b, v, axis, main, n - main);
    rest = b.value(kind, {tail}, {{"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}});
    if (n - main <= t.unrolled) rest->op->set("unrolled", true);
    v = slice(b, v, axis, 0, main);
    n = main;
  }
  ir::Dims split = v->type.shape;
  split[axis] = n / parts;
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis), parts);
  int64_t first = static_cast<int64_t>(axis);
  Value* partial = b.value(kind, {reshaped(b, v, split)}, {{"axes", std::vector<int64_t>{first + 1}}});
  Value* whole = b.value(kind, {partial}, {{"axes", std::vector<int64_t>{first}}});
  return rest ? b.value(*ir::combinerOf(kind), {whole, rest}) : whole;
}

void splitReduction(Op& op, const Traits& t) {
  ir::Builder b(&op);
  b.setLoc(op.loc);
  Value* v = op.operand(0);
  ir::Type result = op.result()->type;
  const ir::DType accumulator = ir::accumulatorOf(result.dtype);
  const bool narrow = accumulator != result.dtype && (op.kind == OpKind::Sum || op.kind == OpKind::Prod);
  if (narrow) v = b.value(OpKind::Cast, {v}, {{"dtype", accumulator}});
  // All axes but the first are reduced row by row, the first one then over the rows; a lone axis is cut in parts.
  std::vector<int64_t> axes = op.intsAttr("axes");
  size_t first = 0;
  while (first + 1 < axes.size() && v->type.shape[static_cast<size_t>(axes[first])] == 1) ++first;
  std::vector<int64_t> later(axes.begin() + static_cast<std::ptrdiff_t>(first) + 1, axes.end());
  std::vector<int64_t> leading(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(first));
  int64_t laterSize = 1;
  for (int64_t a : later) laterSize *= v->type.shape[static_cast<size_t>(a)];
  int64_t rows = v->type.shape[static_cast<size_t>(axes[first])];
  bool adjacent = axes.back() - axes[first] == static_cast<int64_t>(axes.size() - first) - 1;
  if (laterSize > 1 && (!adjacent || (rows >= t.leastParts && rows <= t.manyElements && laterSize >= t.leastPart))) {
    v = b.value(op.kind, {v}, {{"axes", later}, {"keep", true}});
    v = b.value(op.kind, {v}, {{"axes", axes}, {"keep", op.boolAttr("keep")}});
  } else {
    ir::Dims merged;
    for (size_t d = 0; d < v->type.shape.size(); ++d) {
      bool isLater = std::find(later.begin(), later.end(), static_cast<int64_t>(d)) != later.end();
      if (!isLater) merged.push_back(static_cast<int64_t>(d) == axes[first] ? rows * laterSize : v->type.shape[d]);
    }
    v = inParts(b, op.kind, reshaped(b, v, merged), static_cast<size_t>(axes[first]), t);
    v = reshaped(b, v, result.shape);
  }
  if (narrow) v = b.value(OpKind::Cast, {v}, {{"dtype", result.dtype}});
  op.result()->replaceAllUsesWith(v);
  v->name = op.result()->name;
  op.erase();
}

/// What tells which part has the extremum that a position is looked for.
OpKind extremeOf(const Op& position) {
  const bool isLargest = position.kind == OpKind::ArgMax;
  if (position.operand(0)->type.dtype == ir::DType::Bool) return isLargest ? OpKind::Any : OpKind::All;
  return isLargest ? OpKind::ReduceMax : OpKind::ReduceMin;
}

/// The elements of `v` that `at` names along `axis`; `at` has the other dims of `v`.
Value* takenAlong(ir::Builder& b, Value* v, Value* at, size_t axis) {
  const ir::Dims& shape = at->type.shape;
  std::vector<Value*> operands{v};
  std::vector<int64_t> axes;
  for (size_t d = 0; d <= shape.size(); ++d) {
    axes.push_back(static_cast<int64_t>(d));
    const auto along = static_cast<int64_t>(d < axis ? d : d - 1);
    operands.push_back(d == axis ? at
                                 : b.makeTyped(OpKind::Iota, {}, {ir::Type{ir::DType::I64, shape, at->type.place}},
                                               {{"shape", shape}, {"dtype", ir::DType::I64}, {"axis", along}})
                                       ->result());
  }
  return b.value(OpKind::Gather, operands, {{"axes", axes}, {"at", int64_t{0}}});
}

/// A position in two steps: each part's best value and its position there, then the best part. The last part may
/// overlap the one before: what they share is found in both, and the earlier part comes first.
void splitPosition(Op& op, const Traits& t) {
  ir::Builder b(&op);
  b.setLoc(op.loc);
  Value* v = op.operand(0);
  const std::vector<int64_t> axes = op.intsAttr("axes");
  const auto axis = static_cast<size_t>(axes.front());
  ir::Dims shape(v->type.shape.begin(), v->type.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  int64_t n = 1;
  for (int64_t a : axes) n *= v->type.shape[static_cast<size_t>(a)];
  shape.push_back(n);
  shape.insert(shape.end(), v->type.shape.begin() + axes.back() + 1, v->type.shape.end());
  v = reshaped(b, v, shape);
  const int64_t parts = std::max(partsOf(n, t), std::min(mostParts(n, t) / 4, n / t.leastPart)), length = n / parts;
  const OpKind extreme = extremeOf(op);
  const std::vector<int64_t> ofParts{static_cast<int64_t>(axis)}, along{static_cast<int64_t>(axis) + 1};
  const auto rowsOf = [&](int64_t from, int64_t count) {
    ir::Dims rows = shape;
    rows[axis] = length;
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(axis), count);
    return reshaped(b, count * length == n ? v : slice(b, v, axis, from, count * length), rows);
  };
  Value* rows = rowsOf(0, parts);
  Value* values = b.value(extreme, {rows}, {{"axes", along}});
  Value* positions = b.value(op.kind, {rows}, {{"axes", along}});
  if (parts * length < n) {
    Value* last = rowsOf(n - length, 1);
    const auto joined = [&](Value* found, OpKind kind) {
      return b.value(OpKind::Concat, {found, b.value(kind, {last}, {{"axes", along}})}, {{"axis", ofParts[0]}});
    };
    values = joined(values, extreme);
    positions = joined(positions, op.kind);
  }
  Value* part = b.value(op.kind, {values}, {{"axes", ofParts}});
  const auto everywhere = [&](int64_t i) { return b.broadcastTo(b.scalarInt(ir::DType::I64, i), part->type.shape); };
  Value* start = b.value(OpKind::Min, {b.value(OpKind::Mul, {part, everywhere(length)}), everywhere(n - length)});
  Value* whole = b.value(OpKind::Add, {start, takenAlong(b, positions, part, axis)});
  v = reshaped(b, whole, op.result()->type.shape);
  op.result()->replaceAllUsesWith(v);
  v->name = op.result()->name;
  op.erase();
}

/// Whether the tree repeats something along its last dim, which each position would compute or load again.
bool repeatsAlongLast(const Value* v, int& budget, const Traits& t) {
  if (--budget < 0 || !v->op) return false;
  const Op& op = *v->op;
  if (op.kind == OpKind::Broadcast) {
    const ir::Dims& from = op.operand(0)->type.shape;
    return !from.empty() && from.back() == 1 && op.operand(0)->type.size() > t.fewResults;
  }
  if (!op.has(ir::Trait::Elementwise)) return false;
  return std::any_of(op.operands().begin(), op.operands().end(),
                     [&](const Value* o) { return repeatsAlongLast(o, budget, t); });
}

/// sum(x[n, m, 3], axis 1) with a tree that shares work between the three: three reductions over [n, m], which are
/// added to `work`.
bool splitLastDim(Op& op, const Traits& t, std::vector<Op*>& work) {
  const ir::Dims& shape = op.operand(0)->type.shape;
  const auto& axes = op.intsAttr("axes");
  int budget = 32;
  if (shape.size() < 2 || shape.back() < 2 || shape.back() > t.unrolled ||
      axes.back() + 1 == static_cast<int64_t>(shape.size()) || !op.operand(0)->op ||
      !op.operand(0)->op->has(ir::Trait::Elementwise) || op.operand(0)->uses.size() != 1 ||
      !repeatsAlongLast(op.operand(0), budget, t) || budget < 0)
    return false;
  ir::Builder b(&op);
  b.setLoc(op.loc);
  std::vector<Value*> parts;
  ir::Dims column = op.result()->type.shape;
  column.back() = 1;
  for (int64_t c = 0; c < shape.back(); ++c) {
    Value* part = TreePart(b, shape.size() - 1, c, 1, true).of(op.operand(0));
    part = b.value(op.kind, {part}, {{"axes", axes}, {"keep", op.boolAttr("keep")}});
    work.push_back(part->op);
    // A number has no device, a tensor of one does.
    const ir::Type type{part->type.dtype, column, op.result()->type.place};
    parts.push_back(part->type.shape == column
                        ? part
                        : b.makeTyped(OpKind::Reshape, {part}, {type}, {{"shape", column}})->result());
  }
  Value* joined = b.value(OpKind::Concat, parts, {{"axis", static_cast<int64_t>(column.size()) - 1}});
  joined->name = op.result()->name;
  op.result()->replaceAllUsesWith(joined);
  op.erase();
  return true;
}

/// Whether only this op reads the elements, apart from index maps.
bool readOnce(const Value* v) {
  while (v->op && roleOf(*v->op) == Role::PassThrough && v->op->operandCount() == 1 && v->uses.size() == 1)
    v = v->op->operand(0);
  return v->uses.size() == 1 && v->op && v->op->has(ir::Trait::Elementwise);
}

bool areAdjacent(const std::vector<int64_t>& axes) {
  return axes.back() - axes.front() == static_cast<int64_t>(axes.size()) - 1;
}

/// Whether results lie side by side, and what is reduced to each of them does not.
bool isAcross(const Op& op) {
  const ir::Dims& shape = op.operand(0)->type.shape;
  const auto& axes = op.intsAttr("axes");
  return !axes.empty() && axes.back() + 1 < static_cast<int64_t>(shape.size()) && shape.back() >= kSideBySide;
}

}  // namespace

void prepareReductions(ir::Region& region, const Context& c) {
  std::vector<Op*> work;
  for (auto& op : region.ops) {
    if (ir::combinerOf(op->kind) || isPosition(op->kind)) work.push_back(op.get());
  }
  for (size_t i = 0; i < work.size(); ++i) {
    Op* op = work[i];
    const Traits& t = c.traitsOf(*op).reductions;
    const ir::Type& from = op->operand(0)->type;
    const ir::Type& to = op->result()->type;
    int64_t size = from.size();
    int64_t results = to.size();
    if (size == 0 || results == 0) continue;
    int64_t count = size / results;
    const bool inSteps = results < t.fewResults ? size >= t.manyElements && count >= t.leastParts * t.leastPart
                                                : results < t.fewColumns && count >= t.manyRows && isAcross(*op);
    if (isPosition(op->kind)) {
      if (inSteps && areAdjacent(op->intsAttr("axes"))) splitPosition(*op, t);
      continue;
    }
    if (count > t.unrolled && splitLastDim(*op, t, work)) continue;
    if (count <= t.unrolled) {
      if (readOnce(op->operand(0)) && results > t.fewResults) op->set("unrolled", true);
    } else if (inSteps) {
      splitReduction(*op, t);
    }
  }
}

}  // namespace tenc::passes::fusion
