// Loop kernels in tiles: transposed loads, and generalised products.
#include <algorithm>

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LoopBody.h"

namespace tenc::codegen::cpu {
using llvm::Value;

// ---- transposed loads: a square tile is read by rows of the source and turned in a buffer on the stack

bool LoopEmitter::isTurned(const Expr& e) const {
  return e.kind == Expr::Kind::Load && e.access.terms.empty() && e.access.strides.size() > schedule_.tileVar &&
         e.access.strides[schedule_.tileVar] == 1 && std::abs(e.access.strides[schedule_.outerVector]) > 1;
}

void LoopEmitter::allocateTiles() {
  const Stage& stage = kernel_.stages[0];
  tiles_.assign(stage.exprs.size(), nullptr);
  // A generalised product turns all of k at once, in whole squares of lanes.
  int64_t height = schedule_.tile;
  if (schedule_.rowVar != Schedule::kNone)
    height = (stage.innerHi[0] - stage.innerLo[0] + schedule_.lanes - 1) / schedule_.lanes * schedule_.lanes;
  auto count = static_cast<uint64_t>(height * schedule_.tile);
  for (size_t i = 0; i < stage.exprs.size(); ++i) {
    if (!isTurned(stage.exprs[i])) continue;
    auto* slot = b_.CreateAlloca(
        llvm::ArrayType::get(memoryType(b_.getContext(), kernel_.buffers[stage.exprs[i].access.buffer].dtype), count));
    slot->setAlignment(llvm::Align(64));
    tiles_[i] = slot;
  }
}

/// to[row][lane] = source at (first + row, base + lane), for a square of lanes x lanes.
void LoopEmitter::turn(ExprEmitter& em, const Expr& e, Value* to, Value* first, Value* base, Value* rowsLeft,
                       Value* columnsLeft) {
  const int n = schedule_.lanes;
  llvm::Type* element = memoryType(b_.getContext(), kernel_.buffers[e.access.buffer].dtype);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(n));
  auto align = llvm::Align(static_cast<uint64_t>(element->getScalarSizeInBits() / 8));
  em.setVar(schedule_.tileVar, first);
  Value* corner = em.address(e.access);
  int64_t step = e.access.strides[schedule_.outerVector];
  std::vector<llvm::Constant*> lane;
  for (int i = 0; i < n; ++i) lane.push_back(b_.getInt32(static_cast<uint32_t>(i)));
  Value* mask = rowsLeft == nullptr ? nullptr
                                    : b_.CreateICmpSLT(llvm::ConstantVector::get(lane),
                                                       b_.CreateVectorSplat(static_cast<unsigned>(n), rowsLeft));
  std::vector<Value*> rows;
  for (int j = 0; j < n; ++j) {
    Value* column = b_.CreateAdd(base, i64(j));
    // Columns beyond the end read the last one again.
    if (columnsLeft != nullptr)
      column = b_.CreateAdd(base, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i64(j), columnsLeft));
    Value* at = b_.CreateGEP(element, corner, b_.CreateMul(column, i64(step)));
    rows.push_back(mask == nullptr
                       ? static_cast<Value*>(b_.CreateAlignedLoad(vector, at, align))
                       : b_.CreateMaskedLoad(vector, at, align, mask, llvm::Constant::getNullValue(vector)));
  }
  transposeSquare(b_, rows);
  for (int i = 0; i < n; ++i) {
    Value* at = b_.CreateConstGEP1_64(element, to, static_cast<uint64_t>(i * schedule_.tile));
    b_.CreateAlignedStore(rows[static_cast<size_t>(i)], at, align);
  }
  em.clearVar(schedule_.tileVar);
}

// ---- generalised products: tiles of rows x columns with their accumulators in registers

void LoopEmitter::emitProduct() {
  const Stage& stage = kernel_.stages[0];
  const size_t v = schedule_.outerVector;
  const int64_t n = schedule_.lanes;
  if (schedule_.tileVar != Schedule::kNone) {
    results_.clear();
    auto em = emitter(stage, v, schedule_.lanes);
    Value *lo = i64(stage.innerLo[0]), *hi = i64(stage.innerHi[0]);
    turnAll(*em, lo, hi, blockLo_, blockHi_, (stage.innerHi[0] - stage.innerLo[0]) % n == 0, kernel_.outer[v] % n == 0);
  }
  int64_t vectors = schedule_.block / n, bytes = 4;
  for (uint32_t r : stage.reductions) bytes = std::max<int64_t>(bytes, ir::byteSize(kernel_.reductions[r].accumulator));
  // Registers that the accumulators may take.
  const int64_t registers = (usesAvx512(module_) ? 24 * 64 : 8 * 32) / (n * bytes);
  const auto reductions = static_cast<int64_t>(stage.reductions.size());
  while (vectors > 1 && vectors * reductions * 2 > registers) vectors /= 2;
  // Much code stands there once or a few times.
  const int together = schedule_.together[0];
  if (together < 4) vectors = std::min<int64_t>(vectors, together);
  int64_t rows = std::clamp<int64_t>(registers / (vectors * reductions), 1, 6);
  if (together < 4) rows = std::min<int64_t>(rows, together);
  Value* first = outer_[schedule_.rowVar];
  Value* end = endOf(first, schedule_.rows, i64(kernel_.outer[schedule_.rowVar]));
  VectorWalk walk{schedule_.lanes, static_cast<int>(vectors), false, kernel_.outer[v] % n == 0};
  emitVectorLoop(b_, blockLo_, blockHi_, walk, {}, [&](Value* base, int copies, Value* mask, const Values&) -> Values {
    Value* whole = first;
    if (rows > 1) {
      Value* count = b_.CreateSub(end, first);
      whole = b_.CreateAdd(first, b_.CreateSub(count, b_.CreateURem(count, i64(rows))));
      emitLoop(b_, first, whole, rows, {}, [&](Value* row, const Values&) -> Values {
        emitProductTile(row, rows, base, copies, mask);
        return {};
      });
    }
    emitLoop(b_, whole, end, 1, {}, [&](Value* row, const Values&) -> Values {
      emitProductTile(row, 1, base, copies, mask);
      return {};
    });
    return {};
  });
  outer_[schedule_.rowVar] = first;
}

void LoopEmitter::emitProductTile(Value* row, int64_t rows, Value* base, int copies, Value* mask) {
  const Stage& stage = kernel_.stages[0];
  const size_t inner = kernel_.outer.size();
  results_.assign(kernel_.reductions.size(), {});
  std::vector<std::unique_ptr<ExprEmitter>> ems;
  Values start;
  for (int64_t r = 0; r < rows; ++r) {
    outer_[schedule_.rowVar] = b_.CreateAdd(row, i64(r));
    ems.push_back(emitter(stage, schedule_.outerVector, schedule_.lanes));
    ems.back()->emitInvariant();
    for (Value* x : identities(*ems.back(), stage, copies, true, false)) start.push_back(x);
  }
  const size_t width = start.size() / static_cast<size_t>(rows);
  auto step = [&](Value* k, const Values& carried) -> Values {
    Values next;
    for (size_t r = 0; r < ems.size(); ++r) {
      ExprEmitter& em = *ems[r];
      em.setVar(inner, k);
      em.setVector(base, copies, mask);
      for (size_t i = 0; i < stage.exprs.size(); ++i) shareWithRows(ems, r, i, base, k, copies);
      Values own(carried.begin() + static_cast<long>(r * width), carried.begin() + static_cast<long>((r + 1) * width));
      for (Value* x : body(em, stage, copies, own)) next.push_back(x);
    }
    return next;
  };
  Values sums = emitLoop(b_, i64(stage.innerLo[0]), i64(stage.innerHi[0]), 1, start, step);
  for (int64_t r = 0; r < rows; ++r) {
    outer_[schedule_.rowVar] = b_.CreateAdd(row, i64(r));
    ExprEmitter& em = *ems[static_cast<size_t>(r)];
    for (size_t i = 0; i < stage.reductions.size(); ++i) {
      Reducer red = reducer(em, stage, stage.reductions[i]);
      auto& results = results_[stage.reductions[i]];
      results.clear();
      for (int c = 0; c < copies; ++c)
        results.push_back(
            red.result({sums[static_cast<size_t>(r) * width + static_cast<size_t>(c) * stage.reductions.size() + i]}));
    }
    for (size_t i = 1; i < kernel_.stages.size(); ++i) emitColumns(kernel_.stages[i], base, copies, mask);
  }
}

/// Gives row `r` of a tile the vectors that do not depend on the row, and those that have been turned.
void LoopEmitter::shareWithRows(const std::vector<std::unique_ptr<ExprEmitter>>& ems, size_t r, size_t expr,
                                Value* base, Value* k, int copies) {
  const Stage& stage = kernel_.stages[0];
  auto id = static_cast<ExprId>(expr);
  if (!ems[r]->isNeeded(id) || !ems[r]->isVector(id)) return;
  if (r > 0) {
    if ((ems[r]->dependencies(id) >> schedule_.rowVar & 1) != 0) return;
    for (int c = 0; c < copies; ++c) ems[r]->setValue(id, c, ems[0]->value(id, c));
    return;
  }
  if (tiles_[expr] == nullptr) return;
  Value* line = b_.CreateMul(b_.CreateSub(k, i64(stage.innerLo[0])), i64(schedule_.tile));
  Value* at = b_.CreateAdd(line, b_.CreateSub(base, blockLo_));
  for (int c = 0; c < copies; ++c) ems[r]->setValue(id, c, turned(*ems[r], expr, at, c));
}

/// `wholeRows`, `wholeColumns`: both ranges are multiples of the lanes.
void LoopEmitter::turnAll(ExprEmitter& em, Value* first, Value* end, Value* base, Value* columnsEnd, bool wholeRows,
                          bool wholeColumns) {
  const Stage& stage = kernel_.stages[0];
  const int64_t n = schedule_.lanes;
  for (size_t i = 0; i < stage.exprs.size(); ++i) {
    if (tiles_[i] == nullptr) continue;
    const Expr& e = stage.exprs[i];
    llvm::Type* element = memoryType(b_.getContext(), kernel_.buffers[e.access.buffer].dtype);
    // Along the source's rows first: they are read in runs.
    emitLoop(b_, base, columnsEnd, n, {}, [&](Value* column, const Values&) -> Values {
      Value* place = b_.CreateGEP(element, tiles_[i], b_.CreateSub(column, base));
      emitLoop(b_, first, end, n, {}, [&](Value* row, const Values&) -> Values {
        Value* rowsLeft = wholeRows ? nullptr : b_.CreateTrunc(b_.CreateSub(end, row), b_.getInt32Ty());
        Value* columnsLeft = wholeColumns ? nullptr : b_.CreateSub(b_.CreateSub(columnsEnd, column), i64(1));
        Value* to = b_.CreateGEP(element, place, b_.CreateMul(b_.CreateSub(row, first), i64(schedule_.tile)));
        turn(em, e, to, row, column, rowsLeft, columnsLeft);
        return {};
      });
      return {};
    });
  }
}

void LoopEmitter::emitTiles() {
  const Stage& stage = kernel_.stages[0];
  const int n = schedule_.lanes;
  size_t v = schedule_.outerVector, d = schedule_.tileVar;
  results_.clear();
  auto em = emitter(stage, v, n);
  em->emitInvariant();
  Value* first = outer_[d];
  Value* end = endOf(first, schedule_.tile, i64(kernel_.outer[d]));
  VectorWalk walk{n, schedule_.copies[0], bool(schedule_.heavy[0]), kernel_.outer[v] % n == 0};
  emitLoop(b_, blockLo_, blockHi_, schedule_.tile, {}, [&](Value* base, const Values&) -> Values {
    Value* columnsEnd = endOf(base, schedule_.tile, blockHi_);
    turnAll(*em, first, end, base, columnsEnd, kernel_.outer[d] % n == 0, kernel_.outer[v] % n == 0);
    emitLoop(b_, first, end, 1, {}, [&](Value* row, const Values&) -> Values {
      em->setVar(d, row);
      em->emitInvariant();
      Value* line = b_.CreateMul(b_.CreateSub(row, first), i64(schedule_.tile));
      emitVectorLoop(b_, base, columnsEnd, walk, {},
                     [&](Value* column, int copies, Value* mask, const Values&) -> Values {
                       em->setVector(column, copies, mask);
                       Value* at = b_.CreateAdd(line, b_.CreateSub(column, base));
                       for (size_t i = 0; i < stage.exprs.size(); ++i)
                         for (int c = 0; tiles_[i] != nullptr && c < copies; ++c)
                           em->setValue(static_cast<ExprId>(i), c, turned(*em, i, at, c));
                       return body(*em, stage, copies, {});
                     });
      em->clearVar(v);
      return {};
    });
    em->clearVar(d);
    return {};
  });
}

/// Copy `c` of a load that has been turned; `at` is the first copy's place in the square.
Scalar LoopEmitter::turned(ExprEmitter& em, size_t expr, Value* at, int c) {
  ir::DType t = kernel_.buffers[kernel_.stages[0].exprs[expr].access.buffer].dtype;
  llvm::Type* element = memoryType(b_.getContext(), t);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(schedule_.lanes));
  Value* from = b_.CreateConstGEP1_64(element, b_.CreateGEP(element, tiles_[expr], at),
                                      static_cast<uint64_t>(c * schedule_.lanes));
  return em.scalars().fromMemory(
      b_.CreateAlignedLoad(vector, from, llvm::Align(static_cast<uint64_t>(ir::byteSize(t)))), t);
}

}  // namespace tenc::codegen::cpu
