// Offsets for buffers that live at known times, in one arena: best fit in the order of their starts, or where that
// leaves gaps the largest first, if this needs less.
#pragma once
#include <cstdint>
#include <vector>

namespace tenc::codegen {

constexpr uint64_t kPlannedAlignment = 64;  ///< of each buffer, at least

struct MemoryItem {
  uint64_t bytes = 0;
  int64_t start = 0, end = 0;              ///< alive in [start, end)
  uint64_t offset = 0;                     ///< the result; items alive at one time do not overlap
  uint64_t alignment = kPlannedAlignment;  ///< of the offset, a power of two
  uint64_t gap = 0;                        ///< bytes behind it that nothing else gets, a multiple of kPlannedAlignment
};

/// Sets the offsets. `peak` is the arena's size, `peakTime` a time at which the most bytes are alive.
struct MemoryLayout {
  uint64_t peak = 0;
  int64_t peakTime = 0;
};
MemoryLayout planMemory(std::vector<MemoryItem>& items);

}  // namespace tenc::codegen
