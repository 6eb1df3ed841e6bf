// Virtual devices: the host plays a device, and checks what a program does with it.
#pragma once
#include <memory>
#include <string>

#include "runtime/DeviceFactories.h"

namespace tenc::rt {

/// The factory of the kind "virtual": a checked, emulated device. Settings: {"order", "async"|"sync"|"lazy"}.
std::unique_ptr<Device> makeVirtualDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings,
                                          std::string& error);

}  // namespace tenc::rt
