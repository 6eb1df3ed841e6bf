// Loop kernels by columns: an outer variable runs over lanes around all stages, so that every lane is a point.
#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/ScalarBodies.h"
#include "codegen/cpu/LoopEmitter.h"
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/ShortRows.h"
#include "codegen/cpu/StageEmitter.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

class ColumnEmitter {
 public:
  ColumnEmitter(LoopFunction& f, const ColumnSchedule& schedule, LoopFunction::Range range)
      : f_(f),
        var_(schedule.blocks.var),
        range_(range),
        blockSize_(schedule.blocks.size),
        transposes_(schedule.transposes),
        walk_{kLanes, schedule.copies, schedule.oneBody, f.fullLanes(schedule.blocks)},
        rows_(f, var_, schedule.copies, schedule.transposes) {
    // What is read, changed and stored again and again waits for masks.
    const bool ordered =
        std::any_of(f.kernel.stages.begin(), f.kernel.stages.end(), [](const Stage& s) { return s.ordered; });
    if (ordered && !walk_.oneBody) walk_.lastLanes = static_cast<int>(f.kernel.outer[var_] % kLanes);
  }
  /// All stages for some vectors, then for the next ones: results stay in registers.
  void emitReductions();
  /// A stage for the whole block, then the next.
  void emitElementwise(const Stage& stage);

 private:
  struct RowAhead {
    const Access* access;
    int64_t distance;  ///< of the next row, in bytes
    int64_t lines;     ///< cache lines for each vector
    bool near;         ///< into the first cache, else the second
  };
  void emitVectors(StageEmitter& em, Value* lo, Value* hi, const VectorWalk& walk);
  int lanesOf(const StageFacts& facts, const Stage& stage) const;
  std::vector<RowAhead> rowsAhead(const ExprEmitter& exprs, const Stage& stage) const;
  void prefetch(ExprEmitter& exprs, const RowAhead& row, Value* base, int copies);

  LoopFunction& f_;
  size_t var_;
  LoopFunction::Range range_;
  int64_t blockSize_;
  bool transposes_;
  VectorWalk walk_;
  ShortRows rows_;
};

void ColumnEmitter::emitReductions() {
  emitVectorLoop(f_.b, range_.lo, range_.hi, walk_, {},
                 [&](Value* base, int copies, Value* mask, const Values&) -> Values {
                   f_.forgetResults();
                   if (mask == nullptr) rows_.readRows(base, copies);
                   for (const Stage& s : f_.kernel.stages) emitColumnStage(f_, s, var_, base, copies, mask, &rows_);
                   return {};
                 });
}

void ColumnEmitter::emitElementwise(const Stage& stage) {
  if (isEmpty(stage)) return;
  Value *lo = range_.lo, *hi = range_.hi;
  VectorWalk walk = walk_;
  if (!stage.outerLo.empty() && (stage.outerLo[var_] > 0 || stage.outerHi[var_] < f_.kernel.outer[var_])) {
    lo = f_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lo, f_.i64(stage.outerLo[var_]));
    hi = f_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, f_.i64(stage.outerHi[var_]));
    walk.fullLanes = false;
    walk.lastLanes = 0;
  }
  StageEmitter em(f_, stage, var_);
  emitIf(f_.b, em.inBox(var_), {}, [&]() -> Values {
    const int lanes = lanesOf(em.exprs().facts(), stage);
    if (lanes > kLanes) {
      Value* count = f_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, f_.b.CreateSub(hi, lo), f_.i64(0));
      Value* middle = f_.b.CreateAdd(lo, f_.b.CreateAnd(count, f_.i64(-lanes)));
      StageEmitter narrow(f_, stage, var_, lanes);
      emitVectors(narrow, lo, middle, {lanes, std::max(1, walk.copies * kLanes / lanes), walk.oneBody, true});
      if (walk.fullLanes && f_.kernel.outer[var_] % lanes == 0) return {};
      lo = middle;
      walk.copies = 1;
    }
    emitVectors(em, lo, hi, walk);
    return {};
  });
}

void ColumnEmitter::emitVectors(StageEmitter& em, Value* lo, Value* hi, const VectorWalk& walk) {
  em.exprs().emitInvariant();
  const std::vector<RowAhead> ahead = rowsAhead(em.exprs(), em.stage());
  emitVectorLoop(f_.b, lo, hi, walk, {}, [&](Value* base, int copies, Value* mask, const Values&) -> Values {
    em.exprs().setVector(base, copies, mask);
    const bool whole = mask == nullptr;
    em.exprs().setElsewhere([&](const Access& a, int copy) { return rows_.place(em, a, copy, whole); });
    if (whole) rows_.readColumns(em, base, copies);
    for (const RowAhead& row : ahead) prefetch(em.exprs(), row, base, copies);
    em.innerLoops(std::nullopt, {}, [&](const Values&) { return em.body(copies, {}); });
    return {};
  });
}

/// Elements of a vector: more where all that the stage computes are narrow integers, side by side in memory. Each
/// result is an operation on its own elements, so that it is the same.
int ColumnEmitter::lanesOf(const StageFacts& facts, const Stage& stage) const {
  constexpr int kVectorBytes = 64, kMostCost = 4;
  if (f_.shortCode || transposes_ || !stage.innerLo.empty() || stage.ordered) return kLanes;
  int64_t bytes = 1;
  for (ExprId i = 0; i < stage.exprs.size(); ++i) {
    const Expr& e = stage.exprs[i];
    if (!facts.isNeeded(i)) continue;
    bytes = std::max<int64_t>(bytes, ir::byteSize(e.dtype));
    switch (e.kind) {
      case Expr::Kind::Constant: continue;
      case Expr::Kind::Load:
        if (!e.access.terms.empty() || strideOf(e.access, var_) < 0 || strideOf(e.access, var_) > 1) return kLanes;
        continue;
      case Expr::Kind::Op:
        if (ir::isFloat(e.dtype) || e.fault != 0 || elementwiseCost(e.op, e.dtype) > kMostCost) return kLanes;
        continue;
      default: return kLanes;
    }
  }
  for (const Store& s : stage.stores)
    if (!s.access.terms.empty() || strideOf(s.access, var_) != 1) return kLanes;
  const int lanes = std::max(kLanes, static_cast<int>(kVectorBytes / bytes));
  // What is stored past the caches starts at whole vectors.
  const bool many = f_.kernel.outer[var_] >= 2 * lanes && blockSize_ % lanes == 0;
  return many ? lanes : kLanes;
}

/// The rows (or planes) from which lanes pick elements in an order of their own. Where the points of one row pick about
/// as many elements as it has cache lines, the next row is asked for meanwhile, as no hardware would.
std::vector<ColumnEmitter::RowAhead> ColumnEmitter::rowsAhead(const ExprEmitter& exprs, const Stage& stage) const {
  constexpr int64_t kMostBytes = 256 << 10, kNearBytes = 8 << 10, kLeastLines = 16, kMostLinesAVector = 8;
  std::vector<RowAhead> rows;
  const Kernel& kernel = f_.kernel;
  if (f_.shortCode || var_ == 0 || var_ + 1 != kernel.outer.size() || !stage.innerLo.empty()) return rows;
  const int64_t vectors = kernel.outer[var_] / kLanes;
  for (ExprId i = 0; i < stage.exprs.size(); ++i) {
    const Access& a = stage.exprs[i].access;
    if (stage.exprs[i].kind != Expr::Kind::Load || !exprs.facts().isNeeded(i) || a.terms.empty() ||
        a.strides[var_] != 0)
      continue;
    int64_t elements = 1;
    bool picks = true;
    for (const Access::Term& t : a.terms) {
      picks = picks && t.extent > 0 && t.stride > 0 && exprs.facts().isVector(t.index);
      elements += (t.extent - 1) * t.stride;
    }
    const int64_t bytes = ir::byteSize(kernel.buffers[a.buffer].dtype), lines = elements * bytes / kCacheLine;
    if (!picks || a.strides[var_ - 1] < elements || elements > kMostBytes / bytes || lines < kLeastLines ||
        lines > kMostLinesAVector * vectors)
      continue;
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const RowAhead& r) {
      return r.access->buffer == a.buffer && r.access->offset == a.offset && r.access->strides == a.strides;
    });
    if (!known)
      rows.push_back(
          {&a, a.strides[var_ - 1] * bytes, (lines + vectors - 1) / vectors, elements * bytes <= kNearBytes});
  }
  return rows;
}

void ColumnEmitter::prefetch(ExprEmitter& exprs, const RowAhead& row, Value* base, int copies) {
  llvm::IRBuilderBase& b = f_.b;
  auto* byte = b.getInt8Ty();
  Value* from = b.CreateConstGEP1_64(byte, exprs.address(*row.access), static_cast<uint64_t>(row.distance));
  from = b.CreateGEP(byte, from, b.CreateMul(base, f_.i64(row.lines * kCacheLine / kLanes)));
  f_.prefetch(from, row.lines * copies * kCacheLine, false, row.near ? 1 : 2);
}

}  // namespace

void emitItem(LoopFunction& f, const ColumnSchedule& schedule, Value* item) {
  ColumnEmitter columns(f, schedule, f.bindItem(item, schedule.blocks, std::nullopt));
  const std::vector<Stage>& stages = f.kernel.stages;
  if (std::any_of(stages.begin(), stages.end(), [](const Stage& s) { return !s.reductions.empty(); })) {
    columns.emitReductions();
    return;
  }
  for (const Stage& stage : stages) columns.emitElementwise(stage);
}

}  // namespace tenc::codegen::cpu
