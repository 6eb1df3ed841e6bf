#include "runtime/RoutineMemory.h"

#include <algorithm>

#include "runtime/library/Library.h"

namespace tenc::rt {

uint64_t routineMemory(const abi::Program& program, int threads) {
  uint64_t most = 0;
  for (const abi::Kernel& k : program.kernels) {
    const auto* call = std::get_if<abi::LibraryCall>(&k.code);
    const auto task = call ? library::taskOf(*call) : std::nullopt;
    if (!task) continue;
    int64_t parts = 0;
    for (const auto& [items, grain] : task->phases) parts = std::max(parts, (items + grain - 1) / grain);
    const auto workers = static_cast<uint64_t>(std::min<int64_t>(parts, std::max(threads, 1)));
    most = std::max(most, workers * (task->scratchBytes + library::blasBytes(*call)) + task->sharedBytes);
  }
  return most;
}

}  // namespace tenc::rt
