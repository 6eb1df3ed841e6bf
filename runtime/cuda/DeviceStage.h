// Memory of the device that a copy goes to while kernels still need the place that it is for: the next batch arrives
// while the last one is worked on.
#pragma once
#include "runtime/cuda/CudaCalls.h"

namespace tenc::rt::cuda {

/// Two slots, for copies in turn. They are no part of the plan, and are taken of memory that the device has to spare.
class DeviceStage {
 public:
  struct Slot {
    Pointer memory = 0;
    Event free;  ///< after the last command that uses it
  };

  explicit DeviceStage(CudaCalls& calls) : calls_(calls) {}
  ~DeviceStage();
  DeviceStage(const DeviceStage&) = delete;
  DeviceStage& operator=(const DeviceStage&) = delete;

  /// The largest copy that slots will be asked for.
  void expect(uint64_t bytes);
  /// The next slot; null where there is none for so many bytes.
  Slot* take(uint64_t bytes);
  /// The device is at rest.
  void begin();

 private:
  bool reserve();

  CudaCalls& calls_;
  uint64_t bytes_ = 0;  ///< of a slot
  Pointer memory_ = 0;
  bool refused_ = false;
  Slot slots_[2];
  size_t next_ = 0;
};

}  // namespace tenc::rt::cuda
