// Depthwise convolutions over two dims on the CPU, as LLVM IR: each channel has a window of its own.
//
// A tile of rows by vectors of places stays in registers. For each column of the window its weights are broadcast, and
// the rows of the input that the tile meets are loaded once, shifted to that column; each is multiplied for every row
// of places that it is part of. So a place adds up column by column of the window, each from the first row to the last,
// in one chain of fused multiply-adds, whatever the tile.
#pragma once
#include "codegen/cpu/Gemm.h"

namespace tenc::codegen::cpu {

/// The tiles of places that stay in registers.
struct DepthwisePlan {
  int64_t lanes = 16;
  int64_t width = 1, panels = 1;   ///< vectors of a tile, tiles of a row; the last may have fewer
  int64_t height = 1, blocks = 1;  ///< rows of a tile, tiles of a column; the last may have fewer
  bool direct = false;             ///< tiles store straight to the result
  int elementBytes = 4;

  static DepthwisePlan of(const Kernel& kernel, int registerBytes, Level level);
  /// Of a thread: a tile, for the epilogue.
  uint64_t scratchBytes() const { return direct ? 0 : static_cast<uint64_t>(height * width * lanes * elementBytes); }
};

/// As emitProduct, for a product that is marked as depthwise.
EmittedProduct emitDepthwise(const Kernel& kernel, llvm::Module& module, const std::string& name, int registerBytes,
                             int threads, Level level);

}  // namespace tenc::codegen::cpu
