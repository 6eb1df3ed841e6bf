// Elementwise loop kernels with transposed loads, in squares.
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/StageEmitter.h"
#include "codegen/cpu/TransposedLoads.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

class TransposeEmitter {
 public:
  TransposeEmitter(LoopFunction& f, const TransposeSchedule& schedule)
      : f_(f),
        schedule_(schedule),
        walk_{kLanes, schedule.copies, schedule.oneBody, f.fullLanes(schedule.blocks)},
        em_(f, f.kernel.stages[0], schedule.blocks.var),
        loads_(f, f.kernel.stages[0], schedule.blocks.var, schedule.source, schedule.tile, schedule.tile) {}
  /// Values [first, end) of the source variable, for all columns of the block.
  void emitStrip(Value* first, Value* end, LoopFunction::Range columns);

 private:
  void fetchNext(Value* row, Value* first, Value* base);
  void emitRow(Value* row, Value* first, LoopFunction::Range columns);

  LoopFunction& f_;
  const TransposeSchedule& schedule_;
  VectorWalk walk_;
  StageEmitter em_;
  TransposedLoads loads_;
};

void TransposeEmitter::emitStrip(Value* first, Value* end, LoopFunction::Range columns) {
  em_.exprs().emitInvariant();
  emitLoop(f_.b, columns.lo, columns.hi, schedule_.tile, {}, [&](Value* base, const Values&) -> Values {
    Value* columnsEnd = f_.endOf(base, schedule_.tile, columns.hi);
    const bool wholeRows = f_.kernel.outer[schedule_.source] % kLanes == 0;
    loads_.fill(em_, first, end, base, columnsEnd, wholeRows, walk_.fullLanes);
    emitLoop(f_.b, first, end, 1, {}, [&](Value* row, const Values&) -> Values {
      if (schedule_.fetches) fetchNext(row, first, base);
      emitRow(row, first, {base, columnsEnd});
      return {};
    });
    em_.exprs().clearVar(schedule_.source);
    return {};
  });
}

/// Runs are too short for the hardware to see them: what the next square reads and writes is asked for row by row.
void TransposeEmitter::fetchNext(Value* row, Value* first, Value* base) {
  IrBuilder& b = f_.b;
  Value* next = b.CreateAdd(base, f_.i64(schedule_.tile));
  loads_.prefetch(em_, first, b.CreateAdd(next, b.CreateSub(row, first)), schedule_.tile);
  ExprEmitter& exprs = em_.exprs();
  exprs.setVar(schedule_.source, row);
  for (const Store& s : em_.stage().stores) {
    const int64_t bytes = ir::byteSize(f_.kernel.buffers[s.access.buffer].dtype);
    Value* at = b.CreateGEP(b.getInt8Ty(), exprs.address(s.access), b.CreateMul(next, f_.i64(bytes)));
    f_.prefetch(at, schedule_.tile * bytes, true);
  }
  exprs.clearVar(schedule_.source);
}

/// One row of the square whose first row is `first`.
void TransposeEmitter::emitRow(Value* row, Value* first, LoopFunction::Range columns) {
  ExprEmitter& exprs = em_.exprs();
  exprs.setVar(schedule_.source, row);
  exprs.emitInvariant();
  Value* rowInSquare = f_.b.CreateSub(row, first);
  emitVectorLoop(f_.b, columns.lo, columns.hi, walk_, {},
                 [&](Value* column, int copies, Value* mask, const Values&) -> Values {
                   exprs.setVector(column, copies, mask);
                   Value* at = loads_.place(rowInSquare, f_.b.CreateSub(column, columns.lo));
                   for (ExprId i = 0; i < em_.stage().exprs.size(); ++i)
                     for (int c = 0; loads_.holds(i) && c < copies; ++c)
                       exprs.setValue(i, c, loads_.vector(em_, i, at, c));
                   return em_.body(copies, {});
                 });
  exprs.clearVar(schedule_.blocks.var);
}

}  // namespace

void emitItem(LoopFunction& f, const TransposeSchedule& schedule, Value* item) {
  const LoopFunction::Range columns =
      f.bindItem(item, schedule.blocks, LoopFunction::Strip{schedule.source, schedule.tile});
  Value* first = std::exchange(f.outer[schedule.source], nullptr);
  Value* end = f.endOf(first, schedule.tile, f.i64(f.kernel.outer[schedule.source]));
  TransposeEmitter(f, schedule).emitStrip(first, end, columns);
}

}  // namespace tenc::codegen::cpu
