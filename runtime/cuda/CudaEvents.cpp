#include "runtime/cuda/CudaEvents.h"

namespace tenc::rt::cuda {
namespace {

constexpr unsigned kNoTiming = 2;  // CU_EVENT_DISABLE_TIMING

}  // namespace

CudaEvents::~CudaEvents() {
  driver_->f().setCurrent(context_);
  for (EventHandle e : free_) driver_->f().destroyEvent(e);
}

Result CudaEvents::take(Event& event) {
  EventHandle handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) handle = free_.back(), free_.pop_back();
  }
  if (handle == nullptr) {
    const Result status = driver_->f().createEvent(&handle, timed_ ? 0 : kNoTiming);
    if (status != 0) return status;
  }
  event = Event(handle, [all = shared_from_this()](EventHandle e) {
    const std::lock_guard lock(all->mutex_);
    all->free_.push_back(e);
  });
  return 0;
}

}  // namespace tenc::rt::cuda
