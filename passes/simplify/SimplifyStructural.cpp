// Chains of ops that only move elements become shorter: two of a kind are one, and what moves nothing goes. Called by
// Simplify.cpp for one op at a time.
#include <algorithm>
#include <numeric>

#include "passes/simplify/SimplifyRules.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

/// The op that makes `v` when it is of this kind.
Op* maker(const Value* v, OpKind kind) { return v->op != nullptr && v->op->kind == kind ? v->op : nullptr; }

/// The rank-0 value that a broadcast repeats.
Value* repeated(const Value* v) {
  Op* op = maker(v, OpKind::Broadcast);
  return op != nullptr && op->operand(0)->type.shape.empty() ? op->operand(0) : nullptr;
}

Value* reshape(Builder& b, Value* v, const Dims& shape) {
  return v->type.shape == shape ? v : b.value(OpKind::Reshape, {v}, {{"shape", shape}});
}

Value* simplifyReshape(Op& op, Builder& b) {
  const Op* inner = maker(op.operand(0), OpKind::Reshape);
  return inner != nullptr ? reshape(b, inner->operand(0), op.result()->type.shape) : nullptr;
}

Value* simplifyPermute(Op& op, Builder& b) {
  const Dims& perm = op.intsAttr("perm");
  Value* x = op.operand(0);
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  // The order of dims of size 1 is a matter of the shape alone.
  int64_t last = -1;
  const bool moves = std::any_of(perm.begin(), perm.end(), [&](int64_t p) {
    if (x->type.shape[static_cast<size_t>(p)] == 1) return false;
    const bool back = p < last;
    last = p;
    return back;
  });
  if (!moves) return reshape(b, x, op.result()->type.shape);
  const Op* inner = maker(x, OpKind::Permute);
  if (inner == nullptr) return nullptr;
  Dims composed;
  for (int64_t p : perm) composed.push_back(inner->intsAttr("perm")[static_cast<size_t>(p)]);
  if (std::is_sorted(composed.begin(), composed.end())) return inner->operand(0);
  return b.value(OpKind::Permute, {inner->operand(0)}, {{"perm", std::move(composed)}});
}

Value* simplifyBroadcast(Op& op, Builder& b) {
  Value* x = op.operand(0);
  const Dims& shape = op.result()->type.shape;
  if (const Op* inner = maker(x, OpKind::Broadcast)) return b.broadcastTo(inner->operand(0), shape);
  return nullptr;
}

Value* simplifySlice(Op& op, Builder& b) {
  Value* x = op.operand(0);
  const Dims& starts = op.intsAttr("starts");
  const Dims& sizes = op.intsAttr("sizes");
  const Dims& steps = op.intsAttr("steps");
  bool whole = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t extent = x->type.shape[i];
    whole = whole && sizes[i] == extent && (extent == 0 || starts[i] == 0) && (extent <= 1 || steps[i] == 1);
  }
  if (whole) return x;
  const Op* inner = maker(x, OpKind::Slice);
  if (inner == nullptr) return nullptr;
  Dims start(sizes.size());
  Dims step(sizes.size(), 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    const int64_t innerStart = inner->intsAttr("starts")[i];
    const int64_t innerStep = inner->intsAttr("steps")[i];
    start[i] = innerStart + starts[i] * innerStep;
    // One element needs no step, and a step of its own might overflow.
    if (sizes[i] > 1) step[i] = steps[i] * innerStep;
  }
  return b.value(OpKind::Slice, {inner->operand(0)},
                 {{"starts", std::move(start)}, {"sizes", Dims(sizes)}, {"steps", std::move(step)}});
}

Value* simplifyFlip(Op& op, Builder& b) {
  Value* x = op.operand(0);
  const auto isTrivial = [&](int64_t a) { return x->type.shape[static_cast<size_t>(a)] <= 1; };
  const Dims& axes = op.intsAttr("axes");
  if (std::all_of(axes.begin(), axes.end(), isTrivial)) return x;
  const Op* inner = maker(x, OpKind::Flip);
  if (inner == nullptr) return nullptr;
  Dims left;
  const Dims& before = inner->intsAttr("axes");
  const auto contains = [](const Dims& d, int64_t a) { return std::find(d.begin(), d.end(), a) != d.end(); };
  for (int64_t a : axes) {
    if (!contains(before, a)) left.push_back(a);
  }
  for (int64_t a : before) {
    if (!contains(axes, a)) left.push_back(a);
  }
  if (left.empty()) return inner->operand(0);
  return b.value(OpKind::Flip, {inner->operand(0)}, {{"axes", std::move(left)}});
}

Value* simplifyPad(Op& op) {
  const auto isZero = [](int64_t w) { return w == 0; };
  const Dims& lo = op.intsAttr("lo");
  const Dims& hi = op.intsAttr("hi");
  const bool none = std::all_of(lo.begin(), lo.end(), isZero) && std::all_of(hi.begin(), hi.end(), isZero);
  return none ? op.operand(0) : nullptr;
}

Value* simplifyConcat(Op& op, Builder& b) {
  if (op.operandCount() == 1) return op.operand(0);
  const auto axis = static_cast<size_t>(op.intAttr("axis"));
  std::vector<Value*> filled;
  for (Value* v : op.operands()) {
    if (v->type.shape[axis] != 0) filled.push_back(v);
  }
  if (filled.size() == op.operandCount() || filled.empty()) return nullptr;
  if (filled.size() == 1) return filled[0];
  return b.value(OpKind::Concat, std::move(filled), {{"axis", op.intAttr("axis")}});
}

}  // namespace

Value* simplifyStructural(Op& op, Builder& b) {
  if (!op.has(Trait::Structural)) return nullptr;
  Value* x = op.operand(0);
  const Dims& shape = op.result()->type.shape;
  const bool oneOperand = op.operandCount() == 1;
  if ((op.kind == OpKind::Reshape || op.kind == OpKind::Broadcast) && x->type.shape == shape) return x;
  // Whatever moves copies of one value makes copies of it.
  if (Value* scalar = oneOperand ? repeated(x) : nullptr) return b.broadcastTo(scalar, shape);
  switch (op.kind) {
    case OpKind::Reshape: return simplifyReshape(op, b);
    case OpKind::Permute: return simplifyPermute(op, b);
    case OpKind::Broadcast: return simplifyBroadcast(op, b);
    case OpKind::Slice: return simplifySlice(op, b);
    case OpKind::Flip: return simplifyFlip(op, b);
    case OpKind::Pad: return simplifyPad(op);
    case OpKind::Concat: return simplifyConcat(op, b);
    default: return nullptr;
  }
}

}  // namespace tenc::passes
