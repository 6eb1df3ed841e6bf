// A device that the host plays: memory of its own, real copies, kernels of the host, and a queue.
#pragma once
#include <memory>
#include <string>

#include "runtime/Device.h"
#include "runtime/virtual/Queue.h"

namespace tenc::rt {

struct EmulationOptions {
  uint64_t capacity = 0;              ///< bytes; 0: as the host gives
  int threads = 1;                    ///< for kernels
  QueueMode mode = QueueMode::Async;  ///< of the work in its queues
};

std::unique_ptr<Device> makeEmulatedDevice(std::string name, const EmulationOptions& options);

}  // namespace tenc::rt
