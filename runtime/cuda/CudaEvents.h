// Events of a device, which are used again when nobody refers to them any more.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/CudaDriver.h"

namespace tenc::rt::cuda {

/// A place in a queue: its EventHandle. Null: before everything.
using Event = std::shared_ptr<void>;

/// Lives for as long as any of its events.
class CudaEvents : public std::enable_shared_from_this<CudaEvents> {
 public:
  /// `timed`: the driver notes when each is reached.
  CudaEvents(std::shared_ptr<const CudaDriver> driver, ContextHandle context, bool timed)
      : driver_(std::move(driver)), context_(context), timed_(timed) {}
  ~CudaEvents();
  CudaEvents(const CudaEvents&) = delete;
  CudaEvents& operator=(const CudaEvents&) = delete;

  /// One that nobody else has. The context is the thread's.
  Result take(Event& event);

 private:
  const std::shared_ptr<const CudaDriver> driver_;
  const ContextHandle context_;
  const bool timed_;
  std::mutex mutex_;
  std::vector<EventHandle> free_;
};

}  // namespace tenc::rt::cuda
