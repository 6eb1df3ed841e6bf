// Innermost loops whose indices are in range if they are so in the first trip and in the last: such a loop stands
// twice, and only one version checks them. The other one is what can be vectorised.
#include <algorithm>
#include <limits>

#include "codegen/cpu/NativeBody.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

constexpr int kDeepest = 6;

/// How many times an index grows by 1 while `variable` does, if it is made of that and of what the loop does not change
/// by sums and products with constants.
std::optional<int64_t> slopeOf(const ir::Value* v, const ir::Op& loop, const ir::Value* variable,
                               int depth = kDeepest) {
  if (v == variable) return 1;
  if (v->type.dtype != ir::DType::I64 || v->type.rank() != 0 || depth == 0) return std::nullopt;
  if (!v->home()->isInside(loop) || ir::constantScalar(v)) return 0;
  const ir::Op* op = v->op;
  if (op == nullptr) return std::nullopt;
  auto of = [&](size_t i) { return slopeOf(op->operand(i), loop, variable, depth - 1); };
  switch (op->kind) {
    case OpKind::Add:
    case OpKind::Sub: {
      const auto a = of(0), b = of(1);
      if (!a || !b) return std::nullopt;
      return op->kind == OpKind::Add ? *a + *b : *a - *b;
    }
    case OpKind::Mul:
      for (size_t i : {0, 1}) {
        const auto factor = ir::constantScalar(op->operand(i));
        const auto slope = of(1 - i);
        if (factor && slope && std::abs(factor->i) < (1 << 20)) return factor->i * *slope;
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

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
      const auto slope = slopeOf(v, loop, variable);
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

/// An index of the loop as it is while the variable is `at`, in front of the loop.
Scalar NativeEmitter::indexAt(const ir::Value* v, const ir::Op& loop, Scalar at) {
  if (v == loop.regions[0]->args[0].get()) return at;
  if (const auto c = ir::constantScalar(v)) return s_->intConstant(Repr::I64, static_cast<uint64_t>(c->i));
  if (!v->home()->isInside(loop)) return index(v);
  const Scalar a = indexAt(v->op->operand(0), loop, at), b = indexAt(v->op->operand(1), loop, at);
  return v->op->kind == OpKind::Add ? a + b : v->op->kind == OpKind::Sub ? a - b : a * b;
}

/// Whether all of them are in range in every trip of a loop that has one. `last`: the variable in the last trip, or
/// beyond it. Between two values in range lie others in range, as long as the distance does not wrap.
Scalar NativeEmitter::areInRange(const ir::Op& loop, const std::vector<Linear>& indices, Scalar lo, Scalar last,
                                 bool forward) {
  constexpr double kFarthest = 0x1p40;  // times a slope, below 2^63
  const Scalar distance = forward ? last - lo : lo - last;
  Scalar sure = compare(Predicate::Ult, distance, like(distance, kFarthest));
  for (const Linear& l : indices) {
    auto inside = [&](Scalar at) {
      const Scalar i = indexAt(l.index, loop, at);
      return compare(Predicate::Ult, i, like(i, static_cast<double>(l.extent)));
    };
    sure = sure & inside(lo);
    if (l.slope != 0) sure = sure & inside(last);
  }
  return sure;
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
