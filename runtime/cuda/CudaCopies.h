// The copies of a stream: in queues of their own beside that of the kernels, with events where one needs the other.
#pragma once
#include <span>

#include "runtime/cuda/CopyOrder.h"
#include "runtime/cuda/CudaTimes.h"
#include "runtime/cuda/DeviceStage.h"
#include "runtime/cuda/PinnedRing.h"

namespace tenc::rt::cuda {

class CudaCopies {
 public:
  /// `ringBytes`: of pinned memory, at most.
  CudaCopies(CudaCalls& calls, CudaTimes& times, uint64_t ringBytes)
      : calls_(calls), times_(times), ring_(calls, ringBytes), stage_(calls) {}
  ~CudaCopies();
  CudaCopies(const CudaCopies&) = delete;
  CudaCopies& operator=(const CudaCopies&) = delete;

  /// Makes the queues; `kernels` is that of the kernels. `expected`: places that copies will come to.
  Result prepare(StreamHandle kernels, std::span<const Touch> expected);
  /// A call begins. What comes before is in the queue of the kernels.
  void begin();

  /// Around what is given to the queue of the kernels.
  void beforeKernels(std::span<const Touch> touches);
  void afterKernels(std::span<const Touch> touches);

  void in(Pointer to, const void* from, uint64_t bytes, Ticket ticket);
  void out(void* to, Pointer from, uint64_t bytes, Ticket ticket);
  /// Of something that only kernels write, after those that the last `out` of the ticket waits for.
  void outBeside(void* to, Pointer from, uint64_t bytes, Ticket ticket);
  /// To memory of another stream: by the driver, or, unless the two reach each other, through pinned memory. False
  /// where that is not to be had: nothing was done.
  bool toPeer(CudaCopies& other, bool reaches, Pointer to, Pointer from, uint64_t bytes, Ticket own, Ticket others);

  /// Whether the copy of a ticket is done, or there is none.
  bool done(Ticket ticket);
  /// Waits for it.
  void finish(Ticket ticket);
  void finishAll();

 private:
  StreamHandle handle(CopyQueue queue) const { return queue == CopyQueue::In ? in_ : out_; }
  /// The events that come before a copy.
  std::vector<Event> before(CopyQueue queue, const Touch& touch);
  void hold(CopyQueue queue, const Touch& touch);
  /// From the host to memory that nothing has to be waited for. Gives the end.
  Event send(Pointer to, const void* from, uint64_t bytes);
  void after(CopyQueue queue, const Touch& touch, Event done, Ticket ticket);
  bool isPinned(const void* p) const;
  /// Copies part by part; `copy` gets the memory of the ring, the offset, and the number of bytes. Returns how many
  /// bytes were copied: fewer than all where there is no pinned memory.
  template <typename Copy>
  uint64_t byParts(uint64_t bytes, const Copy& copy);

  CudaCalls& calls_;
  CudaTimes& times_;
  StreamHandle kernels_ = nullptr, in_ = nullptr, out_ = nullptr;
  CopyOrder order_;
  PinnedRing ring_;
  DeviceStage stage_;
  Event kernelsEnd_;  ///< after the last kernel; null where it is not marked
};

}  // namespace tenc::rt::cuda
