#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/Executor.h"
#include "runtime/cpu/Arena.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/virtual/VirtualDevice.h"

namespace tenc::rt {

int processorCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

Machine::Machine(const MachineOptions& options) : options_(options), host_(std::make_unique<Arena>()) {
  const int all = options.threads > 0 ? options.threads : processorCount();
  pool_ = std::make_unique<ThreadPool>(all);
  VirtualOptions v;
  v.order = options.virtualOrder;
  v.capacity = options.virtualBytes;
  const int count = static_cast<int>(options.virtualDevices.size());
  v.threads = v.order == Order::Async ? std::max(1, all / std::max(1, count)) : all;
  v.dropWaits = options.dropWaits;
  for (const std::string& name : options.virtualDevices)
    devices_.push_back(std::make_unique<VirtualDevice>(name, v, *host_, interrupted));
}

Machine::~Machine() = default;

int Machine::threads() const { return pool_->threads(); }

Device* Machine::device(const std::string& name) {
  for (const auto& d : devices_)
    if (d->name() == name) return d.get();
  return nullptr;
}

void Machine::interrupt() {
  interrupted = true;
  __atomic_store_n(&kernel.fault, abi::kInterruptFault, __ATOMIC_RELAXED);
  for (const auto& d : devices_) d->interrupt();
}

bool Machine::describeFault(const void* address, char* text, size_t size) const {
  const CurrentWork work = currentWork();
  const auto* at = static_cast<const std::byte*>(address);
  AddressNote note;
  const VirtualDevice* owner = nullptr;
  for (const auto& d : devices_)
    if (d->memory().find(address, note)) owner = d.get();
  const bool onHost = host_->size() && at >= host_->base() && at < host_->base() + host_->size();
  if (!owner && !onHost) return false;
  int n = work.kernel ? std::snprintf(text, size, "kernel %s on %s touched ", work.kernel, work.device)
                      : std::snprintf(text, size, "the host touched ");
  if (n < 0 || static_cast<size_t>(n) >= size) return true;
  text += n;
  size -= static_cast<size_t>(n);
  if (!owner) {
    std::snprintf(text, size, "memory of the cpu: a transfer is missing");
  } else if (note.buffer == abi::kNoBuffer) {
    std::snprintf(text, size, "memory of %s outside all buffers", owner->name().c_str());
  } else if (note.distance >= static_cast<int64_t>(note.bytes)) {
    std::snprintf(text, size, "byte %lld of buffer m%u of %s, which has %llu", static_cast<long long>(note.distance),
                  note.buffer, owner->name().c_str(), static_cast<unsigned long long>(note.bytes));
  } else {
    std::snprintf(text, size, "buffer m%u of %s without a transfer", note.buffer, owner->name().c_str());
  }
  return true;
}

}  // namespace tenc::rt
