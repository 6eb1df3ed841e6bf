// Loops over small tensors: a `for` or `while` of the host whose kernels are short, and whose tensors are of a few KiB,
// becomes one fused op of kind "tensor_loop". So no trip returns to the runtime. What each kernel computes, and in what
// order, is what it would be as a kernel of its own.
//
// Small tensors are copied wherever that is needed. A larger one that the loop carries (a history that grows by a row)
// has to be updated in place: each of its versions is dead once the next is made.
#include <algorithm>
#include <unordered_map>

#include "ir/Loops.h"
#include "ir/Views.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

constexpr int64_t kMostBytes = int64_t{64} << 10;  // of all that a trip makes
constexpr int64_t kMostWork = int64_t{1} << 16;    // elementary operations of a kernel: too few for a second thread
constexpr int kMostKernels = 64, kMostOps = 640;   // of the body, for the sake of compile time

/// About how many elementary operations a kernel runs.
int64_t workOf(const Op& fused) {
  int64_t work = 0;
  for (const auto& op : fused.regions[0]->ops) {
    if (op->results.empty() || op->has(Trait::Structural)) continue;
    const bool updates =
        op->kind == OpKind::UpdateSlice || op->kind == OpKind::DynamicUpdate || op->has(Trait::Scatters);
    int64_t points = (updates ? op->operand(1) : op->result())->type.size();
    if (op->has(Trait::Product)) {
      const ir::Type& a = op->operand(0)->type;
      points *= op->kind == OpKind::Matmul ? a.shape.back() : op->operand(1)->type.size();
    } else if (op->operandCount() > 0 && (op->has(Trait::Reduction) || op->has(Trait::Scans))) {
      points = std::max(points, op->operand(0)->type.size());
    }
    work += points;
  }
  return work;
}

class TensorLoopCheck {
 public:
  TensorLoopCheck(const Op& loop, const Context& c)
      : loop_(loop), large_(c.traits.of(ir::DeviceTable::kHost).locals.bytes) {}

  bool run() { return loop(loop_) && kernels_ > 0; }

 private:
  bool isOnHost(const Value* v) const {
    return v->type.place.isFree() || loop_.func()->module->actual(v->type.place.device) == ir::DeviceTable::kHost;
  }
  bool isLarge(const Value* v) const { return v->type.bytes() > large_; }
  bool isOutside(const Value* v) const { return !v->home()->isInside(loop_); }

  /// A small tensor that the loop makes.
  bool local(const Value* v) {
    bytes_ += v->type.bytes();
    return isOnHost(v) && !isLarge(v) && bytes_ <= kMostBytes;
  }

  /// A value that is read: of a large one that is carried, only the last version is there.
  bool readable(const Value* v) const {
    if (!isOnHost(v)) return false;
    const auto slot = slots_.find(v);
    return slot == slots_.end() || live_[slot->second] == v;
  }

  bool loop(const Op& op) {
    const size_t lead = ir::firstCarriedOperand(op), first = ir::firstCarriedArg(op);
    std::vector<int> slots(op.results.size(), -1);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!isLarge(op.result(i))) {
        if (!readable(op.operand(lead + i)) || !local(op.result(i))) return false;
        continue;
      }
      if (&op != &loop_ || !isOnHost(op.result(i))) return false;
      slots[i] = static_cast<int>(live_.size());
      live_.push_back(nullptr);
    }
    for (const auto& r : op.regions) {
      for (size_t i = 0; i < slots.size(); ++i)
        if (slots[i] >= 0) become(static_cast<size_t>(slots[i]), r->args[first + i].get());
      if (!region(*r)) return false;
      if (r != op.regions.back()) continue;  // a condition
      for (size_t i = 0; i < slots.size(); ++i)
        if (slots[i] >= 0 && live_[static_cast<size_t>(slots[i])] != r->terminator()->operand(i)) return false;
    }
    return true;
  }

  void become(size_t slot, const Value* v) {
    slots_[v] = slot;
    live_[slot] = v;
  }

  bool region(const Region& r) {
    return std::all_of(r.ops.begin(), r.ops.end(), [&](const auto& op) { return element(*op); });
  }

  bool element(const Op& op) {
    const auto& operands = op.operands();
    if (!std::all_of(operands.begin(), operands.end(), [&](const Value* v) { return readable(v); })) return false;
    if (op.has(Trait::Terminator)) return true;
    if (ir::isLoop(op)) return loop(op);
    if (ir::isMemoryView(op)) return isOnHost(op.result()) && !slots_.contains(op.operand(0));
    switch (op.kind) {
      case OpKind::If:
        return std::all_of(op.results.begin(), op.results.end(), [&](const auto& v) { return local(v.get()); }) &&
               region(*op.regions[0]) && region(*op.regions[1]);
      case OpKind::Constant: return op.result()->type.rank() > 0 || isOnHost(op.result());
      case OpKind::Fused: return kernel(op);
      default: return false;
    }
  }

  bool kernel(const Op& op) {
    if (op.hasAttr("carried")) return false;  // a native loop
    ops_ += static_cast<int>(op.regions[0]->ops.size());
    if (++kernels_ > kMostKernels || ops_ > kMostOps || workOf(op) > kMostWork) return false;
    for (size_t r = 0; r < op.results.size(); ++r) {
      const Value* v = op.result(r);
      const int old = fusion::updatedOperand(op, r);
      const auto slot = old < 0 ? slots_.end() : slots_.find(op.operand(static_cast<size_t>(old)));
      if (slot == slots_.end()) {
        if (!local(v)) return false;
        continue;
      }
      if (std::count(op.operands().begin(), op.operands().end(), slot->first) != 1) return false;
      // An update in a branch or an inner loop is no update of what this loop carries.
      if (op.parent != loop_.regions.back().get()) return false;
      become(slot->second, v);
    }
    return true;
  }

  const Op& loop_;
  const int64_t large_;
  int64_t bytes_ = 0;
  int kernels_ = 0, ops_ = 0;
  std::unordered_map<const Value*, size_t> slots_;  // versions of large tensors
  std::vector<const Value*> live_;                  // per slot
};

/// Literals of arrays are made once.
void hoistLiterals(Op& loop, Region& region) {
  std::vector<Op*> ops;
  for (auto& op : region.ops) ops.push_back(op.get());
  for (Op* op : ops) {
    if (op->kind == OpKind::Fused) continue;
    for (auto& r : op->regions) hoistLiterals(loop, *r);
    if (op->kind == OpKind::Constant && op->result()->type.rank() > 0) op->moveBefore(&loop);
  }
}

void formTensorLoops(Region& region, const Context& c) {
  std::vector<Op*> ops;
  for (auto& op : region.ops)
    if (op->kind != OpKind::Fused && !op->regions.empty()) ops.push_back(op.get());
  for (Op* op : ops) {
    if (ir::isLoop(*op) && !op->results.empty() && TensorLoopCheck(*op, c).run()) {
      for (auto& r : op->regions) hoistLiterals(*op, *r);
      fusion::wrapLoop(*op, "tensor_loop");
    } else {
      for (auto& r : op->regions) formTensorLoops(*r, c);
    }
  }
}

}  // namespace

bool tensorLoops(ir::Module& m, Context& c) {
  for (auto& f : m.funcs)
    if (f->body && c.fuse) formTensorLoops(*f->body, c);
  return true;
}

}  // namespace tenc::passes
