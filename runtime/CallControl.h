// The handle by which another thread, or a signal handler, ends a call.
#pragma once
#include <atomic>
#include <cstdint>

#include "runtime/abi/KernelState.h"
#include "runtime/abi/Program.h"

namespace tenc::rt {

/// One call at a time uses a control; it outlives that call. An interrupted call ends at its next step, and loops
/// inside kernels at their next trip.
class CallControl {
 public:
  CallControl() = default;
  CallControl(const CallControl&) = delete;
  CallControl& operator=(const CallControl&) = delete;

  /// From any thread and from signal handlers, before, during and after a call. A call that begins later ends at once,
  /// until `reset`.
  void interrupt() noexcept {
    interrupted_.store(true);
    for (abi::KernelState& k : kernels_) __atomic_store_n(&k.fault, abi::kInterruptFault, __ATOMIC_RELAXED);
  }
  /// Before the next call.
  void reset() noexcept { interrupted_.store(false); }
  bool interrupted() const noexcept { return interrupted_.load(std::memory_order_relaxed); }
  /// For those who poll it themselves, as the interpreter does.
  const std::atomic<bool>& flag() const noexcept { return interrupted_; }

  /// For the runtime: what the kernel that runs on a device of the program tells.
  abi::KernelState& kernel(uint32_t device) noexcept { return kernels_[device]; }

 private:
  std::atomic<bool> interrupted_{false};
  abi::KernelState kernels_[abi::kMostDevices];
};

}  // namespace tenc::rt
