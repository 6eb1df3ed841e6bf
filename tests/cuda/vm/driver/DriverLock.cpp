#include "tests/cuda/vm/driver/DriverLock.h"

namespace tenc::ptx::driver {

void DriverLock::lock() {
  std::unique_lock own(mutex_);
  if (owner_ == std::this_thread::get_id())
    ++depth_;
  else
    acquire(own, 1);
}

void DriverLock::unlock() {
  const std::lock_guard own(mutex_);
  if (--depth_ == 0) release();
}

void DriverLock::letIn() {
  std::unique_lock own(mutex_);
  if (next_ == served_ + 1) return;  // nobody waits
  acquire(own, release());
}

void DriverLock::acquire(std::unique_lock<std::mutex>& own, uint32_t depth) {
  const uint64_t ticket = next_++;
  changed_.wait(own, [&] { return served_ == ticket; });
  owner_ = std::this_thread::get_id();
  depth_ = depth;
}

uint32_t DriverLock::release() {
  const uint32_t depth = depth_;
  owner_ = {};
  depth_ = 0;
  ++served_;
  changed_.notify_all();
  return depth;
}

}  // namespace tenc::ptx::driver
