#include "runtime/RoutineMemory.h"

#include <algorithm>

#include "runtime/library/Library.h"

namespace tenc::rt {

uint64_t routineMemory(const abi::Program& program, int threads) {
  uint64_t most = 0;
  for (const abi::Kernel& k : program.kernels) {
    const auto* call = std::get_if<abi::LibraryCall>(&k.code);
    const auto task = call ? library::taskOf(*call) : std::nullopt;
    if (!task || task->items == 0) continue;
    const int64_t parts = (task->items - 1) / task->grain + 1;
    const auto workers = static_cast<uint64_t>(std::min<int64_t>(parts, std::max(threads, 1)));
    most = std::max(most, workers * (task->scratchBytes + library::blasBytes(*call)));
  }
  return most;
}

}  // namespace tenc::rt
