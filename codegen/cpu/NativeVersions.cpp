// Innermost loops whose indices are in range if they are so in the first trip and in the last: such a loop stands
// twice, and only one version checks them. The other one is what can be vectorised.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

constexpr int kDeepest = 6;

/// Nothing for one with which sums and products might overflow.
std::optional<int64_t> limited(int64_t slope) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return std::abs(slope) < kMost ? std::optional(slope) : std::nullopt;
}

/// How many times an index grows by 1 while `variable` does, if it is made of that and of what the loop does not change
/// by sums and products with constants.
std::optional<int64_t> slopeOf(const ir::Value* v, const std::function<bool(const ir::Value*)>& isOutside,
                               const ir::Value* variable, int depth = kDeepest) {
  if (v == variable) return 1;
  if (v->type.dtype != ir::DType::I64 || v->type.rank() != 0 || depth == 0) return std::nullopt;
  if (isOutside(v) || ir::constantScalar(v)) return 0;
  const ir::Op* op = v->op;
  if (op == nullptr) return std::nullopt;
  auto of = [&](size_t i) { return slopeOf(op->operand(i), isOutside, variable, depth - 1); };
  switch (op->kind) {
    case OpKind::Add:
    case OpKind::Sub: {
      const auto a = of(0), b = of(1);
      if (!a || !b) return std::nullopt;
      return limited(op->kind == OpKind::Add ? *a + *b : *a - *b);
    }
    case OpKind::Mul:
      for (size_t i : {0, 1}) {
        const auto factor = ir::constantScalar(op->operand(i));
        const auto slope = of(1 - i);
        if (factor && slope && std::abs(factor->i) < (1 << 20)) return limited(factor->i * *slope);
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

/// What a loop without others in it reads at places that do not change while it runs, if they are surely in range, and
/// what follows from that, stands in front of it.
void NativeEmitter::hoistReads(const ir::Op& loop) {
  for (const auto& op : loop.regions[0]->ops) {
    const auto& operands = op->operands();
    if (!std::all_of(operands.begin(), operands.end(), [&](const ir::Value* v) { return isOutside(v, loop); }))
      continue;
    const bool computes =
        op->has(ir::Trait::Elementwise) && !op->has(ir::Trait::CanFault) && op->result()->type.rank() == 0;
    const bool constant = op->kind == OpKind::Constant && op->result()->type.rank() == 0;
    if (!computes && !constant && !isSafeRead(*op)) continue;
    emitOp(*op);
    hoisted_.insert(op.get());
  }
}

/// The indices of a loop's body that are not known to be in range, and would be if they were so in both end trips.
std::vector<NativeEmitter::Linear> NativeEmitter::linearIndices(const ir::Op& loop, const ir::Region& region) {
  std::vector<Linear> found;
  const ir::Value* variable = loop.regions[0]->args[0].get();
  for (const auto& op : region.ops) {
    const bool writes = op->kind == OpKind::Scatter;
    const size_t first = writes ? 2 : 1;
    for (size_t i = first; (writes || op->kind == OpKind::Gather) && i < op->operandCount(); ++i) {
      const ir::Value* v = op->operand(i);
      const int64_t extent = op->operand(0)->type.shape[static_cast<size_t>(op->intsAttr("axes")[i - first])];
      const Range range = ranges_.of(v);
      if (extent == 0 || (range.least >= 0 && range.most < extent) || range.most < 0) continue;
      const auto slope = slopeOf(v, [&](const ir::Value* x) { return isOutside(x, loop); }, variable);
      if (!slope || std::abs(*slope) >= (1 << 20)) continue;
      auto same = std::find_if(found.begin(), found.end(), [&](const Linear& l) { return l.index == v; });
      if (same != found.end())
        same->extent = std::min(same->extent, extent);
      else
        found.push_back({v, extent, *slope});
    }
    for (const auto& inner : op->regions) {
      for (const Linear& l : linearIndices(loop, *inner))
        if (std::none_of(found.begin(), found.end(), [&](const Linear& f) { return f.index == l.index; }))
          found.push_back(l);
    }
  }
  return found;
}

/// Whether something else may end a trip early: an index that must be checked, or a division. Such a loop is no
/// vectors, and the checks that a version without them would save cost it less than the tests in front of it.
bool NativeEmitter::mayLeaveTrip(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Gather || op->kind == OpKind::Scatter || op->kind == OpKind::DynamicSlice) {
      const size_t first = op->kind == OpKind::Scatter ? 2 : 1;
      const auto& axes = op->intsAttr("axes");
      for (size_t i = 0; i < axes.size(); ++i) {
        const int64_t extent = op->operand(0)->type.shape[static_cast<size_t>(axes[i])];
        const Range range = ranges_.ofIndex(op->operand(first + i));
        const int64_t most = extent - (op->kind == OpKind::DynamicSlice ? op->intsAttr("sizes")[i] : 1);
        if ((range.least < 0 || range.most > most) && (range.least < -extent || range.most >= 0)) return true;
      }
    }
    for (const auto& inner : op->regions)
      if (mayLeaveTrip(*inner)) return true;
  }
  return false;
}

/// An index of the loop as it is while the variable is `at`, in front of the loop.
Scalar NativeEmitter::indexAt(const ir::Value* v, const ir::Op& loop, Scalar at) {
  if (v == loop.regions[0]->args[0].get()) return at;
  if (const auto c = ir::constantScalar(v)) return s_->intConstant(Repr::I64, static_cast<uint64_t>(c->i));
  if (isOutside(v, loop)) return index(v);
  const Scalar a = indexAt(v->op->operand(0), loop, at), b = indexAt(v->op->operand(1), loop, at);
  return v->op->kind == OpKind::Add ? a + b : v->op->kind == OpKind::Sub ? a - b : a * b;
}

/// Goes on where all of them are in range in every trip of a loop that has one. `last`: the variable in the last trip,
/// or beyond it. Between two values in range lie others in range, as long as the distance does not wrap.
void NativeEmitter::unlessInRange(const ir::Op& loop, const std::vector<Linear>& indices, const Counting& c,
                                  Scalar last, llvm::BasicBlock* otherwise) {
  constexpr double kFarthest = 0x1p40;  // times a slope, below 2^63
  auto unless = [&](Scalar holds) {
    auto* next = block("inside");
    b_.CreateCondBr(LlvmScalars::value(holds), next, otherwise,
                    llvm::MDBuilder(b_.getContext()).createBranchWeights(4000, 1));
    b_.SetInsertPoint(next);
  };
  const Range steps = ranges_.of(loop.operand(2));
  if (steps.least != steps.most) unless((c.step > 0.0) & (c.step <= 0x1p62));
  // Where the variable itself is an index that is in range, its distance is.
  const ir::Value* variable = loop.regions[0]->args[0].get();
  if (std::none_of(indices.begin(), indices.end(), [&](const Linear& l) { return l.index == variable; })) {
    const Scalar distance = c.forward ? last - c.lo : c.lo - last;
    unless(compare(Predicate::Ult, distance, like(distance, kFarthest)));
  }
  for (const Linear& l : indices) {
    auto inside = [&](Scalar at) {
      const Scalar i = indexAt(l.index, loop, at);
      return compare(Predicate::Ult, i, like(i, static_cast<double>(l.extent)));
    };
    unless(inside(c.lo));
    if (l.slope != 0) unless(inside(last));
  }
}

/// The variable's value in the last trip, for a step that is known; else one beyond which no trip comes.
Scalar NativeEmitter::lastTrip(Scalar lo, Scalar hi, Range steps) {
  if (steps.least != steps.most) return hi - 1.0;
  const int64_t step = steps.least;
  if (step == 1) return hi - 1.0;
  if (step == -1) return hi + 1.0;
  const auto by = like(lo, static_cast<double>(std::abs(step)));
  const Scalar left = step > 0 ? hi - 1.0 - lo : lo - 1.0 - hi;
  const Scalar whole = s_->binary(BinaryInst::UDiv, left, by) * by;
  return step > 0 ? lo + whole : lo - whole;
}

}  // namespace tenc::codegen::cpu
