// Ranges of sums whose terms bound each other: in `for i in 0..n - k { ... i + k - 1 ... }` each term alone may be
// large, and the sum is below n - 1.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "codegen/IndexRanges.h"
#include "ir/Scalar.h"

namespace tenc::codegen {
using ir::OpKind;

namespace {

constexpr int kMostTerms = 6, kDeepest = 6;
constexpr int64_t kMostFactor = int64_t{1} << 20;

constexpr __int128 kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

}  // namespace

/// A sum of values times factors. What wraps on the way does not matter as long as the sum itself is an i64.
struct IndexRanges::Sum {
  std::vector<std::pair<const ir::Value*, int64_t>> terms;
  __int128 constant = 0;
  bool fits = true;  ///< few terms, and small factors

  void add(const ir::Value* v, int64_t factor, int depth = kDeepest) {
    if (const auto c = ir::constantScalar(v)) {
      constant += __int128{c->i} * factor;
      return;
    }
    const ir::Op* op = v->op;
    if (op != nullptr && depth > 0 && (op->kind == OpKind::Add || op->kind == OpKind::Sub)) {
      add(op->operand(0), factor, depth - 1);
      return add(op->operand(1), op->kind == OpKind::Add ? factor : -factor, depth - 1);
    }
    if (op != nullptr && depth > 0 && op->kind == OpKind::Mul)
      for (size_t i : {0, 1}) {
        const auto by = ir::constantScalar(op->operand(i));
        if (by && by->i > -kMostFactor && by->i < kMostFactor && std::abs(factor * by->i) < kMostFactor)
          return add(op->operand(1 - i), factor * by->i, depth - 1);
      }
    const auto same = std::find_if(terms.begin(), terms.end(), [&](const auto& t) { return t.first == v; });
    if (same == terms.end()) {
      terms.emplace_back(v, factor);
    } else {
      same->second += factor;
      if (same->second == 0) terms.erase(same);
    }
    fits = fits && terms.size() <= kMostTerms && std::abs(factor) < kMostFactor;
  }
};

namespace {

/// The `for` whose variable a value is, if it counts by a step that is known.
const ir::Op* loopOf(const ir::Value* v) {
  const ir::Region* home = v->op == nullptr ? v->home() : nullptr;
  const ir::Op* loop = home != nullptr ? home->parentOp : nullptr;
  if (loop == nullptr || loop->kind != OpKind::For || home->args[0].get() != v) return nullptr;
  const auto step = ir::constantScalar(loop->operand(2));
  return step && step->i != 0 ? loop : nullptr;
}

/// How many regions are around the loop whose variable a value is; 0 for others.
int depthOf(const ir::Value* v) {
  int depth = 0;
  for (const ir::Op* loop = loopOf(v); loop != nullptr;
       loop = loop->parent != nullptr ? loop->parent->parentOp : nullptr)
    ++depth;
  return depth;
}

}  // namespace

/// What a sum is at least and at most, as far as that follows from its terms alone.
IndexRanges::Ends IndexRanges::endsOf(const Sum& sum) {
  Ends ends(sum.constant, sum.constant);
  for (const auto& [value, factor] : sum.terms) {
    const Range r = of(value);
    ends.first += __int128{factor > 0 ? r.least : r.most} * factor;
    ends.second += __int128{factor > 0 ? r.most : r.least} * factor;
  }
  return ends;
}

/// Whether the machine computes what the terms of a value say.
bool IndexRanges::isExact(const ir::Value* v) {
  Sum sum;
  sum.add(v, 1);
  const auto [least, most] = endsOf(sum);
  return sum.fits && least >= kLeast && most <= kMost;
}

/// The same where every variable is at its end, that of the innermost loop first, whose ends depend on the others.
IndexRanges::Ends IndexRanges::boundsOf(const Sum& whole) {
  constexpr int kMostLoops = 4;
  const auto deeper = [](const auto& a, const auto& b) { return depthOf(a.first) < depthOf(b.first); };
  auto [least, most] = endsOf(whole);
  for (const bool upper : {false, true}) {
    Sum sum = whole;
    for (int i = 0; i < kMostLoops && sum.fits && !sum.terms.empty(); ++i) {
      const auto [variable, factor] = *std::max_element(sum.terms.begin(), sum.terms.end(), deeper);
      const ir::Op* loop = loopOf(variable);
      if (loop == nullptr) break;
      // The first value is one end of what the variable may be; the other is a step of 1 short of the bound.
      const bool forward = ir::constantScalar(loop->operand(2))->i > 0, atFirst = (upper == (factor > 0)) != forward;
      const ir::Value* end = loop->operand(atFirst ? 0 : 1);
      if (!isExact(end)) break;
      sum.add(variable, -factor);
      sum.add(end, factor);
      if (!atFirst) sum.constant -= __int128{forward ? 1 : -1} * factor;
      const auto ends = endsOf(sum);
      (upper ? most : least) = upper ? std::min(most, ends.second) : std::max(least, ends.first);
    }
  }
  return {least, most};
}

/// The range of a sum or difference of which `known` is known. One that is an i64 for certain is what the machine
/// computes.
Range IndexRanges::computeSum(const ir::Value* v, Range known) {
  Sum whole;
  whole.add(v, 1);
  if (whole.terms.size() < 2 || !whole.fits) return known;
  const auto [least, most] = boundsOf(whole);
  if (least < kLeast || most > kMost || least > known.most || most < known.least) return known;
  return {std::max(known.least, static_cast<int64_t>(least)), std::min(known.most, static_cast<int64_t>(most))};
}

std::optional<Range> IndexRanges::difference(const ir::Value* a, const ir::Value* b) {
  Sum whole;
  whole.add(a, 1);
  whole.add(b, -1);
  if (!whole.fits || !isExact(a) || !isExact(b)) return std::nullopt;
  const auto [least, most] = boundsOf(whole);
  if (least < kLeast || most > kMost) return std::nullopt;
  return Range{static_cast<int64_t>(least), static_cast<int64_t>(most)};
}

}  // namespace tenc::codegen
