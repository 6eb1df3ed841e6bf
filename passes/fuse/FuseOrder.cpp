// Last part of fusion: kernels that free more memory than they take run as soon as they can. What is fused with an
// update at the end of a step, such as the gradient of a weight with its step of the optimiser, would otherwise keep
// its operands until then.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ir/Loops.h"
#include "ir/Views.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

bool canFault(const Region& r) {
  return std::any_of(r.ops.begin(), r.ops.end(), [](const auto& op) {
    return op->has(Trait::CanFault) ||
           std::any_of(op->regions.begin(), op->regions.end(), [](const auto& inner) { return canFault(*inner); });
  });
}

/// What memory a value is a view of.
const Value* memoryOf(const Value* v) {
  while (v->op != nullptr && ir::isMemoryView(*v->op)) v = v->op->operand(0);
  return v;
}

class Order {
 public:
  explicit Order(Region& region) : region_(region) {
    for (const auto& op : region.ops) {
      place_[op.get()] = ops_.size();
      slot_.push_back(ops_.size());
      ops_.push_back(op.get());
    }
    for (size_t i = 0; i < ops_.size(); ++i) uses(*ops_[i], i);
  }

  void run() {
    bool moved = false;
    size_t begin = 0;
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (isBoundary(*ops_[i])) begin = i + 1;
      if (ir::isMemoryView(*ops_[i])) slot_[i] = made(*ops_[i]->operand(0), begin);
      if (!mayMove(*ops_[i])) continue;
      const size_t slot = earliest(i, begin);
      if (slot + 1 >= i || gain(i) <= 0) continue;
      slot_[i] = slot;
      moved = true;
    }
    if (moved) apply();
  }

 private:
  /// The last two ops that read memory, by their places.
  struct Uses {
    size_t last = 0, before = 0;
  };

  void uses(const Op& op, size_t at) {
    for (const Value* v : op.operands()) {
      Uses& u = uses_[memoryOf(v)];
      if (u.last == at) continue;
      u = {at, u.last};
    }
    if (op.kind == OpKind::Fused) return;
    for (const auto& inner : op.regions)
      for (const auto& o : inner->ops) uses(*o, at);
  }

  /// Effects keep their order, and `time` is a barrier.
  static bool isBoundary(const Op& op) {
    return op.has(Trait::HasSideEffect) || op.has(Trait::HostEffect) ||
           (!op.regions.empty() && op.kind != OpKind::Fused);
  }

  /// An update overwrites its first operand, and a stop must not come before others.
  static bool mayMove(const Op& op) {
    return op.kind == OpKind::Fused && !op.boolAttr("inplace") && !canFault(*op.regions[0]);
  }

  /// Whether nothing after `at` reads what is made in this region.
  bool diesAt(const Value* memory, size_t at) const {
    return memory->op != nullptr && memory->op->parent == &region_ && uses_.at(memory).last == at;
  }

  /// The result may be in the operand's memory.
  static bool fits(const Op& op, const Value* operand) {
    return std::any_of(op.results.begin(), op.results.end(),
                       [&](const auto& r) { return r->type.sameTensor(operand->type); });
  }

  /// The slot of the op that makes a value, in the segment that begins there.
  size_t made(const Value& v, size_t begin) const {
    const auto op = v.op ? place_.find(v.op) : place_.end();
    return op == place_.end() ? begin : std::max(begin, slot_[op->second]);
  }

  /// Behind what it reads is made, and behind what else reads what it frees or may overwrite.
  size_t earliest(size_t at, size_t begin) const {
    const Op& op = *ops_[at];
    size_t slot = begin;
    for (const Value* v : op.operands()) {
      slot = std::max(slot, made(*v, begin));
      const Value* memory = memoryOf(v);
      const Uses& u = uses_.at(memory);
      if (u.last == at && (diesAt(memory, at) || fits(op, v))) slot = std::max(slot, u.before);
    }
    return slot;
  }

  /// Bytes that are free from there on if it runs earlier.
  int64_t gain(size_t at) const {
    const Op& op = *ops_[at];
    int64_t bytes = 0;
    std::vector<const Value*> seen;
    for (const Value* v : op.operands()) {
      const Value* memory = memoryOf(v);
      if (!diesAt(memory, at) || std::find(seen.begin(), seen.end(), memory) != seen.end()) continue;
      seen.push_back(memory);
      bytes += memory->type.bytes();
    }
    for (const auto& r : op.results) {
      // Over an operand that comes from outside, a weight, it needs no memory of its own.
      const bool over = std::any_of(op.operands().begin(), op.operands().end(), [&](const Value* v) {
        return uses_.at(memoryOf(v)).last == at && v->type.sameTensor(r->type) && !diesAt(memoryOf(v), at);
      });
      if (!over) bytes -= r->type.bytes();
    }
    return bytes;
  }

  /// Those that move come behind the op of their slot, in their order.
  void apply() {
    std::vector<size_t> order(ops_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return slot_[a] < slot_[b]; });
    Op* end = region_.terminator();
    for (const size_t i : order) {
      if (ops_[i] != end) ops_[i]->moveBefore(end);
    }
  }

  Region& region_;
  std::vector<Op*> ops_;
  std::vector<size_t> slot_;  ///< of an op that does not move, its place
  std::unordered_map<const Op*, size_t> place_;
  std::unordered_map<const Value*, Uses> uses_;
};

}  // namespace

void orderKernels(Region& region) { Order(region).run(); }

}  // namespace tenc::passes::fusion
