// Loop kernels that reduce long rows into wide rows of columns, stage after stage. Accumulators of a whole block of
// columns stand in memory, and so do the results that later stages use; each stage walks its rows in the order of
// memory, some at a time. A column's elements are combined one after the other, as elsewhere.
#include <algorithm>

#include "codegen/cpu/Cost.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/StageEmitter.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

/// How many rows a vector of columns takes at once: streams for the hardware to prefetch, and less traffic with the
/// accumulators; but long bodies are printed once.
int64_t rowsAtOnce(int cost) { return cost <= 8 ? 8 : cost <= 16 ? 4 : cost <= 40 ? 2 : 1; }

class WideColumnEmitter {
 public:
  WideColumnEmitter(LoopFunction& f, const LaneBlocks& blocks, LoopFunction::Range range)
      : f_(f),
        blocks_(blocks),
        range_(range),
        walk_{kLanes, 1, false, f.fullLanes(blocks)},
        columns_(f.kernel.reductions.size()),
        results_(f.kernel.reductions.size()) {}
  /// A stage with inner loops; `first`: no stage came before.
  void emitLoops(const Stage& stage, bool first);
  /// A stage that only uses results.
  void emitUse(const Stage& stage);

 private:
  /// A value that is kept for each column.
  struct ColumnValue {
    ExprId expr;
    Value* slot;
  };
  Value* slotFor(llvm::Type* element) { return f_.stackArray(element, blocks_.size); }
  Value* slotFor(Repr repr) { return slotFor(registerType(f_.b.getContext(), repr)); }
  Value* at(Value* slot, llvm::Type* vector, Value* base);
  Value* load(Value* slot, llvm::Type* vector, Value* base) { return f_.b.CreateLoad(vector, at(slot, vector, base)); }
  Scalar load(StageEmitter& em, Value* slot, Repr repr, Value* base);
  void store(Value* v, Value* slot, Value* base) { f_.b.CreateStore(v, at(slot, v->getType(), base)); }
  void bind(StageEmitter& em, Value* base, Value* mask);
  template <typename What>
  void eachVector(StageEmitter& em, What what);
  std::vector<ColumnValue> columnValues(StageEmitter& em);
  void addRows(StageEmitter& em, const std::vector<ColumnValue>& kept, Value* row, int64_t rows);
  void finish(StageEmitter& em, const Values& start);

  LoopFunction& f_;
  LaneBlocks blocks_;
  LoopFunction::Range range_;
  VectorWalk walk_;
  std::vector<Values> columns_;  ///< accumulators of the block, by reduction and part
  Values results_;               ///< by reduction; null before it is known
};

/// Where the vector at column `base` stands in `slot`.
Value* WideColumnEmitter::at(Value* slot, llvm::Type* vector, Value* base) {
  return f_.b.CreateGEP(vector->getScalarType(), slot, f_.b.CreateSub(base, range_.lo));
}

Scalar WideColumnEmitter::load(StageEmitter& em, Value* slot, Repr repr, Value* base) {
  auto* type = llvm::FixedVectorType::get(registerType(f_.b.getContext(), repr), kLanes);
  return em.exprs().scalars().wrap(load(slot, type, base), repr);
}

/// Moves to the vector at column `base`, with the results of earlier stages.
void WideColumnEmitter::bind(StageEmitter& em, Value* base, Value* mask) {
  em.exprs().setVector(base, 1, mask);
  for (uint32_t r = 0; r < results_.size(); ++r)
    if (results_[r] != nullptr && em.exprs().facts().readsReduced(r))
      em.exprs().setReduced(r, {load(em, results_[r], reprOf(f_.kernel.reductions[r].result), base)});
}

template <typename What>
void WideColumnEmitter::eachVector(StageEmitter& em, What what) {
  emitVectorLoop(f_.b, range_.lo, range_.hi, walk_, {}, [&](Value* base, int, Value* mask, const Values&) -> Values {
    bind(em, base, mask);
    what(base);
    return {};
  });
  em.exprs().clearVar(blocks_.var);
}

/// What the stage's rows have in common, column by column (a mean, from a sum), is computed and kept beforehand.
std::vector<WideColumnEmitter::ColumnValue> WideColumnEmitter::columnValues(StageEmitter& em) {
  const Stage& stage = em.stage();
  ExprEmitter& exprs = em.exprs();
  uint64_t inner = 0;
  for (size_t i = 0; i < stage.innerLo.size(); ++i) inner |= uint64_t{1} << (f_.kernel.outer.size() + i);
  std::vector<char> read(stage.exprs.size());
  for (ExprId i = 0; i < stage.exprs.size(); ++i)
    if (exprs.facts().isNeeded(i) && (exprs.facts().dependencies(i) & inner) != 0)
      for (ExprId a : stage.exprs[i].args) read[a] = 1;
  std::vector<ColumnValue> kept;
  for (ExprId i = 0; i < stage.exprs.size(); ++i) {
    const Expr& e = stage.exprs[i];
    if (read[i] == 0 || e.kind != Expr::Kind::Op || !exprs.facts().isVector(i) ||
        (exprs.facts().dependencies(i) & inner) != 0 || e.dtype == ir::DType::Bool)
      continue;
    kept.push_back({i, slotFor(reprOf(e.dtype))});
  }
  return kept;
}

/// Combines rows [row, row + rows) of the last inner variable with the block's accumulators, and stores what the stage
/// stores.
void WideColumnEmitter::addRows(StageEmitter& em, const std::vector<ColumnValue>& kept, Value* row, int64_t rows) {
  const Stage& stage = em.stage();
  const size_t last = f_.kernel.outer.size() + stage.innerLo.size() - 1;
  const Values types = em.identities(1);
  eachVector(em, [&](Value* base) {
    for (const ColumnValue& k : kept)
      em.exprs().setValue(k.expr, 0, load(em, k.slot, reprOf(stage.exprs[k.expr].dtype), base));
    Values places, sums;
    for (uint32_t r : stage.reductions)
      for (Value* slot : columns_[r]) {
        llvm::Type* type = types[sums.size()]->getType();
        places.push_back(at(slot, type, base));
        sums.push_back(f_.b.CreateLoad(type, places.back()));
      }
    for (int64_t k = 0; k < rows; ++k) {
      em.exprs().setVar(last, k == 0 ? row : f_.b.CreateAdd(row, f_.i64(k)));
      sums = em.body(1, sums);
    }
    for (size_t i = 0; i < sums.size(); ++i) f_.b.CreateStore(sums[i], places[i]);
  });
  em.exprs().clearVar(last);
}

/// Makes results of the accumulators, whose types are those of `start`.
void WideColumnEmitter::finish(StageEmitter& em, const Values& start) {
  size_t first = 0;
  for (uint32_t r : em.stage().reductions) {
    const Reduction& what = f_.kernel.reductions[r];
    const size_t parts = columns_[r].size();
    if (parts == 1 && what.accumulator == what.result) {
      results_[r] = columns_[r][0];
    } else {
      Value* slot = slotFor(reprOf(what.result));
      Reducer red = em.reducer(r);
      eachVector(em, [&](Value* base) {
        Values sums;
        for (size_t i = 0; i < parts; ++i) sums.push_back(load(columns_[r][i], start[first + i]->getType(), base));
        store(LlvmScalars::value(red.result(sums)), slot, base);
      });
      results_[r] = slot;
    }
    first += parts;
  }
}

void WideColumnEmitter::emitLoops(const Stage& stage, bool first) {
  StageEmitter em(f_, stage, blocks_.var);
  em.exprs().setReducedVaries();
  const std::vector<ColumnValue> kept = first ? std::vector<ColumnValue>() : columnValues(em);
  const Values start = em.identities(1);
  size_t part = 0;
  for (uint32_t r : stage.reductions)
    for (size_t i = 0; i < em.reducer(r).parts(); ++i)
      columns_[r].push_back(slotFor(start[part++]->getType()->getScalarType()));
  eachVector(em, [&](Value* base) {
    for (const ColumnValue& k : kept)
      store(em.exprs().scalars().splat(LlvmScalars::value(em.exprs().value(k.expr))), k.slot, base);
    size_t i = 0;
    for (uint32_t r : stage.reductions)
      for (Value* slot : columns_[r]) store(start[i++], slot, base);
  });
  const size_t last = stage.innerLo.size() - 1;
  const int64_t rows = rowsAtOnce(stageCost(f_.kernel, stage));
  const int64_t lo = stage.innerLo[last], hi = stage.innerHi[last], middle = lo + (hi - lo) / rows * rows;
  if (!isEmpty(stage)) {
    em.innerLoops(f_.kernel.outer.size() + last, {}, [&](const Values&) -> Values {
      em.exprs().emitInvariant();
      for (auto [from, to, step] : {std::tuple{lo, middle, rows}, std::tuple{middle, hi, int64_t{1}}})
        emitLoop(f_.b, f_.i64(from), f_.i64(to), step, {}, [&, step](Value* row, const Values&) -> Values {
          addRows(em, kept, row, step);
          return {};
        });
      return {};
    });
  }
  finish(em, start);
}

void WideColumnEmitter::emitUse(const Stage& stage) {
  StageEmitter em(f_, stage, blocks_.var);
  em.exprs().setReducedVaries();
  em.exprs().emitInvariant();
  eachVector(em, [&](Value*) { em.body(1, {}); });
}

}  // namespace

void emitItem(LoopFunction& f, const WideColumnSchedule& schedule, Value* item) {
  WideColumnEmitter columns(f, schedule.blocks, f.bindItem(item, schedule.blocks, std::nullopt));
  for (size_t i = 0; i < f.kernel.stages.size(); ++i) {
    const Stage& stage = f.kernel.stages[i];
    if (stage.innerLo.empty()) {
      columns.emitUse(stage);
    } else {
      columns.emitLoops(stage, i == 0);
    }
  }
}

}  // namespace tenc::codegen::cpu
