#include "codegen/cpu/StageEmitter.h"

#include <algorithm>
#include <limits>

#include "codegen/cpu/ShortRows.h"

namespace tenc::codegen::cpu {
using llvm::Value;

StageEmitter::StageEmitter(LoopFunction& f, const Stage& stage, std::optional<size_t> vectorVar, int lanes)
    : f_(f),
      stage_(stage),
      vectorVar_(vectorVar),
      exprs_(f.b, f.args, f.kernel, stage, vectorVar.value_or(StageFacts::kNoVar), vectorVar ? lanes : 1) {
  exprs_.scalars().contract = f.contract;
  exprs_.scalars().shortCode = f.shortCode;
  for (size_t r = 0; r < f.results.size(); ++r)
    if (!f.results[r].empty()) exprs_.setReduced(static_cast<uint32_t>(r), f.results[r]);
  for (size_t v = 0; v < f.outer.size(); ++v)
    if (f.outer[v] != nullptr) exprs_.setVar(v, f.outer[v]);
}

Reducer StageEmitter::reducer(uint32_t reduction) {
  const Reduction& r = f_.kernel.reductions[reduction];
  return {exprs_.scalars(), r, stage_.exprs[r.value].dtype, hasGrowingPosition(r)};
}

/// Whether the position of an argmax or argmin is the only inner loop variable, of less than 2^31 - 1 values.
bool StageEmitter::hasGrowingPosition(const Reduction& r) const {
  if (r.position == kNoExpr || stage_.innerLo.size() != 1) return false;
  const Expr& e = stage_.exprs[r.position];
  return e.kind == Expr::Kind::LoopVar && e.index == f_.kernel.outer.size() &&
         stage_.innerHi[0] < std::numeric_limits<int32_t>::max() - 1024;
}

/// The first positions that copy `copy` sees.
Value* StageEmitter::firstPositions(int copy) {
  auto lo = static_cast<uint32_t>(stage_.innerLo[0]);
  if (!isVector() || *vectorVar_ < f_.kernel.outer.size()) return f_.b.getInt32(lo);
  std::vector<uint32_t> positions;
  for (int i = 0; i < kLanes; ++i) positions.push_back(lo + static_cast<uint32_t>(copy * kLanes + i));
  return llvm::ConstantDataVector::get(f_.b.getContext(), positions);
}

Value* StageEmitter::inBox(std::optional<size_t> except) {
  Value* inside = f_.b.getTrue();
  for (size_t v = 0; v < stage_.outerLo.size(); ++v) {
    if (v == except) continue;
    if (stage_.outerLo[v] > 0)
      inside = f_.b.CreateAnd(inside, f_.b.CreateICmpSGE(f_.outer[v], f_.i64(stage_.outerLo[v])));
    if (stage_.outerHi[v] < f_.kernel.outer[v])
      inside = f_.b.CreateAnd(inside, f_.b.CreateICmpSLT(f_.outer[v], f_.i64(stage_.outerHi[v])));
  }
  return inside;
}

Values StageEmitter::innerLoops(std::optional<size_t> skip, const Values& carried,
                                const std::function<Values(const Values&)>& innermost) {
  return innerLoops(0, skip, carried, innermost);
}

Values StageEmitter::innerLoops(size_t i, std::optional<size_t> skip, const Values& carried,
                                const std::function<Values(const Values&)>& innermost) {
  if (i == stage_.innerLo.size()) return innermost(carried);
  size_t var = f_.kernel.outer.size() + i;
  if (var == skip) return innerLoops(i + 1, skip, carried, innermost);
  exprs_.emitInvariant();
  Values out =
      emitLoop(f_.b, f_.i64(stage_.innerLo[i]), f_.i64(stage_.innerHi[i]), 1, carried, [&](Value* iv, const Values& c) {
        exprs_.setVar(var, iv);
        return innerLoops(i + 1, skip, c, innermost);
      });
  exprs_.clearVar(var);
  return out;
}

Values StageEmitter::identities(int copies) {
  Values all;
  for (int c = 0; c < copies; ++c)
    for (uint32_t r : stage_.reductions) {
      Value* first = hasGrowingPosition(f_.kernel.reductions[r]) ? firstPositions(c) : nullptr;
      for (Value* v : reducer(r).identity(isVector(), first)) all.push_back(v);
    }
  return all;
}

Values StageEmitter::accumulator(const Values& all, int copies, int copy, size_t index) {
  size_t at = all.size() / static_cast<size_t>(copies) * static_cast<size_t>(copy);
  for (size_t i = 0; i < index; ++i) at += reducer(stage_.reductions[i]).parts();
  const auto from = all.begin() + static_cast<long>(at);
  return {from, from + static_cast<long>(reducer(stage_.reductions[index]).parts())};
}

/// One step of the stage's scan, whose accumulator is the first of copy `copy`, if it has one; what it has come to is
/// then known to the stage's expressions. Returns the place of the next accumulator.
size_t StageEmitter::runningStep(int copy, Values& accumulators, size_t at) {
  for (uint32_t number : stage_.reductions) {
    const Reduction& what = f_.kernel.reductions[number];
    if (!what.running) continue;
    Values before = {accumulators[at]};
    Values after = reducer(number).merge(before, {LlvmScalars::value(exprs_.value(what.value, copy))});
    exprs_.setRunning(number, copy,
                      exprs_.scalars().wrap(what.exclusive ? before[0] : after[0], reprOf(what.accumulator)));
    accumulators[at++] = after[0];
  }
  return at;
}

Values StageEmitter::body(int copies, const Values& accumulators) {
  // What a lane that is off comes to is not wanted, but where lanes are joined.
  const size_t lanesVar = exprs_.facts().vectorVar();
  const bool joinsLanes = lanesVar >= f_.kernel.outer.size();
  Values next = accumulators;
  size_t at = 0;
  for (int c = 0; c < copies; ++c) {
    at = runningStep(c, next, at);
    // All loads of a point come before its stores: an output may be in the memory of an input.
    for (const Store& s : stage_.stores) exprs_.value(s.value, c);
    for (uint32_t number : stage_.reductions) exprs_.value(f_.kernel.reductions[number].value, c);
    for (const Store& s : stage_.stores) exprs_.store(s, c);
    for (uint32_t number : stage_.reductions) {
      Reducer r = reducer(number);
      const Reduction& what = f_.kernel.reductions[number];
      if (what.running) continue;
      Values acc(next.begin() + static_cast<long>(at), next.begin() + static_cast<long>(at + r.parts()));
      Scalar v = exprs_.value(what.value, c);
      Scalar position = what.position == kNoExpr   ? v
                        : hasGrowingPosition(what) ? exprs_.narrowVar(f_.kernel.outer.size(), c)
                                                   : exprs_.value(what.position, c);
      acc = r.step(acc, v, position, joinsLanes ? exprs_.mask() : nullptr);
      for (Value* x : acc) next[at++] = x;
    }
  }
  return next;
}

bool isEmpty(const Stage& stage) {
  for (size_t i = 0; i < stage.innerLo.size(); ++i)
    if (stage.innerLo[i] >= stage.innerHi[i]) return true;
  for (size_t i = 0; i < stage.outerLo.size(); ++i)
    if (stage.outerLo[i] >= stage.outerHi[i]) return true;
  return false;
}

void emitColumnStage(LoopFunction& f, const Stage& stage, size_t var, Value* base, int copies, Value* mask,
                     ShortRows* rows) {
  StageEmitter em(f, stage, var);
  const bool whole = mask == nullptr;
  if (rows != nullptr)
    em.exprs().setElsewhere([&](const Access& a, int copy) { return rows->place(em, a, copy, whole); });
  em.exprs().setVector(base, copies, mask);
  Values start = em.identities(copies);
  auto run = [&]() -> Values {
    if (rows != nullptr && whole) rows->readColumns(em, base, copies);
    Values done = em.innerLoops(std::nullopt, start, [&](const Values& carried) { return em.body(copies, carried); });
    if (rows != nullptr && whole) rows->write(em, base, copies);
    return done;
  };
  Values sums = isEmpty(stage) ? start : emitIf(f.b, em.inBox(var), start, run);
  for (size_t i = 0; i < stage.reductions.size(); ++i) {
    const uint32_t r = stage.reductions[i];
    f.results[r].clear();
    for (int c = 0; c < copies; ++c) f.results[r].push_back(em.reducer(r).result(em.accumulator(sums, copies, c, i)));
  }
}

}  // namespace tenc::codegen::cpu
