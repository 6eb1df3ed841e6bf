#include "runtime/virtual/Queue.h"

#include <new>
#include <system_error>

#include "runtime/Threads.h"

namespace tenc::rt {
namespace {

constexpr size_t kMostPending = 1024;

}  // namespace

Queue::~Queue() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  pushed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Queue::start() {
  const WithoutSignals guard;
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error&) {  // the system gives no more: the caller's thread does the work
    mode_ = QueueMode::Sync;
  } catch (const std::bad_alloc&) {  // nor memory for it
    mode_ = QueueMode::Sync;
  }
}

Ticket Queue::push(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  if (mode_ == QueueMode::Async && !thread_.joinable()) start();
  if (mode_ == QueueMode::Sync) {
    lock.unlock();
    work();
    lock.lock();
    return done_ = ++last_;
  }
  if (mode_ == QueueMode::Async) {
    finished_.wait(lock, [this] { return work_.size() < kMostPending; });
  } else if (work_.size() >= kMostPending) {
    runFirst(lock);
  }
  work_.push_back(std::move(work));
  const Ticket ticket = ++last_;
  lock.unlock();
  pushed_.notify_one();
  return ticket;
}

void Queue::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  if (mode_ == QueueMode::Lazy) {
    while (done_ < ticket && !work_.empty()) runFirst(lock);
    return;
  }
  finished_.wait(lock, [&] { return done_ >= ticket; });
}

bool Queue::done(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  return done_ >= ticket;
}

Ticket Queue::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void Queue::runFirst(std::unique_lock<std::mutex>& lock) {
  const std::function<void()> work = std::move(work_.front());
  work_.pop_front();
  lock.unlock();
  work();
  lock.lock();
  ++done_;
}

void Queue::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    pushed_.wait(lock, [this] { return quit_ || !work_.empty(); });
    if (work_.empty()) return;
    runFirst(lock);
    finished_.notify_all();
  }
}

}  // namespace tenc::rt
