// Writes to every s-th element of a tensor, of which the derivatives of strided slices are made: of windows that do not
// overlap, of convolutions with strides.
#include <algorithm>
#include <map>
#include <numeric>

#include "ir/build/Compose.h"
#include "passes/simplify/SimplifyRules.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

constexpr int64_t kMostParts = 16;  // pieces that one tensor is made of

/// Whether two arithmetic progressions of `n` and `m` terms have none in common.
bool areDisjoint(int64_t a, int64_t step, int64_t n, int64_t b, int64_t other, int64_t m) {
  const auto [aLow, aHigh] = std::minmax(a, a + (n - 1) * step);
  const auto [bLow, bHigh] = std::minmax(b, b + (m - 1) * other);
  return aHigh < bLow || bHigh < aLow || (a - b) % std::gcd(step, other) != 0;
}

/// What is read of a tensor where it was not written to is read of the tensor before.
Value* readBefore(Op& slice, Builder& b) {
  const Dims &starts = slice.intsAttr("starts"), &sizes = slice.intsAttr("sizes"), &steps = slice.intsAttr("steps");
  if (slice.result()->type.size() == 0) return nullptr;
  Value* from = slice.operand(0);
  while (from->op != nullptr && from->op->kind == OpKind::UpdateSlice) {
    const Op& update = *from->op;
    const Dims& written = update.operand(1)->type.shape;
    bool disjoint = update.operand(1)->type.size() == 0;
    for (size_t i = 0; i < starts.size() && !disjoint; ++i)
      disjoint = areDisjoint(starts[i], steps[i], sizes[i], update.intsAttr("starts")[i], update.intsAttr("steps")[i],
                             written[i]);
    if (!disjoint) break;
    from = update.operand(0);
  }
  if (from == slice.operand(0)) return nullptr;
  if (Value* scalar = repeatedScalar(from)) return b.broadcastTo(scalar, slice.result()->type.shape);
  return Compose(b).slice(from, starts, sizes, steps);
}

/// Writes to copies of one value, each to places i * steps + offset of its own, as one tensor in which they take turns.
class Interleaving {
 public:
  Interleaving(Op& last, Builder& b)
      : c_(b), shape_(last.result()->type.shape), steps_(last.intsAttr("steps")), cells_(shape_) {
    for (size_t i = 0; i < cells_.size(); ++i) cells_[i] = (shape_[i] + steps_[i] - 1) / steps_[i];
  }

  Value* make(Op& last) {
    if (!collect(last)) return nullptr;
    std::vector<Value*> pieces;
    for (const Dims& offset : offsets()) pieces.push_back(piece(offset));
    // [..., cells, turns, ...]: from the last axis on, the turns of an axis become a dim behind its cells.
    Dims unit = cells_;
    for (size_t i = steps_.size(); i-- > 0;) {
      if (steps_[i] == 1) continue;
      unit.insert(unit.begin() + static_cast<long>(i) + 1, 1);
      pieces = inTurns(pieces, unit, static_cast<size_t>(steps_[i]), static_cast<int64_t>(i) + 1);
      unit[i + 1] = steps_[i];
    }
    Dims whole(shape_.size());
    for (size_t i = 0; i < whole.size(); ++i) whole[i] = cells_[i] * steps_[i];
    return c_.slice(c_.reshape(pieces[0], whole), Dims(shape_.size(), 0), shape_, Dims(shape_.size(), 1));
  }

 private:
  /// Whether the chain that ends with `last` is of that kind.
  bool collect(Op& last) {
    for (Op* update = &last;;) {
      if (update->intsAttr("steps") != steps_ || update->operand(1)->type.size() == 0) return false;
      Dims offset = update->intsAttr("starts");
      for (size_t i = 0; i < offset.size(); ++i) offset[i] %= steps_[i];
      if (!parts_.emplace(std::move(offset), update).second) return false;
      Value* before = update->operand(0);
      rest_ = repeatedScalar(before);
      if (rest_ != nullptr) return true;
      const bool isWrite = before->op != nullptr && before->op->kind == OpKind::UpdateSlice &&
                           before->op->parent == last.parent && before->uses.size() == 1;
      if (!isWrite) return false;
      update = before->op;
    }
  }

  /// All offsets inside a cell, the last axis' the fastest.
  std::vector<Dims> offsets() const {
    std::vector<Dims> all = {{}};
    for (int64_t step : steps_) {
      std::vector<Dims> longer;
      for (const Dims& d : all)
        for (int64_t k = 0; k < step; ++k) longer.push_back(d), longer.back().push_back(k);
      all = std::move(longer);
    }
    return all;
  }

  /// What is written at an offset of each cell.
  Value* piece(const Dims& offset) {
    const auto found = parts_.find(offset);
    if (found == parts_.end()) return c_.broadcastTo(rest_, cells_);
    Value* part = found->second->operand(1);
    Dims lo(cells_.size()), hi(cells_.size());
    for (size_t i = 0; i < cells_.size(); ++i) {
      lo[i] = found->second->intsAttr("starts")[i] / steps_[i];
      hi[i] = cells_[i] - lo[i] - part->type.shape[i];
    }
    const auto isZero = [](int64_t n) { return n == 0; };
    const bool isWhole = std::all_of(lo.begin(), lo.end(), isZero) && std::all_of(hi.begin(), hi.end(), isZero);
    return isWhole ? part : c_.padWith(part, rest_, lo, hi);
  }

  std::vector<Value*> inTurns(const std::vector<Value*>& pieces, const Dims& unit, size_t turns, int64_t axis) {
    std::vector<Value*> joined;
    for (size_t k = 0; k < pieces.size(); k += turns) {
      std::vector<Value*> taken;
      for (size_t t = 0; t < turns; ++t) taken.push_back(c_.reshape(pieces[k + t], unit));
      joined.push_back(c_.concat(taken, axis));
    }
    return joined;
  }

  Compose c_;
  const Dims shape_, steps_;
  Dims cells_;
  Value* rest_ = nullptr;      ///< what stands where nothing is written
  std::map<Dims, Op*> parts_;  ///< by offset
};

Value* interleave(Op& op, Builder& b) {
  const Dims& steps = op.intsAttr("steps");
  int64_t parts = 1;
  for (int64_t s : steps) {
    if (s < 1 || s > kMostParts) return nullptr;
    parts = std::min(parts * s, kMostParts + 1);
  }
  if (parts == 1 || parts > kMostParts) return nullptr;
  const Value& v = *op.result();
  const auto isWrite = [&](const Value::Use& u) {
    return u.user->kind == OpKind::UpdateSlice && u.user->operand(0) == &v;
  };
  if (std::any_of(v.uses.begin(), v.uses.end(), isWrite)) return nullptr;  // its end makes all of them
  return Interleaving(op, b).make(op);
}

}  // namespace

Value* simplifyUpdates(Op& op, Builder& b) {
  if (op.kind == OpKind::Slice) return readBefore(op, b);
  return op.kind == OpKind::UpdateSlice ? interleave(op, b) : nullptr;
}

}  // namespace tenc::passes
