// What waits for what between the kernels of a device and the copies beside them. Kernels are in order among
// themselves, and so are the copies of one queue.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/Device.h"
#include "runtime/cuda/CudaEvents.h"

namespace tenc::rt::cuda {

/// Memory of a device that a command reads, or writes (and perhaps reads).
struct Touch {
  Pointer begin = 0, end = 0;
  bool writes = false;

  bool overlaps(const Touch& o) const { return begin < o.end && o.begin < end; }
  /// Whether the order of the two matters.
  bool meets(const Touch& o) const { return overlaps(o) && (writes || o.writes); }
};

/// `Elsewhere`: of another device.
enum class CopyQueue : uint8_t { In, Out, Elsewhere };

class CopyOrder {
 public:
  struct Copy {
    CopyQueue queue;
    Touch touch;
    Event done;
    Ticket ticket;
    bool known = false;  ///< kernels that come now wait for it already
  };

  /// Before all calls: copies are likely to come to this memory. Not very many places are kept in mind.
  void expect(const Touch& touch);
  /// The device is at rest: there is nothing to wait for.
  void begin();

  // ---- kernels
  /// What comes before kernels that touch this: events are added to `waits`.
  void beforeKernels(std::span<const Touch> touches, std::vector<Event>& waits);
  /// Kernels have been given to their queue. True: a copy is likely to come to what they touch, and shall not wait for
  /// all that comes after them, so `marked` is to be told where they end.
  bool afterKernels(std::span<const Touch> touches);
  void marked(std::span<const Touch> touches, const Event& end);

  // ---- copies
  /// What comes before a copy. False: all kernels so far do, too, whose end `kernelsEnd` is then to be told.
  bool beforeCopy(CopyQueue queue, const Touch& touch, std::vector<Event>& waits);
  void kernelsEnd(const Touch& touch, const Event& end);
  void afterCopy(Copy copy) { copies_.push_back(std::move(copy)); }

  /// Copies that are not known to be done.
  std::vector<Copy>& copies() { return copies_; }
  const std::vector<Copy>& copies() const { return copies_; }

 private:
  /// Memory that copies come to again and again. `read`, `written`: after the last kernels that did so.
  struct Place {
    Touch touch;
    Event read, written;
    bool isMarked = false;  ///< since the last copy all kernels that touch it were marked
    uint64_t copies = 0;
  };
  Place* placeOf(const Touch& touch);

  std::vector<Copy> copies_;
  std::vector<Place> places_;
  size_t markedPlaces_ = 0;
  bool kernelsRan_ = false;  ///< in this call
};

}  // namespace tenc::rt::cuda
