#include "runtime/virtual/VirtualDevice.h"

#include <algorithm>

#include "runtime/virtual/CheckedDevice.h"
#include "runtime/virtual/EmulatedDevice.h"

namespace tenc::rt {
namespace {

bool readMode(std::string_view text, QueueMode& mode) {
  constexpr std::pair<std::string_view, QueueMode> kNames[] = {
      {"async", QueueMode::Async}, {"sync", QueueMode::Sync}, {"lazy", QueueMode::Lazy}};
  for (const auto& [name, value] : kNames)
    if (name == text) return mode = value, true;
  return false;
}

}  // namespace

std::unique_ptr<Device> makeVirtualDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings,
                                          std::string& error) {
  QueueMode mode = QueueMode::Async;
  for (const auto& [name, value] : spec.settings) {
    if (name == "order" && readMode(value, mode)) continue;
    error = "a virtual device has no setting `" + name + "=" + value + "`";
    return nullptr;
  }
  EmulationOptions options;
  options.capacity = spec.capacity;
  options.threads = mode == QueueMode::Async ? std::max(1, surroundings.threads / std::max(1, surroundings.devices))
                                             : surroundings.threads;
  options.mode = QueueMode::Sync;  // the checks have a queue
  return makeCheckedDevice(makeEmulatedDevice(spec.name, options), mode, *surroundings.addresses);
}

}  // namespace tenc::rt
