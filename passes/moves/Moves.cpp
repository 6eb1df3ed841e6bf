// Minimal moves (P5) on placed IR whose calls are inlined: a value moves at most once per definition and destination,
// outside of every loop in which it does not change, not before it is needed when waiting saves memory; moves there and
// back and moves that nobody uses go away.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/Loops.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

bool isMove(const Op* op) { return op && op->kind == OpKind::Transfer; }

/// The value that a chain of moves starts from: one definition for all its copies.
Value* definition(Value* v) {
  while (isMove(v->op)) v = v->op->operand(0);
  return v;
}

/// Cotangents that come back from one device, to be added where they come to, are added there and come back once (P7).
void joinReturns(Region& r) {
  for (auto it = r.ops.begin(); it != r.ops.end();) {
    Op& op = **it++;
    for (const auto& inner : op.regions) joinReturns(*inner);
    if (op.kind != OpKind::Add) continue;
    Op *a = op.operand(0)->op, *b = op.operand(1)->op;
    const auto returns = [&](const Op* move) {
      return isMove(move) && move->boolAttr("gradient") && move->parent == op.parent &&
             move->result()->uses.size() == 1;
    };
    if (!returns(a) || !returns(b) || a->operand(0)->type != b->operand(0)->type) continue;
    ir::Builder at(&op);
    at.setLoc(op.loc);
    Value* sum = at.makeTyped(OpKind::Add, {a->operand(0), b->operand(0)}, {a->operand(0)->type})->result();
    at.setLoc(a->loc);
    Op* back = at.makeTyped(OpKind::Transfer, {sum}, {op.result()->type}, {{"cause", a->stringAttr("cause")}});
    back->set("gradient", true);
    back->result()->name = op.result()->name;
    op.result()->replaceAllUsesWith(back->result());
    for (Op* gone : {&op, a, b}) gone->erase();
  }
}

/// A free number that was put on a device is known on the host: it does not come back from there.
void keepNumbers(Region& r) {
  for (auto it = r.ops.begin(); it != r.ops.end();) {
    Op& op = **it++;
    for (const auto& inner : op.regions) keepNumbers(*inner);
    const ir::Type type = isMove(&op) ? op.result()->type : ir::Type();
    if (!isMove(&op) || !type.shape.empty() || type.place.device != ir::DeviceTable::kHost) continue;
    const Op* made = definition(op.operand(0))->op;
    if (!made || made->kind != OpKind::Fill || !mixes(made->operand(0)->type)) continue;
    ir::Builder at(&op);
    at.setLoc(op.loc);
    Value* number = at.makeTyped(OpKind::Fill, {made->operand(0)}, {type}, {{"shape", type.shape}})->result();
    number->name = op.result()->name;
    op.result()->replaceAllUsesWith(number);
    op.erase();
  }
}

/// All moves of one definition to one destination, and where the one that stays will stand.
struct MoveSet {
  Value* value;
  std::string device;
  std::vector<Op*> moves;  ///< in program order
  std::vector<Op*> users;  ///< of the copies; other moves are none
  Op* before = nullptr;    ///< where the one move goes
  Value* copy = nullptr;
};

class Minimiser {
 public:
  explicit Minimiser(ir::Module& m) : module_(m) {}

  void run(ir::Func& f) {
    collect(*f.body, nullptr);
    if (all_.empty()) return;
    int next = 0;
    number(*f.body, next);
    std::vector<MoveSet> sets = moveSets();
    for (MoveSet& g : sets) choosePosition(g);
    std::stable_sort(sets.begin(), sets.end(),
                     [&](const MoveSet& a, const MoveSet& b) { return order_[a.before] < order_[b.before]; });
    std::unordered_map<const Value*, std::vector<MoveSet*>> made;
    std::unordered_map<const Op*, MoveSet*> setOf;
    for (MoveSet& g : sets)
      for (const Op* op : g.moves) setOf[op] = &g;
    for (MoveSet& g : sets) {
      Value* source = sourceOf(g, made[g.value], setOf);
      make(g, source);
      made[g.value].push_back(&g);
    }
    for (Op* op : all_) {
      op->result()->uses.empty() ? void() : op->result()->replaceAllUsesWith(replacement(op, setOf));
    }
    // Chains are taken apart from their ends.
    for (auto it = all_.rbegin(); it != all_.rend(); ++it) (*it)->erase();
  }

 private:
  /// A bench computes all of its body in every round, so nothing leaves it.
  void collect(Region& r, Op* bench) {
    for (const auto& op : r.ops) {
      if (isMove(op.get())) {
        all_.push_back(op.get());
        if (bench) benchOf_[op.get()] = bench;
      }
      if (op->kind == OpKind::Fused) continue;
      for (const auto& inner : op->regions) collect(*inner, op->kind == OpKind::Bench ? op.get() : bench);
    }
  }

  void number(const Region& r, int& next) {
    for (const auto& op : r.ops) {
      order_[op.get()] = next++;
      for (const auto& inner : op->regions) number(*inner, next);
    }
  }

  std::vector<MoveSet> moveSets() {
    std::vector<MoveSet> sets;
    std::unordered_map<const Value*, std::vector<size_t>> byValue;
    for (Op* op : all_) {
      Value* value = definition(op->operand(0));
      const std::string& device = op->result()->type.place.device;
      if (value->type.place.device == device) continue;  // there and back
      std::vector<size_t>& known = byValue[value];
      auto found = std::find_if(known.begin(), known.end(), [&](size_t i) {
        return sets[i].device == device && benchOf(sets[i].moves[0]) == benchOf(op);
      });
      if (found == known.end()) {
        found = known.insert(known.end(), sets.size());
        sets.push_back({value, device, {}, {}, nullptr, nullptr});
      }
      sets[*found].moves.push_back(op);
    }
    // What a copy that comes back is used for, the value is used for; a copy that nobody uses is no move.
    for (MoveSet& g : sets)
      for (const Op* op : g.moves)
        for (const Value::Use& use : op->result()->uses)
          if (!isMove(use.user)) g.users.push_back(use.user);
    std::erase_if(sets, [](const MoveSet& g) { return g.users.empty(); });
    return sets;
  }

  Op* benchOf(const Op* op) const {
    auto it = benchOf_.find(op);
    return it == benchOf_.end() ? nullptr : it->second;
  }

  /// The op of region `r` that is or contains `op`; null when there is none.
  static Op* within(const Region* r, Op* op) {
    while (op && op->parent != r) op = op->parent->parentOp;
    return op;
  }

  /// One place that serves every request: the innermost region around them all, before its first op that needs a copy,
  /// and outside of the loops in which the value does not change.
  void choosePosition(MoveSet& g) {
    const Region* region = g.moves[0]->parent;
    for (Op* move : g.moves)
      while (!within(region, move)) region = region->parentOp->parent;
    const Region* outermost = g.value->home();
    const Op* bench = benchOf(g.moves[0]);
    for (const Region* r = region; r != outermost && r->parentOp && r->parentOp != bench; r = r->parentOp->parent)
      if (isLoop(*r->parentOp)) region = r->parentOp->parent;

    const auto first = [&](const std::vector<Op*>& ops) {
      Op* best = nullptr;
      for (Op* op : ops) {
        Op* here = within(region, op);
        if (here && (!best || order_[here] < order_[best])) best = here;
      }
      return best;
    };
    Op* requested = first(g.moves);
    Op* needed = first(g.users);
    g.before = needed && staysAlive(g, order_[needed]) ? needed : requested;
  }

  /// Whether the value itself is kept until `time` anyway, so that a later copy lives shorter at no cost.
  bool staysAlive(const MoveSet& g, int time) {
    if (!g.value->op || g.value->op->kind == OpKind::Constant) return true;
    return std::any_of(g.value->uses.begin(), g.value->uses.end(),
                       [&](const Value::Use& use) { return !isMove(use.user) && order_[use.user] >= time; });
  }

  /// What the move copies: a copy that is on the same device under another name already, the copy that the script
  /// moves on from, else the value itself.
  Value* sourceOf(const MoveSet& g, const std::vector<MoveSet*>& made,
                  const std::unordered_map<const Op*, MoveSet*>& setOf) {
    const std::string_view actual = module_.actual(g.device);
    const auto reaches = [&](const MoveSet& from) {
      return from.before == g.before || within(from.before->parent, g.before) != nullptr;
    };
    if (module_.actual(g.value->type.place.device) == actual) return g.value;
    for (MoveSet* other : made)
      if (reaches(*other) && module_.actual(other->device) == actual) return other->copy;
    const MoveSet* chained = nullptr;
    for (const Op* move : g.moves) {
      auto from = setOf.find(move->operand(0)->op);
      if (from == setOf.end() || (chained && chained != from->second)) return g.value;
      chained = from->second;
    }
    return chained && chained->copy && reaches(*chained) ? chained->copy : g.value;
  }

  void make(MoveSet& g, Value* source) {
    const Op& asked = *g.moves[0];
    ir::Builder b(g.before);
    b.setLoc(asked.loc);
    ir::Type type = g.value->type;
    type.place.device = g.device;
    Op* copy = b.makeTyped(OpKind::Transfer, {source}, {type}, {{"cause", asked.stringAttr("cause")}});
    if (asked.boolAttr("gradient")) copy->set("gradient", true);
    g.copy = copy->result();
    g.copy->name = asked.result()->name;
  }

  static Value* replacement(const Op* move, const std::unordered_map<const Op*, MoveSet*>& setOf) {
    auto it = setOf.find(move);
    return it == setOf.end() ? definition(move->operand(0)) : it->second->copy;
  }

  ir::Module& module_;
  std::vector<Op*> all_;
  std::unordered_map<const Op*, Op*> benchOf_;
  std::unordered_map<const Op*, int> order_;
};

}  // namespace

bool minimalMoves(ir::Module& m, Context&) {
  for (const auto& f : m.funcs) {
    joinReturns(*f->body);
    keepNumbers(*f->body);
    Minimiser(m).run(*f);
  }
  return true;
}

}  // namespace tenc::passes
