// Which tiles of a product are assembled, and what their code is made of.
#pragma once
#include <vector>

#include "codegen/cpu/ProductSchedule.h"
#include "codegen/cpu/TileCode.h"
#include "codegen/cpu/VectorUnit.h"

namespace tenc::codegen::cpu {

/// The edge of a product at a dim of its batch that sum `level` (sums.size(): k) has, with the number of its first
/// argument among those of a tile.
struct BatchEdge {
  const Product::Edge* edge = nullptr;
  int argument = 0;
  bool mayBeNone = false;  ///< there may be places without a trip
};
BatchEdge batchEdge(const Product& product, size_t level);

/// A tile of `height` rows by `width` vectors, the last with `tail` columns of C, whose rows are `rowOfC` elements
/// apart. `mayMiss`: of rows that are places told by the last argument, which may meet padding; else empty.
TileCode tileCode(const Product& product, const TiledProduct& plan, int64_t height, int64_t width, bool tail,
                  int64_t rowOfC, std::vector<bool> mayMiss);

/// Whether all tiles of the plan can be assembled: of floats as they stand, whose columns meet no padding.
bool hasAssembledTiles(const Kernel& kernel, const TiledProduct& plan, const VectorUnit& unit);

}  // namespace tenc::codegen::cpu
