// Third part of fusion: groups become fused ops. Within a segment the order follows the program as far as operands
// allow.
#include <algorithm>
#include <functional>

#include "ir/Views.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

class Emission {
 public:
  Emission(Region& region, std::vector<Group>& groups, Nodes& nodes)
      : region_(region), groups_(groups), nodes_(nodes) {}

  void run() {
    findOutputs();
    std::vector<Op*> order;
    for (auto& op : region_.ops) order.push_back(op.get());
    done_.assign(groups_.size(), false);
    size_t begin = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (nodes_.at(order[i]).role != Role::Barrier) continue;
      emitSegment(order, begin, i);
      begin = i + 1;
    }
    for (size_t i = order.size(); i-- > 0;) {
      Op* op = order[i];
      Role role = nodes_.at(op).role;
      if (role == Role::Barrier || op->has(Trait::HasSideEffect)) continue;
      bool unused = true;
      for (auto& r : op->results) unused = unused && r->unused();
      if (unused) op->erase();
    }
  }

 private:
  Node* nodeOf(const Value* v) {
    if (!v->op || v->op->parent != &region_) return nullptr;
    auto it = nodes_.find(v->op);
    return it == nodes_.end() ? nullptr : &it->second;
  }

  /// Which roots are read outside of their group.
  void findOutputs() {
    for (auto& [op, n] : nodes_) {
      if (n.root && (n.materialised || n.viewed || n.foreign)) stored_[op] = true;
      for (const Node::Source& s : n.sources) {
        if (nodes_.at(s.value->op).group != n.group) stored_[s.value->op] = true;
      }
    }
  }

  void emitSegment(const std::vector<Op*>& order, size_t begin, size_t end) {
    barrier_ = order[end];
    effects_.clear();
    nextEffect_ = 0;
    for (size_t i = begin; i < end; ++i) {
      if (order[i]->has(Trait::HasSideEffect)) effects_.push_back(order[i]);
    }
    for (size_t i = begin; i < end; ++i) {
      Node& n = nodes_.at(order[i]);
      if (n.root) {
        if (groups_[static_cast<size_t>(n.group)].members.back() == order[i]) emitGroup(n.group);
      } else if (!n.inlined) {
        emitOp(order[i]);
      }
    }
  }

  /// Makes sure that `v` stands before what is emitted next.
  void need(const Value* v) {
    Node* n = nodeOf(v);
    if (!n || n->role == Role::Barrier) return;
    if (n->root) {
      emitGroup(n->group);
    } else {
      emitOp(v->op);
    }
  }

  void emitOp(Op* op) {
    bool& done = emitted_[op];
    if (done) return;
    done = true;
    Node& n = nodes_.at(op);
    if (op->has(Trait::HasSideEffect)) {
      // Draws and loads keep their order.
      for (; nextEffect_ < effects_.size() && effects_[nextEffect_] != op; ++nextEffect_) emitOp(effects_[nextEffect_]);
    }
    for (size_t i = 0; i < op->operandCount(); ++i) need(op->operand(i));
    if (n.inlined) return;
    op->moveBefore(barrier_);
  }

  void emitGroup(int number) {
    if (done_[static_cast<size_t>(number)]) return;
    done_[static_cast<size_t>(number)] = true;
    Group& g = groups_[static_cast<size_t>(number)];
    // Everything read from outside comes first.
    std::unordered_map<const Value*, bool> seen;
    std::function<void(const Value*)> visit = [&](const Value* v) {
      if (seen[v]) return;
      seen[v] = true;
      Node* n = nodeOf(v);
      if (!n) return;
      bool inside = n->root ? n->group == number : n->inlined || (n->role == Role::PassThrough && !n->alias);
      if (!inside) {
        need(v);
        return;
      }
      if (v->op->kind == OpKind::Constant) emitOp(v->op);  // a gather may read it where it lies
      for (const Value* o : v->op->operands()) visit(o);
    };
    for (Op* member : g.members) {
      for (const Value* o : member->operands()) visit(o);
    }
    build(g, number);
  }

  void build(Group& g, int number) {
    std::vector<Value*> outputs;
    std::vector<ir::Type> types;
    for (Op* member : g.members) {
      if (!stored_[member]) continue;
      outputs.push_back(member->result());
      types.push_back(member->result()->type);
    }
    if (outputs.empty()) return;
    ir::Builder b(barrier_);
    b.setLoc(g.members.back()->loc);
    std::string kind = g.kind == Group::Kind::Product ? "product" : "loop";
    Op* fused = b.makeTyped(OpKind::Fused, {}, types, {{"kind", kind}});
    if (g.kind == Group::Kind::Update) {
      fused->set("inplace", true);
      b.setLoc(g.members[0]->loc);
    }
    Region* inner = b.addRegion(fused);
    ir::Builder in(inner);
    ir::ValueMap map;
    if (g.kind == Group::Kind::Update) {
      bringUpdate(*g.members[0], number, fused, inner, in, map);
    } else {
      for (Op* member : g.members) bring(member->result(), number, fused, inner, in, map);
    }
    std::vector<Value*> yields;
    for (Value* v : outputs) yields.push_back(map.at(v));
    in.makeTyped(OpKind::Yield, yields, {});
    for (size_t i = 0; i < outputs.size(); ++i) {
      fused->result(i)->name = outputs[i]->name;
      outputs[i]->replaceAllUsesWith(fused->result(i));
    }
  }

  /// The first argument is the memory that is written, and no other read of the old value goes through it: such reads
  /// have an operand of their own, by which Storage sees that the old value must be kept. It is a buffer, so a value
  /// of an enclosing region is never read through here.
  void bringUpdate(const Op& op, int number, Op* fused, Region* inner, ir::Builder& in, ir::ValueMap& map) {
    Value* target = op.operand(0);
    fused->addOperand(target);
    Value* written = inner->addArg(target->type, target->name);
    for (size_t i = 1; i < op.operandCount(); ++i) bring(op.operand(i), number, fused, inner, in, map);
    ir::clone(op, in, map)->setOperand(0, written);
  }

  /// The value's copy inside the fused op; an argument when it is made elsewhere.
  Value* bring(Value* v, int number, Op* fused, Region* inner, ir::Builder& in, ir::ValueMap& map) {
    if (auto it = map.find(v); it != map.end()) return it->second;
    const Node* n = nodeOf(v);
    bool inside = false;
    if (n) {
      inside = n->root ? n->group == number : n->inlined || (n->role == Role::PassThrough && !n->alias);
    } else if (v->op && v->op->parent != &region_) {
      inside = roleOf(*v->op) == Role::PassThrough;  // read through from an enclosing region
    }
    // A number of another device is handed over, and not read from what it is part of.
    if (inside && !n && isElsewhere(*v, deviceOf(*fused))) inside = false;
    if (!inside) {
      fused->addOperand(v);
      return map[v] = inner->addArg(v->type, v->name);
    }
    for (size_t i = 0; i < v->op->operandCount(); ++i) {
      Value* o = v->op->operand(i);
      if (readsBuffer(*v->op, i, n) && o->op && (o->op->kind == OpKind::Constant || isCopiesOfNumber(o))) {
        fused->addOperand(o);
        map[o] = inner->addArg(o->type, o->name);
      } else {
        bring(o, number, fused, inner, in, map);
      }
    }
    ir::clone(*v->op, in, map);
    return map.at(v);
  }

  /// Whether a tensor is a view of a single number, which a kernel gets as a scalar and not as memory.
  static bool isCopiesOfNumber(const Value* v) {
    auto base = [](const Value* x) {
      return !x->op || x->op->kind == OpKind::Constant || roleOf(*x->op) != Role::PassThrough;
    };
    auto view = v->type.rank() > 0 && !base(v) ? ir::stridedView(v, base) : std::nullopt;
    return view && view->base->type.rank() == 0;
  }

  /// Whether the operand is read at computed places, so that even equal elements must lie in memory.
  static bool readsBuffer(const Op& op, size_t operand, const Node* n) {
    return (op.has(Trait::Gathers) && operand == 0) ||
           (n != nullptr && n->role == Role::Product && isFactor(op, operand));
  }

  Region& region_;
  std::vector<Group>& groups_;
  Nodes& nodes_;
  std::vector<bool> done_;
  std::unordered_map<const Op*, bool> emitted_, stored_;
  Op* barrier_ = nullptr;
  std::vector<Op*> effects_;  // of the segment
  size_t nextEffect_ = 0;
};

}  // namespace

void emitGroups(Region& region, std::vector<Group>& groups, Nodes& nodes) { Emission(region, groups, nodes).run(); }

}  // namespace tenc::passes::fusion
