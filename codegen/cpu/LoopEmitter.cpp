#include "codegen/cpu/LoopEmitter.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/Reduce.h"
#include "codegen/cpu/Scan.h"

namespace tenc::codegen::cpu {
namespace {
using llvm::Value;

class LoopEmitter {
 public:
  LoopEmitter(const Kernel& kernel, const Schedule& schedule, llvm::Module& module, bool contract)
      : kernel_(kernel), schedule_(schedule), module_(module), b_(module.getContext()), contract_(contract) {}

  llvm::Function* emit(const std::string& name) {
    function_ = createKernelFunction(module_, name);
    auto* entry = llvm::BasicBlock::Create(module_.getContext(), "entry", function_);
    b_.SetInsertPoint(entry);
    args_ = loadArguments(b_, function_, kernel_);
    outer_.resize(kernel_.outer.size());
    if (schedule_.tileVar != Schedule::kNone) allocateTiles();
    if (schedule_.rowVar != Schedule::kNone && tiles_.empty()) tiles_.assign(kernel_.stages[0].exprs.size(), nullptr);
    if (schedule_.wideColumns) allocateColumns();
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
    b_.CreateRetVoid();
    return function_;
  }

 private:
  const Kernel& kernel_;
  const Schedule& schedule_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  bool contract_;
  llvm::Function* function_ = nullptr;
  KernelArgs args_;
  Values outer_;  ///< outer variables of the current point
  Value *blockLo_ = nullptr, *blockHi_ = nullptr;
  std::vector<std::vector<Scalar>> results_;  ///< of reductions, by number and copy
  std::vector<Value*> columns_;               ///< wide columns: accumulators of the block, by reduction of stage 0
  std::vector<Value*> tiles_;                 ///< by expression
  std::optional<ScanTile> scanTile_;

  Value* i64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }

  /// From an item's number to the outer variables and the block.
  void decompose(Value* item) {
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

  Reducer reducer(ExprEmitter& em, const Stage& stage, uint32_t number) {
    const Reduction& r = kernel_.reductions[number];
    return {em.scalars(), r, stage.exprs[r.value].dtype, hasGrowingPosition(stage, r)};
  }

  /// Whether the position of an argmax or argmin is the only inner loop variable, of less than 2^31 - 1 values.
  bool hasGrowingPosition(const Stage& stage, const Reduction& r) const {
    if (r.position == kNoExpr || stage.innerLo.size() != 1) return false;
    const Expr& e = stage.exprs[r.position];
    return e.kind == Expr::Kind::LoopVar && e.index == kernel_.outer.size() &&
           stage.innerHi[0] < std::numeric_limits<int32_t>::max() - 1024;
  }

  /// The first positions that copy `c` sees, when the inner variable is the vector or a scalar.
  Value* firstPositions(ExprEmitter& em, const Stage& stage, int c, bool innerVector) {
    auto lo = static_cast<uint32_t>(stage.innerLo[0]);
    auto lanes = static_cast<unsigned>(em.lanes());
    if (lanes == 1 || !innerVector) return b_.getInt32(lo);
    std::vector<uint32_t> positions;
    for (unsigned i = 0; i < lanes; ++i) positions.push_back(lo + static_cast<unsigned>(c) * lanes + i);
    return llvm::ConstantDataVector::get(b_.getContext(), positions);
  }

  /// Whether the current outer point is in the stage's box, but for variable `except`.
  Value* inBox(const Stage& stage, size_t except) {
    Value* inside = b_.getTrue();
    for (size_t v = 0; v < stage.outerLo.size(); ++v) {
      if (v == except) continue;
      if (stage.outerLo[v] > 0) inside = b_.CreateAnd(inside, b_.CreateICmpSGE(outer_[v], i64(stage.outerLo[v])));
      if (stage.outerHi[v] < kernel_.outer[v])
        inside = b_.CreateAnd(inside, b_.CreateICmpSLT(outer_[v], i64(stage.outerHi[v])));
    }
    return inside;
  }

  std::unique_ptr<ExprEmitter> emitter(const Stage& stage, size_t vectorVar, int lanes) {
    auto em = std::make_unique<ExprEmitter>(b_, args_, kernel_, stage, vectorVar, lanes);
    em->scalars().contract = contract_;
    for (size_t r = 0; r < results_.size(); ++r)
      if (!results_[r].empty()) em->setReduced(static_cast<uint32_t>(r), results_[r]);
    for (size_t v = 0; v < outer_.size(); ++v)
      if (v != schedule_.outerVector && v != schedule_.tileVar) em->setVar(v, outer_[v]);
    return em;
  }

  /// The loops over inner variables but `skip`, then `innermost`.
  Values innerLoops(ExprEmitter& em, const Stage& stage, size_t skip, size_t i, const Values& carried,
                    const std::function<Values(const Values&)>& innermost) {
    if (i == stage.innerLo.size()) return innermost(carried);
    size_t var = kernel_.outer.size() + i;
    if (var == skip) return innerLoops(em, stage, skip, i + 1, carried, innermost);
    em.emitInvariant();
    Values out =
        emitLoop(b_, i64(stage.innerLo[i]), i64(stage.innerHi[i]), 1, carried, [&](Value* iv, const Values& c) {
          em.setVar(var, iv);
          return innerLoops(em, stage, skip, i + 1, c, innermost);
        });
    em.clearVar(var);
    return out;
  }

  static bool isEmpty(const Stage& stage) {
    for (size_t i = 0; i < stage.innerLo.size(); ++i)
      if (stage.innerLo[i] >= stage.innerHi[i]) return true;
    for (size_t i = 0; i < stage.outerLo.size(); ++i)
      if (stage.outerLo[i] >= stage.outerHi[i]) return true;
    return false;
  }

  /// Start values of the stage's reductions for so many copies.
  Values identities(ExprEmitter& em, const Stage& stage, int copies, bool vector, bool innerVector) {
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
  size_t runningStep(ExprEmitter& em, const Stage& stage, int c, Values& accumulators, size_t at) {
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
  Values body(ExprEmitter& em, const Stage& stage, int copies, const Values& carried) {
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

  void emitPoint() {
    results_.assign(kernel_.reductions.size(), {});
    for (size_t i = 0; i < kernel_.stages.size(); ++i) emitStage(kernel_.stages[i], i);
  }

  void emitStage(const Stage& stage, size_t number) {
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
        VectorWalk walk{schedule_.lanes, copies, bool(schedule_.heavy[number]), false, schedule_.rolled};
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
  Value* emitChunks(ExprEmitter& em, const Stage& stage, size_t number) {
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
      Value* carry = tile.scan(carried[0]);
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

  void emitBlock() {
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
        emitVectorLoop(b_, lo, hi, own, {}, [&](Value* base, int copies, Value* mask, const Values&) -> Values {
          em->setVector(base, copies, mask);
          innerLoops(*em, stage, Schedule::kNone, 0, {}, [&](const Values&) { return body(*em, stage, copies, {}); });
          return {};
        });
        return {};
      });
    }
  }

  /// One stage for `copies` vectors of columns: reductions stay in lanes.
  void emitColumns(const Stage& stage, Value* base, int copies, Value* mask) {
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

  // ---- sums of wide columns

  void allocateColumns() {
    const Stage& stage = kernel_.stages[0];
    for (uint32_t r : stage.reductions) {
      auto* element = registerType(b_.getContext(), reprOf(kernel_.reductions[r].accumulator));
      auto* slot = b_.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(schedule_.block)));
      slot->setAlignment(llvm::Align(64));
      columns_.push_back(slot);
    }
  }

  llvm::Type* columnType(uint32_t reduction) {
    auto* element = registerType(b_.getContext(), reprOf(kernel_.reductions[reduction].accumulator));
    return llvm::FixedVectorType::get(element, static_cast<unsigned>(schedule_.lanes));
  }
  /// Accumulators of the vector at column `base`.
  Value* columnSlot(size_t i, Value* base) {
    auto* element = columnType(kernel_.stages[0].reductions[i])->getScalarType();
    return b_.CreateGEP(element, columns_[i], b_.CreateSub(base, blockLo_));
  }

  /// Adds rows [row, row + rows) of the last inner variable to the block's accumulators.
  void addRows(ExprEmitter& em, Value* row, int64_t rows, const VectorWalk& walk) {
    const Stage& stage = kernel_.stages[0];
    size_t last = kernel_.outer.size() + stage.innerLo.size() - 1;
    emitVectorLoop(b_, blockLo_, blockHi_, walk, {}, [&](Value* base, int, Value* mask, const Values&) -> Values {
      std::vector<Values> sums;
      for (size_t i = 0; i < stage.reductions.size(); ++i)
        sums.push_back({b_.CreateLoad(columnType(stage.reductions[i]), columnSlot(i, base))});
      for (int64_t k = 0; k < rows; ++k) {
        em.setVar(last, b_.CreateAdd(row, i64(k)));
        em.setVector(base, 1, mask);
        for (size_t i = 0; i < stage.reductions.size(); ++i) {
          Scalar v = em.value(kernel_.reductions[stage.reductions[i]].value);
          sums[i] = reducer(em, stage, stage.reductions[i]).step(sums[i], v, v, mask);
        }
      }
      for (size_t i = 0; i < stage.reductions.size(); ++i) b_.CreateStore(sums[i][0], columnSlot(i, base));
      return {};
    });
    em.clearVar(last);
    em.clearVar(schedule_.outerVector);
  }

  void emitWideColumns() {
    const Stage& stage = kernel_.stages[0];
    constexpr int64_t kRows = 8;  // streams that the hardware prefetches at once
    size_t v = schedule_.outerVector;
    size_t lastInner = stage.innerLo.size() - 1;
    VectorWalk walk{schedule_.lanes, 1, false, kernel_.outer[v] % schedule_.lanes == 0};
    results_.assign(kernel_.reductions.size(), {});
    auto em = emitter(stage, v, schedule_.lanes);
    emitVectorLoop(b_, blockLo_, blockHi_, walk, {}, [&](Value* base, int, Value*, const Values&) -> Values {
      for (size_t i = 0; i < stage.reductions.size(); ++i)
        b_.CreateStore(reducer(*em, stage, stage.reductions[i]).identity(true)[0], columnSlot(i, base));
      return {};
    });
    int64_t lo = stage.innerLo[lastInner], hi = stage.innerHi[lastInner], middle = lo + (hi - lo) / kRows * kRows;
    innerLoops(*em, stage, kernel_.outer.size() + lastInner, 0, {}, [&](const Values&) -> Values {
      em->emitInvariant();
      emitLoop(b_, i64(lo), i64(middle), kRows, {}, [&](Value* row, const Values&) -> Values {
        addRows(*em, row, kRows, walk);
        return {};
      });
      emitLoop(b_, i64(middle), i64(hi), 1, {}, [&](Value* row, const Values&) -> Values {
        addRows(*em, row, 1, walk);
        return {};
      });
      return {};
    });
    emitVectorLoop(b_, blockLo_, blockHi_, walk, {}, [&](Value* base, int, Value* mask, const Values&) -> Values {
      results_.assign(kernel_.reductions.size(), {});
      for (size_t i = 0; i < stage.reductions.size(); ++i) {
        uint32_t r = stage.reductions[i];
        results_[r] = {reducer(*em, stage, r).result({b_.CreateLoad(columnType(r), columnSlot(i, base))})};
      }
      for (size_t i = 1; i < kernel_.stages.size(); ++i) emitColumns(kernel_.stages[i], base, 1, mask);
      return {};
    });
  }

  // ---- transposed loads: a square tile is read by rows of the source and turned in a buffer on the stack

  bool isTurned(const Expr& e) const {
    return e.kind == Expr::Kind::Load && e.access.terms.empty() && e.access.strides.size() > schedule_.tileVar &&
           e.access.strides[schedule_.tileVar] == 1 && std::abs(e.access.strides[schedule_.outerVector]) > 1;
  }

  void allocateTiles() {
    const Stage& stage = kernel_.stages[0];
    tiles_.assign(stage.exprs.size(), nullptr);
    // A generalised product turns all of k at once, in whole squares of lanes.
    int64_t height = schedule_.tile;
    if (schedule_.rowVar != Schedule::kNone)
      height = (stage.innerHi[0] - stage.innerLo[0] + schedule_.lanes - 1) / schedule_.lanes * schedule_.lanes;
    auto count = static_cast<uint64_t>(height * schedule_.tile);
    for (size_t i = 0; i < stage.exprs.size(); ++i) {
      if (!isTurned(stage.exprs[i])) continue;
      auto* slot = b_.CreateAlloca(llvm::ArrayType::get(
          memoryType(b_.getContext(), kernel_.buffers[stage.exprs[i].access.buffer].dtype), count));
      slot->setAlignment(llvm::Align(64));
      tiles_[i] = slot;
    }
  }

  /// to[row][lane] = source at (first + row, base + lane), for a square of lanes x lanes.
  void turn(ExprEmitter& em, const Expr& e, Value* to, Value* first, Value* base, Value* rowsLeft, Value* columnsLeft) {
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

  void emitProduct() {
    const Stage& stage = kernel_.stages[0];
    const size_t v = schedule_.outerVector;
    const int64_t n = schedule_.lanes;
    if (schedule_.tileVar != Schedule::kNone) {
      results_.clear();
      auto em = emitter(stage, v, schedule_.lanes);
      Value *lo = i64(stage.innerLo[0]), *hi = i64(stage.innerHi[0]);
      turnAll(*em, lo, hi, blockLo_, blockHi_, (stage.innerHi[0] - stage.innerLo[0]) % n == 0,
              kernel_.outer[v] % n == 0);
    }
    int64_t vectors = schedule_.block / n, bytes = 4;
    for (uint32_t r : stage.reductions)
      bytes = std::max<int64_t>(bytes, ir::byteSize(kernel_.reductions[r].accumulator));
    // Registers that the accumulators may take.
    const int64_t registers = (usesAvx512(module_) ? 24 * 64 : 8 * 32) / (n * bytes);
    const auto reductions = static_cast<int64_t>(stage.reductions.size());
    while (vectors > 1 && vectors * reductions * 2 > registers) vectors /= 2;
    if (schedule_.rolled) vectors = 1;
    const int64_t rows = schedule_.rolled ? 1 : std::clamp<int64_t>(registers / (vectors * reductions), 1, 6);
    Value* first = outer_[schedule_.rowVar];
    Value* end = endOf(first, schedule_.rows, i64(kernel_.outer[schedule_.rowVar]));
    VectorWalk walk{schedule_.lanes, static_cast<int>(vectors), false, kernel_.outer[v] % n == 0};
    emitVectorLoop(b_, blockLo_, blockHi_, walk, {},
                   [&](Value* base, int copies, Value* mask, const Values&) -> Values {
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

  void emitProductTile(Value* row, int64_t rows, Value* base, int copies, Value* mask) {
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
        Values own(carried.begin() + static_cast<long>(r * width),
                   carried.begin() + static_cast<long>((r + 1) * width));
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
          results.push_back(red.result(
              {sums[static_cast<size_t>(r) * width + static_cast<size_t>(c) * stage.reductions.size() + i]}));
      }
      for (size_t i = 1; i < kernel_.stages.size(); ++i) emitColumns(kernel_.stages[i], base, copies, mask);
    }
  }

  /// Gives row `r` of a tile the vectors that do not depend on the row, and those that have been turned.
  void shareWithRows(const std::vector<std::unique_ptr<ExprEmitter>>& ems, size_t r, size_t expr, Value* base, Value* k,
                     int copies) {
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

  /// The lesser of `a + step` and `most`.
  Value* endOf(Value* a, int64_t step, Value* most) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(a, i64(step)), most);
  }

  /// `wholeRows`, `wholeColumns`: both ranges are multiples of the lanes.
  void turnAll(ExprEmitter& em, Value* first, Value* end, Value* base, Value* columnsEnd, bool wholeRows,
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

  void emitTiles() {
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
  Scalar turned(ExprEmitter& em, size_t expr, Value* at, int c) {
    ir::DType t = kernel_.buffers[kernel_.stages[0].exprs[expr].access.buffer].dtype;
    llvm::Type* element = memoryType(b_.getContext(), t);
    auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(schedule_.lanes));
    Value* from = b_.CreateConstGEP1_64(element, b_.CreateGEP(element, tiles_[expr], at),
                                        static_cast<uint64_t>(c * schedule_.lanes));
    return em.scalars().fromMemory(
        b_.CreateAlignedLoad(vector, from, llvm::Align(static_cast<uint64_t>(ir::byteSize(t)))), t);
  }
};

}  // namespace

llvm::Function* emitLoopKernel(const Kernel& kernel, const Schedule& schedule, llvm::Module& module,
                               const std::string& name, bool contract) {
  return LoopEmitter(kernel, schedule, module, contract).emit(name);
}

}  // namespace tenc::codegen::cpu
