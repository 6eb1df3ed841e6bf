// How products run on the CPU: matrix products and convolutions cut into tiles and tasks. Pure arithmetic on shapes;
// `scheduleProduct` (Schedule.h) chooses the form, an emitter prints it.
//
// Every element of C is one chain of fused multiply-adds in the order of k (of bf16: see Terms), so the bits depend
// neither on the tile nor on the number of tasks or threads. Integers wrap, in any order.
#pragma once
#include <algorithm>
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

/// How elements of A and B become terms of the sums. In the two forms of pairs of bf16 the sums are the same: of each
/// two steps of k, counted from 0, the second is added first, each by a fused multiply-add that takes subnormal numbers
/// for 0, as operand and as result; a last step without another is added to 0.
enum class Terms : uint8_t {
  Same,          ///< as they stand
  Pairs,         ///< bf16, by the instruction for two steps of k (AVX512-BF16)
  WidenedPairs,  ///< bf16 made f32
  Widened,       ///< f16 made f32
  IntegerPairs,  ///< i8, u8 and i16 made i16, two steps of k by one instruction
  Quads          ///< i8, by the instruction for four steps of k (AVX512-VNNI)
};
/// Steps of k that are multiplied together.
constexpr int64_t stepsOf(Terms t) {
  switch (t) {
    case Terms::Same:
    case Terms::Widened: return 1;
    case Terms::Pairs:
    case Terms::WidenedPairs:
    case Terms::IntegerPairs: return 2;
    case Terms::Quads: return 4;
  }
  return 1;
}
/// Rows of a panel that they are.
constexpr int64_t partsOf(Terms t) { return t == Terms::WidenedPairs ? 2 : 1; }
/// Whether one element of 32 bits stands for all steps.
constexpr bool areJoined(Terms t) { return stepsOf(t) > partsOf(t); }
/// Of quads, A is taken for unsigned numbers that are 128 greater. What that adds to the sums of a column is known from
/// B alone: sums begin with its negation.
constexpr bool isShifted(Terms t) { return t == Terms::Quads; }

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
  Blocks depth;    ///< of k: parts of a panel, each used by all rows while caches hold it
  int tail = 0;    ///< columns in the last vector when it is not full, else 0
  PackB pack = PackB::None;
  TileStore sums;
  bool mirrored = false;    ///< tiles above the diagonal are not computed: those below it are stored there, too
  bool partsFirst = false;  ///< all panels use a part of k before the next: the sums of all are kept
  int64_t rowTasks = 1, panelTasks = 1;
  Terms terms = Terms::Same;   ///< if others, B is packed
  int64_t prefetchRows = 0;    ///< how far ahead the next rows of B are fetched
  bool panelsFirst = false;    ///< all of the batch goes through one panel of a common, large B before the next
  int64_t packedRows = 0;      ///< of a packed panel; where terms are shifted, the last is what sums begin with
  uint64_t packBytes = 0;      ///< scratch for one of them
  bool prefetchesC = false;    ///< tiles fetch what they store to first
  bool assembled = false;      ///< tiles are machine code (TileCode.h), not LLVM's
  bool assembledPack = false;  ///< so are panels packed
  double quickLoss = 0;        ///< work that a run has more where what is around the tiles is quick code
  bool quickAround = false;    ///< it is
  int64_t width() const { return vectors.most(); }  ///< of the widest panel, in vectors
  bool split() const { return depth.count > 1; }    ///< sums of all rows of a panel are kept from part to part
  /// Elements from one row of sums to the next, where these are not the result.
  int64_t rowOfSums() const { return (partsFirst ? vectors.start(vectors.count) : width()) * lanes; }
  /// Of the largest row task.
  int64_t taskRows(const Product& p) const {
    return std::min(p.m, (rows.count + rowTasks - 1) / rowTasks * rows.most());
  }
  /// Rows of a panel in a task, or of a mirrored tile, rounded up so that whole squares of lanes can be turned.
  int64_t turnedRows(const Product& p) const {
    return mirrored ? (rows.most() + lanes - 1) / lanes * lanes : (taskRows(p) + 2 * lanes - 1) / lanes * lanes;
  }
};

// ---- streamed products

/// Of few rows: rows of B are read once, some side by side, and added to all rows of C, whose sums stay in the
/// first-level cache.
struct StreamedProduct {
  int lanes = 16;
  Blocks vectors;        ///< ranges of columns, counted in vectors, each a task
  int64_t together = 1;  ///< vectors of columns whose sums are computed together
  Blocks rows;           ///< of C, whose code stands side by side
  int tail = 0;          ///< columns in the last vector when it is not full, else 0
  Terms terms = Terms::Same;
  int64_t rowsOfB = 8;     ///< that are read side by side
  int64_t broadcasts = 0;  ///< of A that stay in registers for all columns
  /// Elements from one row of sums to the next, so that neither the same columns nor the next ones of other rows are a
  /// multiple of 4 KiB away.
  int64_t rowOfSums() const { return ((together + 2) / 8 * 8 + 5) * lanes; }
};

// ---- small products

/// Of a batch: all terms and a block of rows stand in the code, and rows are one or a few vectors, short ones where
/// there are few columns.
struct SmallProduct {
  int lanes = 4;          ///< elements of a vector: a power of 2, of which registers may hold more
  int64_t vectors = 1;    ///< of a row
  Blocks rows;            ///< of C, each an item of its own
  bool swapped = false;   ///< one column: the row of the product of the transposed matrices, in the other order
  bool turned = false;    ///< columns of B, not its rows, are side by side in memory
  bool inlined = false;   ///< the epilogue stands in the code, too
  int wholeLanes = 16;    ///< of a register: vectors of an epilogue that is called
  int64_t rowOfSums = 0;  ///< elements from one row of sums to the next, where they are not in registers
};
/// What is multiplied, with the roles exchanged where the plan says so.
struct SmallOperands {
  int64_t m, n;
  const MatrixView &a, &b;
  int64_t rowOfA, termOfA, termOfB, columnOfB;  ///< strides
};
SmallOperands operandsOf(const Product& product, bool swapped);

// ---- interleaved products

/// Of a batch whose matrices lie side by side, element by element: lanes are matrices, and a tile of rows by columns of
/// such vectors stays in registers.
struct InterleavedProduct {
  int lanes = 16;       ///< matrices of a vector
  size_t dim = 0;       ///< of the batch, that lanes run along
  int64_t vectors = 1;  ///< of that dim; the last begins earlier where it would not be full
  Blocks rows, columns;
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

/// Elements from the first column to the first one of vector `vector` of B as it stands.
int64_t columnsBefore(const Product& product, int64_t vector, int64_t lanes);

/// Whether the epilogue stores the product itself, unchanged, with columns side by side.
bool isPlainStore(const Kernel& kernel);
/// Whether rows, not columns, are side by side where all results are stored.
bool storesAlongRows(const Kernel& kernel);

std::string describe(const TiledProduct& product);
std::string describe(const StreamedProduct& product);
std::string describe(const SmallProduct& product);
std::string describe(const InterleavedProduct& product);
std::string describe(const DepthwiseConvolution& convolution);

}  // namespace tenc::codegen::cpu
