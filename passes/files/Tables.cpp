#include "passes/files/Tables.h"

#include <algorithm>

#include "ir/DeviceTable.h"

namespace tenc::passes {

using namespace ir;

namespace {

bool isPartOfRows(const Op& op) {
  if (op.kind != OpKind::Slice) return false;
  const auto& starts = op.intsAttr("starts");
  const auto& steps = op.intsAttr("steps");
  const Dims &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  return !from.empty() && std::equal(from.begin() + 1, from.end(), to.begin() + 1, to.end()) &&
         std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; }) &&
         std::all_of(starts.begin() + 1, starts.end(), [](int64_t s) { return s == 0; });
}

/// Whether it says anew what is in each row.
bool keepsRows(const Op& op) {
  if (op.kind != OpKind::Reshape) return false;
  const Dims &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  return !from.empty() && !to.empty() && from[0] == to[0];
}

}  // namespace

std::optional<Table> tableOf(Value* v) {
  if (v->type.shape.empty() || v->type.size() == 0) return std::nullopt;
  Table t{v, 0, v->type.shape[0]};
  while (t.file->op && (isPartOfRows(*t.file->op) || keepsRows(*t.file->op))) {
    if (t.file->op->kind == OpKind::Slice) t.first += t.file->op->intsAttr("starts")[0];
    t.file = t.file->op->operand(0);
  }
  const bool isFile = t.file->op && t.file->op->kind == OpKind::Load && t.file->op->boolAttr("mapped") &&
                      t.file->type.place.device == DeviceTable::kHost;
  return isFile ? std::optional(t) : std::nullopt;
}

}  // namespace tenc::passes
