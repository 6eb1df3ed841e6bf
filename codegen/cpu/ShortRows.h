// Rows of few elements under lanes that run across them: lane i is row i. Elements of a column are far apart in memory,
// so rows are read and written in runs as they lie, transposed in registers, and their columns are vectors on the
// stack. Scratch rows of lanes stand there in the same way.
#pragma once
#include <vector>

#include "codegen/cpu/RowWindows.h"
#include "codegen/cpu/StageEmitter.h"

namespace tenc::codegen::cpu {

class ShortRows {
 public:
  /// For up to so many vectors of outer variable `var` side by side. Without `transposes` only scratch rows are kept.
  ShortRows(LoopFunction& f, size_t var, int copies, bool transposes);
  /// Reads rows of whole vectors from `base` on: those that stages loop over, or the columns that `em` loads.
  void readRows(llvm::Value* base, int copies);
  void readColumns(StageEmitter& em, llvm::Value* base, int copies);
  /// Writes the rows of whole vectors that the stage has stored.
  void write(StageEmitter& em, llvm::Value* base, int copies);
  /// Where the vector of an access stands on the stack, at the inner variable's value; null: it does not. `whole`: of a
  /// vector whose lanes are all on.
  llvm::Value* place(StageEmitter& em, const Access& a, int copy, bool whole);

 private:
  llvm::Type* elementOf(const RowWindow& w) const;
  llvm::Value* columnAt(const RowWindow& w, llvm::Value* column, llvm::Value* lane) const;
  void transpose(StageEmitter& em, const RowWindow& w, llvm::Value* base, int copies);
  void readSquare(const RowWindow& w, llvm::Value* rows, llvm::Value* columns, int size);
  void writeSquare(const RowWindow& w, llvm::Value* rows, llvm::Value* columns, int size);

  LoopFunction& f_;
  size_t var_;
  int copies_;
  std::vector<RowWindow> windows_;
  std::vector<llvm::Value*> columns_;  ///< of each window: for each column a row of vectors
};

}  // namespace tenc::codegen::cpu
