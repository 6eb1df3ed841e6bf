// How a kernel runs on the CPU. `schedule` makes the choice once, as data: one of the forms below, with what it costs
// and needs. Each form has an emitter that prints it as LLVM IR and decides nothing anew. `--emit=kernels` prints the
// choice by the name in the first column.
//
// | kernel  | form                  | when it is chosen                                   | emitter                |
// |---------|-----------------------|-----------------------------------------------------|------------------------|
// | loop    | six strategies        | LoopSchedule.h has a table of them                  | LoopEmitter            |
// | product | tiled product         | matrix products and convolutions, but for:          | TiledProductEmitter    |
// |         | streamed product      | 8 rows or fewer by a matrix that caches do not hold | StreamedProductEmitter |
// |         | small products        | 16 or more of up to 16 rows, columns and terms, or  | SmallProductEmitter    |
// |         |                       | many rows by a matrix of a few elements             |                        |
// |         | interleaved products  | small products side by side, element by element     | InterleavedProduct-    |
// |         |                       |                                                     | Emitter                |
// |         | depthwise convolution | a window for each channel, over two dims            | DepthwiseEmitter       |
// | native  | native loop           | always                                              | NativeEmitter          |
// | tensor  | tensor loop           | always; each part has a schedule of its own         | TensorLoopEmitter      |
// | loop    |                       |                                                     |                        |
//
// The order in which floats are combined is part of the result: it is a function of the kernel alone. The machine, the
// number of threads and the level change tiles and tasks, never that order.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "codegen/cpu/CompileLevel.h"
#include "codegen/cpu/LoopSchedule.h"
#include "codegen/cpu/ProductSchedule.h"
#include "codegen/cpu/VectorUnit.h"

namespace tenc::codegen::cpu {

/// The region of the kernel as it stands: on one thread, or each work item a trip of its outermost loop.
struct NativeLoop {
  bool shared = false;  ///< by threads
};
inline std::string describe(const NativeLoop& loop) {
  return loop.shared ? "native loop, trips shared" : "native loop";
}

struct Schedule;
/// The region of the kernel as it stands, on one thread, and what its parts are in it.
struct TensorLoop {
  std::vector<Schedule> parts;
  bool isLong = false;  ///< it runs for longer than more code takes to compile
};
std::string describe(const TensorLoop& loop);

struct Schedule {
  std::variant<LoopSchedule, TiledProduct, StreamedProduct, SmallProduct, InterleavedProduct, DepthwiseConvolution,
               NativeLoop, TensorLoop>
      form;
  Level level = Level::Full;
  int64_t items = 1;          ///< work items, which threads share
  int64_t grain = 1;          ///< items that a thread takes at a time
  uint64_t scratchBytes = 0;  ///< per thread: memory that it works in, besides the operands
  double work = 0;            ///< of a run on one thread in full code, in the unit of Cost.h; infinite where not known
};

/// What schedules may depend on besides the kernel.
struct Workers {
  VectorUnit vectors;
  int threads = 1;  ///< how many tasks are worth having
};

Schedule schedule(const Kernel& kernel, const Workers& workers, Level level);
/// The parts of `schedule`, by kind of kernel.
Schedule scheduleLoops(const Kernel& kernel, const Workers& workers, Level level);
Schedule scheduleProduct(const Kernel& kernel, const Workers& workers, Level level);

/// What module the kernel's code belongs to.
CodeKind codeKind(const Schedule& schedule);

/// The form and its parameters, for people: "rows: vectors of i1 x 4".
std::string describe(const Schedule& schedule);

}  // namespace tenc::codegen::cpu
