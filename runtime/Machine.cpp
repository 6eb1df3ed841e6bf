#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/Executor.h"
#include "runtime/cpu/Arena.h"
#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {

int processorCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

Machine::Machine(const MachineOptions& options) : options_(options) {
  pool_ = std::make_unique<ThreadPool>(options.threads > 0 ? options.threads : processorCount());
}

Machine::~Machine() = default;

int Machine::threads() const { return pool_->threads(); }

Arena* Machine::arena(const std::string& device) {
  for (auto& [name, arena] : arenas_)
    if (name == device) return arena.get();
  if (device != "cpu") {
    if (device.rfind("cuda:", 0) != 0 || std::atoi(device.c_str() + 5) >= options_.virtualCuda) return nullptr;
  }
  arenas_.emplace_back(device, std::make_unique<Arena>());
  return arenas_.back().second.get();
}

}  // namespace tenc::rt
