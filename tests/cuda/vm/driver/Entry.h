// What all entry points of the fake driver have in common.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tests/cuda/vm/driver/Driver.h"

// The names that the driver API has.
#define TENC_ENTRY extern "C" __attribute__((visibility("default"))) int

namespace tenc::ptx::driver {

/// The one driver of the process, which the C API has no place for; null before cuInit.
Driver* instance();
/// Makes it, from the environment: TENC_VM_DEVICES, TENC_VM_MEMORY (bytes of each), TENC_VM_MODE (eager, lazy, random,
/// async), TENC_VM_ORDER, TENC_VM_SEED.
Status initialise();
/// Appends counters and reports to the files that TENC_VM_COUNTERS and TENC_VM_REPORTS name, and clears them.
void keepFindings();

/// Of the devices: 90 for 9.0. TENC_VM_CAPABILITY says another one, which modules have to fit.
int capability();
/// The device of this thread's context, or null.
Device*& current();

constexpr int code(Status s) { return static_cast<int>(s); }

/// What an entry point needs: the driver, locked, and the device at hand. `call` gets both. Where there is no context,
/// or the device is spoiled, the status says so.
template <class F>
int withDevice(F call) {
  Driver* d = instance();
  if (!d) return code(Status::NotInitialised);
  std::lock_guard lock(d->mutex);
  Device* device = current();
  if (!device) return code(Status::InvalidContext);
  if (device->failed != Status::Success) return code(device->failed);
  return code(call(*d, *device));
}
/// The same, for what a capture does not allow.
template <class F>
int outsideCapture(F call) {
  return withDevice([&](Driver& d, Device& device) { return d.capturing() ? d.refuseInCapture() : call(d, device); });
}
/// The same, with the stream of a handle.
template <class F>
int withStream(void* handle, F call) {
  return withDevice([&](Driver& d, Device& device) {
    auto s = d.stream(handle, device);
    return s ? call(d, device, *s) : Status::InvalidHandle;
  });
}

/// What a handle was given out for, or null.
template <class Map>
auto* find(Map& handles, void* handle) {
  auto at = handles.find(handle);
  return at == handles.end() ? nullptr : &at->second;
}

/// Gives out a handle.
template <class Map, class T>
void* keep(Map& handles, std::shared_ptr<T> value) {
  void* handle = value.get();
  handles[handle] = std::move(value);
  return handle;
}

}  // namespace tenc::ptx::driver
