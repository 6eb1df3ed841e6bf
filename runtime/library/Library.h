// Routines that programs call by name on dense buffers: sorting and linear algebra. Each works on the rows (last dim)
// or matrices (last two dims) of a batch; items of the batch may run in any order and on any thread with the same
// result.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/Program.h"

namespace tenc::rt::library {

using Call = abi::LibraryCall;
int64_t option(const Call& call, std::string_view name, int64_t otherwise = 0);
/// Dim `fromEnd` (1 is the last) of an operand or result.
inline int64_t dim(const abi::TensorRef& t, size_t fromEnd) { return t.shape[t.shape.size() - fromEnd]; }
/// The product of the dims before the last `inner`.
int64_t batch(const abi::TensorRef& t, size_t inner);

/// How the work is shared out.
struct Plan {
  int64_t items = 0;
  double itemCost = 0;      ///< rough nanoseconds of one item
  size_t scratchBytes = 0;  ///< per thread, aligned to 64
};

/// Why an item has no result; numbers as in abi::kLibraryFaults, from 1 on. No fault stands for `Impossible`, so that
/// it is reported as a bug: LAPACK says that an argument is wrong.
enum class Failure : uint8_t { None, Singular, NotPositiveDefinite, NotFinite, NoConvergence, Impossible };

/// What the status of a LAPACK routine means, of which a positive one is `failed`; a negative one says that an argument
/// is wrong.
constexpr Failure failureOf(int info, Failure failed) {
  return info == 0 ? Failure::None : info > 0 ? failed : Failure::Impossible;
}

struct Routine {
  std::string_view name;
  Plan (*plan)(const Call& call);
  /// Computes item `item`; `buffers` are the starts of operands and results, in order.
  Failure (*run)(const Call& call, void* const* buffers, int64_t item, void* scratch);
};

/// The routine of a name, or null.
const Routine* find(std::string_view name);

std::span<const Routine> sortRoutines();
std::span<const Routine> factorisationRoutines();
std::span<const Routine> spectralRoutines();

/// Why a call cannot be made, as what follows the routine's name in a sentence; empty when it fits a routine in
/// operands, results and options. Each tensor alone is well-formed.
std::string problemOf(const Call& call);

/// The kernel of every call of which problemOf says nothing; scalar 0 is the call's address.
void runItems(void* const* buffers, const uint64_t* scalars, int64_t begin, int64_t end, uint32_t* fault,
              void* scratch);

/// Makes sure that linear algebra has memory to work in: for so many threads at the same time, or as many as the system
/// lets; others wait for these. False when there is none.
bool reserveMatrices(int threads);
/// Whether a routine needs that.
bool isOnMatrices(const Call& call);
/// Runs a routine, and leaves it where *fault becomes abi::kInterruptFault meanwhile: false then. LAPACK cannot be told
/// to stop, so that its functions are left by longjmp, and others too: none in between has an object with a destructor.
bool untilInterrupted(const uint32_t* fault, void (*work)(void*), void* context);
/// Leaves the work that untilInterrupted runs on this thread, if that is due.
void leaveIfInterrupted();
/// What it takes of that memory for one item, at the most.
uint64_t blasBytes(const Call& call);

/// How the kernel of a call is shared out.
struct Task {
  int64_t items = 0, grain = 1;
  uint64_t scratchBytes = 0;
};
/// nullopt when there is no such routine.
std::optional<Task> taskOf(const Call& call);

}  // namespace tenc::rt::library
