// The threads of the CPU: one job at a time, work claimed in chunks, so that the caller finishes alone when a worker is
// late. Each thread begins with a part of its own, the same one in jobs of as many items, whose memory is in its caches
// when the job before was alike, and goes on with what is left of the others'. Workers spin for a short while after a
// job and sleep then.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tenc::rt {

class ThreadPool {
 public:
  /// `threads` counts the caller; workers are started at the first job that can use them, fewer where the system gives
  /// no more.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  int threads() const { return threads_; }

  /// work(context, thread, begin, end) for disjoint ranges that cover [0, items); at most `grain` items a range when
  /// there is more than one thread. Which thread takes what is not determined: results must not depend on it. Any
  /// number of threads may call at the same time: while a job runs, the callers of others do all of theirs themselves,
  /// as thread 0.
  using Work = void (*)(void* context, int thread, int64_t begin, int64_t end);
  void run(int64_t items, int64_t grain, Work work, void* context);

 private:
  // State: job number << 17 | open << 16 | workers inside.
  static constexpr uint64_t kOpen = 1u << 16;
  static constexpr uint64_t kJob = 1u << 17;
  void loop(int thread);
  void claim(int thread);
  void start();

  int threads_;
  bool started_ = false;
  std::vector<std::thread> workers_;
  alignas(64) std::atomic<uint64_t> state_{0};
  struct alignas(64) Part {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  std::vector<Part> parts_;  ///< one a thread
  alignas(64) std::atomic<uint32_t> wake_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> quit_{false};
  std::atomic<bool> busy_{false};  ///< a job runs
  int64_t grain_ = 1;
  Work work_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace tenc::rt
