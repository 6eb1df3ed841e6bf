// Convolutions of devices that read channels side by side: images and weights are copied so before grouping, where each
// element of them is multiplied often enough to pay for that.
#include <map>

#include "ir/Views.h"
#include "ir/Windows.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// How often an element of the image is multiplied, and one of the weights.
struct Reuse {
  int64_t image = 0, weights = 0;
};

Reuse reuseOf(const Op& conv) {
  const ir::Dims &out = conv.result()->type.shape, &w = conv.operand(1)->type.shape;
  Reuse r{w[0] / conv.intAttr("groups"), out[0]};
  for (size_t d = 2; d < w.size(); ++d) r.image *= w[d];
  for (size_t d = 2; d < out.size(); ++d) r.weights *= out[d];
  for (const int64_t s : conv.intsAttr("stride")) r.image /= s;
  return r;
}

bool suits(const Op& op, const ir::TargetTraits& t) {
  if (op.kind != OpKind::Conv || op.boolAttr("out_last") || op.result()->type.size() == 0) return false;
  if (!t.channelsLast.dtypes.contains(op.operand(0)->type.dtype)) return false;
  const Reuse reuse = reuseOf(op);
  const int64_t channels = op.operand(1)->type.shape[1];
  const int64_t multiplications = reuse.weights * op.operand(1)->type.size();
  return channels >= t.channelsLast.least && channels % t.channelsLast.multiple == 0 &&
         reuse.image >= t.channelsLast.reuse && reuse.weights >= t.channelsLast.reuse &&
         multiplications >= t.channelsLast.multiplications;
}

/// The value with its dim 1 innermost in memory, as a view of a copy.
Value* channelsLast(Op& conv, Value* v, Copies& copies) {
  const auto dense = ir::stridedView(v, [](const Value* x) { return !x->op || !ir::isViewOp(*x->op); });
  if (dense && dense->strides[1] == 1 && v->type.rank() > 2) return v;
  ir::Dims perm = {0}, back = {0, v->type.rank() - 1};
  for (int64_t d = 2; d < v->type.rank(); ++d) perm.push_back(d), back.push_back(d - 1);
  perm.push_back(1);
  ir::Builder b(&conv);
  b.setLoc(conv.loc);
  Value* copy = b.value(OpKind::Permute, {v}, {{"perm", perm}});
  Value* view = b.value(OpKind::Permute, {copy}, {{"perm", back}});
  copies.emplace(view, copy);
  return view;
}

}  // namespace

void prepareConvolutions(ir::Region& region, const Context& c, Copies& copies) {
  std::map<const Value*, Value*> made;  // in this region, before what comes next
  for (const auto& op : region.ops) {
    if (!suits(*op, c.traitsOf(*op))) continue;
    for (const size_t i : {0u, 1u}) {
      Value*& v = made[op->operand(i)];
      if (v == nullptr) v = channelsLast(*op, op->operand(i), copies);
      op->setOperand(i, v);
    }
  }
}

}  // namespace tenc::passes::fusion
