// The devices that scripts may name: the GPUs of this machine, virtual devices in their place, or the GPUs of a machine
// that code is made for.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/DeviceTable.h"
#include "runtime/Machine.h"
#include "runtime/cuda/CudaGpus.h"

namespace tenc::tool {

struct SessionOptions;

/// GPUs are looked for when somebody asks for one: scripts that name none do not load the driver.
class Hardware {
 public:
  explicit Hardware(const SessionOptions& options) : options_(options) {}

  /// Looks for GPUs when it is asked for them; the Hardware outlives it.
  ir::DeviceTable table();
  /// For people: "NVIDIA H200".
  std::string name(std::string_view device);
  /// Bytes that the device has; of a GPU that is not here, those of the host.
  uint64_t memory(std::string_view device);
  /// Whether devices other than the host run the host's code.
  bool isVirtual() const;
  /// What kernels for GPUs are compiled for: "sm_90", or "compute_80", PTX, where GPUs are of several kinds.
  std::string architecture();
  /// How a machine gets the device.
  rt::DeviceSpec spec(std::string_view device);
  /// How many virtual devices there are.
  int virtualDevices() const;
  /// All of this machine, also those that cannot be used.
  const rt::cuda::Gpus& gpus();
  /// Whether somebody has asked for them.
  bool hasLooked() const { return gpus_.has_value(); }

 private:
  ir::DeviceTable::Found found();
  /// Of those that can be used, by the number that scripts give them; null for none.
  const rt::cuda::Gpu* usable(std::string_view device);

  const SessionOptions& options_;
  std::optional<rt::cuda::Gpus> gpus_;
};

/// The host's name and memory in bytes.
std::string hostName();
uint64_t hostMemory();

}  // namespace tenc::tool
