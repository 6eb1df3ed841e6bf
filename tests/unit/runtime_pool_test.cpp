// The thread pool covers every item once, for all counts of threads and grains, also when jobs follow each other fast.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/cpu/ThreadPool.h"

namespace {

TEST(ThreadPool, CoversEveryItemOnce) {
  for (int threads : {1, 2, 3, 5}) {
    tenc::rt::ThreadPool pool(threads);
    for (int64_t items : {0, 1, 2, 7, 100, 1000}) {
      for (int64_t grain : {1, 3, 64}) {
        for (int repeat = 0; repeat < 20; ++repeat) {
          std::vector<std::atomic<int>> hits(static_cast<size_t>(items));
          pool.run(
              items, grain,
              [](void* c, int, int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  (*static_cast<std::vector<std::atomic<int>>*>(c))[static_cast<size_t>(i)]++;
              },
              &hits);
          for (auto& h : hits) ASSERT_EQ(h.load(), 1);
        }
      }
    }
  }
}

TEST(ThreadPool, ReturnsWhenTheSlowestThreadIsDone) {
  for (int threads : {2, 3}) {
    tenc::rt::ThreadPool pool(threads);
    for (int repeat = 0; repeat < 10; ++repeat) {
      std::atomic<int> done = 0;
      pool.run(
          2 * threads, 1,
          [](void* c, int thread, int64_t begin, int64_t end) {
            // The caller leaves it to the others to be late.
            std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 1 : 3));
            *static_cast<std::atomic<int>*>(c) += static_cast<int>(end - begin);
          },
          &done);
      ASSERT_EQ(done.load(), 2 * threads);
    }
  }
}

}  // namespace
