// Scans along a row in vectors: tiles of a row on the stack, and the function that scans one.
#pragma once
#include "codegen/Kernel.h"
#include "codegen/cpu/Loops.h"

namespace tenc::codegen::cpu {

inline constexpr int64_t kScanTile = int64_t{kScanChunk} * kScanChunk;

/// Whether the stage is a scan along its inner loop in chunks.
bool hasChunks(const Kernel& kernel, const Stage& stage);

/// kScanTile values of a row, one after the other, in memory of the function being emitted.
class ScanTile {
 public:
  /// The memory is made in the function's entry block, and is zero at first.
  ScanTile(llvm::IRBuilderBase& b, const Reduction& scan);
  /// The address of the value with number `offset` (an i64) + `vector` * kScanChunk.
  llvm::Value* place(llvm::Value* offset, int vector);
  llvm::Value* element(llvm::Value* offset);
  /// Replaces all values by what the scan comes to, `carry` before the first; returns that after the last.
  /// `shortCode`: one after the other, with the same bits.
  llvm::Value* scan(llvm::Value* carry, bool shortCode);
  /// What `scan` returns; the values stay. Of floats.
  llvm::Value* total(llvm::Value* carry);
  llvm::Type* vector() const { return vector_; }
  llvm::Align align() const { return align_; }

 private:
  llvm::IRBuilderBase& b_;
  const Reduction& scan_;
  llvm::Type* element_;
  llvm::Type* vector_;
  llvm::Align align_;
  llvm::Value* memory_;
};

}  // namespace tenc::codegen::cpu
