// cuGetProcAddress, and what tests ask of the driver.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

#include "tests/cuda/vm/driver/Control.h"
#include "tests/cuda/vm/driver/Entry.h"
#include "tests/cuda/vm/driver/Library.h"

using namespace tenc::ptx;
using namespace tenc::ptx::driver;

namespace {

constexpr size_t kWorst = 3;  // instructions of a kernel that are named

/// This library, by one of its functions.
void* self() {
  static void* library = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&tencVmReset), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return library;
}

/// What TENC_VM_FAIL says of an entry point: of "cuInit=100" the 100, or "absent". Empty for all others.
std::string failureOf(const std::string& name) {
  const char* planted = std::getenv("TENC_VM_FAIL");
  const std::string text = planted ? planted : "", begin = name + "=";
  return text.starts_with(begin) ? text.substr(begin.size()) : "";
}
int& failing() {
  static int status = 0;
  return status;
}
/// Stands in for an entry point of any type: arguments are the caller's affair.
int fail() { return failing(); }

template <class F>
void forDevices(F f) {
  Driver* d = instance();
  if (!d) return;
  std::lock_guard lock(d->mutex);
  for (auto& device : d->devices()) f(*d, *device);
}

}  // namespace

/// The newest variant of an entry point, by its name without a suffix. `found`: 0, or 1 where there is none.
TENC_ENTRY cuGetProcAddress_v2(const char* name, void** entry, int, uint64_t, int* found) {
  *entry = nullptr;
  const std::string planted = failureOf(name);
  if (planted == "absent") {
    if (found) *found = 1;
    return code(Status::NotFound);
  }
  if (!planted.empty()) {
    failing() = std::atoi(planted.c_str());
    *entry = reinterpret_cast<void*>(&fail);
  }
  for (const char* suffix : {"_v2", ""}) {
    if (!*entry) *entry = dlsym(self(), (std::string(name) + suffix).c_str());
  }
  if (found) *found = !*entry;
  return code(*entry ? Status::Success : Status::NotFound);
}
TENC_ENTRY cuGetProcAddress(const char* name, void** entry, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, entry, version, flags, nullptr);
}

#define TENC_CONTROL extern "C" __attribute__((visibility("default")))

TENC_CONTROL void tencVmSetMode(int mode, uint64_t seed) {
  Driver* d = instance();
  if (!d) return;
  std::lock_guard lock(d->mutex);
  d->setMode(static_cast<Mode>(mode), seed);
}
TENC_CONTROL void tencVmSetOrder(int order, uint64_t seed) {
  forDevices([&](Driver&, Device& device) {
    device.machine.options().order = static_cast<Order>(order);
    device.machine.options().seed = seed;
  });
}
TENC_CONTROL int tencVmSetRedzone(uint64_t address, uint64_t bytes, int redzone) {
  bool done = false;
  forDevices([&](Driver&, Device& device) {
    if (device.machine.memory().owns(address)) done = device.machine.memory().setRedzone(address, bytes, redzone != 0);
  });
  return done;
}
TENC_CONTROL const char* tencVmReports(int clear) {
  static std::string& text = *new std::string;  // is still there when the process ends
  text.clear();
  forDevices([&](Driver&, Device& device) {
    text += device.machine.reports().text();
    if (clear) device.machine.reports().clear();
  });
  return text.c_str();
}
TENC_CONTROL const char* tencVmCounters(int clear) {
  static std::string& text = *new std::string;  // is still there when the process ends
  text.clear();
  forDevices([&](Driver&, Device& d) {
    text += "device " + std::to_string(d.index) + ": launches " + std::to_string(d.launches) + ", copies " +
            std::to_string(d.copies) + ", bytes copied " + std::to_string(d.bytesCopied) + ", copies to the host " +
            std::to_string(d.copiesOut) + ", graph launches " + std::to_string(d.graphLaunches) + ", graph nodes " +
            std::to_string(d.graphNodes) + ", peer copies " + std::to_string(d.peerCopies) + "\n";
    for (const auto& [name, counters] : d.machine.counters()) {
      text += counters.text() + "\n";
      std::istringstream worst(counters.worst(kWorst));
      for (std::string line; std::getline(worst, line);) text += "  " + line + "\n";
    }
    if (!clear) return;
    d.launches = d.copies = d.bytesCopied = d.graphLaunches = d.graphNodes = d.peerCopies = d.copiesOut = 0;
    d.machine.clearCounters();
  });
  return text.c_str();
}
TENC_CONTROL Device* tencVmDevice() { return current(); }
TENC_CONTROL int tencVmSubmit(void* stream, const LibraryCommand* work) {
  return withStream(stream, [&](Driver& d, Device& device, Stream& s) {
    if (s.device != work->device || &device != work->device) return Status::InvalidHandle;
    return d.submit(s, Command(*work));
  });
}
TENC_CONTROL int tencVmPlanted(const char* function) { return std::atoi(failureOf(function).c_str()); }
TENC_CONTROL int tencVmDropWait(int nth) {
  Driver* d = instance();
  if (!d) return 0;
  std::lock_guard lock(d->mutex);
  d->droppedWait = nth;
  return std::exchange(d->waits, 0);
}
TENC_CONTROL void tencVmReset() {
  forDevices([](Driver&, Device& device) { device.failed = Status::Success; });
}
