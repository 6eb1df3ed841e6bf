// How a loop kernel runs on the CPU: which loop variable is the vector, what a work item is. A function of the kernel
// alone, so that results are the same on every machine and for every number of threads.
#pragma once
#include <cstdint>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cpu/CompileLevel.h"

namespace tenc::codegen::cpu {

struct Schedule {
  static constexpr size_t kNone = ~size_t{0};
  int lanes = 16;
  /// An outer variable runs over lanes, around all stages (maps, sums of columns). kNone: each stage has a vector
  /// variable of its own among its inner variables, or is scalar.
  size_t outerVector = kNone;
  std::vector<size_t> stageVector;  ///< kNone with outerVector, and for scalar stages
  std::vector<int> copies;          ///< per stage: vectors side by side (the same for all with outerVector)
  std::vector<bool> heavy;          ///< per stage: much code, to be emitted once
  std::vector<int> together;        ///< per stage: copies in one body, where the others take turns
  bool rolled = false;              ///< code is short
  /// With outerVector: the variable that transposed loads walk in memory; squares of `tile` x `tile` are turned.
  size_t tileVar = kNone;
  int64_t tile = 0;  ///< a multiple of lanes
  /// With outerVector: stages reduce long rows into wide rows of columns. Accumulators of a whole block stand in
  /// memory, and rows are taken some at a time, so that memory is read in long runs.
  bool wideColumns = false;
  /// With outerVector: a generalised product, sum_k f(a[i, k], b[k, j]) with any f and any plain reduction. Tiles of
  /// `rowVar` x outerVector keep their accumulators in registers; an item is `rows` x `block`. With `tileVar` (then the
  /// inner variable) loads that walk memory along it are turned, a block of columns at a time.
  size_t rowVar = kNone;
  int64_t rows = 0;
  int64_t block = 0;  ///< with outerVector: elements of it an item
  int64_t blocks = 1;
  int64_t items = 1;
  int64_t grain = 1;  ///< items that take some microseconds
  double work = 0;    ///< of all items, in units of about a third of a nanosecond
};
/// `level` changes how much code there is, and never the order in which values are combined.
Schedule makeSchedule(const Kernel& kernel, Level level);

/// Vector instructions for one vector of the stage's innermost values.
int stageCost(const Kernel& kernel, const Stage& stage);

}  // namespace tenc::codegen::cpu
