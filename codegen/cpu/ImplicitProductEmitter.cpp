// Implicit products: tiles of rows x columns whose accumulators stay in registers.
#include <algorithm>
#include <memory>

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/StageEmitter.h"
#include "codegen/cpu/TransposedLoads.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

/// Rows, and vectors of columns, of a tile.
struct TileShape {
  int64_t rows, vectors;
};

TileShape tileShape(const LoopFunction& f, const ImplicitProductSchedule& schedule) {
  const Stage& stage = f.kernel.stages[0];
  int64_t vectors = schedule.blocks.size / kLanes, bytes = 4;
  for (uint32_t r : stage.reductions)
    bytes = std::max<int64_t>(bytes, ir::byteSize(f.kernel.reductions[r].accumulator));
  // Registers that the accumulators may take.
  const int64_t registers = (usesAvx512(f.module) ? 24 * 64 : 8 * 32) / (kLanes * bytes);
  const auto reductions = static_cast<int64_t>(stage.reductions.size());
  while (vectors > 1 && vectors * reductions * 2 > registers) vectors /= 2;
  // Much code stands there once or a few times.
  const bool isLong = schedule.together < 4;
  if (isLong) vectors = std::min<int64_t>(vectors, schedule.together);
  int64_t rows = std::clamp<int64_t>(registers / (vectors * reductions), 1, 6);
  if (isLong) rows = std::min<int64_t>(rows, schedule.together);
  return {rows, vectors};
}

class ImplicitProductEmitter {
 public:
  ImplicitProductEmitter(LoopFunction& f, const ImplicitProductSchedule& schedule, LoopFunction::Range columns)
      : f_(f),
        schedule_(schedule),
        stage_(f.kernel.stages[0]),
        inner_(f.kernel.outer.size()),
        columns_(columns),
        loads_(f, stage_, schedule.blocks.var, inner_, wholeSquares(), schedule.blocks.size, schedule.transposes) {}
  /// Rows [first, end) of the block.
  void emit(Value* first, Value* end);

 private:
  using Rows = std::vector<std::unique_ptr<StageEmitter>>;

  int64_t depth() const { return stage_.innerHi[0] - stage_.innerLo[0]; }
  /// All of k at once is transposed, in whole squares of lanes.
  int64_t wholeSquares() const { return (depth() + kLanes - 1) / kLanes * kLanes; }
  void emitTile(Value* row, int64_t rows, Value* base, int copies, Value* mask);
  void share(const Rows& rows, size_t r, ExprId expr, Value* base, Value* k, int copies);

  LoopFunction& f_;
  const ImplicitProductSchedule& schedule_;
  const Stage& stage_;
  size_t inner_;  ///< the variable that is summed over
  LoopFunction::Range columns_;
  TransposedLoads loads_;
};

void ImplicitProductEmitter::emit(Value* first, Value* end) {
  IrBuilder& b = f_.b;
  const bool fullLanes = f_.fullLanes(schedule_.blocks);
  f_.outer[schedule_.row] = first;
  if (schedule_.transposes) {
    StageEmitter em(f_, stage_, schedule_.blocks.var);
    loads_.fill(em, f_.i64(stage_.innerLo[0]), f_.i64(stage_.innerHi[0]), columns_.lo, columns_.hi,
                depth() % kLanes == 0, fullLanes);
  }
  const TileShape shape = tileShape(f_, schedule_);
  VectorWalk walk{kLanes, static_cast<int>(shape.vectors), false, fullLanes};
  emitVectorLoop(b, columns_.lo, columns_.hi, walk, {},
                 [&](Value* base, int copies, Value* mask, const Values&) -> Values {
                   auto tiles = [&](Value* from, Value* to, int64_t rows) {
                     emitLoop(b, from, to, rows, {}, [&](Value* row, const Values&) -> Values {
                       emitTile(row, rows, base, copies, mask);
                       return {};
                     });
                   };
                   Value* whole = first;
                   if (shape.rows > 1) {
                     Value* count = b.CreateSub(end, first);
                     whole = b.CreateAdd(first, b.CreateSub(count, b.CreateURem(count, f_.i64(shape.rows))));
                     tiles(first, whole, shape.rows);
                   }
                   tiles(whole, end, 1);
                   return {};
                 });
}

void ImplicitProductEmitter::emitTile(Value* row, int64_t rows, Value* base, int copies, Value* mask) {
  IrBuilder& b = f_.b;
  f_.forgetResults();
  Rows ems;
  Values start;
  for (int64_t r = 0; r < rows; ++r) {
    f_.outer[schedule_.row] = b.CreateAdd(row, f_.i64(r));
    ems.push_back(std::make_unique<StageEmitter>(f_, stage_, schedule_.blocks.var));
    ems.back()->exprs().emitInvariant();
    for (Value* x : ems.back()->identities(copies)) start.push_back(x);
  }
  const size_t width = start.size() / static_cast<size_t>(rows);
  auto ofRow = [&](const Values& all, size_t r) {
    return Values(all.begin() + static_cast<long>(r * width), all.begin() + static_cast<long>((r + 1) * width));
  };
  auto step = [&](Value* k, const Values& carried) -> Values {
    Values next;
    for (size_t r = 0; r < ems.size(); ++r) {
      ems[r]->exprs().setVar(inner_, k);
      ems[r]->exprs().setVector(base, copies, mask);
      for (ExprId i = 0; i < stage_.exprs.size(); ++i) share(ems, r, i, base, k, copies);
      for (Value* x : ems[r]->body(copies, ofRow(carried, r))) next.push_back(x);
    }
    return next;
  };
  const Values sums = emitLoop(b, f_.i64(stage_.innerLo[0]), f_.i64(stage_.innerHi[0]), 1, start, step);
  for (size_t r = 0; r < ems.size(); ++r) {
    f_.outer[schedule_.row] = b.CreateAdd(row, f_.i64(static_cast<int64_t>(r)));
    const Values own = ofRow(sums, r);
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      auto& results = f_.results[stage_.reductions[i]];
      results.clear();
      for (int c = 0; c < copies; ++c)
        results.push_back(ems[r]->reducer(stage_.reductions[i]).result(ems[r]->accumulator(own, copies, c, i)));
    }
    for (size_t i = 1; i < f_.kernel.stages.size(); ++i)
      emitColumnStage(f_, f_.kernel.stages[i], schedule_.blocks.var, base, copies, mask);
  }
}

/// Gives row `r` of a tile the vectors that do not depend on the row, and those that have been transposed.
void ImplicitProductEmitter::share(const Rows& rows, size_t r, ExprId expr, Value* base, Value* k, int copies) {
  ExprEmitter& exprs = rows[r]->exprs();
  if (!exprs.facts().isNeeded(expr) || !exprs.facts().isVector(expr)) return;
  if (r > 0) {
    if ((exprs.facts().dependencies(expr) >> schedule_.row & 1) != 0) return;
    for (int c = 0; c < copies; ++c) exprs.setValue(expr, c, rows[0]->exprs().value(expr, c));
    return;
  }
  if (!loads_.holds(expr)) return;
  Value* at = loads_.place(f_.b.CreateSub(k, f_.i64(stage_.innerLo[0])), f_.b.CreateSub(base, columns_.lo));
  for (int c = 0; c < copies; ++c) exprs.setValue(expr, c, loads_.vector(*rows[r], expr, at, c));
}

}  // namespace

void emitItem(LoopFunction& f, const ImplicitProductSchedule& schedule, Value* item) {
  const LoopFunction::Range columns =
      f.bindItem(item, schedule.blocks, LoopFunction::Strip{schedule.row, schedule.rows});
  Value* first = f.outer[schedule.row];
  Value* end = f.endOf(first, schedule.rows, f.i64(f.kernel.outer[schedule.row]));
  ImplicitProductEmitter(f, schedule, columns).emit(first, end);
}

}  // namespace tenc::codegen::cpu
