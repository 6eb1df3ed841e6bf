// Shared memory of a block, with what is known about each byte and each cell: whether it is initialised, and who read
// and wrote it last. Whether two accesses are ordered is decided by vector clocks of the warps.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/cuda/vm/AsyncProxy.h"

namespace tenc::ptx {

enum class AccessKind : uint8_t { Read, Write, Atomic, StrongRead, StrongWrite, NonCoherent };
constexpr bool writes(AccessKind k) {
  return k == AccessKind::Write || k == AccessKind::Atomic || k == AccessKind::StrongWrite;
}
constexpr bool isStrong(AccessKind k) {
  return k == AccessKind::Atomic || k == AccessKind::StrongRead || k == AccessKind::StrongWrite;
}
const char* nameOf(AccessKind k);

class SharedMemory {
 public:
  struct Conflict {
    bool found = false;
    uint32_t thread = 0, pc = 0;
    AccessKind kind = AccessKind::Read;
  };

  /// Everything is uninitialised, and nothing was accessed. `grain`: bytes of a cell. `warpgroups`: these read, too.
  void start(uint32_t bytes, uint32_t grain, uint32_t warps, bool races, bool warpgroups);
  uint8_t* data() { return data_.data(); }
  uint32_t bytes() const { return static_cast<uint32_t>(data_.size()); }

  bool initialised(uint32_t offset, uint32_t bytes) const {
    if (bytes % 4) return initialisedBytes(offset, bytes);
    uint32_t all = ~0u;
    for (uint32_t n = 0; n < bytes; n += 4) {
      uint32_t word;
      std::memcpy(&word, initialised_.data() + offset + n, sizeof word);
      all &= word;
    }
    return all == 0x01010101;
  }
  void setInitialised(uint32_t offset, uint32_t bytes, bool initialised) {
    std::memset(initialised_.data() + offset, initialised, bytes);
  }

  /// Enters accesses of the lanes of a warp by one instruction.
  class Accessor;
  Accessor accessor(uint32_t warp, AccessKind kind, uint32_t pc);

  /// Of what a warpgroup reads: who wrote a part of it without fence.proxy.async.
  Conflict unfenced(uint32_t warp, uint32_t offset, uint32_t bytes) const;
  AsyncProxy proxy;

  // Clocks.
  const std::vector<uint32_t>& clock(uint32_t warp) const { return clocks_[warp]; }
  void advance(uint32_t warp) { ++clocks_[warp][warp]; }
  /// What happened before a clock happens before what the warp does next.
  void join(uint32_t warp, const std::vector<uint32_t>& clock);

 private:
  struct Stamp {
    uint32_t epoch = 0;  // of the thread's warp; 0: none
    uint16_t pc = 0;     // of large kernels the last one that fits
    uint16_t thread : 10 = 0;
    uint16_t kind : 6 = 0;
  };
  struct Cell {
    Stamp write, read, read2;  // the last two readers
  };
  bool initialisedBytes(uint32_t offset, uint32_t bytes) const;

  std::vector<uint8_t> data_, initialised_;
  std::vector<Cell> cells_;
  std::vector<std::vector<uint32_t>> clocks_;
  uint32_t grainShift_ = 2;
};

class SharedMemory::Accessor {
 public:
  /// Whom the access meets, if nothing orders the two. `silent`: a write that changes nothing, which may meet other
  /// writes.
  Conflict access(uint32_t lane, uint32_t offset, uint32_t bytes, bool silent);

 private:
  friend class SharedMemory;
  bool ordered(uint32_t thread, const Stamp& s) const {
    if (s.thread == thread) return true;
    uint32_t other = s.thread / 32u;
    // Lanes of a warp are ordered by __syncwarp, which begins an epoch of the warp.
    return other == warp_ ? s.epoch < clock_[warp_] : s.epoch <= clock_[other];
  }

  Cell* cells_ = nullptr;
  uint32_t* writtenAt_ = nullptr;
  uint32_t time_ = 0;
  const uint32_t* clock_ = nullptr;
  uint32_t warp_ = 0, grainShift_ = 2;
  AccessKind kind_{};
  Stamp now_;
};

}  // namespace tenc::ptx
