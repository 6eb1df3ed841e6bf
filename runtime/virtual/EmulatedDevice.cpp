#include "runtime/virtual/EmulatedDevice.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "runtime/AddressBook.h"
#include "runtime/cpu/Arena.h"
#include "runtime/cpu/Scratch.h"
#include "runtime/cpu/ThreadPool.h"

namespace tenc::rt {
namespace {

class EmulatedStream : public Stream {
 public:
  EmulatedStream(const std::string& name, ThreadPool& pool, QueueMode mode, const StreamSetup& setup)
      : name_(name),
        device_(setup.device),
        pool_(pool),
        scratch_(pool.threads(), setup.program->scratchBytes(), setup.program->sharedBytes()),
        queue_(mode) {}

  /// False when there is no memory.
  bool layOut(const StreamSetup& setup) {
    const abi::Program& p = setup.program->program();
    if (setup.addresses) {
      addresses_ = *setup.addresses;
      return true;
    }
    if (!arena_.reserve(p.devices[device_].arenaBytes)) return false;
    for (const abi::Buffer& b : p.buffers)
      addresses_.push_back(b.device == device_ ? arena_.base() + b.offset : nullptr);
    return true;
  }

  std::byte* address(abi::BufferId buffer) const override { return addresses_[buffer]; }

  void begin(const StreamCall& call) override {
    call_ = call;
    const std::lock_guard lock(mutex_);
    stop_.reset();
  }

  void launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
              uint64_t order) override {
    std::vector<void*> addresses;
    for (const DeviceArg& a : args) addresses.push_back(a.address);
    push([this, &kernel, addresses = std::move(addresses), own = std::vector(scalars.begin(), scalars.end()),
          order]() mutable { run(kernel, addresses, own, order); });
  }
  void copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t) override {
    push([to, from, bytes] { std::memmove(to, from, bytes); });
  }
  Ticket copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t) override {
    return push([to, from, bytes] { std::memcpy(to, from, bytes); });
  }
  Ticket copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t) override {
    return push([to, from, bytes] { std::memcpy(to, from, bytes); });
  }
  void receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) override {
    const Ticket copied = other.send(*this, to, queue_.last(), from, bytes, order);
    queue_.push([&other, copied] { other.wait(copied); });
  }
  Ticket send(Stream& to, std::byte* destination, Ticket ready, const std::byte* from, uint64_t bytes,
              uint64_t order) override {
    return push([&to, destination, ready, from, bytes, order] {
      to.wait(ready);
      to.accept(destination, from, bytes, order);
    });
  }
  void accept(std::byte* to, const void* from, uint64_t bytes, uint64_t) override { std::memcpy(to, from, bytes); }

  void wait(Ticket ticket) override { queue_.wait(ticket); }
  bool done(Ticket ticket) const override { return queue_.done(ticket); }
  Ticket last() const override { return queue_.last(); }
  std::optional<DeviceStop> stopped() const override {
    const std::lock_guard lock(mutex_);
    return stop_;
  }

 private:
  /// A stopped stream does nothing more, but its tickets go on.
  Ticket push(std::function<void()> work) {
    return queue_.push([this, work = std::move(work)] {
      if (!stopped() && !call_.control->interrupted()) work();
    });
  }

  void run(const LoadedKernel& kernel, const std::vector<void*>& args, std::vector<uint64_t>& scalars, uint64_t order) {
    abi::KernelState& state = call_.control->kernel(device_);
    __atomic_store_n(&state.fault, 0, __ATOMIC_RELAXED);
    if (call_.control->interrupted()) return;  // before the fault word was cleared
    struct Context {
      EmulatedStream* self;
      const LoadedKernel& kernel;
      void* const* args;
      const uint64_t* scalars;
      uint32_t* fault;
    } context{this, kernel, args.data(), scalars.data(), &state.fault};
    if (kernel.call) {
      scalars[1] = reinterpret_cast<uint64_t>(scratch_.shared());
      scalars[3] = static_cast<uint64_t>(pool_.threads());
    }
    for (size_t p = 0; p < kernel.phases.size() && __atomic_load_n(&state.fault, __ATOMIC_RELAXED) == 0; ++p) {
      if (kernel.call) scalars[2] = p;
      pool_.run(
          kernel.phases[p].items, std::min(kernel.phases[p].items, kernel.phases[p].grain),
          [](void* c, int thread, int64_t begin, int64_t end) {
            auto* l = static_cast<Context*>(c);
            const CurrentWork before = currentWork();
            currentWork() = {l->kernel.kernel->name.c_str(), l->self->name_.c_str()};
            l->kernel.function(l->args, l->scalars, begin, end, l->fault, l->self->scratch_.of(thread));
            currentWork() = before;
          },
          &context);
    }
    const uint32_t fault = __atomic_load_n(&state.fault, __ATOMIC_RELAXED);
    if (fault == 0 || fault == abi::kInterruptFault) return;
    const std::vector<uint32_t>& sites = kernel.kernel->sites;
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    if (fault > sites.size())
      stop_ = DeviceStop{order, 0, std::string(kUnknownFault) + kernel.kernel->name};
    else
      stop_ = DeviceStop{order, sites[fault - 1], {}, state.bad};
  }

  const std::string& name_;
  const uint32_t device_;
  ThreadPool& pool_;
  Arena arena_;
  std::vector<std::byte*> addresses_;
  Scratch scratch_;
  StreamCall call_;
  mutable std::mutex mutex_;
  std::optional<DeviceStop> stop_;
  Queue queue_;  // last: its thread ends first
};

class EmulatedDevice : public Device {
 public:
  EmulatedDevice(std::string name, const EmulationOptions& options)
      : name_(std::move(name)), options_(options), pool_(options.threads) {}
  const std::string& name() const override { return name_; }
  bool worksOnHostMemory() const override { return true; }
  bool canRun(const abi::Kernel& kernel) const override {
    return !std::holds_alternative<abi::DeviceCode>(kernel.code) &&
           !std::holds_alternative<abi::ProductCode>(kernel.code) &&
           !std::holds_alternative<abi::SolverCode>(kernel.code) &&
           !std::holds_alternative<abi::SequenceCode>(kernel.code);
  }
  std::unique_ptr<Stream> open(const StreamSetup& setup, OpenFailure& failure) override {
    const uint64_t needed = setup.program->program().devices[setup.device].arenaBytes;
    auto stream = std::make_unique<EmulatedStream>(name_, pool_, options_.mode, setup);
    if ((options_.capacity == 0 || needed <= options_.capacity) && stream->layOut(setup)) return stream;
    failure.text = name_ + " cannot give " + std::to_string(needed) + " bytes";
    return nullptr;
  }

 private:
  const std::string name_;
  const EmulationOptions options_;
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Device> makeEmulatedDevice(std::string name, const EmulationOptions& options) {
  return std::make_unique<EmulatedDevice>(std::move(name), options);
}

}  // namespace tenc::rt
