// How loop kernels run on the CPU. A kernel is a space of outer points, each of which runs the kernel's stages: inner
// loops, reductions, stores (codegen/Kernel.h). `scheduleLoops` (Schedule.h) chooses one of six strategies; each has
// an emitter. `--emit=kernels` prints the choice by the name in the first column.
//
// clang-format off
// | strategy     | what runs in the lanes of a vector, and when it is chosen                     | emitter                |
// |--------------|-------------------------------------------------------------------------------|------------------------|
// | rows         | inner variables, a variable for each stage; a work item is an outer point.    | RowEmitter             |
// |              | Softmax, layer norm and sums along rows; scans; scalar code.                  |                        |
// | columns      | one outer variable around all stages: every lane is a point. Elementwise      | ColumnEmitter          |
// |              | kernels, and reductions whose rows are short or lie across memory. Rows of    |                        |
// |              | up to 32 elements are transposed in registers (ShortRows.h).                  |                        |
// | wide columns | the same, for reductions of 32 rows or more into 256 columns or more, 64 if   | WideColumnEmitter      |
// |              | stages read the rows again: the accumulators of a block of columns stand in   |                        |
// |              | memory, so that memory is read in long runs.                                  |                        |
// | transpose    | the same, for one elementwise stage with a load whose memory runs along       | TransposeEmitter       |
// |              | another outer variable: squares are transposed in registers.                  |                        |
// | product      | the same, for a reduction of f(a[i, k], b[k, j]): tiles of i x j keep their   | ImplicitProductEmitter |
// |              | accumulators in registers (codegen/ImplicitProduct.h).                        |                        |
// | updates      | none: updates that follow each other, at run-time indices, of points that are | UpdateEmitter          |
// |              | fewer than threads. An item makes those whose index is in its part.           |                        |
// clang-format on
//
// First products are looked for; then the cheapest vector variable is (Cost.h): an inner one of each stage, or an
// outer one for all. For an outer one, wide columns and transposes are special cases of columns. Where floats are
// summed, the choice follows from shapes and strides alone: it decides the order of the sum.
//
// An example, `print(softmax(x))` with `let x: f32[64, 1024] = load("x.npy")`. Its kernel has an outer variable, i0,
// the 64 rows, and three stages with one inner variable each, i1, the 1024 elements: the maximum; exp of the
// differences, and their sum; the quotients. All loads are contiguous along i1, so the inner variables are cheapest,
// and the schedule is
//
//   rows: vectors of i1 x 4, vectors of i1 x 4, vectors of i1 x 1
//
// A work item is a row; how many items a thread takes at a time is the grain, so that each time is worth the asking.
// A reduction has an accumulator for each of the 4 vectors of 16 lanes, which are joined after the loop, two by two,
// and then their lanes; the result is a number that the next stage reads. Code that is optimised in full takes the 4
// side by side in a trip, quick code (CompileLevel.h) one after the other, with the same bits. Along an axis that is
// not the last, the loads are contiguous along an outer variable, and the schedule is by columns: no accumulators are
// joined, each lane has a sum of its own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenc::codegen::cpu {

/// Lanes of every vector of a loop kernel, whatever the registers of the machine.
inline constexpr int kLanes = 16;

struct RowSchedule {
  struct InnerVector {
    size_t var;    ///< the stage's inner variable that runs over lanes
    int copies;    ///< vectors side by side; for reductions, accumulators
    bool oneBody;  ///< much code, to be printed once
    int together;  ///< copies in one body, where the others take turns
  };
  std::vector<std::optional<InnerVector>> stages;  ///< none: the stage is scalar
};

/// The outer variable that runs over lanes, cut into blocks; a work item is one block at one value of all other outer
/// variables.
struct LaneBlocks {
  size_t var;
  int64_t size, count;  ///< of blocks, in elements
};

struct ColumnSchedule {
  LaneBlocks blocks;
  int copies;       ///< vectors side by side
  bool oneBody;     ///< much code, to be printed once
  bool transposes;  ///< rows of few elements are transposed
};

struct WideColumnSchedule {
  LaneBlocks blocks;
};

struct TransposeSchedule {
  LaneBlocks blocks;
  size_t
      source;  ///< the outer variable along which memory of the transposed loads runs; an item has `tile` values of it
  int64_t tile;  ///< squares of tile x tile are transposed; a multiple of the lanes
  bool fetches;  ///< the next square is asked for while one is stored
  int copies;
  bool oneBody;
};

struct ImplicitProductSchedule {
  LaneBlocks blocks;  ///< of columns
  size_t row;         ///< the outer variable that is the row; an item has `rows` values of it
  int64_t rows;
  bool transposes;  ///< loads that run along the inner variable are transposed, a block of columns at a time
  int together;     ///< rows and vectors in one body at the most, where bodies are long
};

/// Every item looks through all indices, in vectors, and makes its updates in their order, which is so the same for
/// every number of parts; one item makes all where samples say that most go to its part.
struct UpdateSchedule {
  size_t term;     ///< of the store's address: the index that decides
  int64_t values;  ///< how many that index may have
  int64_t parts;
};

struct LoopSchedule {
  std::variant<RowSchedule, ColumnSchedule, WideColumnSchedule, TransposeSchedule, ImplicitProductSchedule,
               UpdateSchedule>
      strategy;
};

std::string describe(const LoopSchedule& schedule);

}  // namespace tenc::codegen::cpu
