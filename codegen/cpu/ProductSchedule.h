// How products run on the CPU: matrix products and convolutions cut into tiles and tasks. Pure arithmetic on shapes;
// `scheduleProduct` (Schedule.h) chooses the form, an emitter prints it.
//
// Every element of C is one chain of fused multiply-adds in the order of k (of bf16: see Terms), so the bits depend
// neither on the tile nor on the number of tasks or threads.
#pragma once
#include <cstdint>
#include <string>

#include "codegen/Kernel.h"
#include "codegen/cpu/CompileLevel.h"

namespace tenc::codegen::cpu {

/// `total` things in `count` blocks whose sizes differ by one: the first `larger` hold `size` + 1, the others `size`.
struct Blocks {
  int64_t count = 0, size = 0, larger = 0;
  static Blocks of(int64_t total, int64_t most);
  int64_t start(int64_t i) const { return i * size + (i < larger ? i : larger); }
  int64_t most() const { return size + (larger > 0 ? 1 : 0); }  ///< things in the largest block
};

/// Trips of the sum over a window at some places in a row: those in [first, end) add something somewhere, those in
/// [allFirst, allEnd) everywhere; that is in between, or empty at `end`.
struct TapRange {
  int64_t first = 0, allFirst = 0, allEnd = 0, end = 0;
};

/// The blocks of places where some taps of a window meet padding: [0, before) and [after, count).
struct Rim {
  int64_t before = 0, after = 0;
  bool fixed = false;  ///< each of them is worth code of its own
  /// `scale`: places in one of what the blocks count.
  static Rim of(const ir::WindowDim& window, const Blocks& blocks, int64_t scale, Level level);
  static TapRange taps(const ir::WindowDim& window, int64_t place, int64_t places);
};

/// How elements of A and B become terms of the sums. In the two forms of pairs the sums are the same: of each two steps
/// of k, counted from 0, the second is added first, each by a fused multiply-add that takes subnormal numbers for 0, as
/// operand and as result; a last step without another is added to 0.
enum class Terms : uint8_t {
  Same,          ///< as they stand
  Pairs,         ///< bf16, by the instruction for two steps of k (AVX512-BF16)
  WidenedPairs,  ///< bf16 made f32
  Widened        ///< f16 made f32
};
constexpr int64_t stepsOf(Terms t) { return t == Terms::Pairs || t == Terms::WidenedPairs ? 2 : 1; }

// ---- tiled products

/// How a panel of B, columns of it that a tile meets, is copied before it is used.
enum class PackB : uint8_t {
  None,
  Rows,       ///< its columns are side by side in B
  Transpose,  ///< its rows are: squares are transposed in registers
  Elements
};

/// Where the sums of a tile stand between their last addition and the epilogue.
struct TileStore {
  bool direct = false;  ///< they are the result: tiles store straight to C
  bool turned = false;  ///< sums of all rows of a panel are kept, and turned before the epilogue
  uint64_t bytes = 0;   ///< of the sums that are kept
};

/// The outer-product microkernel keeps a tile of C in registers and runs over all of k (Goto and van de Geijn, "Anatomy
/// of High-Performance Matrix Multiplication", 2008; here without packing A, and with B packed only when it is reused
/// much).
struct TiledProduct {
  int lanes = 16;  ///< elements of a vector register
  Blocks rows;     ///< of C, each a tile's height
  Blocks vectors;  ///< panels of columns, counted in vectors
  int tail = 0;    ///< columns in the last vector when it is not full, else 0
  PackB pack = PackB::None;
  TileStore sums;
  bool mirrored = false;  ///< tiles above the diagonal are not computed: those below it are stored there, too
  int64_t rowTasks = 1, panelTasks = 1;
  Terms terms = Terms::Same;  ///< if others, B is packed
  int64_t prefetchRows = 0;   ///< how far ahead the next rows of B are fetched
  bool panelsFirst = false;   ///< all of the batch goes through one panel of a common, large B before the next
  uint64_t packBytes = 0;     ///< scratch for one packed panel
  int64_t width() const { return vectors.most(); }  ///< of the widest panel, in vectors
  /// Rows of a panel, or of a mirrored tile, rounded up so that whole squares of lanes can be turned.
  int64_t turnedRows(const Product& p) const {
    return mirrored ? (rows.most() + lanes - 1) / lanes * lanes : (p.m + 2 * lanes - 1) / lanes * lanes;
  }
};

// ---- streamed products

/// Of 1 to 8 rows: whole rows of B are read once, one after the other, and added to all rows of C, which stay in the
/// first-level cache.
struct StreamedProduct {
  int lanes = 16;
  Blocks vectors;  ///< ranges of columns, counted in vectors, each a task
  int tail = 0;    ///< columns in the last vector when it is not full, else 0
  Terms terms = Terms::Same;
  int64_t rowsOfB = 2;  ///< that are read side by side
};

// ---- depthwise convolutions

/// A tile of rows by vectors of places stays in registers. For each column of the window its weights are broadcast, and
/// the rows of the input that the tile meets are loaded once, shifted to that column; each is multiplied for every row
/// of places that it is part of. So a place adds up column by column of the window, each from the first row to the
/// last, in one chain of fused multiply-adds, whatever the tile.
struct DepthwiseConvolution {
  int64_t lanes = 16;
  int64_t width = 1, panels = 1;   ///< vectors of a tile, tiles of a row; the last may have fewer
  int64_t height = 1, blocks = 1;  ///< rows of a tile, tiles of a column; the last may have fewer
  int64_t rowTasks = 1;            ///< of a channel: ranges of blocks
  bool direct = false;             ///< tiles store straight to the result
};

/// Whether the epilogue stores the product itself, unchanged, with columns side by side.
bool isPlainStore(const Kernel& kernel);
/// Whether rows, not columns, are side by side where all results are stored.
bool storesAlongRows(const Kernel& kernel);

std::string describe(const TiledProduct& product);
std::string describe(const StreamedProduct& product);
std::string describe(const DepthwiseConvolution& convolution);

}  // namespace tenc::codegen::cpu
