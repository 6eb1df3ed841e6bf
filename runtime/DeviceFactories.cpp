#include "runtime/DeviceFactories.h"

#include "runtime/virtual/VirtualDevice.h"

namespace tenc::rt {
namespace {

struct Factory {
  std::string_view name;
  std::unique_ptr<Device> (*make)(const DeviceSpec&, const DeviceSurroundings&, std::string&);
};

constexpr Factory kFactories[] = {{"virtual", makeVirtualDevice}};

}  // namespace

std::unique_ptr<Device> makeDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings, std::string& error) {
  if (spec.make != nullptr) return spec.make(spec, surroundings, error);
  for (const Factory& f : kFactories)
    if (f.name == spec.factory) return f.make(spec, surroundings, error);
  error = "nothing makes devices by the name of `" + spec.factory + "`";
  return nullptr;
}

}  // namespace tenc::rt
