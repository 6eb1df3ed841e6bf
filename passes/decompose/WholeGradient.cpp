// The gradient of attention where a target has it as a kernel: attention keeps a number of each query for it, and from
// that, queries and keys the weights are computed again (Dao 2023, "FlashAttention-2").
#include <algorithm>

#include "ir/CallAttributes.h"
#include "passes/decompose/Decompose.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

/// What a call that stands for a part of a gradient says.
struct Part {
  explicit Part(const Op& call)
      : operands(call.operands()),
        sums(call.intsAttr(kGradientSums)),
        active(call.intsAttr(kGradientOperands)),
        causal(call.boolAttr(kGradientAttributes + std::string("causal"))),
        rounds(call.dtypeAttr(kGradientAttributes + std::string("rounds"))) {
    added.assign(operands.end() - static_cast<std::ptrdiff_t>(sums.size()), operands.end());
    operands.resize(operands.size() - sums.size());
    cotangent = operands.back();
    operands.pop_back();
  }

  std::vector<Value*> operands;  ///< of the attention
  const Dims &sums, &active;
  std::vector<Value*> added;
  const bool causal;
  const std::optional<DType> rounds;
  Value* cotangent = nullptr;
};

/// Whether two values are the same one, or index maps and cheap ops on the same ones.
bool isSame(const Value* a, const Value* b, int& budget) {
  if (a == b) return true;
  if (a->op == nullptr || b->op == nullptr || a->op->kind != b->op->kind || --budget < 0) return false;
  const Op &x = *a->op, &y = *b->op;
  const bool cheap = x.has(Trait::Structural) || x.has(Trait::Cheap) || x.kind == OpKind::Constant;
  if (!cheap || x.operandCount() != y.operandCount() || x.attrs().size() != y.attrs().size()) return false;
  for (const auto& [name, value] : x.attrs()) {
    const Attr* other = y.find(name);
    const Data* data = std::get_if<Data>(&value);
    const bool equal =
        other != nullptr && (*other == value || (data != nullptr && std::holds_alternative<Data>(*other) &&
                                                 **data == **std::get_if<Data>(other)));
    if (!equal) return false;
  }
  for (size_t i = 0; i < x.operandCount(); ++i)
    if (!isSame(x.operand(i), y.operand(i), budget)) return false;
  return true;
}

bool areSame(const std::vector<Value*>& a, const std::vector<Value*>& b) {
  int budget = 64;
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](Value* x, Value* y) { return isSame(x, y, budget); });
}

class Gradients {
 public:
  explicit Gradients(Func& f) { collect(*f.body); }

  void run() {
    for (Op* call : calls_) replace(*call);
  }

 private:
  /// An attention that keeps what its gradient reads.
  struct Saved {
    const Op* op;
    std::vector<Value*> given;  ///< operands as they were
    bool causal;
    std::optional<DType> rounds;
    std::vector<Value*> operands;  ///< rounded
    Value *out, *totals;
  };

  void collect(const Region& r) {
    for (const auto& op : r.ops) {
      if (op->kind == OpKind::Call && op->hasAttr(kGradientOf)) calls_.push_back(op.get());
      for (const auto& inner : op->regions) collect(*inner);
    }
  }

  void replace(Op& call) {
    const Part part(call);
    Builder b(&call);
    b.setLoc(call.loc);
    const Saved& saved = savedFor(call, part, b);
    std::vector<Value*> operands(saved.operands.begin(), saved.operands.begin() + 4);
    Value* cotangent = part.rounds ? castAtSource(b, part.cotangent, *part.rounds) : part.cotangent;
    const auto wide = [&](Value* v) {
      return v->type.dtype == DType::F32 ? v : b.value(OpKind::Cast, {v}, {{"dtype", DType::F32}});
    };
    const auto last = static_cast<int64_t>(cotangent->type.shape.size()) - 1;
    Value* delta =
        b.value(OpKind::Sum, {b.value(OpKind::Mul, {wide(cotangent), wide(saved.out)})}, {{"axes", Dims{last}}});
    operands.insert(operands.end(), {cotangent, saved.totals, delta});
    if (saved.operands.size() > 4) operands.push_back(saved.operands[4]);
    give(call, part, gradients(call, part, std::move(operands), b));
  }

  /// Of queries, keys and values, with dims in the call's order.
  static std::vector<Value*> gradients(const Op& call, const Part& part, std::vector<Value*> operands, Builder& b) {
    const auto shared = SharedHeads::of(operands[1], operands[2]);
    std::vector<Dims> shapes;
    for (size_t i = 0; i < 3; ++i) shapes.push_back(operands[i]->type.shape);
    if (shared) {
      for (size_t i = 0; i < operands.size(); ++i)
        if (i != 1 && i != 2 && i != 3) operands[i] = shared->split(b, operands[i]);
      operands[1] = shared->k, operands[2] = shared->v;
    }
    Dims perm;
    for (size_t i = 0; perm.empty() && i < call.results.size(); ++i) perm = permWanted(*call.result(i));
    std::vector<Builder::NamedAttr> attrs = {{"causal", part.causal}};
    if (part.rounds) attrs.push_back({"dtype", DType::F32});
    if (!perm.empty()) attrs.push_back({"perm", shared ? shared->perm(perm) : perm});
    const Op* made = b.make(OpKind::AttentionGrad, std::move(operands), std::move(attrs));
    std::vector<Value*> all;
    for (size_t i = 0; i < 3; ++i) all.push_back(asBefore(b, made->result(i), shapes[i], perm, shared.has_value()));
    return all;
  }

  /// A result of several heads a group, and of another order of dims, in that shape.
  static Value* asBefore(Builder& b, Value* v, const Dims& shape, const Dims& perm, bool grouped) {
    Dims permuted;
    for (const int64_t d : perm) permuted.push_back(shape[static_cast<size_t>(d)]);
    if (grouped) v = b.value(OpKind::Reshape, {v}, {{"shape", perm.empty() ? shape : permuted}});
    return perm.empty() ? v : b.value(OpKind::Permute, {v}, {{"perm", inverseOf(perm)}});
  }

  static void give(Op& call, const Part& part, const std::vector<Value*>& gradients) {
    Builder b(&call);
    b.setLoc(call.loc);
    for (size_t i = 0; i < call.results.size(); ++i) {
      Value* v = gradients[static_cast<size_t>(part.active[i])];
      const auto sum = std::find(part.sums.begin(), part.sums.end(), static_cast<int64_t>(i));
      if (sum != part.sums.end())
        v = b.value(OpKind::Add, {part.added[static_cast<size_t>(sum - part.sums.begin())], v});
      v->name = call.result(i)->name;
      call.result(i)->replaceAllUsesWith(v);
    }
    call.erase();
  }

  /// That of the way there, where it stands before the call and its results are within reach; otherwise one more.
  const Saved& savedFor(Op& call, const Part& part, Builder& b) {
    const auto fits = [&](const Saved& s) {
      return s.causal == part.causal && s.rounds == part.rounds && areSame(s.given, part.operands);
    };
    for (const Op* at = &call; at != nullptr; at = at->parent->parentOp) {
      for (const auto& op : at->parent->ops) {
        if (op.get() == at) break;
        if (op->kind == OpKind::AttentionSaved) {
          for (const auto& s : saved_)
            if (s->op == op.get() && fits(*s)) return *s;
        }
        const bool equal = op->kind == OpKind::Attention && op->boolAttr("causal") == part.causal &&
                           op->dtypeAttr("rounds") == part.rounds && areSame(op->operands(), part.operands);
        if (!equal) continue;
        Builder there(op.get());
        there.setLoc(op->loc);
        const Saved& s = save(there, op->operands(), part, permWanted(*op->result()));
        op->result()->replaceAllUsesWith(s.out);
        op->erase();
        return s;
      }
    }
    return save(b, part.operands, part, {});
  }

  const Saved& save(Builder& b, const std::vector<Value*>& given, const Part& part, const Dims& perm) {
    auto s = std::make_unique<Saved>(Saved{nullptr, given, part.causal, part.rounds, given, nullptr, nullptr});
    if (part.rounds)
      for (size_t i = 0; i < 3; ++i) s->operands[i] = castAtSource(b, given[i], *part.rounds);
    std::vector<Value*> operands = s->operands;
    const auto shared = SharedHeads::of(operands[1], operands[2]);
    Dims shape = operands[0]->type.shape, rows(shape.begin(), shape.end() - 1);
    shape.back() = operands[2]->type.shape.back();
    if (shared) {
      operands[0] = shared->split(b, operands[0]);
      operands[1] = shared->k, operands[2] = shared->v;
      if (operands.size() > 4) operands[4] = shared->split(b, operands[4]);
    }
    std::vector<Builder::NamedAttr> attrs = {{"causal", part.causal}};
    if (part.rounds) attrs.push_back({"dtype", DType::F32});
    if (!perm.empty()) attrs.push_back({"perm", shared ? shared->perm(perm) : perm});
    const Op* made = b.make(OpKind::AttentionSaved, std::move(operands), std::move(attrs));
    s->op = made;
    s->out = asBefore(b, made->result(0), shape, perm, shared.has_value());
    s->totals = shared ? b.value(OpKind::Reshape, {made->result(1)}, {{"shape", rows}}) : made->result(1);
    saved_.push_back(std::move(s));
    return *saved_.back();
  }

  std::vector<Op*> calls_;
  std::vector<std::unique_ptr<Saved>> saved_;
};

}  // namespace

bool isWholeGradient(const Op& call, const TargetTraits& traits) {
  if (call.kind != OpKind::Call || opNamed(call.stringAttr(kGradientOf)) != OpKind::Attention) return false;
  const TargetTraits::Attention& t = traits.attention;
  const Part part(call);
  const Dims &q = part.operands[0]->type.shape, &v = part.operands[2]->type.shape;
  const DType multiplied = part.rounds.value_or(part.operands[0]->type.dtype);
  const int64_t queries = q[q.size() - 2], keys = v[v.size() - 2];
  // Gradients of the scale and of a mask are sums over what no kernel keeps.
  const bool known = std::all_of(part.active.begin(), part.active.end(), [](int64_t i) { return i < 3; });
  return known && t.whole.contains(multiplied) && queries >= t.leastQueries && keys > 0 && q.back() > 0 &&
         v.back() > 0 && std::max(q.back(), v.back()) <= t.mostGradientDepth && part.cotangent->type.size() > 0;
}

void wholeGradients(Func& f) { Gradients(f).run(); }

}  // namespace tenc::passes
