#include "runtime/virtual/VirtualDevice.h"

#include <algorithm>

#include "runtime/virtual/CheckedDevice.h"
#include "runtime/virtual/EmulatedDevice.h"

namespace tenc::rt {
namespace {

bool readOrder(std::string_view text, Order& order) {
  constexpr std::pair<std::string_view, Order> kNames[] = {
      {"async", Order::Async}, {"sync", Order::Sync}, {"lazy", Order::Lazy}};
  for (const auto& [name, value] : kNames)
    if (name == text) return order = value, true;
  return false;
}

}  // namespace

std::unique_ptr<Device> makeVirtualDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings,
                                          std::string& error) {
  Order order = Order::Async;
  for (const auto& [name, value] : spec.settings) {
    if (name == "order" && readOrder(value, order)) continue;
    error = "a virtual device has no setting `" + name + "=" + value + "`";
    return nullptr;
  }
  EmulationOptions options;
  options.capacity = spec.capacity;
  options.threads = order == Order::Async ? std::max(1, surroundings.threads / std::max(1, surroundings.devices))
                                          : surroundings.threads;
  options.order = Order::Sync;  // the checks have a queue
  return makeCheckedDevice(makeEmulatedDevice(spec.name, options), order, *surroundings.addresses);
}

}  // namespace tenc::rt
