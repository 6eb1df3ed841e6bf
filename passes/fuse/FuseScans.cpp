// Long scans of few rows are cut into blocks before grouping, so that there is work for several threads. What is cut
// follows from the shape alone.
#include <algorithm>

#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

constexpr int64_t kBlock = 4096;        // elements along the axis: 16 KiB of f32
constexpr int64_t kFewItems = 8;        // scans beside each other that keep all threads busy
constexpr int64_t kColumnsOfItem = 64;  // columns that run side by side in vectors
constexpr int64_t kManyElements = 1 << 16;

bool isLong(const Op& op) {
  const ir::Dims& shape = op.operand(0)->type.shape;
  const auto axis = static_cast<size_t>(op.intsAttr("axes")[0]);
  int64_t rows = 1, columns = 1;
  for (size_t d = 0; d < axis; ++d) rows *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d) columns *= shape[d];
  return shape[axis] >= 2 * kBlock && op.operand(0)->type.size() >= kManyElements &&
         rows * ((columns + kColumnsOfItem - 1) / kColumnsOfItem) < kFewItems;
}

}  // namespace

void prepareScans(ir::Region& region) {
  std::vector<Op*> work;
  for (auto& op : region.ops) {
    if (op->kind == OpKind::Cumulate && op->operandCount() == 1 && isLong(*op)) work.push_back(op.get());
  }
  for (Op* op : work) {
    ir::Builder b(op);
    b.setLoc(op->loc);
    const std::vector<int64_t>& axes = op->intsAttr("axes");
    const std::string& mode = op->stringAttr("mode");
    const bool reverse = op->boolAttr("reverse");
    Value* x = op->operand(0);
    Value* totals =
        b.value(OpKind::BlockTotals, {x}, {{"axes", axes}, {"mode", mode}, {"reverse", reverse}, {"block", kBlock}});
    Value* starts =
        b.value(OpKind::Cumulate, {totals}, {{"axes", axes}, {"mode", mode}, {"exclusive", true}, {"ordered", true}});
    Value* v = b.value(OpKind::Cumulate, {x, starts},
                       {{"axes", axes},
                        {"mode", mode},
                        {"reverse", reverse},
                        {"exclusive", op->boolAttr("exclusive")},
                        {"block", kBlock}});
    v->name = op->result()->name;
    op->result()->replaceAllUsesWith(v);
    op->erase();
  }
}

}  // namespace tenc::passes::fusion
