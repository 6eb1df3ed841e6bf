#include "runtime/DeviceFactories.h"

#include "runtime/virtual/VirtualDevice.h"

namespace tenc::rt {
namespace {

using Factory = std::unique_ptr<Device> (*)(const DeviceSpec&, const DeviceSurroundings&, std::string&);

struct Kind {
  std::string_view name;
  Factory make;
};

constexpr Kind kKinds[] = {{"virtual", makeVirtualDevice}};

}  // namespace

std::unique_ptr<Device> makeDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings, std::string& error) {
  for (const Kind& k : kKinds)
    if (k.name == spec.kind) return k.make(spec, surroundings, error);
  error = "there is no kind of device `" + spec.kind + "`";
  return nullptr;
}

}  // namespace tenc::rt
