// The emitter of loop kernels, in three parts: points, vectors and columns (LoopEmitter.cpp), long rows of
// columns (LoopColumns.cpp), tiles (LoopTiles.cpp).
// Internal to them; the entry is emitLoopKernel.
#pragma once
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/Reduce.h"
#include "codegen/cpu/Scan.h"
#include "codegen/cpu/Schedule.h"

namespace tenc::codegen::cpu {

class LoopEmitter {
 public:
  LoopEmitter(const Kernel& kernel, const Schedule& schedule, llvm::Module& module, bool contract)
      : kernel_(kernel), schedule_(schedule), module_(module), b_(module.getContext()), contract_(contract) {}

  llvm::Function* emit(const std::string& name);

 private:
  using Value = llvm::Value;

  Value* i64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }
  void decompose(Value* item);
  Reducer reducer(ExprEmitter& em, const Stage& stage, uint32_t number);
  bool hasGrowingPosition(const Stage& stage, const Reduction& r) const;
  Value* firstPositions(ExprEmitter& em, const Stage& stage, int c, bool innerVector);
  Value* inBox(const Stage& stage, size_t except);
  std::unique_ptr<ExprEmitter> emitter(const Stage& stage, size_t vectorVar, int lanes);
  Values innerLoops(ExprEmitter& em, const Stage& stage, size_t skip, size_t i, const Values& carried,
                    const std::function<Values(const Values&)>& innermost);
  static bool isEmpty(const Stage& stage);
  Values identities(ExprEmitter& em, const Stage& stage, int copies, bool vector, bool innerVector);
  size_t runningStep(ExprEmitter& em, const Stage& stage, int c, Values& accumulators, size_t at);
  Values body(ExprEmitter& em, const Stage& stage, int copies, const Values& carried);

  // ---- each stage with a vector of its own
  void emitPoint();
  void emitStage(const Stage& stage, size_t number);
  Value* emitChunks(ExprEmitter& em, const Stage& stage, size_t number);

  // ---- an outer variable as the vector
  void emitBlock();
  struct RowAhead {
    const Access* access;
    int64_t distance;  ///< of the next row, in bytes
    int64_t lines;     ///< cache lines for each vector
    bool near;         ///< into the first cache, else the second
  };
  std::vector<RowAhead> rowsAhead(const ExprEmitter& em, const Stage& stage) const;
  void prefetch(ExprEmitter& em, const RowAhead& row, Value* base, int copies);
  void emitColumns(const Stage& stage, Value* base, int copies, Value* mask);

  // ---- reductions of wide columns
  struct ColumnValue {
    ExprId expr;
    Value* slot;
  };
  Value* allocateRow(llvm::Type* element);
  Value* atColumn(Value* slot, llvm::Type* vector, Value* base);
  void emitWideColumns();
  void emitWideStage(const Stage& stage, size_t number);
  std::vector<ColumnValue> columnValues(ExprEmitter& em, const Stage& stage, size_t number);
  void addRows(ExprEmitter& em, const Stage& stage, const std::vector<ColumnValue>& kept, Value* row, int64_t rows);
  void bindColumns(ExprEmitter& em, Value* base, Value* mask);

  // ---- transposed loads: a square tile is read by rows of the source and turned in a buffer on the stack
  bool isTurned(const Expr& e) const;
  void allocateTiles();
  void turn(ExprEmitter& em, const Expr& e, Value* to, Value* first, Value* base, Value* rowsLeft, Value* columnsLeft);

  // ---- generalised products: tiles of rows x columns with their accumulators in registers
  void emitProduct();
  void emitProductTile(Value* row, int64_t rows, Value* base, int copies, Value* mask);
  void shareWithRows(const std::vector<std::unique_ptr<ExprEmitter>>& ems, size_t r, size_t expr, Value* base, Value* k,
                     int copies);
  /// The lesser of `a + step` and `most`.
  Value* endOf(Value* a, int64_t step, Value* most);
  void turnAll(ExprEmitter& em, Value* first, Value* end, Value* base, Value* columnsEnd, bool wholeRows,
               bool wholeColumns);
  void emitTiles();
  Scalar turned(ExprEmitter& em, size_t expr, Value* at, int c);

  const Kernel& kernel_;
  const Schedule& schedule_;
  llvm::Module& module_;
  IrBuilder b_;
  bool contract_;
  llvm::Function* function_ = nullptr;
  KernelArgs args_;
  Values outer_;  ///< outer variables of the current point
  Value *blockLo_ = nullptr, *blockHi_ = nullptr;
  std::vector<std::vector<Scalar>> results_;  ///< of reductions, by number and copy
  std::vector<Values> columns_;               ///< wide columns: accumulators of the block, by reduction and part
  std::vector<Value*> columnResults_;         ///< wide columns: by reduction; null before it is known
  std::vector<Value*> tiles_;                 ///< by expression
  std::optional<ScanTile> scanTile_;
};

}  // namespace tenc::codegen::cpu
