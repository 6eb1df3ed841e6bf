#include "codegen/InPlace.h"

namespace tenc::codegen {
namespace {

bool sameAccess(const Access& a, const Access& b) {
  return a.offset == b.offset && a.strides == b.strides && a.terms.empty() && b.terms.empty();
}

/// Whether no outer point runs both stages.
bool areApart(const Kernel& k, const Stage& a, const Stage& b) {
  for (size_t d = 0; d < k.outer.size(); ++d)
    if (a.outerHi[d] <= b.outerLo[d] || b.outerHi[d] <= a.outerLo[d]) return true;
  return false;
}

/// Whether every store to `output` is of the element that `load`, in stage `at`, reads, and comes after it.
bool isReadFirst(const Kernel& k, const Access& load, size_t at, uint32_t output) {
  bool stored = false;
  for (size_t t = 0; t < k.stages.size(); ++t) {
    for (const Store& store : k.stages[t].stores) {
      if (store.access.buffer != output) continue;
      if (!sameAccess(store.access, load) || (t < at && !areApart(k, k.stages[at], k.stages[t]))) return false;
      stored = true;
    }
  }
  return stored;
}

}  // namespace

bool mayWriteOver(const Kernel& k, uint32_t input, uint32_t output) {
  if (k.kind != Kernel::Kind::Loop || k.buffers[input].role != Buffer::Role::Input ||
      ir::byteSize(k.buffers[input].dtype) != ir::byteSize(k.buffers[output].dtype))
    return false;
  for (size_t s = 0; s < k.stages.size(); ++s) {
    if (k.stages[s].ordered) return false;
    for (const Expr& e : k.stages[s].exprs) {
      if (e.kind == Expr::Kind::Load && e.access.buffer == input && !isReadFirst(k, e.access, s, output)) return false;
    }
  }
  return true;
}

}  // namespace tenc::codegen
