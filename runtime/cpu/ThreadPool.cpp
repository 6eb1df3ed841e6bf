#include "runtime/cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "runtime/Threads.h"

namespace tenc::rt {
namespace {

inline void pause() { __builtin_ia32_pause(); }
constexpr int kSpins = 4000;  // about 100 microseconds: the gap between two kernels of one program

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)), parts_(static_cast<size_t>(threads_)) {}

ThreadPool::~ThreadPool() {
  quit_ = true;
  wake_.fetch_add(1);
  wake_.notify_all();
  for (auto& w : workers_) w.join();
}

void ThreadPool::start() {
  const WithoutSignals guard;
  started_ = true;
  try {
    workers_.reserve(static_cast<size_t>(threads_));
    for (int t = 1; t < threads_; ++t) workers_.emplace_back([this, t] { loop(t); });
  } catch (const std::system_error&) {
    // The system gives no more: those that run take the parts of the others.
  } catch (const std::bad_alloc&) {
    // Nor memory for them.
  }
}

void ThreadPool::claim(int thread) {
  for (int i = 0; i < threads_; ++i) {
    Part& part = parts_[static_cast<size_t>((thread + i) % threads_)];
    while (part.next.load(std::memory_order_relaxed) < part.end) {
      const int64_t begin = part.next.fetch_add(grain_, std::memory_order_relaxed);
      if (begin < part.end) work_(context_, thread, begin, std::min(begin + grain_, part.end));
    }
  }
}

void ThreadPool::run(int64_t items, int64_t grain, Work work, void* context) {
  if (items <= 0) return;
  if (threads_ == 1 || items <= grain || busy_.exchange(true, std::memory_order_acquire))
    return work(context, 0, 0, items);
  if (!started_) start();
  grain_ = grain;
  work_ = work;
  context_ = context;
  const int64_t chunks = (items + grain - 1) / grain;
  for (int t = 0; t < threads_; ++t) {
    Part& part = parts_[static_cast<size_t>(t)];
    part.next.store(chunks * t / threads_ * grain, std::memory_order_relaxed);
    part.end = std::min(chunks * (t + 1) / threads_ * grain, items);
  }
  const uint64_t job = (state_.load(std::memory_order_relaxed) & ~(kJob - 1)) + kJob;
  state_.store(job | kOpen, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    wake_.fetch_add(1, std::memory_order_seq_cst);
    wake_.notify_all();
  }
  claim(0);
  // Late workers can no longer enter; those inside finish their last range.
  state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int i = 0; (state_.load(std::memory_order_acquire) & (kOpen - 1)) != 0; ++i) {
    if (i > 20000)
      std::this_thread::yield();
    else
      pause();
  }
  busy_.store(false, std::memory_order_release);
}

void ThreadPool::loop(int thread) {
  uint64_t last = 0;
  int spins = 0;
  while (!quit_.load(std::memory_order_relaxed)) {
    uint64_t s = state_.load(std::memory_order_acquire);
    const uint64_t job = s & ~(kJob - 1);
    if ((s & kOpen) && job != last) {
      if (!state_.compare_exchange_weak(s, s + 1, std::memory_order_acq_rel)) continue;
      last = job;
      claim(thread);
      state_.fetch_sub(1, std::memory_order_release);
      spins = 0;
      continue;
    }
    if (++spins < kSpins) {
      pause();
      continue;
    }
    const uint32_t seen = wake_.load(std::memory_order_seq_cst);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    s = state_.load(std::memory_order_seq_cst);
    const bool work = (s & kOpen) && (s & ~(kJob - 1)) != last;
    if (!work && !quit_) wake_.wait(seen);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    spins = 0;
  }
}

}  // namespace tenc::rt
