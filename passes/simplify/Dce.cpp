// Removes what nobody uses: ops without effect (also those that can fault, and `for` loops), results of `if`, carried
// values of loops, operands of fused ops. Liveness is marked backward from effects and returned values; a carried value
// that only feeds itself is dead.
#include "ir/Loops.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

/// Control ops whose results and carried values are alive one by one; all others keep all or nothing. A native loop
/// keeps all: it writes a tensor that it updates in place whether the result is used or not.
bool isSliced(const Op& op) {
  return isLoop(op) || op.kind == OpKind::If || op.kind == OpKind::On ||
         (op.kind == OpKind::Fused && !op.hasAttr("carried"));
}

/// Rebuilds the operand list from those that `keep` (by index) chooses.
template <class Keep>
void filterOperands(Op& op, Keep keep) {
  std::vector<Value*> kept;
  for (size_t i = 0; i < op.operandCount(); ++i) {
    if (keep(i)) kept.push_back(op.operand(i));
  }
  if (kept.size() == op.operandCount()) return;
  op.dropOperands();
  op.addOperands(kept);
}

/// What is alive carries the mark.
class Eliminator {
 public:
  void run(Func& f) {
    unmark(*f.body);
    rootsOf(*f.body);
    for (Value* v : f.body->terminator()->operands()) mark(v);
    while (!work_.empty()) {
      Value* v = work_.back();
      work_.pop_back();
      visit(v);
    }
    detach(*f.body);
    sweep(*f.body);
  }

 private:
  static void unmark(Region& r) {
    for (const auto& a : r.args) a->mark = false;
    for (const auto& op : r.ops) {
      op->mark = false;
      for (const auto& v : op->results) v->mark = false;
      for (const auto& inner : op->regions) unmark(*inner);
    }
  }

  void rootsOf(const Region& r) {
    for (const auto& op : r.ops) {
      for (const auto& inner : op->regions) rootsOf(*inner);
      // That a `while` ends is not known, and a program that does not end is not one that does.
      const bool runs = op->has(Trait::HasSideEffect) || op->kind == OpKind::Call || op->kind == OpKind::While;
      if (runs) markOp(op.get());
    }
  }

  void mark(Value* v) {
    if (v->mark) return;
    v->mark = true;
    work_.push_back(v);
  }

  /// The op runs: what it needs in any case is alive, and what it is nested in runs too.
  void markOp(Op* op) {
    if (op->mark) return;
    op->mark = true;
    if (op->parent->parentOp != nullptr) markOp(op->parent->parentOp);
    const size_t always = !isSliced(*op) || op->kind == OpKind::On ? op->operandCount()
                          : op->kind == OpKind::If                 ? 1
                                                                   : firstCarriedOperand(*op);
    for (size_t i = 0; i < always; ++i) mark(op->operand(i));
    if (op->kind == OpKind::While) mark(op->regions[0]->terminator()->operand(0));
    if (op->kind == OpKind::Bench || (op->kind == OpKind::Fused && !isSliced(*op))) {
      for (Value* v : op->regions[0]->terminator()->operands()) mark(v);
    }
  }

  void markSlot(Op* op, size_t i) {
    if (isLoop(*op)) {
      mark(op->operand(firstCarriedOperand(*op) + i));
      mark(op->regions.back()->terminator()->operand(i));
      mark(op->result(i));
      for (const auto& r : op->regions) mark(r->args[firstCarriedArg(*op) + i].get());
    } else {
      for (const auto& r : op->regions) mark(r->terminator()->operand(i));
    }
  }

  void visit(Value* v) {
    if (v->op != nullptr) {
      markOp(v->op);
      if (isSliced(*v->op)) markSlot(v->op, v->index);
      return;
    }
    Op* op = v->region->parentOp;
    if (op == nullptr) return;
    markOp(op);
    if (isLoop(*op)) {
      if (v->index >= firstCarriedArg(*op)) markSlot(op, v->index - firstCarriedArg(*op));
    } else if (op->kind == OpKind::Fused) {
      mark(op->operand(v->index));
    }
  }

  bool isDead(const Op& op) const { return !op.has(Trait::Terminator) && !op.mark; }

  /// Takes dead ops and dead slots out of all use lists.
  void detach(Region& r) {
    for (const auto& op : r.ops) {
      for (const auto& inner : op->regions) detach(*inner);
      if (isDead(*op)) {
        op->dropOperands();
        for (const auto& inner : op->regions) inner->terminator()->dropOperands();
      } else if (isSliced(*op)) {
        detachSlots(*op);
      }
    }
  }

  void detachSlots(Op& op) {
    const auto resultLives = [&](size_t i) { return op.result(i)->mark; };
    for (const auto& r : op.regions) {
      if (r->terminator()->kind == OpKind::Yield) filterOperands(*r->terminator(), resultLives);
    }
    if (isLoop(op)) {
      const size_t first = firstCarriedOperand(op);
      filterOperands(op, [&](size_t i) { return i < first || resultLives(i - first); });
    } else if (op.kind == OpKind::Fused) {
      const Region& body = *op.regions[0];
      filterOperands(op, [&](size_t i) { return body.args[i]->mark; });
    }
  }

  void sweep(Region& r) {
    for (auto it = r.ops.begin(); it != r.ops.end();) {
      Op& op = **it++;
      if (isDead(op)) {
        op.erase();
        continue;
      }
      for (const auto& inner : op.regions) sweep(*inner);
      if (isSliced(op)) sweepSlots(op);
    }
  }

  void sweepSlots(Op& op) {
    for (size_t i = op.results.size(); i-- > 0;) {
      if (!op.result(i)->mark) op.removeResult(static_cast<uint32_t>(i));
    }
    if (!isLoop(op) && op.kind != OpKind::Fused) return;
    for (const auto& r : op.regions) {
      for (size_t i = r->args.size(); i-- > firstCarriedArg(op);) {
        if (!r->args[i]->mark) r->removeArg(static_cast<uint32_t>(i));
      }
    }
  }

  std::vector<Value*> work_;
};

}  // namespace

bool dce(Module& m, Context&) {
  for (const auto& f : m.funcs) Eliminator().run(*f);
  return true;
}

}  // namespace tenc::passes
