// How products are computed: in tiles of rows and columns, or, where there are few of one, as loops.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

/// Which loop variables of a product (its batch dims, then m and n) number its rows, its columns and its matrices: a
/// batch dim that one operand does not vary with belongs to the other's.
struct ProductDims {
  std::vector<size_t> rows, columns, matrices;
  int64_t m = 1, n = 1, count = 1;  ///< how many of each
};
ProductDims productDims(const Product& product);
int64_t extentOf(const Product& product, size_t variable);

/// Tiles, and how much of the arithmetic peak their inner loops can reach: what has fewer elements reads more shared
/// memory for what it computes.
struct TileChoice {
  Tile tile;
  double efficiency;
};
/// The tiles by which the product takes least time on a device whose multiprocessors are all free. Sets the tile, the
/// blocks and the threads; gives that time, in units of its own.
double chooseTiles(std::span<const TileChoice> choices, const ProductDims& dims, Schedule& schedule);
/// Bytes of shared memory of what the parts of a tile's terms come to.
int64_t partialBytes(const Tile& tile, ir::DType dtype);
/// Results side by side that a thread stores: of parts those that it adds up.
inline int resultColumns(const Tile& t) {
  return t.parts > 1 ? std::min(t.rows * t.columns / t.threads(), 4) : t.threadColumns;
}
inline int resultRows(const Tile& t) {
  return t.parts > 1 ? t.rows * t.columns / t.threads() / resultColumns(t) : t.threadRows;
}
/// Elements from row to row of these: so many that lanes whose rows are beside each other store to different banks.
inline int partialPitch(const Tile& t) { return t.columns + 16 / t.threadRows; }
/// Terms of a tile that a thread multiplies in straight code: more would only take NVRTC long.
int stepsOf(const Tile& tile);
inline constexpr int64_t kFewLines = 8;  ///< fewer rows or columns are loops: not worth tiles

/// The same kernel as loops, where tiles would be mostly empty.
std::optional<Kernel> asLoops(const Kernel& kernel);

/// Of a product that is not asLoops().
Schedule productSchedule(const Kernel& kernel, const Features& features);

/// What an operand's position moves by with a loop variable, and with a sum; k is the last of the sums.
int64_t lineStride(const Product& product, bool isLeft, size_t variable);
int64_t termStride(const Product& product, bool isLeft, size_t sum);
/// Whether the window's edge is where an operand meets it, at one of its lines or in its matrix.
bool isEdgeOf(const ProductDims& dims, const Product::Edge& edge, bool isLeft);
/// Sums of an operand, outermost first; those that are one in its memory are joined, unless there is an edge.
struct Run {
  int64_t extent, stride;
};
std::vector<Run> termRuns(const Product& product, const ProductDims& dims, bool isLeft);

/// Tiles, pieces and stages of a product of halves on tensor cores.
void chooseTensorTiles(const Kernel& kernel, const ProductDims& dims, const Features& features, Schedule& schedule);
/// Bytes of shared memory of a stage: first those of A.
int64_t stageBytes(const Tile& tile);
/// The terms of an operand whose pieces are packed are decoded by some threads for all, into a table in shared memory:
/// of each its position, and bits that a line must not have set for the term to meet an element. The first bit is that
/// of lines there are not, the second that of terms there are not; then come, for each edge, those of its window's
/// taps.
struct TermTable {
  int bits = 2;
  bool isWide = false;  ///< positions and bits are words of their own
  int words() const { return isWide ? 2 : 1; }
};
std::optional<TermTable> termTable(const Kernel& kernel, const ProductDims& dims, bool isLeft);
/// Bytes of these tables.
int64_t tableBytes(const Kernel& kernel, const ProductDims& dims, const Schedule& schedule);
inline constexpr int kPadded = 8;  ///< more columns than a warp's, so that its results meet all banks of shared memory

}  // namespace tenc::codegen::cuda
