// Initialisation, devices, contexts, errors.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/cuda/vm/driver/Control.h"
#include "tests/cuda/vm/driver/Entry.h"

namespace tenc::ptx::driver {
namespace {

constexpr int kVersion = 13000;

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

std::unique_ptr<Driver>& slot() {
  static std::unique_ptr<Driver> driver;
  return driver;
}

/// Of an H100, as far as programs ask.
struct Attribute {
  int number, value;
};
constexpr int kMajor = 75, kMinor = 76;
constexpr Attribute kAttributes[] = {
    {1, 1024},   {2, 1024},     {3, 1024},        {4, 64},        {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152},
    {9, 65536},  {10, 32},      {11, 2147483647}, {12, 65536},    {13, 1830000},   {15, 1},    {16, 132},  {19, 1},
    {31, 1},     {36, 2619000}, {37, 5120},       {38, 50 << 20}, {39, 2048},      {40, 3},    {41, 1},    {81, 233472},
    {82, 65536}, {95, 1},       {97, 232448},     {106, 32},      {111, 1024},     {115, 0}};

/// The device of a number, or null.
Device* deviceOf(int n) {
  Driver* d = instance();
  return d && n >= 0 && static_cast<size_t>(n) < d->devices().size() ? d->devices()[static_cast<size_t>(n)].get()
                                                                     : nullptr;
}
Status statusOfNumber(int n) {
  if (!instance()) return Status::NotInitialised;
  return deviceOf(n) ? Status::Success : Status::InvalidDevice;
}

}  // namespace

Driver* instance() { return slot().get(); }

int capability() {
  int major = 9, minor = 0;
  std::sscanf(environment("TENC_VM_CAPABILITY", "").c_str(), "%d.%d", &major, &minor);
  return 10 * major + minor;
}

Device*& current() {
  static thread_local Device* device = nullptr;
  return device;
}

Status initialise() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (instance()) return Status::Success;
  int devices = std::atoi(environment("TENC_VM_DEVICES", "1").c_str());
  if (devices < 1) return Status::NoDevice;
  std::string mode = environment("TENC_VM_MODE", "eager");
  slot() = std::make_unique<Driver>(static_cast<uint32_t>(devices),
                                    std::strtoull(environment("TENC_VM_MEMORY", "4294967296").c_str(), nullptr, 10),
                                    mode == "lazy"     ? Mode::Lazy
                                    : mode == "random" ? Mode::Random
                                    : mode == "async"  ? Mode::Async
                                                       : Mode::Eager,
                                    std::strtoull(environment("TENC_VM_SEED", "1").c_str(), nullptr, 10));
  std::atexit(keepFindings);  // runs before the driver is destroyed, and after this:
  std::atexit([] { instance()->stop(); });
  const std::string order = environment("TENC_VM_ORDER", "");
  for (auto& d : instance()->devices())
    d->machine.options().order = order == "ahead"      ? Order::RunAhead
                                 : order == "backward" ? Order::Backward
                                 : order == "random"   ? Order::Random
                                                       : Order::RoundRobin;
  return Status::Success;
}

void keepFindings() {
  const auto append = [](const char* variable, const char* (*text)(int)) {
    const char* path = std::getenv(variable);
    FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    std::fputs(text(1), file);
    std::fclose(file);
  };
  append("TENC_VM_COUNTERS", tencVmCounters);
  append("TENC_VM_REPORTS", tencVmReports);
}

}  // namespace tenc::ptx::driver

using namespace tenc::ptx::driver;

TENC_ENTRY cuInit(unsigned flags) { return code(flags ? Status::InvalidValue : initialise()); }
TENC_ENTRY cuDriverGetVersion(int* version) {
  *version = kVersion;
  return 0;
}
TENC_ENTRY cuDeviceGetCount(int* count) {
  if (!instance()) return code(Status::NotInitialised);
  *count = static_cast<int>(instance()->devices().size());
  return 0;
}
TENC_ENTRY cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return code(statusOfNumber(ordinal));
}
TENC_ENTRY cuDeviceGetName(char* name, int bytes, int device) {
  std::snprintf(name, static_cast<size_t>(bytes), "tenc PTX machine %d", device);
  return code(statusOfNumber(device));
}
TENC_ENTRY cuDeviceTotalMem_v2(size_t* bytes, int device) {
  if (Device* d = deviceOf(device)) *bytes = d->machine.memory().limit();
  return code(statusOfNumber(device));
}
TENC_ENTRY cuDeviceGetUuid_v2(void* uuid, int device) {
  std::memset(uuid, device + 1, 16);
  return code(statusOfNumber(device));
}
TENC_ENTRY cuDeviceGetAttribute(int* value, int attribute, int device) {
  auto a = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                        [&](const Attribute& row) { return row.number == attribute; });
  *value = attribute == kMajor          ? capability() / 10
           : attribute == kMinor        ? capability() % 10
           : a == std::end(kAttributes) ? 0
                                        : a->value;
  return code(statusOfNumber(device));
}
TENC_ENTRY cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer && environment("TENC_VM_PEERS", "1") != "0";
  return code(deviceOf(device) ? statusOfNumber(peer) : statusOfNumber(device));
}

// A context is its device.
TENC_ENTRY cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = deviceOf(device);
  return code(statusOfNumber(device));
}
TENC_ENTRY cuDevicePrimaryCtxRelease_v2(int device) { return code(statusOfNumber(device)); }
TENC_ENTRY cuCtxSetCurrent(void* context) {
  current() = static_cast<Device*>(context);
  return 0;
}
TENC_ENTRY cuCtxGetCurrent(void** context) {
  *context = current();
  return 0;
}
TENC_ENTRY cuCtxGetDevice(int* device) {
  if (!current()) return code(Status::InvalidContext);
  *device = static_cast<int>(current()->index);
  return 0;
}
TENC_ENTRY cuCtxSynchronize() {
  return outsideCapture([](Driver& d, Device& device) {
    d.finishAll();
    return device.failed;
  });
}
TENC_ENTRY cuCtxEnablePeerAccess(void* context, unsigned) {
  return withDevice([&](Driver&, Device& device) {
    auto* peer = static_cast<Device*>(context);
    if (!peer || peer == &device) return Status::InvalidContext;
    return device.peers.insert(peer).second ? Status::Success : Status::PeerAccessEnabled;
  });
}

TENC_ENTRY cuGetErrorName(int status, const char** name) {
  *name = nameOf(static_cast<Status>(status));
  return code(*name ? Status::Success : Status::InvalidValue);
}
TENC_ENTRY cuGetErrorString(int status, const char** text) {
  *text = textOf(static_cast<Status>(status));
  return code(*text ? Status::Success : Status::InvalidValue);
}
// NVRTC finds a driver that is loaded by its soname, and asks for this.
TENC_ENTRY cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return code(Status::NotFound);
}
