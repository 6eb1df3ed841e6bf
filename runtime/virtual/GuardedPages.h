// Memory for the buffers of one program, each on pages of its own that end at an unreadable one. Pages are closed
// unless a command works on them.
#pragma once
#include <cstddef>
#include <cstdint>
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

class GuardedPages {
 public:
  GuardedPages() = default;
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  /// Closed pages for the buffers of `p.devices[device]`; false when there is no address space. Once.
  bool map(const abi::Program& p, uint32_t device);
  /// By buffer; null for those of other devices and without bytes.
  const std::vector<std::byte*>& addresses() const { return addresses_; }

  /// False when the system cannot change the protection of so many places.
  [[nodiscard]] bool open(abi::BufferId b);
  [[nodiscard]] bool close(abi::BufferId b);
  /// Fills all of the pages of an open buffer with poison.
  void poison(abi::BufferId b);
  /// Whether what stands before the first byte in its pages is still poison. The buffer is open.
  bool intact(abi::BufferId b) const;
  /// Gives the pages back to the system; what they hold is lost.
  void discard(abi::BufferId b);

  /// For signal handlers: whether `p` is in this memory, and where.
  bool find(const void* p, AddressNote& note) const;

 private:
  struct BufferPages {
    std::byte* pages = nullptr;
    uint64_t bytes = 0, mapped = 0;
  };
  std::vector<std::byte*> addresses_;
  std::vector<BufferPages> buffers_;  // by buffer; no pages for those of other devices
  std::byte* base_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace tenc::rt
