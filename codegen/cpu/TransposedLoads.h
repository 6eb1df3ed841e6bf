// Loads that walk memory along another variable than the one that runs over lanes: squares are read by rows of the
// source, transposed in registers, and kept on the stack, from where vectors are loaded.
#pragma once
#include "codegen/cpu/LoopFunction.h"
#include "codegen/cpu/StageEmitter.h"

namespace tenc::codegen::cpu {

class TransposedLoads {
 public:
  /// `source`: the loop variable along which the loads are contiguous, of which a block holds `height` values; `width`:
  /// values of the lanes' variable in a block. With `any` false there are none.
  TransposedLoads(LoopFunction& f, const Stage& stage, size_t lanes, size_t source, int64_t height, int64_t width,
                  bool any = true);

  /// Fills the block: values [first, end) of the source variable, [base, columnsEnd) of the lanes' variable.
  /// `wholeRows`, `wholeColumns`: the ranges are multiples of the lanes.
  void fill(StageEmitter& em, llvm::Value* first, llvm::Value* end, llvm::Value* base, llvm::Value* columnsEnd,
            bool wholeRows, bool wholeColumns);
  /// Fetches `values` values of the source variable from `first` on, at one value of the lanes' variable, ahead of
  /// their use. They need not exist.
  void prefetch(StageEmitter& em, llvm::Value* first, llvm::Value* column, int64_t values);
  /// Whether the expression is such a load.
  bool holds(ExprId expr) const { return slots_[expr] != nullptr; }
  /// Where the vector at `row` and `column`, counted from the block's first, stands in the block.
  llvm::Value* place(llvm::Value* row, llvm::Value* column);
  /// Copy `copy` of the vector of a load; `at` is the first copy's place.
  Scalar vector(StageEmitter& em, ExprId expr, llvm::Value* at, int copy);

 private:
  bool isTransposed(const Expr& e) const;
  llvm::Type* elementOf(const Expr& e) const;
  int squareOf(const Expr& e) const;
  llvm::Function* blockTurn(const Expr& e);
  void square(StageEmitter& em, const Expr& e, llvm::Value* to, llvm::Value* first, llvm::Value* base,
              llvm::Value* rowsLeft, llvm::Value* columnsLeft);

  LoopFunction& f_;
  const Stage& stage_;
  size_t lanes_, source_;
  int64_t width_;
  Values slots_;  ///< by expression; null for those that are loaded as usual
};

}  // namespace tenc::codegen::cpu
