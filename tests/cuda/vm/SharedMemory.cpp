#include "tests/cuda/vm/SharedMemory.h"

#include <algorithm>
#include <bit>
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

void SharedMemory::start(uint32_t bytes, uint32_t grain, uint32_t warps, bool races, bool warpgroups) {
  grainShift_ = static_cast<uint32_t>(std::countr_zero(grain));
  data_.assign(bytes, 0xFF);
  initialised_.assign(bytes, 0);
  cells_.assign(races ? bytes / grain + 1 : 0, Cell());
  proxy.start(bytes, bytes / grain + 1, warps, races && warpgroups);
  clocks_.assign(warps, std::vector<uint32_t>(warps, 0));
  for (uint32_t w = 0; w < warps; ++w) clocks_[w][w] = 1;
}

bool SharedMemory::initialisedBytes(uint32_t offset, uint32_t bytes) const {
  return !std::memchr(initialised_.data() + offset, 0, bytes);
}

SharedMemory::Accessor SharedMemory::accessor(uint32_t warp, AccessKind kind, uint32_t pc) {
  Accessor a;
  a.cells_ = cells_.data();
  a.clock_ = clocks_[warp].data();
  a.warp_ = warp;
  a.grainShift_ = grainShift_;
  a.kind_ = kind;
  a.writtenAt_ = proxy.writtenAt();
  a.time_ = proxy.time();
  a.now_.epoch = a.clock_[warp];
  a.now_.pc = static_cast<uint16_t>(std::min(pc, 0xFFFFu));
  a.now_.kind = static_cast<uint16_t>(kind) & 63;
  return a;
}

SharedMemory::Conflict SharedMemory::Accessor::access(uint32_t lane, uint32_t offset, uint32_t bytes, bool silent) {
  Conflict conflict;
  uint32_t thread = warp_ * kLanes + lane;
  bool write = writes(kind_), strong = isStrong(kind_);
  now_.thread = static_cast<uint16_t>(thread) & 1023;
  auto meets = [&](const Stamp& s) {
    auto kind = static_cast<AccessKind>(s.kind);
    if (!s.epoch || ordered(thread, s) || (strong && isStrong(kind))) return;
    conflict = {true, s.thread, s.pc, kind};
  };
  for (uint32_t c = offset >> grainShift_; c <= (offset + bytes - 1) >> grainShift_; ++c) {
    Cell& cell = cells_[c];
    if (!silent) meets(cell.write);
    if (write) {
      meets(cell.read);
      meets(cell.read2);
      cell.write = now_;
      if (writtenAt_) writtenAt_[c] = time_;
    } else {
      if (cell.read.thread != thread || !cell.read.epoch) cell.read2 = cell.read;
      cell.read = now_;
    }
  }
  return conflict;
}

SharedMemory::Conflict SharedMemory::unfenced(uint32_t warp, uint32_t offset, uint32_t bytes) const {
  for (uint32_t c = offset >> grainShift_; c <= (offset + bytes - 1) >> grainShift_; ++c) {
    const Stamp& s = cells_[c].write;
    const uint32_t writer = s.thread / kLanes;
    if (s.epoch && !proxy.fenced(writer, s.thread % kLanes, c, clocks_[warp][writer]))
      return {true, s.thread, s.pc, static_cast<AccessKind>(s.kind)};
  }
  return {};
}

void SharedMemory::join(uint32_t warp, const std::vector<uint32_t>& clock) {
  for (size_t w = 0; w < clock.size(); ++w) {
    if (w != warp) clocks_[warp][w] = std::max(clocks_[warp][w], clock[w]);
  }
  advance(warp);
}

}  // namespace tenc::ptx
