// How devices come into being: the one place of the runtime that names what makes them.
#pragma once
#include <memory>
#include <string>

#include "runtime/AddressBook.h"
#include "runtime/Machine.h"

namespace tenc::rt {

/// What a machine lends to its devices.
struct DeviceSurroundings {
  AddressBook* addresses = nullptr;
  int threads = 1;  ///< for kernels that the host runs
  int devices = 1;  ///< how many devices share them
};

/// Null, with a sentence in `error`, when there is no such factory, or it has no such setting.
std::unique_ptr<Device> makeDevice(const DeviceSpec& spec, const DeviceSurroundings& surroundings, std::string& error);

}  // namespace tenc::rt
