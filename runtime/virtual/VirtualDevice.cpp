#include "runtime/virtual/VirtualDevice.h"

#include <algorithm>
#include <cstring>

namespace tenc::rt {

CurrentWork& currentWork() {
  thread_local CurrentWork work;
  return work;
}

VirtualDevice::VirtualDevice(std::string name, VirtualOptions options, Arena& host,
                             const std::atomic<bool>& interrupted)
    : name_(std::move(name)),
      options_(options),
      host_(host),
      interrupted_(interrupted),
      pool_(options.threads),
      queue_(options.order) {}

VirtualDevice::~VirtualDevice() = default;

bool VirtualDevice::begin(const LoadedProgram& loaded, uint32_t index, std::string& error) {
  const abi::Program& p = loaded.program();
  const uint64_t needed = p.devices[index].arenaBytes;
  if ((options_.capacity && needed > options_.capacity) || !memory_.map(p, index)) {
    error = name_ + " cannot give " + std::to_string(needed) + " bytes";
    return false;
  }
  index_ = index;
  stop_.reset();
  isStopped_ = false;
  const uint64_t most = loaded.scratchBytes();
  scratch_.resize(static_cast<size_t>(pool_.threads()));
  for (auto& s : scratch_) s.resize(most ? most + 64 : 0);
  return true;
}

void VirtualDevice::end() {
  queue_.wait(queue_.last());
  memory_.unmap();
}

std::optional<DeviceStop> VirtualDevice::stopped() const {
  if (!isStopped_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return stop_;
}

void VirtualDevice::stop(DeviceStop stop) {
  const std::lock_guard lock(mutex_);
  if (!stop_ || stop.order < stop_->order) stop_ = std::move(stop);
  isStopped_ = true;
}

void VirtualDevice::interrupt() { __atomic_store_n(&kernel_.fault, abi::kInterruptFault, __ATOMIC_RELAXED); }

std::string VirtualDevice::bufferName(abi::BufferId b) const {
  return "m" + std::to_string(b) + " of " + name_ + " (" + std::to_string(memory_.bytes(b)) + " bytes)";
}

bool VirtualDevice::reads(abi::BufferId b, std::string_view what, uint64_t order) {
  if (memory_.holds(b)) return true;
  stop({order, 0,
        std::string(what) + " reads " + bufferName(b) + " before anything was put there: a transfer is missing"});
  return false;
}

void VirtualDevice::writes(abi::BufferId b, Work& work) {
  if (!memory_.holds(b)) work.fresh.push_back(b);
  for (const abi::BufferId e : memory_.take(b)) work.ended.push_back(e);
}

void VirtualDevice::enter(const Work& work) {
  for (const abi::BufferId b : work.ended) memory_.discard(b);
  for (const abi::BufferId b : work.buffers) memory_.open(b);
  for (const abi::BufferId b : work.fresh) memory_.poison(b);
}

void VirtualDevice::leave(const Work& work, uint64_t order, std::string_view what) {
  for (const abi::BufferId b : work.buffers) {
    if (!memory_.intact(b)) stop({order, 0, std::string(what) + " writes before the beginning of " + bufferName(b)});
    memory_.close(b);
  }
}

/// A stopped device does nothing more, but its tickets go on.
Ticket VirtualDevice::push(std::function<void()> work) {
  return queue_.push([this, work = std::move(work)] {
    if (!isStopped_ && !interrupted_.load(std::memory_order_relaxed)) work();
  });
}

void VirtualDevice::launch(const LoadedKernel& kernel, const std::vector<DeviceArg>& args,
                           std::vector<uint64_t> scalars, uint64_t order) {
  const std::string what = "kernel " + kernel.kernel->name + " on " + name_;
  Work work;
  std::vector<void*> addresses;
  const auto isRead = [](const DeviceArg& a) {
    return a.access == abi::Access::Read || a.access == abi::Access::Update;
  };
  for (const DeviceArg& a : args) {
    if (a.device != index_)
      return stop({order, 0, what + " was given memory of another device: a transfer is missing"});
    addresses.push_back(at(a.at));
    if (a.access == abi::Access::None) continue;
    if (isRead(a) && !reads(a.at.buffer, what, order)) return;
    if (std::find(work.buffers.begin(), work.buffers.end(), a.at.buffer) == work.buffers.end())
      work.buffers.push_back(a.at.buffer);
  }
  for (const DeviceArg& a : args) {
    if (a.access == abi::Access::Write || a.access == abi::Access::Update) writes(a.at.buffer, work);
  }
  for (const DeviceArg& a : args) {
    if (isRead(a) && !memory_.holds(a.at.buffer))
      return stop({order, 0, what + " reads " + bufferName(a.at.buffer) + " while it writes into the same memory"});
  }
  push([this, &kernel, what, work = std::move(work), addresses = std::move(addresses), scalars = std::move(scalars),
        order] {
    enter(work);
    run(kernel, addresses, scalars, order);
    leave(work, order, what);
  });
}

void VirtualDevice::run(const LoadedKernel& kernel, const std::vector<void*>& args,
                        const std::vector<uint64_t>& scalars, uint64_t order) {
  __atomic_store_n(&kernel_.fault, 0, __ATOMIC_RELAXED);
  if (interrupted_.load()) return;  // before the fault word was cleared
  if (options_.order != Order::Async) host_.protect(false);
  struct Context {
    VirtualDevice* self;
    const LoadedKernel& kernel;
    void* const* args;
    const uint64_t* scalars;
  } context{this, kernel, args.data(), scalars.data()};
  pool_.run(
      kernel.items, kernel.items <= kernel.grain ? kernel.items : kernel.grain,
      [](void* c, int thread, int64_t begin, int64_t end) {
        auto* l = static_cast<Context*>(c);
        const CurrentWork before = currentWork();
        currentWork() = {l->kernel.kernel->name.c_str(), l->self->name_.c_str()};
        const auto scratch = reinterpret_cast<uintptr_t>(l->self->scratch_[static_cast<size_t>(thread)].data());
        l->kernel.function(l->args, l->scalars, begin, end, &l->self->kernel_.fault,
                           reinterpret_cast<void*>((scratch + 63) / 64 * 64));
        currentWork() = before;
      },
      &context);
  if (options_.order != Order::Async) host_.protect(true);
  const uint32_t fault = __atomic_load_n(&kernel_.fault, __ATOMIC_RELAXED);
  if (fault != 0 && fault != abi::kInterruptFault) stop({order, kernel.kernel->sites[fault - 1], {}, kernel_.bad});
}

void VirtualDevice::copy(Place to, Place from, uint64_t bytes, uint64_t order) {
  if (!reads(from.buffer, "a copy", order)) return;
  Work work{{from.buffer}, {}, {}};
  if (to.buffer != from.buffer) work.buffers.push_back(to.buffer);
  writes(to.buffer, work);
  push([this, work = std::move(work), to, from, bytes, order] {
    enter(work);
    std::memmove(at(to), at(from), bytes);
    leave(work, order, "a copy");
  });
}

Ticket VirtualDevice::copyIn(Place to, const void* from, uint64_t bytes, uint64_t order) {
  Work work{{to.buffer}, {}, {}};
  writes(to.buffer, work);
  return push([this, work = std::move(work), to, from, bytes, order] {
    enter(work);
    std::memcpy(at(to), from, bytes);
    leave(work, order, "a transfer");
  });
}

Ticket VirtualDevice::copyOut(void* to, Place from, uint64_t bytes, uint64_t order) {
  if (!reads(from.buffer, "a transfer", order)) return 0;
  std::memset(to, kPoison, bytes);  // what the host must not see
  return push([this, to, from, bytes, order] {
    const Work work{{from.buffer}, {}, {}};
    enter(work);
    std::memcpy(to, at(from), bytes);
    leave(work, order, "a transfer");
  });
}

void VirtualDevice::receive(Place to, Device& other, Place from, uint64_t bytes, uint64_t order) {
  auto& source = dynamic_cast<VirtualDevice&>(other);
  if (!source.reads(from.buffer, "a transfer", order)) return;
  Work work{{to.buffer}, {}, {}};
  writes(to.buffer, work);
  const Ticket ready = push([this, work, to, bytes, order] {
    enter(work);
    std::memset(at(to), kPoison, bytes);
    leave(work, order, "a transfer");
  });
  const Ticket copied = source.push([this, &source, ready, to, from, bytes, order] {
    if (!options_.dropWaits) wait(ready);
    const Work there{{from.buffer}, {}, {}}, here{{to.buffer}, {}, {}};
    source.enter(there);
    enter(here);
    std::memcpy(at(to), source.at(from), bytes);
    leave(here, order, "a transfer");
    source.leave(there, order, "a transfer");
  });
  if (!options_.dropWaits) queue_.push([&source, copied] { source.wait(copied); });
}

}  // namespace tenc::rt
