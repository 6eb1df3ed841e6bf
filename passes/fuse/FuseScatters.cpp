// What is scattered into a repeated number at one place of each row, places that a gather has checked before, is chosen
// element by element: no tensor of that number is made, and what uses the result computes it. The derivative of a pick
// of one class a row is such a scatter.
//
// A scatter goes through its elements in order, on one thread. Integers give the same sum in any order: many that are
// added at few places, as in a histogram, are cut into parts that run side by side.
#include <algorithm>

#include "ir/DeviceTable.h"
#include "ir/HiddenDims.h"
#include "ir/Scalar.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

bool counts(const Value* v, size_t axis) {
  return v->op != nullptr && v->op->kind == OpKind::Iota && v->type.dtype == ir::DType::I64 &&
         v->op->intAttr("axis") == static_cast<int64_t>(axis);
}

/// The dim along which each row's place is chosen: indices of all others count. -1 if rows may meet.
int64_t chosenDim(const Op& op) {
  const ir::Dims &shape = op.operand(0)->type.shape, &updates = op.operand(1)->type.shape;
  const auto& axes = op.intsAttr("axes");
  if (updates.size() != shape.size() || axes.size() != shape.size() || op.intAttr("at") != 0) return -1;
  int64_t chosen = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Value* index = op.operand(2 + d);
    if (axes[d] != static_cast<int64_t>(d) || index->type.shape != updates) return -1;
    if (counts(index, d) && updates[d] == shape[d]) continue;
    if (chosen >= 0 || updates[d] != 1 || index->type.dtype != ir::DType::I64) return -1;
    chosen = static_cast<int64_t>(d);
  }
  return chosen;
}

/// Whether a gather that is needed has the same indices into the same shape.
bool isChecked(const Op& scatter, const std::vector<const Op*>& gathers) {
  return std::any_of(gathers.begin(), gathers.end(), [&](const Op* g) {
    if (g->result()->unused() || g->operand(0)->type.shape != scatter.operand(0)->type.shape ||
        g->intsAttr("axes") != scatter.intsAttr("axes") || g->intAttr("at") != 0)
      return false;
    for (size_t i = 2; i < scatter.operandCount(); ++i)
      if (g->operand(i - 1) != scatter.operand(i)) return false;
    return true;
  });
}

void choose(Op& op, size_t dim, Value* number) {
  ir::Builder b(&op);
  b.setLoc(op.loc);
  const ir::Type whole = op.result()->type;
  const ir::Dims rows = op.operand(1)->type.shape;
  const auto repeat = [&](Value* v, const ir::Dims& shape) {
    return b.makeTyped(OpKind::Broadcast, {v}, {ir::Type{v->type.dtype, shape, whole.place}}, {{"shape", shape}})
        ->result();
  };
  Value* index = op.operand(2 + dim);
  Value* negative = b.value(OpKind::Lt, {index, repeat(b.scalarInt(ir::DType::I64, 0), rows)});
  Value* fromEnd = b.value(OpKind::Add, {index, repeat(b.scalarInt(ir::DType::I64, whole.shape[dim]), rows)});
  index = b.value(OpKind::Where, {negative, fromEnd, index});
  Value* update = op.operand(1);
  if (op.stringAttr("mode") == "add") update = b.value(OpKind::Add, {repeat(number, rows), update});
  Value* places = b.makeTyped(OpKind::Iota, {}, {ir::Type{ir::DType::I64, whole.shape, whole.place}},
                              {{"shape", whole.shape}, {"dtype", ir::DType::I64}, {"axis", static_cast<int64_t>(dim)}})
                      ->result();
  Value* here = b.value(OpKind::Eq, {places, repeat(index, whole.shape)});
  Value* v = b.value(OpKind::Where, {here, repeat(update, whole.shape), repeat(number, whole.shape)});
  v->name = op.result()->name;
  op.result()->replaceAllUsesWith(v);
  Value* old = op.operand(0);
  op.erase();
  if (old->unused()) old->op->erase();
}

/// Whether an index counts along a dim: its elements then meet in no place, and need no order.
bool countsAlong(const Value* v) {
  while (v->op != nullptr && (v->op->kind == OpKind::Broadcast || v->op->kind == OpKind::Reshape))
    v = v->op->operand(0);
  return v->op != nullptr && v->op->kind == OpKind::Iota;
}

/// How many parts of equal size the scatter is cut into, so that the first index out of range is found in one kernel.
/// 0: it stays whole.
int64_t partsOf(const Op& op, const ir::TargetTraits::Reductions& t) {
  constexpr int64_t kMostParts = 64, kElementsOfPlace = 4, kMostBytes = int64_t{1} << 18;  // of all parts
  const ir::Type &places = op.operand(0)->type, &updates = op.operand(1)->type, &index = op.operand(2)->type;
  const int64_t n = index.size();
  if (deviceOf(op) != ir::DeviceTable::kHost) return 0;  // where integers are added atomically
  if (!ir::isInt(places.dtype) || op.stringAttr("mode") != "add" || op.intAttr("at") != 0 || index.rank() == 0 ||
      updates.size() != n || n < t.manyElements || places.size() == 0)
    return 0;
  for (size_t i = 2; i < op.operandCount(); ++i)
    if (countsAlong(op.operand(i))) return 0;
  const int64_t most = std::min({kMostParts, n / (kElementsOfPlace * places.size()), kMostBytes / places.bytes()});
  if (most < t.leastParts) return 0;
  for (int64_t parts = most; parts >= t.leastParts; --parts)
    if (n % parts == 0) return parts;
  return 0;
}

class ScatterParts {
 public:
  ScatterParts(Op& op, int64_t parts)
      : op_(op),
        b_(&op),
        parts_(parts),
        count_(op.operand(2)->type.size()),
        indexRank_(op.operand(2)->type.shape.size()) {
    b_.setLoc(op.loc);
  }

  void make() {
    Value *old = op_.operand(0), *zero = b_.scalarInt(old->type.dtype, 0);
    ir::Dims places = old->type.shape;
    places.insert(places.begin(), parts_);
    const ir::Dims shape{parts_, count_ / parts_};
    Value* number = made(OpKind::Iota, {}, ir::DType::I64, shape,
                         {{"shape", shape}, {"dtype", ir::DType::I64}, {"axis", int64_t{0}}});
    std::vector<Value*> operands{made(OpKind::Fill, {zero}, old->type.dtype, places, {{"shape", places}}),
                                 elements(1, shape), number};
    for (size_t i = 2; i < op_.operandCount(); ++i) operands.push_back(elements(i, shape));
    std::vector<int64_t> axes{0};
    for (const int64_t axis : op_.intsAttr("axes")) axes.push_back(axis + 1);
    Value* sums = scatter(operands, axes);
    Value* v = b_.value(OpKind::Sum, {sums}, {{"axes", std::vector<int64_t>{0}}});
    if (v->type.dtype != old->type.dtype) v = b_.value(OpKind::Cast, {v}, {{"dtype", old->type.dtype}});  // i64
    const auto before = ir::repeatedScalar(old) ? ir::constantScalar(ir::repeatedScalar(old)) : std::nullopt;
    if (!before || before->i != 0 || before->u != 0) v = b_.value(OpKind::Add, {old, v});
    v->name = op_.result()->name;
    op_.result()->replaceAllUsesWith(v);
    op_.erase();
    if (old->unused() && old->op != nullptr) old->op->erase();
  }

 private:
  Value* made(OpKind kind, const std::vector<Value*>& operands, ir::DType t, const ir::Dims& shape,
              const std::vector<ir::Builder::NamedAttr>& attrs) {
    return b_.makeTyped(kind, operands, {ir::Type{t, shape, op_.result()->type.place}}, attrs)->result();
  }

  /// The updates, or an index, in that shape.
  Value* elements(size_t operand, ir::Dims shape) {
    Value* v = b_.value(OpKind::Reshape, {op_.operand(operand)}, {{"shape", ir::Dims{count_}}});
    if (operand == 1) {  // dims that are not indexed are of one element
      const ir::Dims& updates = op_.operand(1)->type.shape;
      shape.insert(shape.end(), updates.begin() + static_cast<std::ptrdiff_t>(indexRank_), updates.end());
    }
    return v->type.shape == shape ? v : b_.value(OpKind::Reshape, {v}, {{"shape", shape}});
  }

  Value* scatter(const std::vector<Value*>& operands, const std::vector<int64_t>& axes) {
    Value* v = b_.value(
        OpKind::Scatter, operands,
        {{"axes", axes}, {"at", int64_t{0}}, {"mode", std::string("add")}, {"from_start", op_.boolAttr("from_start")}});
    ir::keepWritten(op_, *v->op);
    v->op->set(ir::kHiddenDims, op_.intAttr(ir::kHiddenDims) + 1);
    return v;
  }

  Op& op_;
  ir::Builder b_;
  const int64_t parts_, count_;
  const size_t indexRank_;
};

}  // namespace

void prepareScatters(ir::Region& region, const Context& c) {
  std::vector<const Op*> gathers;
  std::vector<std::pair<Op*, size_t>> work;
  std::vector<std::pair<Op*, int64_t>> cut;
  for (auto& op : region.ops) {
    if (op->kind == OpKind::Gather) gathers.push_back(op.get());
    if (op->kind != OpKind::Scatter) continue;
    if (const int64_t parts = partsOf(*op, c.traitsOf(*op).reductions); parts > 0) {
      cut.emplace_back(op.get(), parts);
      continue;
    }
    if (op->result()->type.dtype == ir::DType::Bool || op->boolAttr("from_start")) continue;
    const std::string& mode = op->stringAttr("mode");
    if ((mode != "add" && mode != "set") || ir::repeatedScalar(op->operand(0)) == nullptr) continue;
    const int64_t dim = chosenDim(*op);
    if (dim >= 0 && isChecked(*op, gathers)) work.emplace_back(op.get(), static_cast<size_t>(dim));
  }
  for (const auto& [op, dim] : work) choose(*op, dim, ir::repeatedScalar(op->operand(0)));
  for (const auto& [op, parts] : cut) ScatterParts(*op, parts).make();
}

}  // namespace tenc::passes::fusion
