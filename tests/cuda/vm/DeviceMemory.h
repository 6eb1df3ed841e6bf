// Memory of one device. Its addresses are never readable to the host: the machine works through a second mapping of the
// same pages. Every byte is known to be initialised or not, and may be declared to be a redzone.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenc::ptx {

/// The last access to a cell of global memory that counts for races between blocks.
struct BlockAccess {
  uint32_t launch = 0;  // 0: none
  uint32_t block : 28 = 0;
  uint32_t kind : 4 = 0;
  uint16_t epoch = 0;
  uint16_t pc = 0;  // of large kernels the last one that fits
};
struct GlobalCell {
  BlockAccess write, read;
};

/// Zeroed pages that appear when they are touched.
template <class T>
class LazyArray {
 public:
  LazyArray() = default;
  explicit LazyArray(uint64_t count);
  LazyArray(LazyArray&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  LazyArray& operator=(LazyArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~LazyArray();
  T* data() const { return data_; }
  T& operator[](uint64_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  uint64_t bytes_ = 0;
};

struct Allocation {
  uint64_t base = 0, bytes = 0;
  /// One for four bytes: in the low half which are initialised, in the high half which are redzones.
  LazyArray<uint8_t> states;
  LazyArray<GlobalCell> cells;            // one for each grain of the kernel that runs
  LazyArray<uint32_t> readIn, writtenIn;  // the last launch that read or wrote a sector of 32 bytes
};

class DeviceMemory {
 public:
  /// `limit`: bytes that can be allocated at a time. Throws std::runtime_error where the addresses are not to be had.
  explicit DeviceMemory(uint64_t limit);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// A new address, aligned to 256 bytes; 0 where there is no room. The memory is uninitialised and filled with ones.
  /// Addresses are not used again, and there are at least 256 bytes between two allocations.
  uint64_t allocate(uint64_t bytes);
  bool free(uint64_t address);

  /// The allocation that holds all of a range, or null.
  Allocation* find(uint64_t address, uint64_t bytes = 1);
  /// Where the host finds a byte of the device.
  uint8_t* host(uint64_t address) const { return alias_ + (address - base_); }

  void setInitialised(Allocation& a, uint64_t offset, uint64_t bytes, bool initialised = true);
  /// The first byte of a range that is not initialised, as an offset; `bytes` where all are.
  uint64_t firstUninitialised(const Allocation& a, uint64_t offset, uint64_t bytes) const;
  /// Makes a range of an allocation a redzone, or takes that back. False where no allocation holds it.
  bool setRedzone(uint64_t address, uint64_t bytes, bool redzone);

  bool owns(uint64_t address) const { return address - base_ < span_; }
  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_; }
  /// What lies near an address that no allocation holds.
  std::string neighbourhood(uint64_t address) const;

 private:
  uint64_t base_ = 0, span_ = 0, next_ = 0, limit_ = 0, used_ = 0;
  uint8_t* alias_ = nullptr;
  int file_ = -1;
  std::vector<Allocation> allocations_;  // by address
};

}  // namespace tenc::ptx
