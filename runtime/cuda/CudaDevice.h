// GPUs of NVIDIA as devices of a machine.
#pragma once
#include <memory>
#include <string>

#include "runtime/Device.h"
#include "runtime/DeviceFactories.h"

namespace tenc::rt {

/// `spec.name` "cuda:1" is the second GPU of the driver. Null, with a sentence in `error`, when there is no such.
std::unique_ptr<Device> makeCudaDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings,
                                       std::string& error);

}  // namespace tenc::rt
