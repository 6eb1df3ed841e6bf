// Commands in order, done by a thread of their own, at once, or as late as possible.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/Device.h"

namespace tenc::rt {

/// How a virtual device does its work. The results are the same; what a forgotten wait shows differs.
enum class QueueMode : uint8_t {
  Async,  ///< a thread for each device: work overlaps as it does on GPUs
  Sync,   ///< each command before the call returns
  Lazy,   ///< no command before somebody waits for it: a forgotten wait shows every time
};

class Queue {
 public:
  explicit Queue(QueueMode mode) : mode_(mode) {}
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Adds a command, from one thread at a time; waits while very many are pending.
  Ticket push(std::function<void()> work);
  /// From the host, or from a command of another queue that was pushed later.
  void wait(Ticket ticket);
  bool done(Ticket ticket) const;
  Ticket last() const;

 private:
  void start();
  void loop();
  void runFirst(std::unique_lock<std::mutex>& lock);

  QueueMode mode_;  // Sync also where no thread could be started
  mutable std::mutex mutex_;
  std::condition_variable pushed_, finished_;
  std::deque<std::function<void()>> work_;
  Ticket last_ = 0, done_ = 0;
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace tenc::rt
