// Rows of mapped files. Where a kernel reads rows here and there through the mapping, the system maps whatever lies
// around each of them, up to megabytes, and all of it counts as memory of the process. So rows that a gather takes
// become
//
//   %b = read_rows %file, %numbers {first = 0, count = 1000}
//
// into memory of the plan, which the runtime fills from the file or from the mapping.
#include "passes/Passes.h"
#include "passes/files/Tables.h"

namespace tenc::passes {
namespace {

using namespace ir;

// Bytes of a row, below which a kernel is much faster where the file is in memory as a whole; and of all rows, the most
// of the file that is worth memory which the kernel might not need.
constexpr int64_t kLeastRow = 64, kMostOfFile = 4;

std::optional<Table> tableOfRows(const Op& op) {
  if (op.kind != OpKind::Gather || op.intAttr("at") != 0) return std::nullopt;
  if (op.intsAttr("axes") != Dims{0}) return std::nullopt;
  const Type &numbers = op.operand(1)->type, &rows = op.result()->type;
  if (numbers.dtype != DType::I64 || numbers.shape.empty() || numbers.size() == 0) return std::nullopt;
  if (rows.bytes() < kLeastRow * numbers.size()) return std::nullopt;
  const auto table = tableOf(op.operand(0));
  return table && rows.bytes() <= table->file->type.bytes() / kMostOfFile ? table : std::nullopt;
}

void region(Region& r) {
  for (auto it = r.ops.begin(); it != r.ops.end();) {
    Op& op = **it++;
    for (const auto& inner : op.regions) region(*inner);
    const auto table = tableOfRows(op);
    if (!table) continue;
    Builder b(&op);
    b.setLoc(op.loc);
    const std::string name = op.result()->name;
    Value* rows =
        b.value(OpKind::ReadRows, {table->file, op.operand(1)}, {{"first", table->first}, {"count", table->count}});
    const Dims& shape = op.result()->type.shape;
    if (rows->type.shape != shape) rows = b.value(OpKind::Reshape, {rows}, {{"shape", shape}});
    rows->name = name;
    op.result()->replaceAllUsesWith(rows);
    op.erase();
  }
}

}  // namespace

bool readRows(Module& m, Context&) {
  for (const auto& f : m.funcs) region(*f->body);
  return true;
}

}  // namespace tenc::passes
