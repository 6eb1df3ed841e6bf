#include "tests/cuda/vm/driver/Workers.h"

#include <pthread.h>

#include <chrono>
#include <csignal>

namespace tenc::ptx::driver {

void Workers::start(Device& d) {
  if (stopping_ || threads_.contains(&d)) return;
  // Signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  threads_[&d] = std::thread([this, &d] { loop(d); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Workers::wait() {
  constexpr auto kLong = std::chrono::milliseconds(10);
  changed_.wait_for(lock_, kLong);
}

void Workers::stop() {
  std::map<Device*, std::thread> ending;
  {
    const std::lock_guard hold(lock_);
    stopping_ = true;
    ending.swap(threads_);
  }
  changed_.notify_all();
  for (auto& [device, thread] : ending) thread.join();
}

void Workers::loop(Device& d) {
  const std::lock_guard hold(lock_);
  while (!stopping_) {
    if (!work_(d)) changed_.wait(lock_);
  }
}

}  // namespace tenc::ptx::driver
