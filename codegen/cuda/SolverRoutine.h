// Which routines cuSOLVER computes, what it is told of them, and the functions around its calls.
#pragma once
#include <optional>
#include <string>

#include "codegen/Kernel.h"
#include "codegen/Target.h"
#include "codegen/cuda/KernelWriters.h"

namespace tenc::codegen::cuda {

struct SolverChoice {
  /// Elements of a matrix from which on it goes to the library, if it is the only one; of so many matrices as many
  /// times more, as the library has one after the other, and kernels of our own have all at a time.
  int64_t least = kLeast;

  /// 256 x 256. One block eliminates that in some 256 steps over 256 KiB, which do not fit into shared memory: about a
  /// millisecond at what one multiprocessor gets from L2. A blocked elimination by all of them is bound by the latency
  /// of its panels, some microseconds a column: as long here, and linear in n where one block is cubic. Not measured.
  static constexpr int64_t kLeast = int64_t{256} * 256;
};

/// Where in a matrix's memory what is; in bytes.
struct SolverPlaces {
  uint64_t a = 0, b = 0, c = 0, vector = 0, info = 0, flags = 0;
};

struct SolverRoutine {
  abi::SolverCode code;  ///< without the functions
  KernelNeeds needs;
  SolverPlaces places;
  uint32_t blocks = 1;       ///< of either function, for each matrix
  std::string text() const;  ///< for people
};

/// Nothing where the kernel is none, or is better off with our own code: small, or many matrices.
std::optional<SolverRoutine> solverRoutine(const Kernel& kernel, const SolverChoice& choice);

enum class SolverPart : uint8_t { Before, After };
Schedule scheduleOf(const SolverRoutine& routine);
/// The body of the function that puts operands into the memory `work`, or of the one that takes results from there.
void writeSolver(const Kernel& kernel, const SolverRoutine& routine, SolverPart part, Module& module,
                 const KernelNames& names, const std::string& work);

}  // namespace tenc::codegen::cuda
