// Loop kernels by rows: each stage of a point with a vector of its own among its inner variables, or scalar.
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/StageEmitter.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

using InnerVector = RowSchedule::InnerVector;

class RowEmitter {
 public:
  explicit RowEmitter(LoopFunction& f) : f_(f) {}
  void emitStage(const Stage& stage, const std::optional<InnerVector>& vector);

 private:
  Values oneOfEach(StageEmitter& em, const Values& sums, const std::optional<InnerVector>& vector);
  Values reduce(StageEmitter& em, const std::optional<InnerVector>& vector, int copies, const Values& start);
  Value* scanChunks(StageEmitter& em, const InnerVector& vector);

  LoopFunction& f_;
  std::optional<ScanTile> scanTile_;
};

/// The result of each reduction of the stage, from the accumulators of all copies.
Values RowEmitter::oneOfEach(StageEmitter& em, const Values& sums, const std::optional<InnerVector>& vector) {
  const int copies = vector ? vector->copies : 1;
  int64_t used = 1;
  if (vector) {
    const size_t inner = vector->var - f_.kernel.outer.size();
    used = em.stage().innerHi[inner] - em.stage().innerLo[inner];
  }
  Values done;
  for (size_t i = 0; i < em.stage().reductions.size(); ++i) {
    Reducer red = em.reducer(em.stage().reductions[i]);
    std::vector<Values> parts;
    for (int c = 0; c < copies; ++c) parts.push_back(em.accumulator(sums, copies, c, i));
    for (size_t n = parts.size(); n > 1; n /= 2)
      for (size_t k = 0; k < n / 2; ++k) parts[k] = red.merge(parts[2 * k], parts[2 * k + 1]);
    Values one = em.exprs().lanes() == 1 ? parts[0] : red.acrossLanes(parts[0], used);
    done.push_back(LlvmScalars::value(red.result(one)));
  }
  return done;
}

/// The stage's loops; returns the results of its reductions.
Values RowEmitter::reduce(StageEmitter& em, const std::optional<InnerVector>& vector, int copies, const Values& start) {
  const Stage& stage = em.stage();
  if (hasChunks(f_.kernel, stage)) return {scanChunks(em, *vector)};
  const std::optional<size_t> var = vector ? std::optional(vector->var) : std::nullopt;
  Values sums = em.innerLoops(var, start, [&](const Values& carried) {
    em.exprs().emitInvariant();
    if (!vector) {
      em.exprs().setVector(f_.i64(0), 1, nullptr);
      return em.body(1, carried);
    }
    const size_t inner = *var - f_.kernel.outer.size();
    const VectorWalk walk{kLanes, copies, vector->oneBody, false, vector->together};
    Values out = emitVectorLoop(f_.b, f_.i64(stage.innerLo[inner]), f_.i64(stage.innerHi[inner]), walk, carried,
                                [&](Value* base, int n, Value* mask, const Values& c) {
                                  em.exprs().setVector(base, n, mask);
                                  return em.body(n, c);
                                });
    em.exprs().clearVar(*var);
    return out;
  });
  return oneOfEach(em, sums, vector);
}

void RowEmitter::emitStage(const Stage& stage, const std::optional<InnerVector>& vector) {
  StageEmitter em(f_, stage, vector ? std::optional(vector->var) : std::nullopt);
  const int copies = vector ? vector->copies : 1;
  Values start = em.identities(copies);
  Values done;
  if (isEmpty(stage)) {
    done = oneOfEach(em, start, vector);
  } else {
    Value* inside = em.inBox(std::nullopt);
    Values none = llvm::isa<llvm::Constant>(inside) ? Values() : oneOfEach(em, start, vector);
    done = emitIf(f_.b, inside, none, [&] { return reduce(em, vector, copies, start); });
  }
  for (size_t k = 0; k < stage.reductions.size(); ++k) {
    const uint32_t r = stage.reductions[k];
    f_.results[r] = {em.exprs().scalars().wrap(done[k], reprOf(f_.kernel.reductions[r].result))};
  }
}

/// A scan along a row in vectors: tiles of kScanTile elements, whose values are kept on the stack. Returns what the
/// last element came to.
Value* RowEmitter::scanChunks(StageEmitter& em, const InnerVector& vector) {
  const Stage& stage = em.stage();
  ExprEmitter& exprs = em.exprs();
  llvm::IRBuilderBase& b = f_.b;
  const uint32_t r = stage.reductions[0];
  const size_t inner = vector.var - f_.kernel.outer.size();
  const int64_t lo = stage.innerLo[inner], hi = stage.innerHi[inner];
  Reducer red = em.reducer(r);
  if (!scanTile_) scanTile_.emplace(b, f_.kernel.reductions[r]);
  ScanTile& tile = *scanTile_;
  VectorWalk walk{kLanes, vector.copies, vector.oneBody, (hi - lo) % kLanes == 0};
  exprs.emitInvariant();
  Value* first = red.identity(false)[0];
  // Where the last tile is whole, what is before the next one is what the last element comes to.
  const Reduction& scan = f_.kernel.reductions[r];
  const bool onlyTotal = stage.stores.empty() && (hi - lo) % kScanTile == 0 && ir::isFloat(scan.accumulator) &&
                         !scan.exclusive && !f_.shortCode;
  Values end = emitLoop(b, f_.i64(lo), f_.i64(hi), kScanTile, {first, first}, [&](Value* base, const Values& carried) {
    Value* last = f_.endOf(base, kScanTile, f_.i64(hi));
    auto each = [&](auto what) {
      emitVectorLoop(b, base, last, walk, {}, [&](Value* at, int copies, Value* mask, const Values&) -> Values {
        exprs.setVector(at, copies, mask);
        for (int c = 0; c < copies; ++c) what(tile.place(b.CreateSub(at, base), c), c);
        return {};
      });
      exprs.clearVar(vector.var);
    };
    each([&](Value* place, int c) {
      Value* v = LlvmScalars::value(exprs.value(f_.kernel.reductions[r].value, c));
      b.CreateAlignedStore(exprs.scalars().splat(v), place, tile.align());
    });
    if (onlyTotal) {
      Value* total = tile.total(carried[0]);
      return Values{total, total};
    }
    Value* carry = tile.scan(carried[0], f_.shortCode);
    if (stage.stores.empty()) return Values{carry, tile.element(b.CreateSub(b.CreateSub(last, base), f_.i64(1)))};
    each([&](Value* place, int c) {
      Value* v = b.CreateAlignedLoad(tile.vector(), place, tile.align());
      exprs.setRunning(r, c, exprs.scalars().wrap(v, reprOf(f_.kernel.reductions[r].accumulator)));
      for (const Store& s : stage.stores) exprs.value(s.value, c);
      for (const Store& s : stage.stores) exprs.store(s, c);
    });
    return Values{carry, carried[1]};
  });
  return end[1];
}

}  // namespace

void emitItem(LoopFunction& f, const RowSchedule& schedule, Value* item) {
  f.bindItem(item, std::nullopt, std::nullopt);
  f.forgetResults();
  RowEmitter rows(f);
  for (size_t i = 0; i < f.kernel.stages.size(); ++i) rows.emitStage(f.kernel.stages[i], schedule.stages[i]);
}

}  // namespace tenc::codegen::cpu
