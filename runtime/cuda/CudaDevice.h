// GPUs of NVIDIA as devices of a machine.
#pragma once
#include <memory>
#include <string>

#include "runtime/Device.h"
#include "runtime/DeviceFactories.h"

namespace tenc::rt {

/// The setting that says which GPU of the driver it is; without it, that is the number in its name.
inline constexpr std::string_view kOrdinal = "ordinal";

/// `spec.name` is "cuda:1". Nothing is taken of the GPU before the first program runs on it. Null, with a sentence in
/// `error`, when there is no such.
std::unique_ptr<Device> makeCudaDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings,
                                       std::string& error);

}  // namespace tenc::rt
