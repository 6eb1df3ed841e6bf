// The memory of a virtual device. Every buffer of a program has pages of its own that end at an unreadable one, closed
// unless a command of the device works on it, and filled with a poison pattern whenever it is taken.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/abi/Program.h"

namespace tenc::rt {

/// What 0xFF bytes are: a NaN, or -1.
inline constexpr int kPoison = 0xFF;

/// What lies at an address, for the report of a fault.
struct AddressNote {
  abi::BufferId buffer = abi::kNoBuffer;
  uint64_t bytes = 0;    ///< of the buffer
  int64_t distance = 0;  ///< from its beginning; beyond `bytes`: behind its end
};

class GuardedMemory {
 public:
  GuardedMemory() = default;
  ~GuardedMemory() { unmap(); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// Pages for the buffers of `p.devices[device]`, all closed and holding nothing; false when there is no address
  /// space.
  bool map(const abi::Program& p, uint32_t device);
  void unmap();

  std::byte* address(abi::BufferId b) const { return slots_[b].address; }
  uint64_t bytes(abi::BufferId b) const { return slots_[b].bytes; }
  void open(abi::BufferId b);
  void close(abi::BufferId b);
  /// Fills all of the pages of an open buffer with poison.
  void poison(abi::BufferId b);
  /// Whether what stands before the first byte in its pages is still poison. The buffer is open.
  bool intact(abi::BufferId b) const;
  /// Gives the pages back to the system; what they hold is lost.
  void discard(abi::BufferId b);

  // ---- in program order, on the host
  /// Whether something was put there, and nothing since into memory that the plan shares with it.
  bool holds(abi::BufferId b) const { return slots_[b].holds; }
  /// Something is put there. Returns the buffers that end with it.
  std::vector<abi::BufferId> take(abi::BufferId b);
  /// The highest byte of the planned arena that was taken so far.
  uint64_t highest() const { return highest_; }

  /// For signal handlers: whether `p` is in this memory, and where.
  bool find(const void* p, AddressNote& note) const;

 private:
  struct Slot {
    std::byte* address = nullptr;
    std::byte* pages = nullptr;
    uint64_t bytes = 0, mapped = 0;
    uint64_t offset = 0;  ///< in the planned arena
    bool holds = false;
  };
  std::vector<Slot> slots_;                  // by buffer; no pages for those of other devices
  std::map<uint64_t, abi::BufferId> taken_;  // buffers that hold something, by planned offset
  std::byte* base_ = nullptr;
  uint64_t size_ = 0, highest_ = 0;
};

}  // namespace tenc::rt
