// What is scattered into a repeated number at one place of each row, places that a gather has checked before, is chosen
// element by element: no tensor of that number is made, and what uses the result computes it. The derivative of a pick
// of one class a row is such a scatter.
#include <algorithm>

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

}  // namespace

void prepareScatters(ir::Region& region) {
  std::vector<const Op*> gathers;
  std::vector<std::pair<Op*, size_t>> work;
  for (auto& op : region.ops) {
    if (op->kind == OpKind::Gather) gathers.push_back(op.get());
    if (op->kind != OpKind::Scatter || op->result()->type.dtype == ir::DType::Bool || op->boolAttr("from_start"))
      continue;
    const std::string& mode = op->stringAttr("mode");
    if ((mode != "add" && mode != "set") || ir::repeatedScalar(op->operand(0)) == nullptr) continue;
    const int64_t dim = chosenDim(*op);
    if (dim >= 0 && isChecked(*op, gathers)) work.emplace_back(op.get(), static_cast<size_t>(dim));
  }
  for (const auto& [op, dim] : work) choose(*op, dim, ir::repeatedScalar(op->operand(0)));
}

}  // namespace tenc::passes::fusion
