// Which tiles of a product are assembled, and what their code is made of.
#pragma once
#include <vector>

#include "codegen/cpu/ProductSchedule.h"
#include "codegen/cpu/TileCode.h"
#include "codegen/cpu/TurnCode.h"
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

/// The convolution edge at rows or columns of a product, if it has one, and the blocks that meet padding there.
struct GemmRim {
  const Product::Edge* edge = nullptr;
  bool rows = false;  ///< the places are rows, not columns
  Rim blocks;
  static GemmRim of(const Product& product, const TiledProduct& plan, Level level);
};

/// Of a tile whose columns are places.
int64_t placesOf(const TiledProduct& plan, int64_t width, bool tail);
/// The first places of blocks at the rim that are `size` rows or vectors, with such a tail.
std::vector<int64_t> rimPlaces(const TiledProduct& plan, const GemmRim& rim, int64_t size, bool tail);

/// A tile of `height` rows by `width` vectors, the last with `tail` columns of C, whose rows are `rowOfC` elements
/// apart; it meets no padding.
TileCode tileCode(const Product& product, const TiledProduct& plan, int64_t height, int64_t width, bool tail,
                  int64_t rowOfC);
/// Makes it a tile that the last argument tells its place: of rows, those that may meet padding.
void meetPadding(TileCode& tile, const Product::Edge& edge, std::vector<bool> mayMiss);
/// The same of columns.
void meetPadding(TileCode& tile, const TiledProduct& plan, const GemmRim& rim, bool tail);

PackCode packCode(const Product& product, const TiledProduct& plan, int64_t width, int64_t columns);
/// Whether panels of a plan with assembled tiles are packed by assembled code.
bool hasAssembledPack(const Product& product, const TiledProduct& plan);

/// Whether all tiles of the plan can be assembled: of floats as they stand. Columns meet padding only in few blocks.
bool hasAssembledTiles(const Kernel& kernel, const TiledProduct& plan, const VectorUnit& unit);

}  // namespace tenc::codegen::cpu
