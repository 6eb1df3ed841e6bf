#include "passes/files/RowsAhead.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/Loops.h"
#include "passes/files/Trips.h"

namespace tenc::passes {

using namespace ir;

namespace {

/// A mapped file, of which a value is the rows from `first` on.
struct Table {
  Value* file = nullptr;
  int64_t first = 0;
};

bool isPartOfRows(const Op& slice) {
  const auto& starts = slice.intsAttr("starts");
  const auto& steps = slice.intsAttr("steps");
  const Dims &from = slice.operand(0)->type.shape, &to = slice.result()->type.shape;
  return !from.empty() && steps[0] == 1 && std::equal(from.begin() + 1, from.end(), to.begin() + 1, to.end()) &&
         std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; }) &&
         std::all_of(starts.begin() + 1, starts.end(), [](int64_t s) { return s == 0; });
}

std::optional<Table> tableOf(Value* v) {
  Table t{v, 0};
  while (t.file->op && t.file->op->kind == OpKind::Slice && isPartOfRows(*t.file->op)) {
    t.first += t.file->op->intsAttr("starts")[0];
    t.file = t.file->op->operand(0);
  }
  const bool isFile = t.file->op && t.file->op->kind == OpKind::Load && t.file->op->boolAttr("mapped") &&
                      !t.file->type.shape.empty() && t.file->type.place.device == DeviceTable::kHost;
  return isFile ? std::optional(t) : std::nullopt;
}

/// What an op reads of its operand 0: rows by their numbers, or `count` of them from one on.
struct Rows {
  Value* numbers = nullptr;
  int64_t count = 0;
};

std::optional<Rows> rowsOf(const Op& op) {
  if (op.kind != OpKind::Gather && op.kind != OpKind::DynamicSlice) return std::nullopt;
  const auto& axes = op.intsAttr("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != 0 || op.operand(i + 1)->type.dtype != DType::I64) continue;
    return Rows{op.operand(i + 1), op.kind == OpKind::Gather ? 0 : op.intsAttr("sizes")[i]};
  }
  return std::nullopt;
}

void bringIn(Op& loop) {
  Region& body = *loop.regions.back();
  Op& begin = *body.ops.front();
  std::set<std::pair<const Value*, const Value*>> seen;
  std::vector<Op*> reads;
  for (const auto& op : body.ops) reads.push_back(op.get());
  for (const Op* op : reads) {
    const auto rows = rowsOf(*op);
    const auto table = rows ? tableOf(op->operand(0)) : std::nullopt;
    if (!table || table->file->home()->isInside(loop) || !seen.emplace(table->file, rows->numbers).second) continue;
    Trips trips(loop, begin);
    if (!trips.areKnown({rows->numbers})) continue;
    Value *wanted = trips.hasNext(), *numbers = trips.next(rows->numbers);
    Builder b(&begin);
    b.setLoc(op->loc);
    Op* made = b.make(OpKind::BringIn, {wanted, table->file, numbers});
    if (rows->count > 0) made->set("count", rows->count);
    if (table->first > 0) made->set("files.first", table->first);
  }
}

}  // namespace

void bringRowsIn(Region& r) {
  for (auto it = r.ops.begin(); it != r.ops.end();) {
    Op& op = **it++;
    for (const auto& inner : op.regions) bringRowsIn(*inner);
    if (isLoop(op)) bringIn(op);
  }
}

}  // namespace tenc::passes
