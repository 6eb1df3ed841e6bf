#include "runtime/Machine.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "runtime/AddressBook.h"
#include "runtime/DeviceFactories.h"
#include "runtime/cpu/Arena.h"
#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {

int processorCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

CurrentWork& currentWork() {
  thread_local CurrentWork work;
  return work;
}

namespace {

/// An arena of the host that the address book knows.
class HostMemory : public AddressOwner {
 public:
  HostMemory(Arena& arena, AddressBook& book) : arena_(arena), book_(book) { book_.add(this); }
  ~HostMemory() override { book_.remove(this); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  bool describe(const void* address, char* text, size_t size) const override {
    const auto* at = static_cast<const std::byte*>(address);
    if (!arena_.size() || at < arena_.base() || at >= arena_.base() + arena_.size()) return false;
    std::snprintf(text, size, "memory of the cpu: a transfer is missing");
    return true;
  }
  const Arena& arena() const { return arena_; }

 private:
  Arena& arena_;
  AddressBook& book_;
};

}  // namespace

struct Machine::Memory {
  AddressBook book;
  std::mutex mutex;
  std::vector<std::unique_ptr<Arena>> idle;
  std::vector<std::unique_ptr<HostMemory>> known;
};

Machine::Machine(const MachineOptions& options) : options_(options), memory_(std::make_unique<Memory>()) {
  const int all = options.threads > 0 ? options.threads : processorCount();
  pool_ = std::make_unique<ThreadPool>(all);
  const DeviceSurroundings surroundings{&memory_->book, all, static_cast<int>(options.devices.size())};
  for (const DeviceSpec& spec : options.devices) {
    if (auto made = makeDevice(spec, surroundings, problem_)) devices_.push_back(std::move(made));
  }
}

Machine::~Machine() = default;

bool Machine::add(const DeviceSpec& spec, std::string& error) {
  if (device(spec.name) != nullptr) return true;
  auto made = makeDevice(spec, {&memory_->book, threads(), 1}, error);
  if (!made) return false;
  devices_.push_back(std::move(made));
  return true;
}

int Machine::threads() const { return pool_->threads(); }

Device* Machine::device(const std::string& name) const {
  for (const auto& d : devices_)
    if (d->name() == name) return d.get();
  return nullptr;
}

std::unique_ptr<Arena> Machine::takeArena(uint64_t bytes) {
  std::unique_ptr<Arena> arena;
  {
    // The smallest that is large enough, or else the last one, which then grows.
    const std::lock_guard lock(memory_->mutex);
    auto& idle = memory_->idle;
    auto best = idle.end();
    for (auto it = idle.begin(); it != idle.end(); ++it)
      if ((*it)->size() >= bytes && (best == idle.end() || (*it)->size() < (*best)->size())) best = it;
    if (best == idle.end() && !idle.empty()) best = idle.end() - 1;
    if (best != idle.end()) {
      arena = std::move(*best);
      idle.erase(best);
    } else {
      arena = std::make_unique<Arena>();
      memory_->known.push_back(std::make_unique<HostMemory>(*arena, memory_->book));
      memory_->idle.reserve(memory_->known.size());  // giving back takes no memory
    }
  }
  if (arena->reserve(bytes)) return arena;
  giveBack(std::move(arena));
  return nullptr;
}

void Machine::giveBack(std::unique_ptr<Arena> arena) {
  const std::lock_guard lock(memory_->mutex);
  memory_->idle.push_back(std::move(arena));
}

bool Machine::describeFault(const void* address, char* text, size_t size) const {
  const CurrentWork work = currentWork();
  char what[160];
  if (!memory_->book.describe(address, what, sizeof what)) return false;
  if (work.kernel)
    std::snprintf(text, size, "kernel %s on %s touched %s", work.kernel, work.device, what);
  else
    std::snprintf(text, size, "the host touched %s", what);
  return true;
}

}  // namespace tenc::rt
