// Elements at run-time indices, and the strided views of memory that they are read from.
#include "codegen/KernelBuilder.h"
#include "ir/HiddenDims.h"
#include "ir/Views.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

std::optional<Affine> StageBuilder::viewPosition(const ir::Value* v, const std::vector<Affine>& index,
                                                 uint32_t& buffer) {
  auto view = ir::stridedView(v, [&](const ir::Value* x) { return build_.buffers.count(x) != 0; });
  if (!view) {
    fail("an operand of a gather or product is no view of a buffer");
    return std::nullopt;
  }
  buffer = build_.buffers.at(view->base);
  Affine position = Affine::constant(view->offset);
  for (size_t d = 0; d < index.size(); ++d) position.add(index[d], view->strides[d]);
  return position;
}

ExprId StageBuilder::loadView(const ir::Value* v, const std::vector<Affine>& index) {
  uint32_t buffer = 0;
  auto position = viewPosition(v, index, buffer);
  return position ? load(buffer, *position, v->type.dtype) : 0;
}

ExprId StageBuilder::gather(const ir::Op& o, const Index& index) {
  const ir::Value* table = o.operand(0);
  const auto& axes = o.intsAttr("axes");
  size_t at = static_cast<size_t>(o.intAttr("at"));
  size_t indexRank = o.operand(1)->type.shape.size();
  auto result = dims(index, o.result()->type.shape);
  if (stopped()) return 0;
  Index where;
  for (size_t i = 0; i < indexRank; ++i) where.dims.push_back(result[at + i]);
  std::vector<Affine> source(table->type.shape.size());
  std::vector<bool> indexed(source.size(), false);
  uint32_t number = fault(o, static_cast<uint8_t>(abi::FaultKind::Index));
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(axes[i]);
    ExprId e = value(o.operand(1 + i), where);
    if (stopped()) return 0;
    source[axis] = term(e, table->type.shape[axis], table->type.shape[axis], number,
                        static_cast<size_t>(ir::writtenAxis(o, axes[i])));
    indexed[axis] = true;
  }
  size_t next = 0;
  for (size_t d = 0; d < source.size(); ++d) {
    if (indexed[d]) continue;
    if (next == at) next += indexRank;
    source[d] = result[next++];
  }
  return loadView(table, source);
}

ExprId StageBuilder::dynamicSlice(const ir::Op& o, const Index& index) {
  const ir::Value* source = o.operand(0);
  const auto& axes = o.intsAttr("axes");
  const auto& sizes = o.intsAttr("sizes");
  auto position = dims(index, o.result()->type.shape);
  if (stopped()) return 0;
  uint32_t number = fault(o, static_cast<uint8_t>(abi::FaultKind::Index));
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(axes[i]);
    int64_t size = source->type.shape[axis];
    ExprId start = value(o.operand(1 + i), Index{});
    if (stopped()) return 0;
    position[axis].add(
        term(start, size - sizes[i] + 1, size, number, static_cast<size_t>(ir::writtenAxis(o, axes[i]))));
  }
  return loadView(source, position);
}

}  // namespace tenc::codegen
