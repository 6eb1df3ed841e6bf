// Long scans of few rows are cut into blocks before grouping, so that there is work for several threads. What is cut
// follows from the shape alone.
#include <algorithm>

#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

bool isLong(const Op& op, const ir::TargetTraits::Scans& t) {
  const ir::Dims& shape = op.operand(0)->type.shape;
  const auto axis = static_cast<size_t>(op.intsAttr("axes")[0]);
  int64_t rows = 1, columns = 1;
  for (size_t d = 0; d < axis; ++d) rows *= shape[d];
  for (size_t d = axis + 1; d < shape.size(); ++d) columns *= shape[d];
  return shape[axis] >= 2 * t.block && op.operand(0)->type.size() >= t.manyElements &&
         rows * ((columns + t.itemColumns - 1) / t.itemColumns) < t.fewItems;
}

/// Few enough blocks: their totals are added up one after the other. The same for all devices, whose results then have
/// the same bits.
int64_t blockOf(const Op& op, const ir::TargetTraits::Scans& t) {
  constexpr int64_t kMostBlocks = 2048;
  const int64_t length = op.operand(0)->type.shape[static_cast<size_t>(op.intsAttr("axes")[0])];
  int64_t block = t.block;
  while (length / block > kMostBlocks) block *= 2;
  return block;
}

}  // namespace

void prepareScans(ir::Region& region, const Context& c) {
  std::vector<Op*> work;
  for (auto& op : region.ops) {
    if (op->kind == OpKind::Cumulate && op->operandCount() == 1 && isLong(*op, c.traitsOf(*op).scans))
      work.push_back(op.get());
  }
  for (Op* op : work) {
    ir::Builder b(op);
    b.setLoc(op->loc);
    const int64_t block = blockOf(*op, c.traitsOf(*op).scans);
    const std::vector<int64_t>& axes = op->intsAttr("axes");
    const std::string& mode = op->stringAttr("mode");
    const bool reverse = op->boolAttr("reverse");
    Value* x = op->operand(0);
    Value* totals =
        b.value(OpKind::BlockTotals, {x}, {{"axes", axes}, {"mode", mode}, {"reverse", reverse}, {"block", block}});
    Value* starts =
        b.value(OpKind::Cumulate, {totals}, {{"axes", axes}, {"mode", mode}, {"exclusive", true}, {"ordered", true}});
    Value* v = b.value(OpKind::Cumulate, {x, starts},
                       {{"axes", axes},
                        {"mode", mode},
                        {"reverse", reverse},
                        {"exclusive", op->boolAttr("exclusive")},
                        {"block", block}});
    v->name = op->result()->name;
    op->result()->replaceAllUsesWith(v);
    op->erase();
  }
}

}  // namespace tenc::passes::fusion
