#include "codegen/cpu/AccessAddresses.h"

#include <cassert>

#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {
using llvm::Value;

AccessAddresses::AccessAddresses(llvm::IRBuilderBase& b, const KernelArgs& args, const Kernel& kernel,
                                 const Stage& stage, const StageFacts& facts, const BoundVars& vars)
    : b_(b), args_(args), kernel_(kernel), facts_(facts), vars_(vars) {
  for (ExprId e = 0; e < stage.exprs.size(); ++e)
    if (facts.isNeeded(e) && stage.exprs[e].kind == Expr::Kind::Load) partials_.push_back({&stage.exprs[e].access, {}});
  for (const Store& s : stage.stores) partials_.push_back({&s.access, {}});
}

llvm::Type* AccessAddresses::elementOf(const Access& a) {
  return memoryType(b_.getContext(), kernel_.buffers[a.buffer].dtype);
}

Value* AccessAddresses::start(const Access& a) {
  return b_.CreateConstGEP1_64(elementOf(a), args_.buffers[a.buffer], static_cast<uint64_t>(a.offset));
}

uint64_t AccessAddresses::varsOf(const Access& a) const {
  uint64_t vars = 0;
  for (size_t v = 0; v < a.strides.size(); ++v)
    if (a.strides[v] != 0 && v != facts_.vectorVar()) vars |= uint64_t{1} << v;
  return vars;
}

Value* AccessAddresses::advance(const Access& a, Value* pointer, uint64_t vars) {
  for (size_t v = 0; v < a.strides.size(); ++v) {
    if ((vars >> v & 1) == 0 || a.strides[v] == 0) continue;
    Value* at = vars_.values[v];
    Value* steps = a.strides[v] == 1 ? at : b_.CreateMul(at, b_.getInt64(static_cast<uint64_t>(a.strides[v])));
    pointer = b_.CreateGEP(elementOf(a), pointer, steps);
  }
  return pointer;
}

Value* AccessAddresses::of(const Access& a) {
  const uint64_t wanted = varsOf(a);
  assert((wanted & ~vars_.bound) == 0);
  for (auto& [access, list] : partials_) {
    if (access != &a || list.empty()) continue;
    return advance(a, list.back().pointer, wanted & ~list.back().vars);
  }
  return advance(a, start(a), wanted);
}

void AccessAddresses::emitInvariant() {
  for (auto& [access, list] : partials_) {
    const uint64_t known = varsOf(*access) & vars_.bound;
    if (!list.empty() && list.back().vars == known) continue;
    Value* from = list.empty() ? start(*access) : list.back().pointer;
    const uint64_t before = list.empty() ? 0 : list.back().vars;
    list.push_back({known, advance(*access, from, known & ~before)});
  }
}

void AccessAddresses::forget(size_t var) {
  for (auto& [access, list] : partials_)
    while (!list.empty() && (list.back().vars >> var & 1) != 0) list.pop_back();
}

}  // namespace tenc::codegen::cpu
