#include "runtime/call/ReadAhead.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/Threads.h"
#include "runtime/io/Version.h"

namespace tenc::rt {

namespace {

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, of Linux 5.14

}  // namespace

bool ReadAhead::Wanted::operator==(const Wanted& o) const {
  return source.path == o.source.path && source.format == o.source.format && source.name == o.source.name &&
         dtype == o.dtype && shape == o.shape;
}

/// The thread and what it is given. A job belongs to the thread from `Reading` to `Done`, else to the call.
struct ReadAhead::Reader {
  enum class State : uint8_t { Waiting, Reading, Done };
  struct Job {
    Wanted wanted;
    std::byte* memory = nullptr;
    State state = State::Waiting;  // under the mutex
    std::atomic<bool> dropped{false};
    bool inMemory = false;
    std::optional<MappedTensor> mapped;
    std::optional<FileVersion> version;  ///< of what was read, if a change after it would show
  };
  using Jobs = std::map<std::byte*, std::shared_ptr<Job>>;

  explicit Reader(const FileAccess& files) : files_(files) {
    const WithoutSignals guard;
    thread_ = std::thread([this] { loop(); });
  }
  ~Reader() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
      queue_.clear();
      for (const auto& [memory, job] : jobs_) job->dropped = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void begin(Wanted wanted, std::byte* memory) {
    auto job = std::make_shared<Job>();
    job->wanted = std::move(wanted);
    job->memory = memory;
    {
      const std::lock_guard lock(mutex_);
      jobs_[memory] = job;
      queue_.push_back(std::move(job));
    }
    changed_.notify_all();
  }

  /// Parts of an open file, or of one that is mapped.
  struct Parts {
    std::shared_ptr<const OpenFile> file;
    std::byte* pages = nullptr;
    std::vector<Part> list;
  };
  void bringIn(Parts parts) {
    {
      const std::lock_guard lock(mutex_);
      parts_ = std::move(parts);
    }
    changed_.notify_all();
  }

  /// What was begun for the memory, done or dropped and forgotten here; null for nothing. `wanted`, if given, is waited
  /// for until the call is interrupted.
  std::shared_ptr<Job> remove(std::byte* memory, const Wanted* wanted, const CallControl& control) {
    constexpr auto kPoll = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    const Jobs::iterator found = jobs_.find(memory);
    if (found == jobs_.end()) return nullptr;
    std::shared_ptr<Job> job = std::move(found->second);
    jobs_.erase(found);
    const auto isDone = [&] { return job->state == State::Done; };
    if (wanted && job->wanted == *wanted)
      while (!changed_.wait_for(lock, kPoll, isDone) && !control.interrupted()) {}
    if (isDone()) return job;
    job->dropped = true;
    if (job->state == State::Waiting)
      std::erase(queue_, job);
    else
      changed_.wait(lock, isDone);
    return nullptr;
  }

 private:
  void loop() {
    FileReader reader(files_);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return quit_ || !queue_.empty() || !parts_.list.empty(); });
      if (quit_) return;
      if (queue_.empty()) {
        Parts parts = std::exchange(parts_, {});
        lock.unlock();
        readParts(parts);
        parts = {};  // the file, before anybody waits
        lock.lock();
        continue;
      }
      const std::shared_ptr<Job> job = std::move(queue_.front());
      queue_.pop_front();
      job->state = State::Reading;
      lock.unlock();
      read(*job, reader);
      lock.lock();
      job->state = State::Done;
      changed_.notify_all();
    }
  }

  void readParts(Parts& parts) const {
    if (parts.list.empty() || areThere(parts)) return;
    // Those that lie together, one after the other.
    std::sort(parts.list.begin(), parts.list.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
    // First all are asked for, so that the disk has much to choose from. Whoever reads them from the file waits for
    // them; into the process's memory they are brought here.
    for (const bool wait : {false, true}) {
      if (wait && parts.file) return;
      for (const Part& p : parts.list)
        if (!readPart(parts, p, wait)) return;
    }
  }

  /// False when it is to stop.
  bool readPart(const Parts& parts, const Part& part, bool wait) const {
    constexpr uint64_t kPiece = uint64_t{4} << 20;
    for (uint64_t at = 0; at < part.bytes; at += kPiece) {
      if (quit_.load(std::memory_order_relaxed)) return false;
      const uint64_t bytes = std::min(kPiece, part.bytes - at);
      if (parts.file)
        parts.file->expect(part.begin + at, bytes);
      else
        advise(parts.pages + part.begin + at, bytes, wait ? kPopulateRead : MADV_WILLNEED);
    }
    return true;
  }

  /// That the file may be gone from these addresses by now does no harm.
  static void advise(const std::byte* from, uint64_t bytes, int advice) {
    constexpr uintptr_t kPage = 4096;
    const auto at = reinterpret_cast<uintptr_t>(from), begin = at / kPage * kPage;
    madvise(reinterpret_cast<void*>(begin), at + bytes - begin, advice);
  }

  /// Whether a few of many are had without asking a disk, which of a mapped file shows in the time that it takes: then
  /// the others are taken to be in the system's cache too, where to bring them in would cost more than it saves.
  static bool areThere(const Parts& parts) {
    constexpr size_t kMany = 16, kFew = 8;
    constexpr auto kFromDisk = std::chrono::microseconds(20);
    if (parts.list.size() <= kMany) return false;
    for (size_t i = 0; i < kFew; ++i) {
      const Part& part = parts.list[i * parts.list.size() / kFew];
      std::byte first{};
      const auto before = std::chrono::steady_clock::now();
      if (!parts.file)
        advise(parts.pages + part.begin, part.bytes, kPopulateRead);
      else if (!parts.file->readCached(part.begin, 1, &first))
        return false;
      if (!parts.file && std::chrono::steady_clock::now() - before > kFromDisk) return false;
    }
    return true;
  }

  static void read(Job& job, FileReader& reader) {
    const auto& [source, dtype, shape] = job.wanted;
    try {
      std::string error;
      if (auto mapped = reader.map(source, dtype, shape)) {
        if (mapped->bringIn(job.dropped)) job.mapped.emplace(std::move(*mapped));
      } else {
        job.inMemory = reader.load(source, dtype, shape, job.memory, error);
      }
      if (const auto version = reader.version(); version && version->isSettled()) job.version = version;
    } catch (const std::bad_alloc&) { job.inMemory = false; }
  }

  const FileAccess& files_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  Jobs jobs_;  ///< by memory
  Parts parts_;
  std::atomic<bool> quit_{false};  // set under the mutex
  std::thread thread_;             // last: it uses all of the above
};

ReadAhead::ReadAhead(const FileAccess& files, const CallControl& control, bool enabled)
    : files_(files), control_(control), enabled_(enabled) {}
ReadAhead::~ReadAhead() = default;

void ReadAhead::begin(Wanted wanted, std::byte* memory) {
  if (!enabled_) return;
  end(memory);
  if (start()) reader_->begin(std::move(wanted), memory);
}

bool ReadAhead::start() {
  try {
    if (!reader_) reader_ = std::make_unique<Reader>(files_);
  } catch (const std::system_error&) {
    return false;  // the system gives no more threads
  } catch (const std::bad_alloc&) {
    return false;  // nor memory for one
  }
  return true;
}

void ReadAhead::bringIn(std::shared_ptr<const OpenFile> file, std::vector<Part> parts) {
  if (start()) reader_->bringIn({std::move(file), nullptr, std::move(parts)});
}

void ReadAhead::bringIn(std::byte* pages, std::vector<Part> parts) {
  if (start()) reader_->bringIn({nullptr, pages, std::move(parts)});
}

ReadAhead::Found ReadAhead::take(const Wanted& wanted, std::byte* memory) {
  const auto job = reader_ ? reader_->remove(memory, &wanted, control_) : nullptr;
  Found found;
  if (!job || !(job->wanted == wanted) || !job->version || job->version != FileVersion::of(wanted.source.path))
    return found;
  found.inMemory = job->inMemory;
  if (job->mapped) found.mapped.emplace(std::move(*job->mapped));
  return found;
}

void ReadAhead::end(std::byte* memory) {
  if (reader_) reader_->remove(memory, nullptr, control_);
}

void ReadAhead::stop() { reader_.reset(); }

}  // namespace tenc::rt
