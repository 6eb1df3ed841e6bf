// Pinned memory of the host that copies from and to pageable memory go through, so that the host need not wait for
// them: a ring, of which each part is free again when the event after its copy is reached.
#pragma once
#include <cstddef>
#include <deque>

#include "runtime/cuda/CudaCalls.h"

namespace tenc::rt::cuda {

class PinnedRing {
 public:
  /// `bytes`: how much at most. It is taken when it is first needed.
  PinnedRing(CudaCalls& calls, uint64_t bytes);
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  /// Whether there is pinned memory to be had.
  bool reserve();
  /// The most that can be taken at a time: several parts are under way at once.
  uint64_t part() const { return size_ / kParts; }
  /// The next `bytes` of the ring, which are given away by `give` before more is taken. Waits until they are free. Null
  /// where there is no pinned memory to be had.
  std::byte* take(uint64_t bytes);
  /// What was taken is in use until `done`. `target`, if not null, gets its bytes afterwards: at the latest when the
  /// memory is taken again, or `deliver` is called.
  void give(const Event& done, std::byte* target = nullptr, Ticket ticket = 0);
  /// Waits for what belongs to the ticket, and copies it to its target.
  void deliver(Ticket ticket);
  void deliverAll();
  /// What has not been delivered never will be: the call is over.
  void forget();

 private:
  static constexpr uint64_t kParts = 4;
  struct Part {
    uint64_t begin, end;  ///< in the ring
    Event done;
    std::byte* target;  ///< null: nothing is to be copied, or no more
    Ticket ticket;
  };
  void finish(Part& p);

  CudaCalls& calls_;
  uint64_t size_;
  std::byte* memory_ = nullptr;
  bool refused_ = false;
  std::deque<Part> parts_;  ///< in use, in the order of the ring
  uint64_t next_ = 0;
  uint64_t taken_ = 0;  ///< bytes of what was taken last
};

}  // namespace tenc::rt::cuda
