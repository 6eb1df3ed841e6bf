// A device that is played by the host: memory of its own, real copies, a queue, and checks that a GPU does not make.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>

#include "runtime/Device.h"
#include "runtime/cpu/Arena.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/virtual/GuardedMemory.h"
#include "runtime/virtual/Queue.h"

namespace tenc::rt {

struct VirtualOptions {
  Order order = Order::Async;
  uint64_t capacity = 0;   ///< bytes; 0: as the host gives
  int threads = 1;         ///< for the kernels of this device
  bool dropWaits = false;  ///< plants a bug, for tests: no command waits for another device
};

class VirtualDevice : public Device {
 public:
  /// `host` is closed while commands run that have no business there; not with Order::Async, where the host works too.
  VirtualDevice(std::string name, VirtualOptions options, Arena& host, const std::atomic<bool>& interrupted);
  ~VirtualDevice() override;

  bool begin(const LoadedProgram& p, uint32_t index, std::string& error) override;
  void end() override;
  void launch(const LoadedKernel& kernel, const std::vector<DeviceArg>& args, std::vector<uint64_t> scalars,
              uint64_t order) override;
  void copy(Place to, Place from, uint64_t bytes, uint64_t order) override;
  Ticket copyIn(Place to, const void* from, uint64_t bytes, uint64_t order) override;
  Ticket copyOut(void* to, Place from, uint64_t bytes, uint64_t order) override;
  void receive(Place to, Device& other, Place from, uint64_t bytes, uint64_t order) override;
  void wait(Ticket ticket) override { queue_.wait(ticket); }
  bool done(Ticket ticket) const override { return queue_.done(ticket); }
  Ticket last() const override { return queue_.last(); }
  std::optional<DeviceStop> stopped() const override;
  void interrupt() override;

  const std::string& name() const { return name_; }
  const GuardedMemory& memory() const { return memory_; }

 private:
  /// Memory that a command works on: opened before it, closed after it.
  struct Work {
    std::vector<abi::BufferId> buffers;
    std::vector<abi::BufferId> fresh;  ///< among them, those that hold nothing yet
    std::vector<abi::BufferId> ended;  ///< whose memory is taken over
  };
  bool reads(abi::BufferId b, std::string_view what, uint64_t order);
  void writes(abi::BufferId b, Work& work);
  void enter(const Work& work);
  void leave(const Work& work, uint64_t order, std::string_view what);
  void run(const LoadedKernel& kernel, const std::vector<void*>& args, const std::vector<uint64_t>& scalars,
           uint64_t order);
  Ticket push(std::function<void()> work);
  void stop(DeviceStop stop);
  std::string bufferName(abi::BufferId b) const;
  std::byte* at(Place p) const { return memory_.address(p.buffer) + p.offset; }

  const std::string name_;
  const VirtualOptions options_;
  Arena& host_;
  const std::atomic<bool>& interrupted_;
  GuardedMemory memory_;
  ThreadPool pool_;
  std::vector<std::vector<std::byte>> scratch_;
  uint32_t index_ = 0;
  abi::KernelState kernel_;  // of the kernel that runs
  mutable std::mutex mutex_;
  std::optional<DeviceStop> stop_;
  std::atomic<bool> isStopped_{false};
  Queue queue_;  // last: its thread ends first
};

/// What the calling thread works on, for the report of a fault.
struct CurrentWork {
  const char* kernel = nullptr;
  const char* device = nullptr;
};
CurrentWork& currentWork();

}  // namespace tenc::rt
