// Random numbers at places that follow each other. Lanes share the blocks of Philox: a tile of words, or of normal f32
// numbers, is computed at once by a function of the module and kept on the stack, from where vectors are loaded.
#pragma once
#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {

class RandomTile {
 public:
  /// For the elements that `kind` makes in one draw. The tile is memory of the function being emitted, which is filled
  /// where an element is asked for that it does not hold.
  RandomTile(LlvmScalars& scalars, ir::OpKind kind, ir::DType result);
  /// Elements `first`, `first` + 1, ..., one a lane. `draw` and `seed` must be the same wherever the function asks.
  /// `bounds`: lo and hi of random_int.
  Scalar elements(llvm::Value* first, llvm::Value* draw, llvm::Value* seed, std::span<const Scalar> bounds);

 private:
  llvm::Value* words(llvm::Value* first, llvm::Value* draw, llvm::Value* seed);
  Scalar of(llvm::Value* loaded, std::span<const Scalar> bounds);

  LlvmScalars& scalars_;
  ir::OpKind kind_;
  ir::DType result_;
  bool normals_;   ///< holds finished numbers, in place of the words that they are made of
  int64_t words_;  ///< of one element
  llvm::Value* tile_;
  llvm::Value* start_;  ///< where the number of the tile's first word is kept
};

}  // namespace tenc::codegen::cpu
