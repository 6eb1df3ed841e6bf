#include "tests/cuda/vm/driver/Command.h"

#include <cstring>

namespace tenc::ptx::driver {
namespace {

/// A range of device memory that is still allocated, or null with a report.
Allocation* live(Device& d, uint64_t address, uint64_t bytes) {
  Allocation* a = d.machine.memory().find(address, bytes);
  if (!a)
    d.machine.reports().add(Finding::CopyOfFreed, "a copy", "the driver",
                            std::to_string(bytes) + " bytes that are no longer allocated when it runs");
  return a;
}

Status run(const EmptyCommand&) { return Status::Success; }

Status run(const KernelCommand& k) {
  Device& d = *k.function->device;
  ++d.launches;
  auto ended = d.machine.launch(*k.function->kernel, k.shape, k.parameters);
  return ended ? statusOf(*ended) : Status::Success;
}

Status run(const CopyCommand& c) {
  if (!c.bytes) return Status::Success;
  Allocation* from = c.fromDevice ? live(*c.fromDevice, c.from, c.bytes) : nullptr;
  Allocation* to = c.toDevice ? live(*c.toDevice, c.to, c.bytes) : nullptr;
  if ((c.fromDevice && !from) || (c.toDevice && !to)) return Status::IllegalAddress;
  Device* counting = c.toDevice ? c.toDevice : c.fromDevice;
  if (counting) {
    ++counting->copies;
    counting->bytesCopied += c.bytes;
    counting->copiesOut += !c.toDevice;
    counting->peerCopies += c.toDevice && c.fromDevice && c.toDevice != c.fromDevice;
  }
  const uint8_t* source = c.fromDevice ? c.fromDevice->machine.memory().host(c.from)
                          : c.staged   ? c.staged->data()
                                       : reinterpret_cast<const uint8_t*>(c.from);
  uint8_t* target = c.toDevice ? c.toDevice->machine.memory().host(c.to) : reinterpret_cast<uint8_t*>(c.to);
  std::memmove(target, source, c.bytes);
  if (from && !to) {
    uint64_t n = c.fromDevice->machine.memory().firstUninitialised(*from, c.from - from->base, c.bytes);
    if (n < c.bytes) {
      c.fromDevice->machine.reports().add(
          Finding::UninitialisedGlobal, "a copy to the host", "the driver",
          "byte " + std::to_string(n) + " of " + std::to_string(c.bytes) + " was never written");
    }
  }
  if (!to) return Status::Success;
  DeviceMemory& memory = c.toDevice->machine.memory();
  memory.setInitialised(*to, c.to - to->base, c.bytes);
  if (!from) return Status::Success;
  // What was not initialised is not by being copied.
  const DeviceMemory& other = c.fromDevice->machine.memory();
  for (uint64_t at = 0; at < c.bytes;) {
    at += other.firstUninitialised(*from, c.from - from->base + at, c.bytes - at);
    if (at < c.bytes) memory.setInitialised(*to, c.to - to->base + at++, 1, false);
  }
  return Status::Success;
}

Status run(const FillCommand& f) {
  uint64_t bytes = f.count * f.width;
  if (!bytes) return Status::Success;
  Allocation* a = live(*f.device, f.to, bytes);
  if (!a) return Status::IllegalAddress;
  DeviceMemory& memory = f.device->machine.memory();
  uint8_t* to = memory.host(f.to);
  for (uint64_t i = 0; i < f.count; ++i) std::memcpy(to + i * f.width, &f.value, f.width);
  memory.setInitialised(*a, f.to - a->base, bytes);
  return Status::Success;
}

Status run(const HostCommand& h) {
  h.call();
  return Status::Success;
}

Status run(const LibraryCommand& l) { return l.call(*l.device); }

}  // namespace

Status execute(const Command& c) {
  return std::visit([](const auto& command) { return run(command); }, c);
}

}  // namespace tenc::ptx::driver
