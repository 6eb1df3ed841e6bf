// Loop kernels that reduce long rows into wide rows of columns, stage after stage. Accumulators of a whole block of
// columns stand in memory, and so do the results that later stages use; each stage walks its rows in the order of
// memory, some at a time. A column's elements are combined one after the other, as elsewhere.
#include <algorithm>

#include "codegen/cpu/LoopBody.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {
/// How many rows a vector of columns takes at once: streams for the hardware to prefetch, and less traffic with the
/// accumulators; but long bodies are printed once.
int64_t rowsAtOnce(int cost) { return cost <= 8 ? 8 : cost <= 16 ? 4 : cost <= 40 ? 2 : 1; }
}  // namespace

/// Memory for one element of each column of the block.
Value* LoopEmitter::allocateRow(llvm::Type* element) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  auto* slot = at.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(schedule_.block)));
  slot->setAlignment(llvm::Align(64));
  return slot;
}

/// Where the vector at column `base` stands in `slot`.
Value* LoopEmitter::atColumn(Value* slot, llvm::Type* vector, Value* base) {
  return b_.CreateGEP(vector->getScalarType(), slot, b_.CreateSub(base, blockLo_));
}

/// Moves to the vector at column `base`, with the results of earlier stages.
void LoopEmitter::bindColumns(ExprEmitter& em, Value* base, Value* mask) {
  em.setVector(base, 1, mask);
  for (uint32_t r = 0; r < columnResults_.size(); ++r) {
    if (columnResults_[r] == nullptr || !em.readsReduced(r)) continue;
    const Repr repr = reprOf(kernel_.reductions[r].result);
    auto* type =
        llvm::FixedVectorType::get(registerType(b_.getContext(), repr), static_cast<unsigned>(schedule_.lanes));
    em.setReduced(r, {em.scalars().wrap(b_.CreateLoad(type, atColumn(columnResults_[r], type, base)), repr)});
  }
}

/// What the stage's rows have in common, column by column (a mean, from a sum), is computed and kept beforehand.
std::vector<LoopEmitter::ColumnValue> LoopEmitter::columnValues(ExprEmitter& em, const Stage& stage, size_t number) {
  uint64_t inner = 0;
  for (size_t i = 0; i < stage.innerLo.size(); ++i) inner |= uint64_t{1} << (kernel_.outer.size() + i);
  std::vector<ColumnValue> kept;
  std::vector<char> read(stage.exprs.size());
  for (size_t i = 0; i < stage.exprs.size(); ++i)
    if (em.isNeeded(static_cast<ExprId>(i)) && (em.dependencies(static_cast<ExprId>(i)) & inner) != 0)
      for (ExprId a : stage.exprs[i].args) read[a] = 1;
  for (ExprId i = 0; number > 0 && i < stage.exprs.size(); ++i) {
    const Expr& e = stage.exprs[i];
    if (read[i] == 0 || e.kind != Expr::Kind::Op || !em.isVector(i) || (em.dependencies(i) & inner) != 0 ||
        e.dtype == ir::DType::Bool)
      continue;
    kept.push_back({i, allocateRow(registerType(b_.getContext(), reprOf(e.dtype)))});
  }
  return kept;
}

/// Combines rows [row, row + rows) of the last inner variable with the block's accumulators, and stores what the stage
/// stores.
void LoopEmitter::addRows(ExprEmitter& em, const Stage& stage, const std::vector<ColumnValue>& kept, Value* row,
                          int64_t rows) {
  const size_t v = schedule_.outerVector, last = kernel_.outer.size() + stage.innerLo.size() - 1;
  const Values types = identities(em, stage, 1, true, false);
  VectorWalk walk{schedule_.lanes, 1, false, kernel_.outer[v] % schedule_.lanes == 0};
  emitVectorLoop(b_, blockLo_, blockHi_, walk, {}, [&](Value* base, int, Value* mask, const Values&) -> Values {
    bindColumns(em, base, mask);
    for (const ColumnValue& k : kept) {
      const Repr repr = reprOf(stage.exprs[k.expr].dtype);
      auto* type =
          llvm::FixedVectorType::get(registerType(b_.getContext(), repr), static_cast<unsigned>(schedule_.lanes));
      em.setValue(k.expr, 0, em.scalars().wrap(b_.CreateLoad(type, atColumn(k.slot, type, base)), repr));
    }
    Values places, sums;
    for (uint32_t r : stage.reductions)
      for (Value* slot : columns_[r]) {
        llvm::Type* type = types[sums.size()]->getType();
        places.push_back(atColumn(slot, type, base));
        sums.push_back(b_.CreateLoad(type, places.back()));
      }
    for (int64_t k = 0; k < rows; ++k) {
      em.setVar(last, k == 0 ? row : b_.CreateAdd(row, i64(k)));
      sums = body(em, stage, 1, sums);
    }
    for (size_t i = 0; i < sums.size(); ++i) b_.CreateStore(sums[i], places[i]);
    return {};
  });
  em.clearVar(last);
  em.clearVar(v);
}

/// A stage with inner loops.
void LoopEmitter::emitWideStage(const Stage& stage, size_t number) {
  const size_t v = schedule_.outerVector, lastInner = stage.innerLo.size() - 1;
  VectorWalk walk{schedule_.lanes, 1, false, kernel_.outer[v] % schedule_.lanes == 0};
  auto em = emitter(stage, v, schedule_.lanes);
  em->setReducedVaries();
  auto eachVector = [&](auto&& what) {
    emitVectorLoop(b_, blockLo_, blockHi_, walk, {}, [&](Value* base, int, Value* mask, const Values&) -> Values {
      bindColumns(*em, base, mask);
      what(base);
      return {};
    });
    em->clearVar(v);
  };
  const std::vector<ColumnValue> kept = columnValues(*em, stage, number);
  const Values start = identities(*em, stage, 1, true, false);
  size_t at = 0;
  for (uint32_t r : stage.reductions)
    for (size_t i = 0; i < reducer(*em, stage, r).parts(); ++i)
      columns_[r].push_back(allocateRow(start[at++]->getType()->getScalarType()));
  eachVector([&](Value* base) {
    for (const ColumnValue& k : kept) {
      Value* x = em->scalars().splat(LlvmScalars::value(em->value(k.expr)));
      b_.CreateStore(x, atColumn(k.slot, x->getType(), base));
    }
    size_t i = 0;
    for (uint32_t r : stage.reductions)
      for (Value* slot : columns_[r]) {
        b_.CreateStore(start[i], atColumn(slot, start[i]->getType(), base));
        ++i;
      }
  });
  const int64_t rows = rowsAtOnce(stageCost(kernel_, stage));
  const int64_t lo = stage.innerLo[lastInner], hi = stage.innerHi[lastInner], middle = lo + (hi - lo) / rows * rows;
  if (!isEmpty(stage)) {
    innerLoops(*em, stage, kernel_.outer.size() + lastInner, 0, {}, [&](const Values&) -> Values {
      em->emitInvariant();
      for (auto [from, to, step] : {std::tuple{lo, middle, rows}, std::tuple{middle, hi, int64_t{1}}})
        emitLoop(b_, i64(from), i64(to), step, {}, [&, step](Value* row, const Values&) -> Values {
          addRows(*em, stage, kept, row, step);
          return {};
        });
      return {};
    });
  }
  for (uint32_t r : stage.reductions) {
    const Reduction& what = kernel_.reductions[r];
    if (columns_[r].size() == 1 && what.accumulator == what.result) {
      columnResults_[r] = columns_[r][0];
      continue;
    }
    Value* slot = allocateRow(registerType(b_.getContext(), reprOf(what.result)));
    Reducer red = reducer(*em, stage, r);
    eachVector([&](Value* base) {
      Values sums;
      size_t first = 0;
      for (uint32_t before : stage.reductions) {
        if (before == r) break;
        first += columns_[before].size();
      }
      for (size_t i = 0; i < columns_[r].size(); ++i)
        sums.push_back(
            b_.CreateLoad(start[first + i]->getType(), atColumn(columns_[r][i], start[first + i]->getType(), base)));
      Value* x = LlvmScalars::value(red.result(sums));
      b_.CreateStore(x, atColumn(slot, x->getType(), base));
    });
    columnResults_[r] = slot;
  }
}

void LoopEmitter::emitWideColumns() {
  const size_t v = schedule_.outerVector;
  results_.assign(kernel_.reductions.size(), {});
  columns_.assign(kernel_.reductions.size(), {});
  columnResults_.assign(kernel_.reductions.size(), nullptr);
  for (size_t i = 0; i < kernel_.stages.size(); ++i) {
    const Stage& stage = kernel_.stages[i];
    if (!stage.innerLo.empty()) {
      emitWideStage(stage, i);
      continue;
    }
    auto em = emitter(stage, v, schedule_.lanes);
    em->setReducedVaries();
    em->emitInvariant();
    VectorWalk walk{schedule_.lanes, 1, false, kernel_.outer[v] % schedule_.lanes == 0};
    emitVectorLoop(b_, blockLo_, blockHi_, walk, {}, [&](Value* base, int, Value* mask, const Values&) -> Values {
      bindColumns(*em, base, mask);
      return body(*em, stage, 1, {});
    });
  }
}

}  // namespace tenc::codegen::cpu
