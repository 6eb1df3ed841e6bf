#include "codegen/NativeFaults.h"

#include <algorithm>

#include "codegen/IndexRanges.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {
namespace {

void collect(const ir::Region& region, std::vector<const ir::Op*>& out) {
  for (const auto& op : region.ops) {
    if (op->has(ir::Trait::CanFault) || mayStand(*op)) out.push_back(op.get());
    for (const auto& r : op->regions) collect(*r, out);
  }
}

/// Looks for what may fault in regions whose loops are bound one in the other, as in what is emitted.
class FaultSearch {
 public:
  explicit FaultSearch(const Kernel& native) { ranges_.assumeHeld(native); }

  bool finds(const ir::Region& region) {
    return std::ranges::any_of(region.ops, [&](const auto& op) { return finds(*op); });
  }

 private:
  bool finds(const ir::Op& op) {
    if (ir::isLoop(op)) return findsInLoop(op);
    if (op.kind == ir::OpKind::If) return findsInBranches(op);
    if (op.kind == ir::OpKind::Gather || op.kind == ir::OpKind::DynamicSlice) return leaves(op, 1);
    if (op.kind == ir::OpKind::Scatter || op.kind == ir::OpKind::DynamicUpdate) return leaves(op, 2);
    return op.has(ir::Trait::CanFault) && ir::isInt(op.result()->type.dtype) && !isDefined(op);
  }

  bool findsInLoop(const ir::Op& op) {
    const IndexRanges::Scope scope(ranges_);
    if (op.kind == ir::OpKind::For) {
      const Range steps = ranges_.of(op.operand(2));
      if (steps.least <= 0 && steps.most >= 0) return true;
    }
    ranges_.bindLoop(op);
    if (op.kind == ir::OpKind::While) {
      if (finds(*op.regions[0])) return true;
      ranges_.enterBody(op);
    }
    return finds(*op.regions.back());
  }

  bool findsInBranches(const ir::Op& op) {
    for (size_t r = 0; r < op.regions.size(); ++r) {
      const IndexRanges::Scope scope(ranges_);
      ranges_.assumeCondition(op.operand(0), r == 0);
      if (finds(*op.regions[r])) return true;
    }
    return false;
  }

  /// Whether an index may leave its dim. Negative ones count from the end.
  bool leaves(const ir::Op& op, size_t first) {
    const auto& axes = op.intsAttr("axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t part = op.kind == ir::OpKind::DynamicSlice ? op.intsAttr("sizes")[i] : 1;
      const int64_t extent = op.operand(0)->type.shape[static_cast<size_t>(axes[i])];
      const Range range = ranges_.ofIndex(op.operand(first + i));
      if (range.least < (part > 1 ? 0 : -extent) || range.most > extent - part) return true;
    }
    return false;
  }

  /// A division by what is not 0, or a power that is not negative.
  bool isDefined(const ir::Op& op) {
    if (op.operandCount() != 2) return false;
    const Range by = ranges_.of(op.operand(1));
    return op.kind == ir::OpKind::Pow ? by.least >= 0 : by.least > 0 || by.most < 0;
  }

  IndexRanges ranges_;
};

}  // namespace

bool mayFault(const Kernel& native) { return FaultSearch(native).finds(*native.native->regions[0]); }

bool mayStand(const ir::Op& op) {
  if (op.kind != ir::OpKind::For) return false;
  const auto step = ir::constantScalar(op.operand(2));
  return !step || step->i == 0;
}

std::vector<const ir::Op*> faultingOps(const ir::Op& fused) {
  std::vector<const ir::Op*> ops;
  for (const auto& r : fused.regions) collect(*r, ops);
  return ops;
}

std::unordered_map<const ir::Op*, uint32_t> faultNumbers(const ir::Op& fused) {
  std::unordered_map<const ir::Op*, uint32_t> numbers;
  for (const ir::Op* op : faultingOps(fused)) {
    auto n = static_cast<uint32_t>(numbers.size());
    numbers[op] = n;
  }
  return numbers;
}

void nameNativeFaults(Kernel& kernel) {
  for (const ir::Op* op : faultingOps(*kernel.native)) {
    abi::FaultKind kind = op->has(ir::Trait::Elementwise) ? abi::FaultKind::Division : abi::FaultKind::Index;
    if (op->kind == ir::OpKind::For) kind = abi::FaultKind::Step;
    if (op->kind == ir::OpKind::Pow) kind = abi::FaultKind::NegativePower;
    kernel.faults.push_back(op->loc);
    kernel.faultCodes.push_back(static_cast<uint8_t>(kind));
  }
}

}  // namespace tenc::codegen
