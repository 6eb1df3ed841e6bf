// Attention that a target computes as one kernel: operands are rounded where they are made, heads that share keys keep
// a dim of their own, and the result is stored in the order of dims that is wanted of it, so that nothing is copied.
#include <algorithm>

#include "ir/Views.h"
#include "passes/decompose/Decompose.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

constexpr int64_t kMostCast = 4;  // times as many elements as are used, of what is rounded before it is cut

/// What heads that share their keys look like: [..., heads, times, rows, columns] as [..., heads * times, rows,
/// columns]. Null for what does not.
Value* sharedBehind(const Value* v) {
  const size_t rank = v->type.shape.size();
  if (rank < 3 || rank >= kMaxRank || v->op == nullptr || v->op->kind != OpKind::Reshape) return nullptr;
  Value* wide = v->op->operand(0);
  if (wide->op == nullptr || wide->op->kind != OpKind::Broadcast || wide->type.shape.size() != rank + 1) return nullptr;
  Dims merged = wide->type.shape;
  merged[rank - 3] *= merged[rank - 2];
  merged.erase(merged.end() - 3);
  return merged == v->type.shape ? wide : nullptr;
}

class WholeAttention {
 public:
  explicit WholeAttention(Op& op) : op_(op), b_(&op), perm_(permOf(op)) { b_.setLoc(op.loc); }

  Value* build() {
    if (op_.hasAttr("perm")) return nullptr;  // it is what this makes
    const auto rounds = op_.dtypeAttr("rounds");
    std::vector<Value*> operands(op_.operands().begin(), op_.operands().end());
    if (rounds)
      for (size_t i = 0; i < 3; ++i) operands[i] = castAtSource(b_, operands[i], *rounds);
    const Dims shape = op_.result()->type.shape;
    const auto shared = SharedHeads::of(operands[1], operands[2]);
    const bool grouped = shared.has_value();
    if (grouped) {
      operands[0] = shared->split(b_, operands[0]);
      operands[1] = shared->k, operands[2] = shared->v;
      if (operands.size() > 4) operands[4] = shared->split(b_, operands[4]);
    }
    if (!rounds && !grouped && perm_.empty()) return nullptr;

    Dims perm = perm_, permuted;
    for (const int64_t d : perm) permuted.push_back(shape[static_cast<size_t>(d)]);
    if (grouped && !perm.empty()) perm = shared->perm(perm);
    std::vector<Builder::NamedAttr> attrs = {{"causal", op_.boolAttr("causal")}};
    if (rounds || op_.hasAttr("dtype")) attrs.push_back({"dtype", op_.result()->type.dtype});
    if (!perm.empty()) attrs.push_back({"perm", perm});
    Value* out = b_.value(OpKind::Attention, operands, std::move(attrs));
    if (grouped) out = reshape(out, perm_.empty() ? shape : permuted);
    // Of two permutes that undo each other nothing remains.
    return perm_.empty() ? out : b_.value(OpKind::Permute, {out}, {{"perm", inverseOf(perm_)}});
  }

 private:
  /// The order that the only use of the result brings its dims into, rows staying rows; empty where there is none.
  static Dims permOf(const Op& op) { return op.result()->uses.size() == 1 ? permWanted(*op.result()) : Dims{}; }

  Value* reshape(Value* v, const Dims& shape) { return b_.value(OpKind::Reshape, {v}, {{"shape", shape}}); }

  Op& op_;
  Builder b_;
  const Dims perm_;
};

}  // namespace

Dims permWanted(const Value& result) {
  for (const Value::Use& use : result.uses) {
    if (use.user->kind != OpKind::Permute) continue;
    const Dims& perm = use.user->intsAttr("perm");
    if (perm.back() + 1 == static_cast<int64_t>(perm.size())) return perm;
  }
  return {};
}

Dims inverseOf(const Dims& perm) {
  Dims to(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) to[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
  return to;
}

Value* castAtSource(Builder& b, Value* v, DType t) {
  std::vector<const Op*> moves;
  Value* source = v;
  while (source->op && isViewOp(*source->op) &&
         source->op->operand(0)->type.size() <= kMostCast * std::max<int64_t>(v->type.size(), 1)) {
    moves.push_back(source->op);
    source = source->op->operand(0);
  }
  Value* x = b.value(OpKind::Cast, {source}, {{"dtype", t}});
  for (size_t i = moves.size(); i-- > 0;) {
    std::vector<Builder::NamedAttr> attrs;
    for (const auto& [name, value] : moves[i]->attrs()) attrs.push_back({name, value});
    x = b.value(moves[i]->kind, {x}, std::move(attrs));
  }
  return x;
}

std::optional<SharedHeads> SharedHeads::of(const Value* k, const Value* v) {
  Value *keys = sharedBehind(k), *values = sharedBehind(v);
  if (keys == nullptr || values == nullptr) return std::nullopt;
  if (!std::equal(keys->type.shape.begin(), keys->type.shape.end() - 2, values->type.shape.begin()))
    return std::nullopt;
  return SharedHeads{keys, values, k->type.shape.size() - 3};
}

Value* SharedHeads::split(Builder& b, Value* x) const {
  Dims to = x->type.shape;
  const bool one = to[heads] == 1;
  to[heads] = one ? 1 : k->type.shape[heads];
  to.insert(to.begin() + static_cast<std::ptrdiff_t>(heads) + 1, one ? 1 : k->type.shape[heads + 1]);
  return b.value(OpKind::Reshape, {x}, {{"shape", to}});
}

Dims SharedHeads::perm(const Dims& whole) const {
  const auto at = static_cast<int64_t>(heads);
  Dims to;
  for (const int64_t d : whole) {
    to.push_back(d > at ? d + 1 : d);
    if (d == at) to.push_back(d + 1);
  }
  return to;
}

bool isWhole(const Op& attention, const TargetTraits& traits) {
  const TargetTraits::Attention& t = traits.attention;
  const Dims &q = attention.operand(0)->type.shape, &v = attention.operand(2)->type.shape;
  const DType multiplied = attention.dtypeAttr("rounds").value_or(attention.operand(0)->type.dtype);
  const int64_t queries = q[q.size() - 2], keys = v[v.size() - 2];
  return t.whole.contains(multiplied) && queries >= t.leastQueries && keys > 0 && q.back() > 0 && v.back() > 0 &&
         std::max(q.back(), v.back()) <= t.mostDepth && attention.result()->type.size() > 0;
}

Value* wholeAttention(Op& attention) { return WholeAttention(attention).build(); }

}  // namespace tenc::passes
