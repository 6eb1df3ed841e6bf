// The lock on all that the driver has. Whoever runs a kernel holds it, and lets others in between turns of the machine:
// so the host goes on while kernels run, and nothing is touched by two threads at once.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tenc::ptx::driver {

/// Recursive; those who wait get it in the order in which they came.
class DriverLock {
 public:
  void lock();
  void unlock();
  /// By a thread that holds it: those who wait now get it before this returns.
  void letIn();

 private:
  void acquire(std::unique_lock<std::mutex>& own, uint32_t depth);
  uint32_t release();

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ = 0, served_ = 0;  // tickets
  std::thread::id owner_{};
  uint32_t depth_ = 0;
};

}  // namespace tenc::ptx::driver
