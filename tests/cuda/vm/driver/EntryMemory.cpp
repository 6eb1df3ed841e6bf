// Memory of devices and of the host, and what moves between them.
#include <cstdlib>

#include "tests/cuda/vm/driver/Entry.h"

namespace tenc::ptx::driver {
namespace {

using Pointer = unsigned long long;

/// Whether a range is memory of a device (which is then set), of the host, or neither.
bool place(Driver& d, uint64_t address, uint64_t bytes, Device*& device) {
  device = d.owner(address);
  return address && (!device || device->machine.memory().find(address, bytes));
}

int copy(uint64_t to, uint64_t from, size_t bytes, void* stream, bool wait) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    if (wait && d.capturing()) return d.refuseInCapture();
    CopyCommand c{.to = to, .from = from, .bytes = bytes, .staged = nullptr};
    if (bytes && (!place(d, to, bytes, c.toDevice) || !place(d, from, bytes, c.fromDevice)))
      return Status::InvalidValue;
    // Pageable memory is read before the call returns, and written before it does.
    bool pageableTarget = !c.toDevice && !d.isPinned(to, bytes);
    if (!c.fromDevice && !s.capture && !d.isPinned(from, bytes)) {
      auto* data = reinterpret_cast<const uint8_t*>(from);
      c.staged = std::make_shared<std::vector<uint8_t>>(data, data + bytes);
    }
    if (Status status = d.submit(s, Command(std::move(c))); status != Status::Success) return status;
    if (!wait && (s.capture || !pageableTarget)) return Status::Success;
    d.finish(s);
    return s.device->failed;
  });
}

int fill(uint64_t to, uint32_t value, uint32_t width, size_t count, void* stream) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    Device* device = d.owner(to);
    if (to % width || (count && (!device || !device->machine.memory().find(to, count * width))))
      return Status::InvalidValue;
    return d.submit(s, Command(FillCommand{device, to, count, value, width}));
  });
}

uint64_t address(const void* p) { return reinterpret_cast<uint64_t>(p); }

}  // namespace
}  // namespace tenc::ptx::driver

using namespace tenc::ptx::driver;

TENC_ENTRY cuMemGetInfo_v2(size_t* free, size_t* total) {
  return withDevice([&](Driver&, Device& device) {
    *total = device.machine.memory().limit();
    *free = *total - device.machine.memory().used();
    return Status::Success;
  });
}
TENC_ENTRY cuMemAlloc_v2(Pointer* p, size_t bytes) {
  return outsideCapture([&](Driver&, Device& device) {
    if (!bytes) return Status::InvalidValue;
    *p = device.machine.memory().allocate(bytes);
    return *p ? Status::Success : Status::OutOfMemory;
  });
}
TENC_ENTRY cuMemFree_v2(Pointer p) {
  return outsideCapture([&](Driver& d, Device&) {
    if (!p) return Status::Success;
    d.finishAll();
    Device* device = d.owner(p);
    return device && device->machine.memory().free(p) ? Status::Success : Status::InvalidValue;
  });
}
TENC_ENTRY cuMemHostAlloc(void** p, size_t bytes, unsigned) {
  return outsideCapture([&](Driver& d, Device&) {
    *p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!bytes || !*p) return Status::OutOfMemory;
    d.pinned[address(*p)] = bytes;
    return Status::Success;
  });
}
TENC_ENTRY cuMemAllocHost_v2(void** p, size_t bytes) { return cuMemHostAlloc(p, bytes, 0); }
TENC_ENTRY cuMemFreeHost(void* p) {
  return outsideCapture([&](Driver& d, Device&) {
    d.finishAll();
    if (!d.pinned.erase(address(p))) return Status::InvalidValue;
    std::free(p);
    return Status::Success;
  });
}
/// Of the attributes that an address may have only the kind of memory is known; pageable memory has none.
TENC_ENTRY cuPointerGetAttribute(void* value, int attribute, Pointer p) {
  constexpr int kMemoryType = 2;
  constexpr unsigned kHost = 1, kDevice = 2;
  return withDevice([&](Driver& d, Device&) {
    if (attribute != kMemoryType) return Status::NotSupported;
    const bool isPinned = d.isPinned(p, 1);
    if (!isPinned && !d.owner(p)) return Status::InvalidValue;
    *static_cast<unsigned*>(value) = isPinned ? kHost : kDevice;
    return Status::Success;
  });
}

TENC_ENTRY cuMemcpyHtoD_v2(Pointer to, const void* from, size_t bytes) {
  return copy(to, address(from), bytes, nullptr, true);
}
TENC_ENTRY cuMemcpyDtoH_v2(void* to, Pointer from, size_t bytes) {
  return copy(address(to), from, bytes, nullptr, true);
}
TENC_ENTRY cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t bytes) { return copy(to, from, bytes, nullptr, true); }
TENC_ENTRY cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void* stream) {
  return copy(to, address(from), bytes, stream, false);
}
TENC_ENTRY cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void* stream) {
  return copy(address(to), from, bytes, stream, false);
}
TENC_ENTRY cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void* stream) {
  return copy(to, from, bytes, stream, false);
}
TENC_ENTRY cuMemcpyAsync(Pointer to, Pointer from, size_t bytes, void* stream) {
  return copy(to, from, bytes, stream, false);
}
TENC_ENTRY cuMemcpyPeerAsync(Pointer to, void*, Pointer from, void*, size_t bytes, void* stream) {
  return copy(to, from, bytes, stream, false);
}
TENC_ENTRY cuMemsetD8Async(Pointer to, unsigned char value, size_t count, void* stream) {
  return fill(to, value, 1, count, stream);
}
TENC_ENTRY cuMemsetD16Async(Pointer to, unsigned short value, size_t count, void* stream) {
  return fill(to, value, 2, count, stream);
}
TENC_ENTRY cuMemsetD32Async(Pointer to, unsigned value, size_t count, void* stream) {
  return fill(to, value, 4, count, stream);
}
TENC_ENTRY cuMemsetD8_v2(Pointer to, unsigned char value, size_t count) { return fill(to, value, 1, count, nullptr); }
TENC_ENTRY cuMemsetD32_v2(Pointer to, unsigned value, size_t count) { return fill(to, value, 4, count, nullptr); }
