#include "tests/cuda/vm/SharedMemory.h"

#include <algorithm>
#include <cstring>

#include "tests/cuda/vm/Kernel.h"

namespace tenc::ptx {

const char* nameOf(AccessKind k) {
  switch (k) {
    case AccessKind::Read:
    case AccessKind::StrongRead:
    case AccessKind::NonCoherent: return "read";
    case AccessKind::Write:
    case AccessKind::StrongWrite: return "write";
    case AccessKind::Atomic: return "atomic";
  }
  return "?";
}

void SharedMemory::start(uint32_t bytes, uint32_t grain, uint32_t warps, bool races) {
  grain_ = grain;
  data_.assign(bytes, 0xFF);
  initialised_.assign(bytes, 0);
  cells_.assign(races ? bytes / grain + 1 : 0, Cell());
  clocks_.assign(warps, std::vector<uint32_t>(warps, 0));
  for (uint32_t w = 0; w < warps; ++w) clocks_[w][w] = 1;
}

bool SharedMemory::initialised(uint32_t offset, uint32_t bytes) const {
  return !std::memchr(initialised_.data() + offset, 0, bytes);
}

void SharedMemory::setInitialised(uint32_t offset, uint32_t bytes, bool initialised) {
  std::memset(initialised_.data() + offset, initialised, bytes);
}

bool SharedMemory::ordered(uint32_t thread, const Stamp& s) const {
  if (s.thread == thread) return true;
  uint32_t self = thread / kLanes, other = s.thread / kLanes;
  // Lanes of a warp are ordered by __syncwarp, which begins an epoch of the warp.
  return self == other ? s.epoch < clocks_[self][self] : s.epoch <= clocks_[self][other];
}

SharedMemory::Conflict SharedMemory::access(uint32_t thread, uint32_t offset, uint32_t bytes, AccessKind kind,
                                            bool silent, uint32_t pc) {
  Conflict conflict;
  if (cells_.empty()) return conflict;
  uint32_t warp = thread / kLanes;
  Stamp now{clocks_[warp][warp], pc, static_cast<uint16_t>(thread), kind};
  auto meets = [&](const Stamp& s) {
    if (!s.epoch || ordered(thread, s)) return;
    conflict = {true, s.thread, s.pc, s.kind};
  };
  for (uint32_t c = offset / grain_; c < (offset + bytes + grain_ - 1) / grain_; ++c) {
    Cell& cell = cells_[c];
    bool bothStrong = isStrong(kind) && isStrong(cell.write.kind);
    if (!silent && !bothStrong) meets(cell.write);
    if (writes(kind)) {
      if (!(isStrong(kind) && isStrong(cell.read.kind))) meets(cell.read);
      if (!(isStrong(kind) && isStrong(cell.read2.kind))) meets(cell.read2);
      cell.write = now;
    } else {
      if (cell.read.thread != thread || !cell.read.epoch) cell.read2 = cell.read;
      cell.read = now;
    }
  }
  return conflict;
}

void SharedMemory::join(uint32_t warp, const std::vector<uint32_t>& clock) {
  for (size_t w = 0; w < clock.size(); ++w) {
    if (w != warp) clocks_[warp][w] = std::max(clocks_[warp][w], clock[w]);
  }
  advance(warp);
}

}  // namespace tenc::ptx
