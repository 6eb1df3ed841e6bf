#include "runtime/call/Residency.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/Threads.h"

namespace tenc::rt {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(2);
constexpr uint64_t kLeast = uint64_t{8} << 20;  // of pages of files, for which letting go is worth it

/// The memory of the process, and how much of it are pages of files.
class Usage {
 public:
  Usage() : descriptor_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}
  ~Usage() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Usage(const Usage&) = delete;
  Usage& operator=(const Usage&) = delete;

  bool read(uint64_t& all, uint64_t& files) const {
    char text[128];
    const ssize_t n = descriptor_ < 0 ? -1 : pread(descriptor_, text, sizeof text - 1, 0);
    if (n <= 0) return false;
    text[n] = 0;
    unsigned long long size = 0, resident = 0, shared = 0;
    if (std::sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3) return false;
    all = resident * page_;
    files = shared * page_;
    return true;
  }

 private:
  const int descriptor_;
  const uint64_t page_ = static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
};

}  // namespace

/// Looks every two milliseconds, in which one kernel brings in some tens of megabytes; so an eighth of the limit is
/// kept free.
struct Residency::Watcher {
  explicit Watcher(uint64_t limit) : high_(limit - limit / 8) {
    const WithoutSignals guard;
    thread_ = std::thread([this] { loop(); });
  }
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void add(const MappedTensor& file) {
    const std::lock_guard lock(mutex_);
    files_.push_back(&file);
  }
  void remove(const MappedTensor& file) {
    const std::lock_guard lock(mutex_);
    std::erase(files_, &file);
  }
  void check(uint64_t soon) {
    // Threads that read little between two calls look in turns: in this time they bring in a few megabytes.
    constexpr int64_t kShort = 50'000;
    const int64_t now = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    if (soon <= kLeast && now - looked_.load(std::memory_order_relaxed) < kShort) return;
    const std::lock_guard lock(mutex_);
    looked_.store(now, std::memory_order_relaxed);
    look(soon);
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kPeriod, [this] { return quit_; })) look(0);
  }

  /// Under the mutex.
  void look(uint64_t soon) {
    uint64_t all = 0, files = 0;
    if (files_.empty() || !usage_.read(all, files)) return;
    least_ = std::min(least_, files);
    if (all + soon < high_ || files < least_ + kLeast) return;
    for (const MappedTensor* file : files_) file->letGo();
    if (usage_.read(all, files)) least_ = files;
  }

  const uint64_t high_;
  const Usage usage_;
  uint64_t least_ = 0;              ///< of pages of files, since they were let go
  std::atomic<int64_t> looked_{0};  ///< when `check` did, in nanoseconds
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<const MappedTensor*> files_;
  bool quit_ = false;
  std::thread thread_;  // last: it uses all of the above
};

Residency::Residency(uint64_t limit) : limit_(limit) {}
Residency::~Residency() = default;

void Residency::watch(const MappedTensor& file) {
  if (limit_ == 0) return;
  try {
    if (!watcher_) watcher_ = std::make_unique<Watcher>(limit_);
  } catch (const std::system_error&) {
    return;  // the system gives no more threads, and drops pages when it must
  } catch (const std::bad_alloc&) {
    return;  // nor memory for one
  }
  file.expectLittle();
  watcher_->add(file);
}

void Residency::check(uint64_t soon) {
  if (watcher_) watcher_->check(soon);
}

void Residency::forget(const MappedTensor& file) {
  if (watcher_) watcher_->remove(file);
}

}  // namespace tenc::rt
