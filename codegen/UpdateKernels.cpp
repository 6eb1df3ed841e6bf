// Kernels of updates in place.
#include "codegen/KernelBuilder.h"
#include "ir/HiddenDims.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

using ir::OpKind;

namespace {

/// Where element `point` of the update goes, by the indices at run time. Of a scatter, `rank` dims from `at` on are
/// those of its indices.
std::vector<Affine> targetOf(StageBuilder& b, const ir::Op& op, const Index& point, const std::vector<ExprId>& indices,
                             size_t at, size_t rank) {
  const ir::Dims &old = op.operand(0)->type.shape, &update = op.operand(1)->type.shape;
  std::vector<Affine> target(old.size());
  if (op.kind == OpKind::UpdateSlice) {
    const auto& starts = op.intsAttr("starts");
    const auto& steps = op.intsAttr("steps");
    for (size_t d = 0; d < target.size(); ++d) {
      target[d] = point.dims[d].scaled(steps.empty() ? 1 : steps[d]);
      target[d].offset += starts[d];
    }
    return target;
  }
  const uint32_t number = b.fault(op, static_cast<uint8_t>(abi::FaultKind::Index));
  const auto& axes = op.intsAttr("axes");
  const auto written = [&](size_t i) { return static_cast<size_t>(ir::writtenAxis(op, axes[i])); };
  if (op.kind == OpKind::DynamicUpdate) {
    target = point.dims;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i]);
      target[axis].add(b.term(indices[i], old[axis] - update[axis] + 1, old[axis], number, written(i)));
    }
    return target;
  }
  std::vector<bool> indexed(target.size(), false);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    target[axis] = b.term(indices[i], old[axis], old[axis], number, written(i));
    for (Access::Term& t : target[axis].terms) t.fromEnd = !op.boolAttr("from_start");
    indexed[axis] = true;
  }
  size_t next = 0;
  for (size_t d = 0; d < target.size(); ++d) {
    if (indexed[d]) continue;
    if (next == at) next += rank;
    target[d] = point.dims[next++];
  }
  return target;
}

/// The dim along which indices are 0, 1, 2, ..., and the same along all others; nullopt where that is not seen.
std::optional<size_t> countedDim(const ir::Value* v) {
  if (v->op == nullptr) return std::nullopt;
  const ir::Op& op = *v->op;
  const ir::Dims& shape = v->type.shape;
  if (op.kind == OpKind::Iota) return static_cast<size_t>(op.intAttr("axis"));
  if (op.kind != OpKind::Broadcast && op.kind != OpKind::Reshape) return std::nullopt;
  const ir::Dims& before = op.operand(0)->type.shape;
  const std::optional<size_t> dim = countedDim(op.operand(0));
  if (!dim || before[*dim] == 1) return std::nullopt;
  if (op.kind == OpKind::Broadcast) return *dim + shape.size() - before.size();
  // A reshape that adds and takes away dims of 1.
  size_t to = 0;
  for (size_t d = 0; d < before.size(); ++d) {
    if (before[d] == 1) continue;
    while (to < shape.size() && shape[to] == 1) ++to;
    if (to == shape.size() || shape[to] != before[d]) return std::nullopt;
    if (d == *dim) return to;
    ++to;
  }
  return std::nullopt;
}

}  // namespace

/// scatter, dynamic_update and update_slice in place: only the updated elements are written.
void buildUpdate(KernelBuild& g) {
  Kernel& k = g.kernel;
  const ir::Op& op = *g.fused.regions[0]->terminator()->operand(0)->op;
  const ir::Value* old = op.operand(0);
  const ir::Value* update = op.operand(1);
  Space& s = g.space;
  s.domain = update->type.shape;
  s.reduced.assign(s.domain.size(), false);
  size_t at = 0;
  size_t indexRank = 0;
  if (op.kind == OpKind::Scatter) {
    at = static_cast<size_t>(op.intAttr("at"));
    indexRank = op.operand(2)->type.shape.size();
    // Several elements may go to one place, and do so in their order; not where an index counts them.
    for (size_t i = 0; i < indexRank; ++i) s.reduced[at + i] = s.domain[at + i] > 1;
    for (size_t i = 2; i < op.operandCount(); ++i)
      if (const auto counted = countedDim(op.operand(i))) s.reduced[at + *counted] = false;
  }
  s.factors.clear();
  for (int64_t n : s.domain) s.factors.push_back({n});
  s.number();
  std::vector<VarRange> box;
  for (int64_t n : s.outer) box.push_back({0, n, n});
  for (int64_t n : s.inner) box.push_back({0, n, n});
  Index identity;
  for (size_t a = 0; a < s.domain.size(); ++a) identity.dims.push_back(s.along(a));
  StageBuilder b(g, box, false);
  b.refinable = false;
  // Faults of the operands come before that of an index, as they do one after the other.
  Index where;
  for (size_t i = 0; i < indexRank; ++i) where.dims.push_back(identity.dims[at + i]);
  std::vector<ExprId> indices;
  for (size_t i = 2; i < op.operandCount(); ++i) {
    indices.push_back(b.value(op.operand(i), where));
    if (b.stopped()) return;
  }
  ExprId e = b.value(update, identity);
  if (b.stopped()) return;
  const std::vector<Affine> target = targetOf(b, op, identity, indices, at, indexRank);
  uint32_t buffer = g.buffers.at(old);
  Affine position = linearise(Index{target, std::nullopt}, old->type.shape);
  const std::string& mode = op.stringAttr("mode");
  if (op.kind == OpKind::Scatter && mode != "set") {
    const ExprId before = b.load(buffer, position, old->type.dtype);
    e = b.op(ir::combinerNamed(mode), old->type.dtype, {before, e});
  }
  b.stage.stores.push_back({b.access(buffer, position), e});
  b.stage.ordered = !s.inner.empty();
  b.stage.outerLo.assign(s.outer.size(), 0);
  b.stage.outerHi = s.outer;
  b.stage.innerLo.assign(s.inner.size(), 0);
  b.stage.innerHi = s.inner;
  k.outer = s.outer;
  k.stages.push_back(std::move(b.stage));
}

}  // namespace tenc::codegen
