// Lanes in memory that are not simply side by side: strides, run-time places, vectors of which only some lanes count.
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace tenc::codegen::cpu {

class LaneMemory {
 public:
  LaneMemory(llvm::IRBuilderBase& b, int lanes) : b_(b), lanes_(lanes) {}

  /// {0, stride, 2 * stride, ...}
  llvm::Value* laneOffsets(int64_t stride, llvm::Type* element);
  /// Vectors at `base`, with elements aligned; a mask that is null has all lanes.
  llvm::Value* load(llvm::Type* element, llvm::Value* base, llvm::Value* mask);
  /// The same of what was just stored: a load takes over from one store only, so it comes in the pieces of `store`.
  llvm::Value* loadStored(llvm::Type* element, llvm::Value* base, llvm::Value* mask);
  void store(llvm::Value* value, llvm::Value* base, llvm::Value* mask);
  /// The same from `base` backwards.
  llvm::Value* loadReversed(llvm::Type* element, llvm::Value* base, llvm::Value* mask);
  void storeReversed(llvm::Value* value, llvm::Value* base, llvm::Value* mask);
  llvm::Value* loadStrided(llvm::Type* element, llvm::Value* base, int step, llvm::Value* mask);
  void storeStrided(llvm::Value* value, llvm::Value* base, int step, llvm::Value* mask);
  /// Whether the machine has an instruction for gathers of such elements.
  bool gathers(llvm::Type* element) const;
  llvm::Value* gather(llvm::Type* element, llvm::Value* base, llvm::Value* index, llvm::Value* mask);
  void scatter(llvm::Value* value, llvm::Value* base, llvm::Value* index, llvm::Value* mask);

 private:
  llvm::IRBuilderBase& b_;
  int lanes_;
};

}  // namespace tenc::codegen::cpu
