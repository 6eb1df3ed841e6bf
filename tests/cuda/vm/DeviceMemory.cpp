#include "tests/cuda/vm/DeviceMemory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tenc::ptx {
namespace {

constexpr uint64_t kSpan = uint64_t{1} << 40;
constexpr uint64_t kGap = 256, kPage = 4096, kHugePagesFrom = uint64_t{16} << 20;
constexpr uint8_t kInitialised = 0x0F;

uint64_t roundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/// Gives `change` the state of every group of four bytes of a range, and the range's bytes in it as a mask.
template <class F>
void forStates(const Allocation& a, uint64_t offset, uint64_t bytes, F change) {
  uint64_t end = offset + bytes;
  for (; offset < end; offset = offset / 4 * 4 + 4) {
    uint64_t last = std::min(end, offset / 4 * 4 + 4);
    uint8_t mask = static_cast<uint8_t>(((1u << (last - offset)) - 1) << (offset % 4));
    change(a.states[offset / 4], mask);
  }
}

}  // namespace

template <class T>
LazyArray<T>::LazyArray(uint64_t count) : bytes_(std::max<uint64_t>(count, 1) * sizeof(T)) {
  void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("no address space for the state of device memory");
  // Large ones are touched in pieces that are worth it.
  if (bytes_ >= kHugePagesFrom) (void)madvise(p, bytes_, MADV_HUGEPAGE);
  data_ = static_cast<T*>(p);
}

template <class T>
LazyArray<T>::~LazyArray() {
  if (data_) munmap(data_, bytes_);
}

template class LazyArray<uint8_t>;
template class LazyArray<uint32_t>;
template class LazyArray<GlobalCell>;

DeviceMemory::DeviceMemory(uint64_t limit) : span_(kSpan), limit_(limit) {
  file_ = memfd_create("device", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(span_))) throw std::runtime_error("no file for device memory");
  void* device = mmap(nullptr, span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* alias = mmap(nullptr, span_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (device == MAP_FAILED || alias == MAP_FAILED) throw std::runtime_error("no address space for device memory");
  base_ = reinterpret_cast<uint64_t>(device);
  alias_ = static_cast<uint8_t*>(alias);
  next_ = base_ + kPage;
}

DeviceMemory::~DeviceMemory() {
  munmap(reinterpret_cast<void*>(base_), span_);
  munmap(alias_, span_);
  close(file_);
}

uint64_t DeviceMemory::allocate(uint64_t bytes) {
  if (!bytes || bytes > limit_ - used_ || next_ + bytes + kPage > base_ + span_) return 0;
  Allocation a;
  a.base = next_;
  a.bytes = bytes;
  a.states = LazyArray<uint8_t>(bytes / 4 + 1);
  a.cells = LazyArray<GlobalCell>(bytes + 4);
  a.readIn = LazyArray<uint32_t>(bytes / 32 + 2);
  a.writtenIn = LazyArray<uint32_t>(bytes / 32 + 2);
  next_ = roundUp(next_ + bytes + kGap, kGap);
  used_ += bytes;
  std::memset(host(a.base), 0xFF, bytes);
  allocations_.push_back(std::move(a));
  return allocations_.back().base;
}

bool DeviceMemory::free(uint64_t address) {
  Allocation* a = find(address);
  if (!a || a->base != address) return false;
  uint64_t begin = roundUp(address - base_, kPage), end = (address - base_ + a->bytes) / kPage * kPage;
  // Only gives the pages back: failing to is harmless.
  if (end > begin) (void)!fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
  used_ -= a->bytes;
  allocations_.erase(allocations_.begin() + (a - allocations_.data()));
  return true;
}

Allocation* DeviceMemory::find(uint64_t address, uint64_t bytes) {
  auto behind = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                 [](uint64_t v, const Allocation& a) { return v < a.base; });
  if (behind == allocations_.begin()) return nullptr;
  Allocation& a = *--behind;
  uint64_t offset = address - a.base;
  return offset <= a.bytes && bytes <= a.bytes - offset ? &a : nullptr;
}

void DeviceMemory::setInitialised(Allocation& a, uint64_t offset, uint64_t bytes, bool initialised) {
  forStates(a, offset, bytes, [&](uint8_t& state, uint8_t mask) {
    if (initialised)
      state |= mask;
    else
      state &= static_cast<uint8_t>(~mask);
  });
}

uint64_t DeviceMemory::firstUninitialised(const Allocation& a, uint64_t offset, uint64_t bytes) const {
  for (uint64_t i = 0; i < bytes; ++i) {
    uint64_t at = offset + i;
    if (at % 4 == 0 && (a.states[at / 4] & kInitialised) == kInitialised)
      i += 3;
    else if (!(a.states[at / 4] >> at % 4 & 1))
      return i;
  }
  return bytes;
}

bool DeviceMemory::setRedzone(uint64_t address, uint64_t bytes, bool redzone) {
  Allocation* a = find(address, bytes);
  if (!a) return false;
  forStates(*a, address - a->base, bytes, [&](uint8_t& state, uint8_t mask) {
    if (redzone)
      state |= static_cast<uint8_t>(mask << 4);
    else
      state &= static_cast<uint8_t>(~(mask << 4));
  });
  return true;
}

std::string DeviceMemory::neighbourhood(uint64_t address) const {
  for (const Allocation& a : allocations_) {
    uint64_t end = a.base + a.bytes;
    if (address >= a.base && address < end + kPage) {
      return address < end
                 ? "it starts inside of an allocation of " + std::to_string(a.bytes) + " bytes and ends behind it"
                 : std::to_string(address - end) + " bytes behind an allocation of " + std::to_string(a.bytes);
    }
    if (address < a.base && address + kPage > a.base) {
      return std::to_string(a.base - address) + " bytes before an allocation of " + std::to_string(a.bytes);
    }
  }
  return "no allocation is near";
}

}  // namespace tenc::ptx
