// Routines that programs call by name on dense buffers: sorting and linear algebra. Each works on the rows (last dim)
// or matrices (last two dims) of a batch, in phases one after the other, whose items may run in any order and on any
// thread with the same result.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/abi/Program.h"

namespace tenc::rt::library {

using Call = abi::LibraryCall;
int64_t option(const Call& call, std::string_view name, int64_t otherwise = 0);
/// Dim `fromEnd` (1 is the last) of an operand or result.
inline int64_t dim(const abi::TensorRef& t, size_t fromEnd) { return t.shape[t.shape.size() - fromEnd]; }
/// The product of the dims before the last `inner`.
int64_t batch(const abi::TensorRef& t, size_t inner);

struct Phase {
  int64_t items = 0;
  double itemCost = 0;  ///< rough nanoseconds of one item
};

/// How the work is shared out.
struct Plan {
  Plan(int64_t items, double itemCost, size_t scratchBytes = 0)
      : phases{{items, itemCost}}, scratchBytes(scratchBytes) {}
  Plan(std::vector<Phase> phases, size_t scratchBytes, size_t sharedBytes)
      : Plan(std::move(phases), scratchBytes, sharedBytes, sharedBytes) {}
  Plan(std::vector<Phase> phases, size_t scratchBytes, size_t sharedBytes, size_t touchedAlone)
      : phases(std::move(phases)), scratchBytes(scratchBytes), sharedBytes(sharedBytes), touchedAlone(touchedAlone) {}
  std::vector<Phase> phases;
  size_t scratchBytes = 0;  ///< per thread, aligned to 64
  size_t sharedBytes = 0;   ///< of the call, for all phases and threads; aligned to 64
  size_t touchedAlone = 0;  ///< how much of it one thread touches, where there are no others
};

/// A piece of the work of a phase, and the memory that it has.
struct Item {
  int64_t phase = 0, number = 0;
  int64_t threads = 1;  ///< that work on the call; nothing that is computed may depend on it
  void* scratch = nullptr;
  void* shared = nullptr;
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
  /// `buffers` are the starts of operands and results, in order.
  Failure (*run)(const Call& call, void* const* buffers, const Item& item);
};

/// The routine of a name, or null.
const Routine* find(std::string_view name);

const Routine& sortRoutine();
const Routine& argSortRoutine();
const Routine& topKRoutine();
std::span<const Routine> factorisationRoutines();
std::span<const Routine> spectralRoutines();

/// Why a call cannot be made, as what follows the routine's name in a sentence; empty when it fits a routine in
/// operands, results and options. Each tensor alone is well-formed.
std::string problemOf(const Call& call);

/// The kernel of every call of which problemOf says nothing: items of one phase. The scalars are the addresses of the
/// call and of its shared memory, the number of the phase, and that of threads.
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

/// How the kernel of a call is shared out: items of each phase, and how many a thread takes at a time.
struct Task {
  std::vector<std::pair<int64_t, int64_t>> phases;
  uint64_t scratchBytes = 0, sharedBytes = 0;
  uint64_t touchedAlone = 0;  ///< as in Plan
};
/// nullopt when there is no such routine.
std::optional<Task> taskOf(const Call& call);

}  // namespace tenc::rt::library
