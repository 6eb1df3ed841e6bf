#include "runtime/RoutineMemory.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/library/Library.h"

namespace tenc::rt {

uint64_t routineMemory(const abi::Program& program, int threads) {
  // A thread keeps the pages of the largest piece that it had, of each kind of memory.
  std::vector<uint64_t> scratch(static_cast<size_t>(std::max(threads, 1))), blas(scratch.size());
  uint64_t shared = 0;
  for (const abi::Kernel& k : program.kernels) {
    const auto* call = std::get_if<abi::LibraryCall>(&k.code);
    const auto task = call ? library::taskOf(*call) : std::nullopt;
    if (!task) continue;
    int64_t parts = 0;
    for (const auto& [items, grain] : task->phases) parts = std::max(parts, (items + grain - 1) / grain);
    const auto workers = std::min(static_cast<size_t>(parts), scratch.size());
    for (size_t t = 0; t < workers; ++t) {
      scratch[t] = std::max(scratch[t], task->scratchBytes);
      blas[t] = std::max(blas[t], library::blasBytes(*call));
    }
    shared = std::max(shared, threads > 1 ? task->sharedBytes : task->touchedAlone);
  }
  return std::accumulate(scratch.begin(), scratch.end(), uint64_t{0}) +
         std::accumulate(blas.begin(), blas.end(), uint64_t{0}) + shared;
}

}  // namespace tenc::rt
