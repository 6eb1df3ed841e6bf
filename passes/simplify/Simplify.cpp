// Rewrites op by op from a worklist, so that each change looks again only at its users: constant folding, identities
// that keep the bits, structural chains, branches and loops that are decided.
#include <algorithm>
#include <unordered_map>

#include "passes/Passes.h"
#include "passes/simplify/SimplifyRules.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

bool hasEffect(const Region& r) {
  return std::any_of(r.ops.begin(), r.ops.end(), [](const auto& op) {
    return op->has(Trait::HasSideEffect) || op->kind == OpKind::Call ||
           std::any_of(op->regions.begin(), op->regions.end(), [](const auto& inner) { return hasEffect(*inner); });
  });
}

std::optional<int64_t> literalInt(const Value* v) {
  const auto s = constantScalar(v);
  return s && s->dtype == DType::I64 ? std::optional(s->i) : std::nullopt;
}

bool isLiteralBool(const Value* v, bool value) {
  const auto s = constantScalar(v);
  return s && s->dtype == DType::Bool && (s->u != 0) == value;
}

class Simplifier {
 public:
  void run(Func& f) {
    pushRegion(*f.body);
    // The first op is looked at first: operands are simple when their users are visited.
    std::reverse(work_.begin(), work_.end());
    for (size_t i = 0; i < work_.size(); ++i) position_[work_[i]] = i;
    while (!work_.empty()) {
      Op* op = work_.back();
      work_.pop_back();
      if (op == nullptr) continue;
      position_.erase(op);
      visit(*op);
    }
  }

 private:
  void pushRegion(const Region& r) {
    for (const auto& op : r.ops) {
      push(op.get());
      if (op->kind == OpKind::Fused) continue;
      for (const auto& inner : op->regions) pushRegion(*inner);
    }
  }

  void push(Op* op) {
    if (!position_.emplace(op, work_.size()).second) return;
    work_.push_back(op);
  }

  void pushUsers(const Value* v) {
    for (const Value::Use& use : v->uses) {
      push(use.user);
      // What a region yields decides its op.
      if (use.user->has(Trait::Terminator) && use.user->parent->parentOp != nullptr) {
        push(use.user->parent->parentOp);
      }
    }
  }

  /// Erases an op, and takes it and what is in it off the worklist.
  void erase(Op& op) {
    forget(op);
    op.erase();
  }
  void forget(Op& op) {
    if (auto it = position_.find(&op); it != position_.end()) {
      work_[it->second] = nullptr;
      position_.erase(it);
    }
    for (const auto& region : op.regions) {
      for (const auto& inner : region->ops) forget(*inner);
    }
  }

  bool replace(Value* old, Value* with) {
    if (old == with || old->type != with->type) return false;
    if (with->name.empty()) with->name = old->name;
    pushUsers(old);
    old->replaceAllUsesWith(with);
    return true;
  }

  void visit(Op& op) {
    switch (op.kind) {
      case OpKind::If: return visitIf(op);
      case OpKind::For: return visitFor(op);
      case OpKind::While: return visitWhile(op);
      case OpKind::Svd: return visitSvd(op);
      default: break;
    }
    if (op.results.size() != 1 || op.result()->unused() || op.operandCount() == 0) return;
    Builder b(&op);
    b.setLoc(op.loc);
    const auto before = op.self == op.parent->ops.begin() ? op.parent->ops.end() : std::prev(op.self);
    Value* with = foldConstants(op, b);
    if (with == nullptr) with = simplifyArithmetic(op, b);
    if (with == nullptr) with = simplifyStructural(op, b);
    if (with == nullptr) with = simplifyUpdates(op, b);
    if (with == nullptr) with = simplifyGather(op, b);
    if (with == nullptr) with = simplifyProducts(op, b);
    if (with == nullptr) return;
    // What a rule has just made of free values alone is made where the old value was.
    if (with->unused() && with->type.place.isFree() && !with->type.shape.empty())
      with->type.place = op.result()->type.place;
    const auto firstMade = before == op.parent->ops.end() ? op.parent->ops.begin() : std::next(before);
    if (replace(op.result(), with)) {
      for (auto it = firstMade; it != op.self; ++it) push(it->get());
      erase(op);
      return;
    }
    // The replacement is of another placement: what the rule made goes again.
    while (op.self != op.parent->ops.begin()) {
      auto made = std::prev(op.self);
      if (made == before) break;
      (*made)->erase();
    }
  }

  /// Without vectors where only the values are used.
  void visitSvd(Op& op) {
    if (!op.result(0)->unused() || !op.result(2)->unused() || op.result(1)->unused()) return;
    Builder b(&op);
    b.setLoc(op.loc);
    Value* values = b.value(OpKind::SingularValues, {op.operand(0)});
    Op& made = *values->op;
    erase(replace(op.result(1), values) ? op : made);
  }

  void visitIf(Op& op) {
    const bool taken = isLiteralBool(op.operand(0), true);
    if (!taken && !isLiteralBool(op.operand(0), false)) return;
    Region& branch = *op.regions[taken ? 0 : 1];
    const std::vector<Value*> yielded = branch.terminator()->operands();
    for (size_t i = 0; i < yielded.size(); ++i) {
      if (yielded[i]->type != op.result(i)->type) return;
    }
    while (branch.ops.size() > 1) branch.ops.front()->moveBefore(&op);
    for (size_t i = 0; i < yielded.size(); ++i) replace(op.result(i), yielded[i]);
    erase(op);
  }

  /// Every result is the value that entered: the loop does not run.
  void skipLoop(Op& op, size_t firstCarried) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (op.operand(firstCarried + i)->type != op.result(i)->type) return;
    }
    for (size_t i = 0; i < op.results.size(); ++i) replace(op.result(i), op.operand(firstCarried + i));
    erase(op);
  }

  /// A carried value that every trip passes on unchanged is the value that entered.
  void removeInvariants(Op& op, size_t firstCarried, size_t firstArgument) {
    const Region& body = *op.regions.back();
    for (size_t i = 0; i < op.results.size(); ++i) {
      Value* entered = op.operand(firstCarried + i);
      const Value* next = body.terminator()->operand(i);
      if (next != body.args[firstArgument + i].get() && next != entered) continue;
      if (entered->type != op.result(i)->type) continue;
      bool sameTypes = true;
      for (const auto& r : op.regions) sameTypes = sameTypes && r->args[firstArgument + i]->type == entered->type;
      if (!sameTypes) continue;
      for (const auto& r : op.regions) replace(r->args[firstArgument + i].get(), entered);
      replace(op.result(i), entered);
    }
  }

  void visitFor(Op& op) {
    const auto lo = literalInt(op.operand(0));
    const auto hi = literalInt(op.operand(1));
    const auto step = literalInt(op.operand(2));
    if (lo && hi && step && ((*step > 0 && *lo >= *hi) || (*step < 0 && *lo <= *hi))) return skipLoop(op, 3);
    removeInvariants(op, 3, 1);
  }

  void visitWhile(Op& op) {
    if (isLiteralBool(op.regions[0]->terminator()->operand(0), false) && !hasEffect(*op.regions[0])) {
      return skipLoop(op, 0);
    }
    removeInvariants(op, 0, 0);
  }

  std::vector<Op*> work_;
  std::unordered_map<const Op*, size_t> position_;
};

}  // namespace

bool simplify(Module& m, Context&) {
  for (const auto& f : m.funcs) Simplifier().run(*f);
  return true;
}

}  // namespace tenc::passes
