#include "codegen/cpu/LoopEmitter.h"

#include <algorithm>
#include <limits>

#include "codegen/cpu/LoopBody.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {
constexpr int64_t kCacheLine = 64;  // bytes
}  // namespace

llvm::Function* LoopEmitter::emit(const std::string& name) {
  function_ = createKernelFunction(module_, name);
  auto* entry = llvm::BasicBlock::Create(module_.getContext(), "entry", function_);
  b_.SetInsertPoint(entry);
  args_ = loadArguments(b_, function_, kernel_);
  args_.pastCaches = pastCaches(kernel_);
  outer_.resize(kernel_.outer.size());
  if (schedule_.tileVar != Schedule::kNone) allocateTiles();
  if (schedule_.rowVar != Schedule::kNone && tiles_.empty()) tiles_.assign(kernel_.stages[0].exprs.size(), nullptr);
  emitLoop(b_, function_->getArg(2), function_->getArg(3), 1, {}, [&](Value* item, const Values&) -> Values {
    decompose(item);
    if (schedule_.outerVector == Schedule::kNone) {
      emitPoint();
    } else if (schedule_.rowVar != Schedule::kNone) {
      emitProduct();
    } else if (schedule_.tileVar != Schedule::kNone) {
      emitTiles();
    } else if (schedule_.wideColumns) {
      emitWideColumns();
    } else {
      emitBlock();
    }
    return {};
  });
  finishPastCaches(b_, args_);
  b_.CreateRetVoid();
  return function_;
}

/// From an item's number to the outer variables and the block.
void LoopEmitter::decompose(Value* item) {
  std::vector<std::pair<size_t, int64_t>> digits;  // variable (or the block) and how many values it has
  constexpr size_t kBlock = ~size_t{0};
  for (size_t v = 0; v < kernel_.outer.size(); ++v) {
    if (v == schedule_.outerVector) continue;
    int64_t n = kernel_.outer[v];
    if (v == schedule_.tileVar) n = (n + schedule_.tile - 1) / schedule_.tile;
    if (v == schedule_.rowVar) n = (n + schedule_.rows - 1) / schedule_.rows;
    digits.push_back({v, n});
  }
  if (schedule_.outerVector != Schedule::kNone) digits.push_back({kBlock, schedule_.blocks});
  Value* rest = item;
  for (size_t i = digits.size(); i-- > 0;) {
    auto [var, n] = digits[i];
    Value* digit = i == 0 ? rest : n == 1 ? i64(0) : b_.CreateURem(rest, i64(n));
    if (i != 0 && n != 1) rest = b_.CreateUDiv(rest, i64(n));
    if (var == kBlock) {
      int64_t extent = kernel_.outer[schedule_.outerVector];
      if (schedule_.blocks == 1) {
        blockLo_ = i64(0);
        blockHi_ = i64(extent);
      } else {
        blockLo_ = b_.CreateMul(digit, i64(schedule_.block));
        Value* end = b_.CreateAdd(blockLo_, i64(schedule_.block));
        blockHi_ =
            extent % schedule_.block == 0 ? end : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, i64(extent));
      }
    } else {
      outer_[var] = var == schedule_.tileVar  ? b_.CreateMul(digit, i64(schedule_.tile))
                    : var == schedule_.rowVar ? b_.CreateMul(digit, i64(schedule_.rows))
                                              : digit;
    }
  }
}

Reducer LoopEmitter::reducer(ExprEmitter& em, const Stage& stage, uint32_t number) {
  const Reduction& r = kernel_.reductions[number];
  return {em.scalars(), r, stage.exprs[r.value].dtype, hasGrowingPosition(stage, r)};
}

/// Whether the position of an argmax or argmin is the only inner loop variable, of less than 2^31 - 1 values.
bool LoopEmitter::hasGrowingPosition(const Stage& stage, const Reduction& r) const {
  if (r.position == kNoExpr || stage.innerLo.size() != 1) return false;
  const Expr& e = stage.exprs[r.position];
  return e.kind == Expr::Kind::LoopVar && e.index == kernel_.outer.size() &&
         stage.innerHi[0] < std::numeric_limits<int32_t>::max() - 1024;
}

/// The first positions that copy `c` sees, when the inner variable is the vector or a scalar.
Value* LoopEmitter::firstPositions(ExprEmitter& em, const Stage& stage, int c, bool innerVector) {
  auto lo = static_cast<uint32_t>(stage.innerLo[0]);
  auto lanes = static_cast<unsigned>(em.lanes());
  if (lanes == 1 || !innerVector) return b_.getInt32(lo);
  std::vector<uint32_t> positions;
  for (unsigned i = 0; i < lanes; ++i) positions.push_back(lo + static_cast<unsigned>(c) * lanes + i);
  return llvm::ConstantDataVector::get(b_.getContext(), positions);
}

/// Whether the current outer point is in the stage's box, but for variable `except`.
Value* LoopEmitter::inBox(const Stage& stage, size_t except) {
  Value* inside = b_.getTrue();
  for (size_t v = 0; v < stage.outerLo.size(); ++v) {
    if (v == except) continue;
    if (stage.outerLo[v] > 0) inside = b_.CreateAnd(inside, b_.CreateICmpSGE(outer_[v], i64(stage.outerLo[v])));
    if (stage.outerHi[v] < kernel_.outer[v])
      inside = b_.CreateAnd(inside, b_.CreateICmpSLT(outer_[v], i64(stage.outerHi[v])));
  }
  return inside;
}

std::unique_ptr<ExprEmitter> LoopEmitter::emitter(const Stage& stage, size_t vectorVar, int lanes) {
  auto em = std::make_unique<ExprEmitter>(b_, args_, kernel_, stage, vectorVar, lanes);
  em->scalars().contract = contract_;
  em->scalars().shortCode = schedule_.rolled;
  for (size_t r = 0; r < results_.size(); ++r)
    if (!results_[r].empty()) em->setReduced(static_cast<uint32_t>(r), results_[r]);
  for (size_t v = 0; v < outer_.size(); ++v)
    if (v != schedule_.outerVector && v != schedule_.tileVar) em->setVar(v, outer_[v]);
  return em;
}

/// The loops over inner variables but `skip`, then `innermost`.
Values LoopEmitter::innerLoops(ExprEmitter& em, const Stage& stage, size_t skip, size_t i, const Values& carried,
                               const std::function<Values(const Values&)>& innermost) {
  if (i == stage.innerLo.size()) return innermost(carried);
  size_t var = kernel_.outer.size() + i;
  if (var == skip) return innerLoops(em, stage, skip, i + 1, carried, innermost);
  em.emitInvariant();
  Values out = emitLoop(b_, i64(stage.innerLo[i]), i64(stage.innerHi[i]), 1, carried, [&](Value* iv, const Values& c) {
    em.setVar(var, iv);
    return innerLoops(em, stage, skip, i + 1, c, innermost);
  });
  em.clearVar(var);
  return out;
}

bool LoopEmitter::isEmpty(const Stage& stage) {
  for (size_t i = 0; i < stage.innerLo.size(); ++i)
    if (stage.innerLo[i] >= stage.innerHi[i]) return true;
  for (size_t i = 0; i < stage.outerLo.size(); ++i)
    if (stage.outerLo[i] >= stage.outerHi[i]) return true;
  return false;
}

/// Start values of the stage's reductions for so many copies.
Values LoopEmitter::identities(ExprEmitter& em, const Stage& stage, int copies, bool vector, bool innerVector) {
  Values all;
  for (int c = 0; c < copies; ++c)
    for (uint32_t r : stage.reductions) {
      Value* first =
          hasGrowingPosition(stage, kernel_.reductions[r]) ? firstPositions(em, stage, c, innerVector) : nullptr;
      for (Value* v : reducer(em, stage, r).identity(vector, first)) all.push_back(v);
    }
  return all;
}

/// One step of the stage's scan, whose accumulator is the first of copy `c`, if it has one; what it has come to is
/// then known to the stage's expressions. Returns the place of the next accumulator.
size_t LoopEmitter::runningStep(ExprEmitter& em, const Stage& stage, int c, Values& accumulators, size_t at) {
  for (uint32_t number : stage.reductions) {
    const Reduction& what = kernel_.reductions[number];
    if (!what.running) continue;
    Values before = {accumulators[at]};
    Values after = reducer(em, stage, number).merge(before, {LlvmScalars::value(em.value(what.value, c))});
    em.setRunning(number, c, em.scalars().wrap(what.exclusive ? before[0] : after[0], reprOf(what.accumulator)));
    accumulators[at++] = after[0];
  }
  return at;
}

/// One evaluation of the stage's body for `copies` vectors.
Values LoopEmitter::body(ExprEmitter& em, const Stage& stage, int copies, const Values& carried) {
  Values next = carried;
  size_t at = 0;
  for (int c = 0; c < copies; ++c) {
    at = runningStep(em, stage, c, next, at);
    // All loads of a point come before its stores: an output may be in the memory of an input.
    for (const Store& s : stage.stores) em.value(s.value, c);
    for (uint32_t number : stage.reductions) em.value(kernel_.reductions[number].value, c);
    for (const Store& s : stage.stores) em.store(s, c);
    for (uint32_t number : stage.reductions) {
      Reducer r = reducer(em, stage, number);
      const Reduction& what = kernel_.reductions[number];
      if (what.running) continue;
      Values acc(next.begin() + static_cast<long>(at), next.begin() + static_cast<long>(at + r.parts()));
      Scalar v = em.value(what.value, c);
      Scalar position = what.position == kNoExpr          ? v
                        : hasGrowingPosition(stage, what) ? em.narrowVar(kernel_.outer.size(), c)
                                                          : em.value(what.position, c);
      acc = r.step(acc, v, position, em.mask());
      for (Value* x : acc) next[at++] = x;
    }
  }
  return next;
}

// ---- each stage with a vector of its own

void LoopEmitter::emitPoint() {
  results_.assign(kernel_.reductions.size(), {});
  for (size_t i = 0; i < kernel_.stages.size(); ++i) emitStage(kernel_.stages[i], i);
}

void LoopEmitter::emitStage(const Stage& stage, size_t number) {
  size_t vector = schedule_.stageVector[number];
  bool scalar = vector == Schedule::kNone;
  auto em = emitter(stage, vector, scalar ? 1 : schedule_.lanes);
  int copies = scalar ? 1 : schedule_.copies[number];
  Values start = identities(*em, stage, copies, !scalar, !scalar);
  auto finish = [&](const Values& sums) {  // to one element a reduction
    Values done;
    size_t width = sums.size() / static_cast<size_t>(copies), at = 0;
    for (uint32_t r : stage.reductions) {
      Reducer red = reducer(*em, stage, r);
      std::vector<Values> parts;
      for (int c = 0; c < copies; ++c) {
        auto from = sums.begin() + static_cast<long>(static_cast<size_t>(c) * width + at);
        parts.push_back(Values(from, from + static_cast<long>(red.parts())));
      }
      for (size_t n = parts.size(); n > 1; n /= 2)
        for (size_t k = 0; k < n / 2; ++k) parts[k] = red.merge(parts[2 * k], parts[2 * k + 1]);
      Values one = scalar ? parts[0] : red.acrossLanes(parts[0]);
      done.push_back(LlvmScalars::value(red.result(one)));
      at += red.parts();
    }
    return done;
  };
  auto run = [&]() -> Values {
    if (hasChunks(kernel_, stage)) return {emitChunks(*em, stage, number)};
    Values sums = innerLoops(*em, stage, vector, 0, start, [&](const Values& carried) {
      em->emitInvariant();
      if (scalar) {
        em->setVector(i64(0), 1, nullptr);
        return body(*em, stage, 1, carried);
      }
      size_t inner = vector - kernel_.outer.size();
      VectorWalk walk{schedule_.lanes, copies, bool(schedule_.heavy[number]), false, schedule_.together[number]};
      Values out = emitVectorLoop(b_, i64(stage.innerLo[inner]), i64(stage.innerHi[inner]), walk, carried,
                                  [&](Value* base, int n, Value* mask, const Values& c) {
                                    em->setVector(base, n, mask);
                                    return body(*em, stage, n, c);
                                  });
      em->clearVar(vector);
      return out;
    });
    return finish(sums);
  };
  Values none = isEmpty(stage) ? finish(start) : Values();
  Values done;
  if (isEmpty(stage)) {
    done = none;
  } else {
    Value* inside = inBox(stage, Schedule::kNone);
    if (!llvm::isa<llvm::Constant>(inside)) none = finish(start);
    done = emitIf(b_, inside, none, run);
  }
  for (size_t k = 0; k < stage.reductions.size(); ++k) {
    uint32_t r = stage.reductions[k];
    results_[r] = {em->scalars().wrap(done[k], reprOf(kernel_.reductions[r].result))};
  }
}

/// A scan along a row in vectors: tiles of kScanTile elements, whose values are kept on the stack. Returns what the
/// last element came to.
Value* LoopEmitter::emitChunks(ExprEmitter& em, const Stage& stage, size_t number) {
  const uint32_t r = stage.reductions[0];
  const size_t vector = schedule_.stageVector[number], inner = vector - kernel_.outer.size();
  const int64_t lo = stage.innerLo[inner], hi = stage.innerHi[inner];
  Reducer red = reducer(em, stage, r);
  if (!scanTile_) scanTile_.emplace(b_, kernel_.reductions[r]);
  ScanTile& tile = *scanTile_;
  VectorWalk walk{schedule_.lanes, schedule_.copies[number], bool(schedule_.heavy[number]),
                  (hi - lo) % schedule_.lanes == 0};
  em.emitInvariant();
  Value* first = red.identity(false)[0];
  Values end = emitLoop(b_, i64(lo), i64(hi), kScanTile, {first, first}, [&](Value* base, const Values& carried) {
    Value* last = endOf(base, kScanTile, i64(hi));
    auto each = [&](auto what) {
      emitVectorLoop(b_, base, last, walk, {}, [&](Value* at, int copies, Value* mask, const Values&) -> Values {
        em.setVector(at, copies, mask);
        for (int c = 0; c < copies; ++c) what(tile.place(b_.CreateSub(at, base), c), c);
        return {};
      });
      em.clearVar(vector);
    };
    each([&](Value* place, int c) {
      b_.CreateAlignedStore(em.scalars().splat(LlvmScalars::value(em.value(kernel_.reductions[r].value, c))), place,
                            tile.align());
    });
    Value* carry = tile.scan(carried[0], schedule_.rolled);
    if (stage.stores.empty()) return Values{carry, tile.element(b_.CreateSub(b_.CreateSub(last, base), i64(1)))};
    each([&](Value* place, int c) {
      Value* v = b_.CreateAlignedLoad(tile.vector(), place, tile.align());
      em.setRunning(r, c, em.scalars().wrap(v, reprOf(kernel_.reductions[r].accumulator)));
      for (const Store& s : stage.stores) em.value(s.value, c);
      for (const Store& s : stage.stores) em.store(s, c);
    });
    return Values{carry, carried[1]};
  });
  return end[1];
}

// ---- an outer variable as the vector

void LoopEmitter::emitBlock() {
  size_t v = schedule_.outerVector;
  bool reduces =
      std::any_of(kernel_.stages.begin(), kernel_.stages.end(), [](const Stage& s) { return !s.reductions.empty(); });
  bool fullLanes = kernel_.outer[v] % schedule_.lanes == 0;
  bool heavy = std::any_of(schedule_.heavy.begin(), schedule_.heavy.end(), [](bool h) { return h; });
  VectorWalk walk{schedule_.lanes, schedule_.copies.empty() ? 1 : schedule_.copies[0], heavy, fullLanes};
  if (reduces) {
    emitVectorLoop(b_, blockLo_, blockHi_, walk, {},
                   [&](Value* base, int copies, Value* mask, const Values&) -> Values {
                     results_.assign(kernel_.reductions.size(), {});
                     for (const Stage& s : kernel_.stages) emitColumns(s, base, copies, mask);
                     return {};
                   });
    return;
  }
  results_.assign(kernel_.reductions.size(), {});
  for (const Stage& stage : kernel_.stages) {
    if (isEmpty(stage)) continue;
    Value *lo = blockLo_, *hi = blockHi_;
    VectorWalk own = walk;
    if (!stage.outerLo.empty() && (stage.outerLo[v] > 0 || stage.outerHi[v] < kernel_.outer[v])) {
      lo = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lo, i64(stage.outerLo[v]));
      hi = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, i64(stage.outerHi[v]));
      own.fullLanes = false;
    }
    emitIf(b_, inBox(stage, v), {}, [&]() -> Values {
      auto em = emitter(stage, v, schedule_.lanes);
      em->emitInvariant();
      const std::vector<RowAhead> ahead = rowsAhead(*em, stage);
      emitVectorLoop(b_, lo, hi, own, {}, [&](Value* base, int copies, Value* mask, const Values&) -> Values {
        em->setVector(base, copies, mask);
        for (const RowAhead& row : ahead) prefetch(*em, row, base, copies);
        innerLoops(*em, stage, Schedule::kNone, 0, {}, [&](const Values&) { return body(*em, stage, copies, {}); });
        return {};
      });
      return {};
    });
  }
}

/// The rows (or planes) from which lanes pick elements in an order of their own. Where the points of one row pick about
/// as many elements as it has cache lines, the next row is asked for meanwhile, as no hardware would.
std::vector<LoopEmitter::RowAhead> LoopEmitter::rowsAhead(const ExprEmitter& em, const Stage& stage) const {
  constexpr int64_t kMostBytes = 256 << 10, kNearBytes = 8 << 10, kLeastLines = 16, kMostLinesAVector = 8;
  std::vector<RowAhead> rows;
  const size_t v = schedule_.outerVector;
  if (schedule_.rolled || v == 0 || v + 1 != kernel_.outer.size() || !stage.innerLo.empty()) return rows;
  const int64_t vectors = kernel_.outer[v] / schedule_.lanes;
  for (ExprId i = 0; i < stage.exprs.size(); ++i) {
    const Access& a = stage.exprs[i].access;
    if (stage.exprs[i].kind != Expr::Kind::Load || !em.isNeeded(i) || a.terms.empty() || a.strides[v] != 0) continue;
    int64_t elements = 1;
    bool picks = true;
    for (const Access::Term& t : a.terms) {
      picks = picks && t.extent > 0 && t.stride > 0 && em.isVector(t.index);
      elements += (t.extent - 1) * t.stride;
    }
    const int64_t bytes = ir::byteSize(kernel_.buffers[a.buffer].dtype), lines = elements * bytes / kCacheLine;
    if (!picks || a.strides[v - 1] < elements || elements > kMostBytes / bytes || lines < kLeastLines ||
        lines > kMostLinesAVector * vectors)
      continue;
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const RowAhead& r) {
      return r.access->buffer == a.buffer && r.access->offset == a.offset && r.access->strides == a.strides;
    });
    if (!known)
      rows.push_back({&a, a.strides[v - 1] * bytes, (lines + vectors - 1) / vectors, elements * bytes <= kNearBytes});
  }
  return rows;
}

void LoopEmitter::prefetch(ExprEmitter& em, const RowAhead& row, Value* base, int copies) {
  auto* byte = b_.getInt8Ty();
  Value* from = b_.CreateConstGEP1_64(byte, em.address(*row.access), static_cast<uint64_t>(row.distance));
  from = b_.CreateGEP(byte, from, b_.CreateMul(base, i64(row.lines * kCacheLine / schedule_.lanes)));
  for (int64_t i = 0; i < row.lines * copies; ++i) {
    Value* line = b_.CreateConstGEP1_64(byte, from, static_cast<uint64_t>(i * kCacheLine));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()},
                       {line, b_.getInt32(0), b_.getInt32(row.near ? 3 : 2), b_.getInt32(1)});
  }
}

/// One stage for `copies` vectors of columns: reductions stay in lanes.
void LoopEmitter::emitColumns(const Stage& stage, Value* base, int copies, Value* mask) {
  size_t v = schedule_.outerVector;
  auto em = emitter(stage, v, schedule_.lanes);
  em->setVector(base, copies, mask);
  Values start = identities(*em, stage, copies, true, false);
  auto run = [&]() -> Values {
    return innerLoops(*em, stage, Schedule::kNone, 0, start,
                      [&](const Values& carried) { return body(*em, stage, copies, carried); });
  };
  Values sums = isEmpty(stage) ? start : emitIf(b_, inBox(stage, v), start, run);
  size_t width = sums.size() / static_cast<size_t>(copies), at = 0;
  for (uint32_t r : stage.reductions) {
    Reducer red = reducer(*em, stage, r);
    results_[r].clear();
    for (int c = 0; c < copies; ++c) {
      auto from = sums.begin() + static_cast<long>(static_cast<size_t>(c) * width + at);
      results_[r].push_back(red.result(Values(from, from + static_cast<long>(red.parts()))));
    }
    at += red.parts();
  }
}

Value* LoopEmitter::endOf(Value* a, int64_t step, Value* most) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(a, i64(step)), most);
}

llvm::Function* emitLoopKernel(const Kernel& kernel, const Schedule& schedule, llvm::Module& module,
                               const std::string& name, bool contract) {
  return LoopEmitter(kernel, schedule, module, contract).emit(name);
}

}  // namespace tenc::codegen::cpu
