#include "codegen/KernelBuilder.h"

#include <cassert>

#include "codegen/Codegen.h"
#include "codegen/NativeFaults.h"
#include "ir/Views.h"

namespace tenc::codegen {

using ir::DType;
using ir::OpKind;
using ir::Trait;

void Space::number() {
  vars.assign(domain.size(), {});
  outer.clear();
  inner.clear();
  for (bool takeReduced : {false, true}) {
    for (size_t a = 0; a < domain.size(); ++a) {
      if (reduced[a] != takeReduced) continue;
      for (int64_t extent : factors[a]) {
        vars[a].push_back(varCount());
        (takeReduced ? inner : outer).push_back(extent);
      }
    }
  }
}

Affine Space::along(size_t axis) const {
  Affine a;
  int64_t step = 1;
  for (size_t i = factors[axis].size(); i-- > 0;) {
    if (factors[axis][i] != 1) a.add(Affine::variable(vars[axis][i]), step);
    step *= factors[axis][i];
  }
  return a;
}

void Space::refine(const Refinement& r) {
  for (size_t a = 0; a < domain.size(); ++a) {
    for (size_t i = 0; i < vars[a].size(); ++i) {
      if (vars[a][i] != r.var) continue;
      int64_t extent = factors[a][i];
      factors[a][i] = extent / r.inner;
      factors[a].insert(factors[a].begin() + static_cast<std::ptrdiff_t>(i) + 1, r.inner);
      number();
      return;
    }
  }
}

namespace {

bool isHostScalar(const ir::Value* v) {
  return v->type.rank() == 0 && (v->type.place.isFree() || v->type.place.device == ir::DeviceTable::kHost);
}

bool isUpdate(OpKind k) { return k == OpKind::Scatter || k == OpKind::DynamicUpdate || k == OpKind::UpdateSlice; }

/// "sub_exp_sum": the first few ops that compute.
std::string nameOf(const ir::Region& region) {
  std::string name;
  int count = 0;
  for (const auto& op : region.ops) {
    if (op->has(Trait::Terminator) || op->has(Trait::Structural) || op->kind == OpKind::Constant) continue;
    if (++count > 4) break;
    if (!name.empty()) name += '_';
    name += op->info().mnemonic;
  }
  return name.empty() ? "copy" : name;
}

void bindBuffers(Group& g, const ir::Op* update) {
  Kernel& k = g.kernel;
  const ir::Region& region = *g.fused.regions[0];
  const ir::Value* old = update ? update->operand(0) : nullptr;
  for (uint32_t i = 0; i < region.args.size(); ++i) {
    const ir::Value* arg = region.args[i].get();
    const ir::Type& type = region.args[i]->type;
    if (isHostScalar(arg) && arg != old) {
      g.scalars[arg] = static_cast<uint32_t>(k.scalars.size());
      k.scalars.push_back(type.dtype);
      k.scalarOperand.push_back(i);
      continue;
    }
    g.buffers[arg] = static_cast<uint32_t>(k.buffers.size());
    Buffer::Role role = arg == old ? Buffer::Role::InOut : Buffer::Role::Input;
    k.buffers.push_back({type.dtype, type.size(), role});
    k.bufferOperand.push_back(static_cast<int32_t>(i));
    k.bufferResult.push_back(arg == old ? 0 : -1);
  }
  for (size_t r = update ? 1 : 0; r < g.fused.results.size(); ++r) {
    const ir::Type& t = g.fused.result(r)->type;
    k.buffers.push_back({t.dtype, t.size(), Buffer::Role::Output});
    k.bufferOperand.push_back(-1);
    k.bufferResult.push_back(static_cast<int32_t>(r));
  }
}

/// A loop over single numbers. Attribute `carried` gives the operand of each tensor result, -1 for rank 0.
void buildNative(const ir::Op& fused, Kernel& k) {
  const ir::Region& region = *fused.regions[0];
  k.kind = Kernel::Kind::Native;
  k.name = "native_loop";
  k.native = &fused;
  nameNativeFaults(k);
  const auto& carried = fused.intsAttr("carried");
  for (uint32_t i = 0; i < region.args.size(); ++i) {
    const ir::Value* arg = region.args[i].get();
    int32_t result = -1;
    for (size_t r = 0; r < carried.size(); ++r) {
      if (carried[r] == static_cast<int64_t>(i)) result = static_cast<int32_t>(r);
    }
    if (isHostScalar(arg)) {
      k.scalars.push_back(arg->type.dtype);
      k.scalarOperand.push_back(i);
      continue;
    }
    k.buffers.push_back({arg->type.dtype, arg->type.size(), result < 0 ? Buffer::Role::Input : Buffer::Role::InOut});
    k.bufferOperand.push_back(static_cast<int32_t>(i));
    k.bufferResult.push_back(result);
  }
  for (size_t r = 0; r < fused.results.size(); ++r) {
    if (carried[r] >= 0) continue;
    const ir::Type& t = fused.result(r)->type;
    k.buffers.push_back({t.dtype, t.size(), Buffer::Role::Output});
    k.bufferOperand.push_back(-1);
    k.bufferResult.push_back(static_cast<int32_t>(r));
  }
}

}  // namespace

Kernel buildKernel(const ir::Op& fused, const ir::TargetTraits& traits) {
  Kernel k;
  const ir::Region& region = *fused.regions[0];
  k.name = nameOf(region);
  Group g{fused, traits, k, {}, {}, {}, {}, {}, nullptr, 0, {}};
  const std::string& kind = fused.stringAttr("kind");
  if (kind == "native") {
    buildNative(fused, k);
    return k;
  }
  const ir::Op* update = nullptr;
  if (fused.boolAttr("inplace")) {
    update = region.terminator()->operand(0)->op;
    if (!update || !isUpdate(update->kind)) {
      k.error = "an in-place group must end in an update";
      return k;
    }
  }
  bindBuffers(g, update);
  if (update) {
    k.kind = Kernel::Kind::Loop;
    buildUpdate(g);
  } else if (kind == "product") {
    k.kind = Kernel::Kind::Product;
    buildProduct(g);
  } else {
    const ir::Op* scan = nullptr;
    for (const auto& op : region.ops) {
      if (op->has(Trait::Scans)) scan = op.get();
    }
    if (scan != nullptr) {
      buildScan(g, *scan);
    } else {
      buildLoop(g);
    }
  }
  if (k.error.empty()) collapseLoops(k);
  return k;
}

/// scatter, dynamic_update and update_slice in place: only the updated elements are written.
void buildUpdate(Group& g) {
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
    for (size_t i = 0; i < indexRank; ++i) s.reduced[at + i] = true;
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
  std::vector<Affine> target(old->type.shape.size());
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
  if (op.kind == OpKind::UpdateSlice) {
    const auto& starts = op.intsAttr("starts");
    const auto& steps = op.intsAttr("steps");
    for (size_t d = 0; d < target.size(); ++d) {
      target[d] = identity.dims[d].scaled(steps.empty() ? 1 : steps[d]);
      target[d].offset += starts[d];
    }
  } else {
    uint32_t number = b.fault(op, static_cast<uint8_t>(abi::FaultKind::Index));
    const auto& axes = op.intsAttr("axes");
    if (op.kind == OpKind::DynamicUpdate) {
      target = identity.dims;
      for (size_t i = 0; i < axes.size(); ++i) {
        size_t axis = static_cast<size_t>(axes[i]);
        int64_t size = old->type.shape[axis];
        target[axis].add(b.term(indices[i], size - update->type.shape[axis] + 1, size, number, axis));
      }
    } else {
      std::vector<bool> indexed(target.size(), false);
      for (size_t i = 0; i < axes.size(); ++i) {
        size_t axis = static_cast<size_t>(axes[i]);
        target[axis] = b.term(indices[i], old->type.shape[axis], old->type.shape[axis], number, axis);
        for (Access::Term& t : target[axis].terms) t.fromEnd = !op.boolAttr("from_start");
        indexed[axis] = true;
      }
      size_t next = 0;
      for (size_t d = 0; d < target.size(); ++d) {
        if (indexed[d]) continue;
        if (next == at) next += indexRank;
        target[d] = identity.dims[next++];
      }
    }
  }
  uint32_t buffer = g.buffers.at(old);
  Affine position = linearise(Index{target, std::nullopt}, old->type.shape);
  const std::string& mode = op.stringAttr("mode");
  if (op.kind == OpKind::Scatter && mode != "set") {
    Expr load;
    load.kind = Expr::Kind::Load;
    load.dtype = old->type.dtype;
    load.access = b.access(buffer, position);
    ExprId before = b.add(std::move(load));
    e = b.op(ir::combinerNamed(mode), old->type.dtype, {before, e});
  }
  b.stage.stores.push_back({b.access(buffer, position), e});
  b.stage.ordered = op.kind == OpKind::Scatter;
  b.stage.outerLo.assign(s.outer.size(), 0);
  b.stage.outerHi = s.outer;
  b.stage.innerLo.assign(s.inner.size(), 0);
  b.stage.innerHi = s.inner;
  k.outer = s.outer;
  k.stages.push_back(std::move(b.stage));
}

}  // namespace tenc::codegen
