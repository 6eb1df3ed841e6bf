// How a matrix product is cut into tiles and tasks on the CPU. Pure arithmetic on shapes; Gemm.cpp prints it.
//
// The outer-product microkernel keeps a tile of C in registers and runs over all of k (Goto and van de Geijn, "Anatomy
// of High-Performance Matrix Multiplication", 2008; here without packing A, and with B packed only when it is reused
// much). Every element of C is one chain of fused multiply-adds in the order of k, so the bits depend neither on the
// tile nor on the number of tasks or threads.
#pragma once
#include <cstdint>
#include <string>

#include "codegen/Kernel.h"
#include "codegen/cpu/CompileLevel.h"
#include "codegen/cpu/VectorUnit.h"

namespace tenc::codegen::cpu {

/// `total` things in `count` blocks whose sizes differ by one: the first `larger` hold `size` + 1, the others `size`.
struct Blocks {
  int64_t count = 0, size = 0, larger = 0;
  static Blocks of(int64_t total, int64_t most);
  int64_t start(int64_t i) const { return i * size + (i < larger ? i : larger); }
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

enum class PackB : uint8_t { None, Rows, Transpose, Elements };

struct GemmPlan {
  int lanes = 16;  ///< elements of a vector register
  Blocks rows;     ///< of C, each a tile's height
  Blocks vectors;  ///< panels of columns, counted in vectors
  int tail = 0;    ///< columns in the last vector when it is not full, else 0
  PackB pack = PackB::None;
  bool stream = false;  ///< 1 to 8 rows: whole rows of B are streamed, C is kept in memory
  int64_t rowTasks = 1, panelTasks = 1;
  int64_t prefetchRows = 0;  ///< how far ahead the next rows of B are fetched
  bool panelsFirst = false;  ///< all of the batch goes through one panel of a common, large B before the next
  uint64_t packBytes = 0;    ///< scratch for one packed panel
  int64_t tasks(const Product& p) const;
  int64_t width() const { return vectors.size + (vectors.larger ? 1 : 0); }  ///< of the widest panel, in vectors
};

/// Where the sums of a tile stand between their last addition and the epilogue.
struct TileStore {
  bool direct = false;  ///< they are the result: tiles store straight to C
  bool turned = false;  ///< sums of all rows of a panel are kept, and turned before the epilogue
  uint64_t bytes = 0;
  /// Of a thread: the packed panel, the tile, and the turned tile.
  uint64_t scratchBytes(const GemmPlan& plan) const {
    return plan.packBytes + 64 + (direct ? 0 : bytes + 64) + (turned ? bytes + 64 : 0);
  }
};
TileStore tileStoreOf(const Kernel& kernel, const GemmPlan& plan, Level level);
/// Rows of a panel, rounded up so that whole squares of lanes can be turned.
int64_t turnedRows(const Product& p, const GemmPlan& plan);

/// Whether the epilogue stores the product itself, unchanged, with columns side by side.
bool isPlainStore(const Kernel& kernel);
/// Whether rows, not columns, are side by side where all results are stored.
bool storesAlongRows(const Kernel& kernel);

/// `threads`: how many tasks are worth having.
/// Quick plans have one small tile.
GemmPlan planGemm(const Product& p, const VectorUnit& unit, int threads, Level level);

/// The plan for people: "tiled product: tiles of 6 x 4 vectors, B packed by rows".
std::string describe(const GemmPlan& plan);

}  // namespace tenc::codegen::cpu
