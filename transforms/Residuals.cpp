#include "transforms/Residuals.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "transforms/MinCut.h"

namespace tenc::transforms {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

namespace {

constexpr int64_t kPerByte = 16;

/// The cost of computing one element again, in sixteenths of a byte; nothing where it is not to be done. Kept values
/// are written, read and take up memory, so that even a function like `exp` is worth it; of numbers, which are cheap to
/// keep, only arithmetic is.
std::optional<int64_t> elementCost(const Op& op) {
  if (op.results.size() != 1 || !op.regions.empty() || op.has(Trait::HasSideEffect)) return std::nullopt;
  const ir::Type& t = op.result()->type;
  const bool number = t.shape.empty();
  if (op.kind == OpKind::Gelu) return 2 * kPerByte;
  if (op.has(Trait::Elementwise)) {
    if (op.has(Trait::Cheap)) return number ? kPerByte / 2 : kPerByte / 8;
    return number ? 16 * kPerByte : kPerByte;
  }
  switch (op.kind) {
    case OpKind::Gather:
    case OpKind::DynamicSlice: return kPerByte / 2;
    case OpKind::UpdateSlice: return kPerByte / 4;
    case OpKind::Barrier: return std::nullopt;
    case OpKind::Pad:
    case OpKind::Concat: return 1;
    case OpKind::Reshape: return number ? 1 : 0;  // of one element the number is kept
    default: return op.has(Trait::Structural) ? std::optional<int64_t>(0) : std::nullopt;
  }
}

/// Costs stay far below what is unlimited.
int64_t bounded(int64_t a, int64_t b) {
  constexpr int64_t kMost = FlowNetwork::kUnlimited >> 12;
  return a > kMost / std::max<int64_t>(b, 1) ? kMost : a * b;
}

class Chooser {
 public:
  Chooser(const ir::Region& region, int64_t times, const KeepingCost& keeping)
      : region_(region), times_(std::max<int64_t>(times, 1)), keeping_(keeping) {}

  ResidualChoice choose(const std::vector<Value*>& read) {
    for (Value* v : read) network_.addEdge(node(v).out, FlowNetwork::kSink, FlowNetwork::kUnlimited);
    // Nodes are added while the list grows.
    for (size_t i = 0; i < values_.size(); ++i) connect(values_[i]);
    const std::vector<bool> kept = network_.sourceSide();
    ResidualChoice choice;
    std::unordered_set<const Value*> seen;
    std::unordered_set<const Op*> repeated;
    std::vector<Value*> open = read;
    while (!open.empty()) {
      Value* v = open.back();
      open.pop_back();
      if (isNumber(*v) || !seen.insert(v).second) continue;
      if (kept[nodes_.at(v).in]) continue;
      repeated.insert(v->op);
      open.insert(open.end(), v->op->operands().begin(), v->op->operands().end());
    }
    for (Value* v : values_) {  // in an order that does not depend on addresses
      if (seen.contains(v) && kept[nodes_.at(v).in]) choice.kept.push_back(v);
    }
    for (const auto& op : region_.ops) {
      if (repeated.contains(op.get())) choice.repeated.push_back(op.get());
    }
    return choice;
  }

 private:
  /// A value that there is comes in and goes out again if it is kept.
  struct Node {
    size_t in, out;
  };

  Node node(Value* v) {
    const auto [it, fresh] = nodes_.try_emplace(v);
    if (fresh) {
      it->second = {network_.addNode(), network_.addNode()};
      values_.push_back(v);
    }
    return it->second;
  }

  void connect(Value* v) {
    const Node n = node(v);
    network_.addEdge(n.in, n.out, bounded(keeping_(*v), 1));
    const bool own = v->op != nullptr && v->op->parent == &region_;
    const std::optional<int64_t> cost = own ? elementCost(*v->op) : std::nullopt;
    if (!cost) return network_.addEdge(FlowNetwork::kSource, n.in, FlowNetwork::kUnlimited);
    network_.addEdge(FlowNetwork::kSource, n.in, bounded(bounded(*cost, v->type.size()), times_));
    for (Value* operand : v->op->operands()) {
      if (!isNumber(*operand)) network_.addEdge(node(operand).out, n.in, FlowNetwork::kUnlimited);
    }
  }

  const ir::Region& region_;
  const int64_t times_;
  const KeepingCost& keeping_;
  FlowNetwork network_;
  std::unordered_map<const Value*, Node> nodes_;
  std::vector<Value*> values_;
};

}  // namespace

bool isNumber(const Value& v) { return v.op != nullptr && v.op->kind == OpKind::Constant && v.type.shape.empty(); }

int64_t costOfBytes(const ir::Type& t) { return bounded(t.size(), kPerByte * ir::byteSize(t.dtype)); }

ResidualChoice chooseResiduals(const ir::Region& region, const std::vector<Value*>& read, int64_t times,
                               const KeepingCost& keeping) {
  return Chooser(region, times, keeping).choose(read);
}

}  // namespace tenc::transforms
