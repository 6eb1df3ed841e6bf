// When the device did what, for a trace: events with times around each command.
#pragma once
#include <string>
#include <vector>

#include "runtime/Call.h"
#include "runtime/cuda/CudaCalls.h"

namespace tenc::rt::cuda {

/// The queues of a device, each of which is a row of the trace.
enum class Lane : uint8_t { Kernels, In, Out };

class CudaTimes {
 public:
  CudaTimes(std::shared_ptr<const CudaDriver> driver, ContextHandle context, CudaCalls& calls, std::string device);

  /// A call begins, the device is at rest. Without `wanted` nothing below does anything.
  void begin(bool wanted, StreamHandle queue);
  bool isOn() const { return zero_ != nullptr; }
  /// Before a command. Null where nothing is noted.
  Event start(StreamHandle queue);
  /// After the command that began at `start`.
  void end(const Event& start, StreamHandle queue, Lane lane, std::string name);
  /// Adds what was done since `begin`; the device is at rest again.
  void give(CallTrace& trace);

 private:
  struct Span {
    Event start, end;
    Lane lane;
    std::string name;
  };
  Event mark(StreamHandle queue);
  /// Looks up times from the first command to the last that is done, so that events are free again.
  void settle();

  CudaCalls& calls_;
  const std::string device_;
  const std::shared_ptr<CudaEvents> events_;
  Event zero_;
  int64_t zeroNanoseconds_ = 0;
  std::vector<Span> open_;
  std::vector<TraceEvent> known_;
  uint64_t leftOut_ = 0;
};

}  // namespace tenc::rt::cuda
