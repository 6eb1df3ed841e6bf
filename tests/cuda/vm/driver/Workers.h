// A thread for each device that runs what takes long, so that a program which polls goes on meanwhile.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "tests/cuda/vm/driver/DriverLock.h"
#include "tests/cuda/vm/driver/Stream.h"

namespace tenc::ptx::driver {

/// All functions are for those who hold the lock.
class Workers {
 public:
  /// `work` does some of a device's, or returns false where there is none; it is called under the lock.
  Workers(DriverLock& lock, std::function<bool(Device&)> work) : lock_(lock), work_(std::move(work)) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Sees to it that the device has a thread.
  void start(Device& d);
  /// Something has come, or is done.
  void notify() { changed_.notify_all(); }
  /// Waits for the next notice, for some time at most. Others get the lock meanwhile.
  void wait();
  /// Ends all threads, for ever. Not under the lock: those who run a kernel give it up.
  void stop();
  bool stopping() const { return stopping_; }

 private:
  void loop(Device& d);

  DriverLock& lock_;
  const std::function<bool(Device&)> work_;
  std::condition_variable_any changed_;
  std::map<Device*, std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace tenc::ptx::driver
