#include "codegen/KernelBuilder.h"

#include <algorithm>
#include <cassert>

#include "codegen/Codegen.h"
#include "codegen/IndexRanges.h"
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

bool isAttention(OpKind k) { return k == OpKind::Attention || k == OpKind::AttentionSaved; }
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

void bindBuffers(KernelBuild& g, const ir::Op* update) {
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

/// A loop over single numbers.
void buildNative(const ir::Op& fused, Kernel& k) {
  k.kind = Kernel::Kind::Native;
  k.name = "native_loop";
  k.native = &fused;
  nameNativeFaults(k);
  for (const ir::Value* v : fused.operands()) {
    const Range r = heldBy(v);
    k.held.emplace_back(r.least, r.most);
  }
  bindCarried(fused, k);
}

}  // namespace

void bindCarried(const ir::Op& fused, Kernel& k) {
  const ir::Region& region = *fused.regions[0];
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

Kernel buildRoutine(const ir::Op& op) {
  Kernel k;
  k.kind = Kernel::Kind::Routine;
  k.name = op.info().mnemonic;
  k.routine = &op;
  for (size_t i = 0; i < op.operandCount(); ++i) {
    k.buffers.push_back({op.operand(i)->type.dtype, op.operand(i)->type.size(), Buffer::Role::Input});
    k.bufferOperand.push_back(static_cast<int32_t>(i));
    k.bufferResult.push_back(-1);
  }
  for (size_t r = 0; r < op.results.size(); ++r) {
    k.buffers.push_back({op.result(r)->type.dtype, op.result(r)->type.size(), Buffer::Role::Output});
    k.bufferOperand.push_back(-1);
    k.bufferResult.push_back(static_cast<int32_t>(r));
  }
  if (op.has(Trait::CanFault)) {
    for (const abi::FaultKind kind : abi::kLibraryFaults) {
      k.faults.push_back(op.loc);
      k.faultCodes.push_back(static_cast<uint8_t>(kind));
    }
  }
  return k;
}

namespace {

/// Each stage of an elementwise kernel becomes one for each side of what it leaves out.
void leaveOut(Kernel& k, const Box& box) {
  const auto isScratch = [](const Buffer& b) { return b.role == Buffer::Role::Scratch; };
  const auto isOther = [&](const Stage& s) {
    return s.ordered || !s.innerLo.empty() || s.outerLo.size() != box.lo.size();
  };
  if (k.kind != Kernel::Kind::Loop || !k.reductions.empty() || std::ranges::any_of(k.buffers, isScratch) ||
      std::ranges::any_of(k.stages, isOther))
    return;
  std::vector<Stage> sides;
  for (Stage rest : k.stages) {
    for (size_t d = 0; d < box.lo.size(); ++d) {
      const int64_t lo = std::clamp(box.lo[d], rest.outerLo[d], rest.outerHi[d]);
      const int64_t hi = std::clamp(box.hi[d], lo, rest.outerHi[d]);
      Stage side = rest;
      side.outerHi[d] = lo;
      if (side.outerLo[d] < side.outerHi[d]) sides.push_back(side);
      side.outerLo[d] = hi;
      side.outerHi[d] = rest.outerHi[d];
      if (side.outerLo[d] < side.outerHi[d]) sides.push_back(side);
      rest.outerLo[d] = lo;
      rest.outerHi[d] = hi;
    }
  }
  if (!sides.empty()) k.stages = std::move(sides);  // else it does not run at all
}

}  // namespace

Kernel buildKernel(const ir::Op& fused, const ir::TargetTraits& traits, const std::optional<Box>& leftOut) {
  Kernel k;
  const ir::Region& region = *fused.regions[0];
  k.name = nameOf(region);
  KernelBuild g{fused, traits, k, {}, {}, {}, {}, {}, nullptr, 0, {}};
  const std::string& kind = fused.stringAttr("kind");
  if (kind == "native") {
    buildNative(fused, k);
    return k;
  }
  if (kind == "tensor_loop") {
    buildTensorLoop(fused, traits, k);
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
  } else if (const ir::Op* product = productOf(region); product != nullptr && isAttention(product->kind)) {
    k.kind = Kernel::Kind::Attention;
    buildAttention(g, *product);
  } else if (product != nullptr && product->kind == OpKind::AttentionGrad) {
    k.kind = Kernel::Kind::AttentionGradient;
    buildAttentionGradient(g, *product);
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
  // An update in place runs over the update, whose indices are not those of the result.
  if (k.error.empty() && leftOut && update == nullptr) leaveOut(k, *leftOut);
  if (k.error.empty()) collapseLoops(k);
  return k;
}

}  // namespace tenc::codegen
