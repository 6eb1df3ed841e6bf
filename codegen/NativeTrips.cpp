#include "codegen/NativeTrips.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codegen/IndexRanges.h"
#include "ir/Loops.h"

namespace tenc::codegen {
namespace {

using ir::OpKind;
using Wide = __int128;

/// An index as scale * variable + rest, where the rest is from `least` to `most`.
struct Linear {
  Wide scale, least, most;
};

/// Where all accesses of a tensor are along one of its dims.
struct Places {
  std::optional<Linear> all;
  bool isLinear = true;

  void add(const Linear& at) {
    if (!all) all = at;
    isLinear = isLinear && at.scale == all->scale;
    all->least = std::min(all->least, at.least);
    all->most = std::max(all->most, at.most);
  }
  /// Whether no two trips, whose variables differ by `step` or more, have a place in common.
  bool areApart(int64_t step) const {
    const Wide distance = all ? all->scale * step : 0;
    return isLinear && all && all->most - all->least < (distance < 0 ? -distance : distance);
  }
};

class Trips {
 public:
  explicit Trips(const ir::Op& loop) : loop_(loop), variable_(loop.regions[0]->args[0].get()) {}

  bool areApart() {
    const auto step = ir::constantInt(loop_.operand(2));
    if (!step || *step == 0 || !bindCarried()) return false;
    ranges_.bindLoopVariable(loop_);
    const ir::Region& body = *loop_.regions[0];
    if (!check(body)) return false;
    for (size_t k = 0; k < places_.size(); ++k)
      if (!places_[k].empty() && tensor(body.terminator()->operand(k)) != k) return false;
    return std::ranges::all_of(places_, [&](const std::vector<Places>& dims) {
      return dims.empty() || std::ranges::any_of(dims, [&](const Places& p) { return p.areApart(*step); });
    });
  }

 private:
  bool bindCarried() {
    const size_t first = ir::firstCarriedOperand(loop_);
    places_.resize(loop_.results.size());
    for (size_t k = 0; k < places_.size(); ++k) {
      const ir::Value* carried = loop_.regions[0]->args[ir::firstCarriedArg(loop_) + k].get();
      if (carried->type.rank() == 0) {
        // A variable that each trip sets anew is the trip's own.
        if (!carried->unused() || !loop_.result(k)->unused()) return false;
        continue;
      }
      // Nothing else in the kernel knows the tensor.
      if (loop_.operand(first + k)->uses.size() != 1) return false;
      tensorOf_[carried] = k;
      places_[k].resize(carried->type.shape.size());
    }
    return !tensorOf_.empty();
  }

  std::optional<size_t> tensor(const ir::Value* v) const {
    const auto it = tensorOf_.find(v);
    return it == tensorOf_.end() ? std::nullopt : std::optional(it->second);
  }

  bool check(const ir::Region& region) {
    return std::ranges::all_of(region.ops,
                               [&](const auto& op) { return op->has(ir::Trait::Terminator) || check(*op); });
  }

  bool check(const ir::Op& op) {
    if (ir::isLoop(op)) return loop(op);
    if (op.kind == OpKind::If) return branch(op);
    for (size_t i = 0; i < op.operandCount(); ++i)
      if (const auto t = tensor(op.operand(i)); t && (i != 0 || !access(op, *t))) return false;
    return true;
  }

  bool loop(const ir::Op& op) {
    const size_t first = ir::firstCarriedOperand(op);
    for (size_t k = 0; k < op.results.size(); ++k) {
      const auto t = tensor(op.operand(first + k));
      if (!t) continue;
      for (const auto& region : op.regions) tensorOf_[region->args[ir::firstCarriedArg(op) + k].get()] = *t;
      tensorOf_[op.result(k)] = *t;
    }
    if (op.kind == OpKind::For) ranges_.bindLoopVariable(op);
    for (const auto& region : op.regions)
      if (!check(*region)) return false;
    const ir::Op& end = *op.regions.back()->terminator();
    for (size_t k = 0; k < op.results.size(); ++k)
      if (tensor(end.operand(k)) != tensor(op.result(k))) return false;
    return true;
  }

  bool branch(const ir::Op& op) {
    for (const auto& region : op.regions)
      if (!check(*region)) return false;
    for (size_t k = 0; k < op.results.size(); ++k) {
      const auto t = tensor(op.regions[0]->terminator()->operand(k));
      if (t != tensor(op.regions[1]->terminator()->operand(k))) return false;
      if (t) tensorOf_[op.result(k)] = *t;
    }
    return true;
  }

  /// Notes where a read or an update is. What it reads of the tensor, a row for instance, is the trip's if its place
  /// is.
  bool access(const ir::Op& op, size_t tensor) {
    const bool isUpdate = op.kind == OpKind::Scatter || op.kind == OpKind::DynamicUpdate;
    if (!isUpdate && op.kind != OpKind::Gather && op.kind != OpKind::DynamicSlice) return false;
    if (op.kind == OpKind::DynamicUpdate && op.operand(1)->type.size() != 1) return false;
    if (isUpdate) tensorOf_[op.result()] = tensor;
    const auto& axes = op.intsAttr("axes");
    const std::vector<int64_t>* sizes = op.kind == OpKind::DynamicSlice ? &op.intsAttr("sizes") : nullptr;
    std::vector<bool> isIndexed(places_[tensor].size());
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i]);
      const ir::Value* index = op.operand((isUpdate ? 2 : 1) + i);
      const int64_t width = sizes != nullptr ? (*sizes)[i] : 1;
      // One that counts from the end, or is out of range, is another trip's.
      const Range range = ranges_.of(index);
      if (range.least < 0 || range.most > op.operand(0)->type.shape[axis] - width) continue;
      Linear at = linear(index);
      at.most += width - 1;
      places_[tensor][axis].add(at);
      isIndexed[axis] = true;
    }
    for (size_t d = 0; d < isIndexed.size(); ++d)
      if (!isIndexed[d]) places_[tensor][d].isLinear = false;
    return true;
  }

  /// Nothing wraps on the way to an index that is in range: the range of what may wrap is that of its dtype.
  Linear linear(const ir::Value* v) {
    if (v == variable_) return {1, 0, 0};
    if (const auto known = linear_.find(v); known != linear_.end()) return known->second;
    return linear_[v] = linearOf(v);
  }
  Linear linearOf(const ir::Value* v) {
    const Range range = ranges_.of(v);
    const Linear opaque = {0, range.least, range.most};
    const ir::Op* op = v->op;
    if (op == nullptr || v->type.dtype != ir::DType::I64) return opaque;
    if (op->kind == OpKind::Add || op->kind == OpKind::Sub) {
      const Linear a = linear(op->operand(0)), b = linear(op->operand(1));
      if (op->kind == OpKind::Add) return {a.scale + b.scale, a.least + b.least, a.most + b.most};
      return {a.scale - b.scale, a.least - b.most, a.most - b.least};
    }
    if (op->kind != OpKind::Mul) return opaque;
    for (size_t side = 0; side < 2; ++side)
      if (const auto by = ir::constantInt(op->operand(1 - side))) return times(linear(op->operand(side)), *by);
    return opaque;
  }
  static Linear times(const Linear& a, int64_t by) {
    const auto [least, most] = std::minmax({a.least * by, a.most * by});
    return {a.scale * by, least, most};
  }

  const ir::Op& loop_;
  const ir::Value* const variable_;
  std::unordered_map<const ir::Value*, size_t> tensorOf_;  ///< by version: the carried value that it is
  std::vector<std::vector<Places>> places_;                ///< by carried value and dim; numbers have none
  std::unordered_map<const ir::Value*, Linear> linear_;
  IndexRanges ranges_;
};

}  // namespace

const ir::Op* loopOfApartTrips(const Kernel& kernel) {
  const ir::Op* loop = nullptr;
  for (const auto& op : kernel.native->regions[0]->ops) {
    if (op->has(ir::Trait::Terminator)) continue;
    if (op->kind == OpKind::For && loop == nullptr)
      loop = op.get();
    else if (op->kind != OpKind::Constant)
      return nullptr;
  }
  return loop != nullptr && Trips(*loop).areApart() ? loop : nullptr;
}

}  // namespace tenc::codegen
