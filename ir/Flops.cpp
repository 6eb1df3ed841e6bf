#include "ir/Flops.h"

#include <algorithm>

#include "ir/Windows.h"

namespace tenc::ir {
namespace {

double elements(const Value* v) { return static_cast<double>(v->type.size()); }

/// Of a result of a product: how many products are summed for it.
double depthOf(const Op& op) {
  const Dims& a = op.operand(0)->type.shape;
  if (op.kind != OpKind::Conv) return static_cast<double>(a.back());
  return elements(op.operand(1)) / static_cast<double>(std::max<int64_t>(weightDims(op).outs, 1));
}

}  // namespace

double flopsOf(const Op& op) {
  if (op.results.empty() || op.operandCount() == 0) return 0;
  const Value* first = op.operand(0);
  if (op.kind == OpKind::Attention || op.kind == OpKind::AttentionSaved || op.kind == OpKind::AttentionGrad) {
    const Dims &q = first->type.shape, &k = op.operand(1)->type.shape;
    const auto keys = static_cast<double>(k[k.size() - 2]);
    if (op.kind == OpKind::AttentionGrad) return 2 * keys * (4 * elements(first) + 3 * elements(op.operand(4)));
    return 2 * keys * (elements(first) + elements(op.result()) + elements(first) / static_cast<double>(q.back()));
  }
  if (op.has(Trait::Product)) return 2 * depthOf(op) * elements(op.result());
  if (!isFloat(first->type.dtype)) return 0;
  if (op.has(Trait::Reduction) || op.has(Trait::Scans)) return elements(first);
  if (op.has(Trait::Elementwise)) return isFloat(op.result()->type.dtype) ? elements(op.result()) : 0;
  if (op.has(Trait::Library) && op.has(Trait::FloatOnly) && first->type.rank() >= 2) {
    const Dims& a = first->type.shape;
    return elements(first) * static_cast<double>(std::min(a[a.size() - 1], a[a.size() - 2]));
  }
  return 0;
}

}  // namespace tenc::ir
