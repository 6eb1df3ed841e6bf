#include "passes/files/RowsAhead.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/Loops.h"
#include "passes/files/Declined.h"
#include "passes/files/Tables.h"
#include "passes/files/Trips.h"

namespace tenc::passes {

using namespace ir;

namespace {

/// What an op reads of a mapped file: rows by their numbers, or `count` of them from one on.
struct Rows {
  Table table;
  Value* numbers = nullptr;
  int64_t count = 0;
};

std::optional<Rows> rowsOf(const Op& op) {
  if (op.kind == OpKind::ReadRows)
    return Rows{{op.operand(0), op.intAttr("first"), op.intAttr("count")}, op.operand(1), 0};
  if (op.kind != OpKind::Gather && op.kind != OpKind::DynamicSlice) return std::nullopt;
  const auto table = tableOf(op.operand(0));
  const auto& axes = op.intsAttr("axes");
  for (size_t i = 0; table && i < axes.size(); ++i) {
    if (axes[i] != 0 || op.operand(i + 1)->type.dtype != DType::I64) continue;
    return Rows{*table, op.operand(i + 1), op.kind == OpKind::Gather ? 0 : op.intsAttr("sizes")[i]};
  }
  return std::nullopt;
}

/// All ops of a trip, but for those of loops in it.
void opsIn(const Region& r, std::vector<const Op*>& ops) {
  for (const auto& op : r.ops) {
    ops.push_back(op.get());
    for (const auto& inner : op->regions)
      if (!isLoop(*op)) opsIn(*inner, ops);
  }
}

void bringIn(Op& loop, const Context& c) {
  Region& body = *loop.regions.back();
  Op& begin = *body.ops.front();
  std::set<std::pair<const Value*, const Value*>> seen;
  std::vector<const Op*> reads;
  opsIn(body, reads);
  for (const Op* op : reads) {
    const auto rows = rowsOf(*op);
    if (!rows || rows->table.file->home()->isInside(loop)) continue;
    if (!seen.emplace(rows->table.file, rows->numbers).second) continue;
    Trips trips(loop, begin);
    if (op->parent != &body) {
      declineReadAhead(c, *op, "only some trips may want these rows");
      continue;
    }
    if (!trips.areKnown({rows->numbers})) {
      declineReadAhead(c, *op, "the numbers of the rows follow from what the trip before computes");
      continue;
    }
    Value *wanted = trips.hasNext(), *numbers = trips.next(rows->numbers);
    Builder b(&begin);
    b.setLoc(op->loc);
    Op* made = b.make(OpKind::BringIn, {wanted, rows->table.file, numbers});
    if (rows->count > 0) made->set("count", rows->count);
    if (rows->table.count == rows->table.file->type.shape[0]) continue;
    made->set("files.first", rows->table.first);
    made->set("files.rows", rows->table.count);
  }
}

}  // namespace

void bringRowsIn(Region& r, const Context& c) {
  for (auto it = r.ops.begin(); it != r.ops.end();) {
    Op& op = **it++;
    for (const auto& inner : op.regions) bringRowsIn(*inner, c);
    if (isLoop(op)) bringIn(op, c);
  }
}

}  // namespace tenc::passes
