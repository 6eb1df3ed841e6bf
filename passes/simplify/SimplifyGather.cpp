// A gather of few elements of something computed element by element computes these elements alone: of a log-softmax of
// which one class a row is taken, only the maximum and the sum of a row are left to compute.
#include <functional>
#include <unordered_map>

#include "ir/Views.h"
#include "passes/simplify/SimplifyRules.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

class GatheredElements {
 public:
  GatheredElements(Op& gather, Builder& b) : gather_(gather), b_(b) {}

  Value* build() {
    Value* source = gather_.operand(0);
    constexpr int64_t kFew = 4;  // a part of all elements that is worth it
    if (gather_.result()->type.size() > source->type.size() / kFew) return nullptr;
    if (!passes(source) || source->uses.size() > 1 || !allStored(source)) return nullptr;
    return gathered(source);
  }

 private:
  /// Whether the gather goes through the op that makes `v`. What others use of it is computed twice, for few elements.
  bool passes(const Value* v) const {
    return v->op != nullptr && v->op->has(Trait::Elementwise) && !v->op->has(Trait::CanFault) &&
           v->op->parent == gather_.parent;
  }

  static bool isNumber(const Value* v) {
    return v->op != nullptr && v->op->kind == OpKind::Broadcast && v->op->operand(0)->type.shape.empty();
  }

  /// Whether everything that would be gathered instead lies in memory anyway, or is small.
  bool allStored(const Value* v) {
    if (const auto known = stored_.find(v); known != stored_.end()) return known->second;
    return stored_[v] = isStored(v);
  }

  bool isStored(const Value* v) {
    if (passes(v)) {
      bool any = false;
      for (const Value* x : v->op->operands()) {
        if (isNumber(x)) continue;
        if (!allStored(x)) return false;
        any = true;
      }
      return any;
    }
    const auto view = stridedView(v, [](const Value* x) { return x->op == nullptr || !x->op->has(Trait::Structural); });
    if (!view) return false;
    const Op* base = view->base->op;
    if (base == nullptr || base->has(Trait::Reduction) || base->has(Trait::Product) || base->has(Trait::Random) ||
        base->has(Trait::HasSideEffect))  // as what is read from a file
      return true;
    const bool computed = base->has(Trait::Elementwise) || base->has(Trait::Creation) || base->has(Trait::Gathers) ||
                          base->has(Trait::Structural);
    return !computed || view->base->type.size() <= gather_.result()->type.size();
  }

  Value* gathered(Value* v) {
    Value*& made = gathered_[v];
    return made != nullptr ? made : gathered_[v] = make(v);
  }

  Value* make(Value* v) {
    const Dims& shape = gather_.result()->type.shape;
    if (isNumber(v)) return b_.broadcastTo(v->op->operand(0), shape);
    if (passes(v)) {
      std::vector<Value*> operands;
      for (Value* x : v->op->operands()) operands.push_back(gathered(x));
      return remade(*v->op, std::move(operands));
    }
    std::vector<Value*> operands = gather_.operands();
    operands[0] = v;
    return remade(gather_, std::move(operands));
  }

  Value* remade(const Op& op, std::vector<Value*> operands) {
    std::vector<Builder::NamedAttr> attrs;
    for (const auto& [name, value] : op.attrs()) attrs.push_back({name, value});
    return b_.value(op.kind, std::move(operands), std::move(attrs));
  }

  Op& gather_;
  Builder& b_;
  std::unordered_map<const Value*, bool> stored_;
  std::unordered_map<const Value*, Value*> gathered_;
};

}  // namespace

Value* simplifyGather(Op& op, Builder& b) {
  return op.kind == OpKind::Gather ? GatheredElements(op, b).build() : nullptr;
}

}  // namespace tenc::passes
