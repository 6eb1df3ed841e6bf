// A decorator of any device, with the checks that a GPU does not make: buffers that nothing was put into, memory of
// other devices, values that were overwritten; where the device works on memory of the host, also guard pages, poison
// in what is undefined, and addresses that strayed. The order of work can be varied, so that a forgotten wait shows.
#pragma once
#include <memory>

#include "runtime/AddressBook.h"
#include "runtime/Device.h"
#include "runtime/virtual/Queue.h"

namespace tenc::rt {

/// Each command is given to `inner` in the order that the queue gives in that mode, and waited for. What is found is
/// told as a DeviceStop with a `bug`. Streams enter themselves in `book`, which outlives the device.
std::unique_ptr<Device> makeCheckedDevice(std::unique_ptr<Device> inner, QueueMode mode, AddressBook& book);

}  // namespace tenc::rt
