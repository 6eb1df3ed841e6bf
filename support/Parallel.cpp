#include "support/Parallel.h"

#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace tenc {

void inParallel(size_t n, const std::function<void(size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto guarded = [&](size_t i) {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  size_t started = 1;
  try {
    threads.reserve(n);
    for (; started < n; ++started) threads.emplace_back(guarded, started);
  } catch (const std::system_error&) {
    // The system gives no more threads: this one does the rest.
  } catch (const std::bad_alloc&) {
    // Nor memory for them.
  }
  if (n > 0) guarded(0);
  for (size_t i = started; i < n; ++i) guarded(i);
  for (std::thread& t : threads) t.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace tenc
