// Loops over single numbers: a `for` or `while` that holds only rank-0 values, element reads (gather with rank-0
// indices along all axes) and element updates (scatter likewise), nested control flow included, becomes one fused op of
// kind "native". Its tensors are updated in place, so every version of a tensor must be dead once the next one is made.
// Views that only elements are read of (a[i][j], a.T[j, i]), and small tensors of the trip's own, stand in it too.
#include <algorithm>
#include <unordered_set>

#include "ir/Loops.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

bool isElementRead(const Op& op) {
  return op.kind == OpKind::Gather && op.result()->type.rank() == 0 &&
         op.operandCount() == static_cast<size_t>(op.operand(0)->type.rank()) + 1 && op.operand(0)->type.size() > 0;
}

bool isElementUpdate(const Op& op) {
  return op.kind == OpKind::Scatter && op.operand(1)->type.rank() == 0 && !op.boolAttr("from_start") &&
         op.operandCount() == static_cast<size_t>(op.operand(0)->type.rank()) + 2 && op.operand(0)->type.size() > 0;
}

/// Part of a tensor at rank-0 indices: a[i], a[:, j], a[i :+ 3].
bool isRow(const Op& op) {
  if (op.kind != OpKind::Gather && op.kind != OpKind::DynamicSlice) return false;
  if (op.result()->type.rank() == 0 || op.result()->type.size() == 0) return false;
  const auto& operands = op.operands();
  return std::all_of(operands.begin() + 1, operands.end(), [](const Value* v) { return v->type.rank() == 0; });
}

/// x[2, 3] at compile-time places is reshape(slice(x)).
const Op* constantRead(const Op& op) {
  if (op.kind != OpKind::Reshape || op.result()->type.rank() != 0) return nullptr;
  const Op* slice = op.operand(0)->op;
  return slice && slice->kind == OpKind::Slice && slice->operand(0)->type.rank() > 0 ? slice : nullptr;
}

/// x[2, 3] = e at compile-time places is update_slice(x, reshape(e)).
const Op* constantUpdate(const Op& op) {
  if (op.kind != OpKind::UpdateSlice || op.operand(1)->type.size() != 1) return nullptr;
  const Op* part = op.operand(1)->op;
  bool spread = part && (part->kind == OpKind::Reshape || part->kind == OpKind::Broadcast);
  return spread && part->operand(0)->type.rank() == 0 ? part : nullptr;
}

bool isSingleElementView(const Op& op) {
  // The halves of constant reads and updates: nothing is computed by themselves.
  bool structural = op.kind == OpKind::Slice || op.kind == OpKind::Reshape || op.kind == OpKind::Broadcast;
  if (!structural || op.result()->type.size() != 1) return false;
  return std::all_of(op.result()->uses.begin(), op.result()->uses.end(), [](const Value::Use& u) {
    return constantRead(*u.user) || (constantUpdate(*u.user) && u.operand == 1);
  });
}

/// A hint that the pages of a row will be wanted. A native loop is not interrupted for it.
bool isHint(const Op& op) { return op.kind == OpKind::BringIn; }

/// A number in the place of another one: fill(x, []).
bool isPlacedNumber(const Op& op) { return op.kind == OpKind::Fill && op.result()->type.rank() == 0; }

/// Makes constant element reads and updates gathers and scatters, in a region and below, and takes numbers as they are.
void normalise(Region& region) {
  std::vector<Op*> ops;
  std::erase_if(region.ops, [](const auto& op) { return isHint(*op); });
  for (auto& op : region.ops) ops.push_back(op.get());
  for (Op* op : ops) {
    for (auto& r : op->regions) normalise(*r);
    if (isPlacedNumber(*op)) op->result()->replaceAllUsesWith(op->operand(0));
    if (const Op* slice = constantRead(*op)) {
      ir::Builder b(op);
      b.setLoc(op->loc);
      Value* base = slice->operand(0);
      std::vector<Value*> operands = {base};
      std::vector<int64_t> axes;
      for (int64_t d = 0; d < base->type.rank(); ++d) {
        operands.push_back(b.scalarInt(ir::DType::I64, slice->intsAttr("starts")[static_cast<size_t>(d)]));
        axes.push_back(d);
      }
      op->result()->replaceAllUsesWith(b.value(OpKind::Gather, operands, {{"axes", axes}, {"at", int64_t{0}}}));
    } else if (const Op* part = constantUpdate(*op)) {
      ir::Builder b(op);
      b.setLoc(op->loc);
      std::vector<Value*> operands = {op->operand(0), part->operand(0)};
      std::vector<int64_t> axes;
      for (int64_t d = 0; d < op->operand(0)->type.rank(); ++d) {
        operands.push_back(b.scalarInt(ir::DType::I64, op->intsAttr("starts")[static_cast<size_t>(d)]));
        axes.push_back(d);
      }
      op->result()->replaceAllUsesWith(
          b.value(OpKind::Scatter, operands, {{"axes", axes}, {"at", int64_t{0}}, {"mode", std::string("set")}}));
    }
  }
  for (size_t i = ops.size(); i-- > 0;) {
    Op* op = ops[i];
    if (op->results.size() == 1 && op->result()->unused() &&
        (constantRead(*op) || constantUpdate(*op) || isPlacedNumber(*op) || op->kind == OpKind::Slice ||
         op->kind == OpKind::Reshape || op->kind == OpKind::Broadcast))
      op->erase();
  }
}

/// A literal array of which elements are read.
bool isTable(const Op& op) {
  if (op.kind != OpKind::Constant || op.result()->type.rank() == 0) return false;
  return std::all_of(op.result()->uses.begin(), op.result()->uses.end(), [](const Value::Use& u) {
    return u.operand == 0 && (isElementRead(*u.user) || u.user->kind == OpKind::Slice || isRow(*u.user));
  });
}

/// A tensor that each trip makes anew, small enough for the stack: copies of one value, or a short literal array.
bool isLocal(const Op& op, const ir::TargetTraits::Locals& most) {
  const bool copies = (op.kind == OpKind::Fill || op.kind == OpKind::Broadcast) && op.operand(0)->type.rank() == 0;
  const bool literal = op.kind == OpKind::Constant && !isTable(op);
  if (!copies && !literal) return false;
  const ir::Type& t = op.result()->type;
  return t.rank() > 0 && t.size() > 0 && t.size() <= (literal ? most.literal : most.bytes / ir::byteSize(t.dtype));
}

/// Literals of arrays that stand in a loop and below it are made before it: once, and from outside for those who read.
void hoistTables(Op& loop, const Region& region) {
  std::vector<Op*> ops;
  for (auto& op : region.ops) ops.push_back(op.get());
  for (Op* op : ops) {
    for (auto& r : op->regions) hoistTables(loop, *r);
    if (isTable(*op)) op->moveBefore(&loop);
  }
}

/// Whether two shapes differ in dims of 1 alone.
bool sameButForOnes(ir::Dims a, ir::Dims b) {
  std::erase(a, 1);
  std::erase(b, 1);
  return a == b;
}

/// Checks one loop. Each carried tensor is a slot; a slot has one live version at any point.
class NativeCheck {
 public:
  /// `device`: where the loop would run, with its numbers brought back for the host; null: where its values are.
  NativeCheck(const Op& loop, const Context& c, const std::string* device = nullptr)
      : loop_(loop), c_(c), bringsBack_(device != nullptr), device_(device ? *device : std::string()) {}

  bool run() {
    for (const auto& r : loop_.results) {
      if (!device(r.get())) return false;
    }
    return control(loop_, true) && (bringsBack_ || !handsToHost());
  }

 private:
  /// A kernel on another device cannot write a value of the host.
  bool handsToHost() const {
    if (device_.empty() || loop_.func()->module->actual(device_) == ir::DeviceTable::kHost) return false;
    return std::any_of(loop_.results.begin(), loop_.results.end(),
                       [](const auto& r) { return r->type.place.isFree() && !r->unused(); });
  }

  bool tensor(const Value* v) const { return v->type.rank() > 0; }

  bool device(const Value* v) {
    const std::string& d = v->type.place.device;
    if (d.empty()) return true;
    if (device_.empty()) device_ = d;
    return device_ == d;
  }

  /// A tensor that is read: the live version of its slot, or one from outside that nothing updates.
  bool readable(const Value* v) {
    if (!device(v)) return false;
    if (auto view = views_.find(v); view != views_.end()) return readable(view->second);
    auto it = slots_.find(v);
    if (it == slots_.end()) return outside(v) || (v->op && isTable(*v->op));
    const auto slot = static_cast<size_t>(it->second);
    return slot < live_.size() && live_[slot] == v;
  }

  /// A view shows what its tensor holds when it is read: that must still be what it held when the view was made.
  bool view(const Op& op) {
    if (op.operandCount() == 0) return false;
    const Value* of = op.operand(0);
    auto base = views_.find(of);
    const bool whole = op.kind == OpKind::Permute || op.kind == OpKind::Slice || op.kind == OpKind::Flip ||
                       (op.kind == OpKind::Reshape && sameButForOnes(of->type.shape, op.result()->type.shape));
    if (!isRow(op) && !(whole && of->type.rank() > 0 && op.result()->type.size() > 0)) return false;
    if (!readable(of)) return false;
    views_[op.result()] = base == views_.end() ? of : base->second;
    return true;
  }

  bool outside(const Value* v) const { return !v->home()->isInside(loop_); }

  int slotOf(const Value* v) const {
    auto it = slots_.find(v);
    return it == slots_.end() ? -1 : it->second;
  }

  void become(int slot, const Value* v) {
    slots_[v] = slot;
    live_[static_cast<size_t>(slot)] = v;
  }

  bool region(const Region& r) {
    for (const auto& op : r.ops) {
      if (op->has(Trait::Terminator)) continue;
      if (!element(*op)) return false;
    }
    return true;
  }

  bool element(const Op& op) {
    if (ir::isLoop(op) || op.kind == OpKind::If) return control(op, false);
    if (isSingleElementView(op) || isTable(op) || isHint(op)) return true;
    if (op.kind == OpKind::Transfer && op.result()->unused()) return true;  // about to go
    if (const Op* slice = constantRead(op)) return readable(slice->operand(0));
    if (isElementUpdate(op) || constantUpdate(op)) {
      int slot = slotOf(op.operand(0));
      if (slot < 0 || !readable(op.operand(0))) return false;
      become(slot, op.result());
      return true;
    }
    if (isLocal(op, locals())) {
      live_.push_back(nullptr);
      become(static_cast<int>(live_.size()) - 1, op.result());
      return device(op.result()) && (localBytes_ += op.result()->type.bytes()) <= locals().total;
    }
    if (view(op)) return true;
    for (const auto& r : op.results) {
      if (r->type.rank() != 0 || !device(r.get())) return false;
    }
    if (isPlacedNumber(op)) return true;
    if (isElementRead(op)) return readable(op.operand(0));
    return op.has(Trait::Elementwise) || (op.kind == OpKind::Constant && isSplat(op));
  }

  bool control(const Op& op, bool outermost) {
    if (op.kind == OpKind::If) return branches(op);
    size_t lead = ir::firstCarriedOperand(op);
    size_t firstArg = ir::firstCarriedArg(op);
    std::vector<int> slots(op.results.size(), -1);
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Value* init = op.operand(lead + i);
      if (!tensor(init)) continue;
      if (outermost) {
        slots[i] = static_cast<int>(live_.size());
        live_.push_back(nullptr);
      } else {
        slots[i] = slotOf(init);
        if (slots[i] < 0 || !readable(init)) return false;
      }
    }
    for (const auto& r : op.regions) {
      for (size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] >= 0) become(slots[i], r->args[firstArg + i].get());
      }
      auto before = live_;
      if (!region(*r)) return false;
      live_.resize(before.size());  // what the trip made for itself
      bool conditionOnly = op.kind == OpKind::While && r == op.regions[0];
      if (conditionOnly) {
        if (live_ != before) return false;
        continue;
      }
      const Op* yield = r->terminator();
      for (size_t i = 0; i < slots.size(); ++i) {
        const Value* y = yield->operand(i);
        if (!tensor(y)) continue;
        if (slotOf(y) != slots[i] || !readable(y)) return false;
        before[static_cast<size_t>(slots[i])] = y;
      }
      if (live_ != before) return false;  // an update that is not carried on
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] >= 0) become(slots[i], op.result(i));
    }
    return true;
  }

  bool branches(const Op& op) {
    auto before = live_;
    std::vector<int> slots(op.results.size(), -1);
    for (const auto& r : op.regions) {
      live_ = before;
      if (!region(*r)) return false;
      live_.resize(before.size());
      auto expected = before;
      const Op* yield = r->terminator();
      for (size_t i = 0; i < slots.size(); ++i) {
        const Value* y = yield->operand(i);
        if (!tensor(y)) continue;
        int slot = slotOf(y);
        if (slot < 0 || !readable(y) || (slots[i] >= 0 && slots[i] != slot)) return false;
        slots[i] = slot;
        expected[static_cast<size_t>(slot)] = y;
      }
      if (live_ != expected) return false;
    }
    live_ = before;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] >= 0) become(slots[i], op.result(i));
    }
    return true;
  }

  const ir::TargetTraits::Locals& locals() const { return c_.traits.of(loop_.func()->module->actual(device_)).locals; }

  const Op& loop_;
  const Context& c_;
  const bool bringsBack_;
  std::string device_;
  std::unordered_map<const Value*, int> slots_;
  std::unordered_map<const Value*, const Value*> views_;  // of which tensor
  std::vector<const Value*> live_;                        // per slot
  int64_t localBytes_ = 0;
};

/// The version of a tensor that a region's yield number `i` replaces: what the loop around carries there.
Value* replacedBy(const Region& region, size_t i) {
  const Op* around = region.parentOp;
  if (around == nullptr) return nullptr;
  if (ir::isLoop(*around)) return region.args[ir::firstCarriedArg(*around) + i].get();
  if (around->kind != OpKind::If || around->result(i)->uses.size() != 1) return nullptr;
  const Value::Use& use = around->result(i)->uses[0];
  return use.user->has(Trait::Terminator) ? replacedBy(*around->parent, use.operand) : nullptr;
}

/// n[0] += 1, of a tensor of one element, is a new tensor that takes the place of the old one. Such ones become
/// updates.
bool updateSingles(const Region& region) {
  bool any = false;
  std::vector<Op*> ops;
  for (const auto& op : region.ops) ops.push_back(op.get());
  for (Op* op : ops) {
    for (const auto& r : op->regions) any = updateSingles(*r) || any;
    const bool made = op->kind == OpKind::Fill || op->kind == OpKind::Broadcast || op->kind == OpKind::Reshape;
    if (!made || op->operand(0)->type.rank() != 0 || op->result()->type.rank() == 0) continue;
    if (op->result()->type.size() != 1 || op->result()->uses.size() != 1) continue;
    const Value::Use& use = op->result()->uses[0];
    if (!use.user->has(Trait::Terminator) || use.user->parent != &region) continue;
    Value* old = replacedBy(region, use.operand);
    if (old == nullptr || !(old->type == op->result()->type)) continue;
    ir::Builder b(op);
    b.setLoc(op->loc);
    std::vector<Value*> operands = {old, op->operand(0)};
    std::vector<int64_t> axes;
    for (int64_t d = 0; d < old->type.rank(); ++d) {
      operands.push_back(b.scalarInt(ir::DType::I64, 0));
      axes.push_back(d);
    }
    op->result()->replaceAllUsesWith(
        b.value(OpKind::Scatter, operands, {{"axes", axes}, {"at", int64_t{0}}, {"mode", std::string("set")}}));
    op->erase();
    any = true;
  }
  return any;
}

}  // namespace

bool isNativeLoop(const Op& loop, const Context& c, const std::string* device) {
  return NativeCheck(loop, c, device).run();
}

Op& formNativeLoop(Op& loop) {
  for (auto& r : loop.regions) hoistTables(loop, *r);
  for (auto& r : loop.regions) normalise(*r);
  return wrapLoop(loop, "native");
}

void formNativeLoops(Region& region, const Context& c) {
  std::vector<Op*> ops;
  for (auto& op : region.ops) {
    if (op->kind != OpKind::Fused && !op->regions.empty()) ops.push_back(op.get());
  }
  for (Op* op : ops) {
    auto isNative = [&] { return isNativeLoop(*op, c, nullptr); };
    auto hadSingles = [&] {
      bool any = false;
      for (const auto& r : op->regions) any = updateSingles(*r) || any;
      return any;
    };
    if (ir::isLoop(*op) && !op->results.empty() && (isNative() || (hadSingles() && isNative()))) {
      formNativeLoop(*op);
      continue;
    }
    // Those in other loops and branches too: what they take from outside must then be in memory.
    for (auto& r : op->regions) formNativeLoops(*r, c);
  }
}

}  // namespace tenc::passes::fusion
