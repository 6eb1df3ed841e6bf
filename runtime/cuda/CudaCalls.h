// What all parts of a stream share: the driver's functions, the first of them that failed, and how to wait.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/Device.h"
#include "runtime/cuda/CudaEvents.h"

namespace tenc::rt::cuda {

class CudaCalls {
 public:
  /// `lost` is the device's: the error that spoilt it, which is noted here.
  CudaCalls(std::shared_ptr<const CudaDriver> driver, ContextHandle context, std::atomic<Result>& lost,
            std::string device);

  const CudaFunctions& f() const { return driver_->f(); }
  ContextHandle context() const { return context_; }
  /// A call of the program begins. Nothing has failed in it.
  void begin(const StreamCall& call);
  /// The next functions are for step `order`. Sets the thread's context.
  void enter(uint64_t order);
  uint64_t order() const { return order_; }

  /// Notes the first failure; `call` is the function's name.
  bool well(Result status, const char* call);
  const std::optional<DeviceStop>& stop() const { return stop_; }
  /// What the program reports, or the device: the first is kept.
  void stopAt(DeviceStop stop);
  bool isInterrupted() const { return call_.control != nullptr && call_.control->interrupted(); }
  /// Nothing has failed, and nobody has interrupted the call.
  bool goesOn() const { return !stop_ && !isInterrupted(); }

  /// After what the queue has been given so far. Null where something has failed.
  Event mark(StreamHandle queue);
  /// Lets a queue wait for an event of any device.
  void hold(StreamHandle queue, const Event& event);
  /// Whether it has been reached. What has failed has.
  bool isReached(const Event& event);
  /// Waits on the host. The function of `onInterrupt` is called when somebody interrupts the call meanwhile, and again
  /// and again until the event is reached.
  void await(const Event& event);
  void onInterrupt(std::function<void()> end) { end_ = std::move(end); }

 private:
  const std::shared_ptr<const CudaDriver> driver_;
  const ContextHandle context_;
  std::atomic<Result>& lost_;
  const std::string device_;
  const std::shared_ptr<CudaEvents> events_;
  StreamCall call_;
  uint64_t order_ = 0;
  std::optional<DeviceStop> stop_;
  std::function<void()> end_;
};

}  // namespace tenc::rt::cuda
