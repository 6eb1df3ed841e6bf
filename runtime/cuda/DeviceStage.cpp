#include "runtime/cuda/DeviceStage.h"

#include <algorithm>

namespace tenc::rt::cuda {
namespace {

constexpr uint64_t kMost = uint64_t{64} << 20, kAlignment = 256;
constexpr uint64_t kSpare = 8;  // at most this part of the memory that is free

}  // namespace

DeviceStage::~DeviceStage() {
  if (memory_ != 0) calls_.f().free(memory_);
}

void DeviceStage::expect(uint64_t bytes) {
  if (bytes <= kMost) bytes_ = std::max(bytes_, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

bool DeviceStage::reserve() {
  if (memory_ != 0 || refused_) return memory_ != 0;
  const uint64_t slots = std::size(slots_);
  size_t free = 0, total = 0;
  refused_ = calls_.f().memoryInfo(&free, &total) != 0 || free / kSpare < slots * bytes_ ||
             calls_.f().allocate(&memory_, slots * bytes_) != 0;
  if (refused_) return false;
  for (size_t i = 0; i < slots; ++i) slots_[i].memory = memory_ + i * bytes_;
  return true;
}

DeviceStage::Slot* DeviceStage::take(uint64_t bytes) {
  if (bytes > bytes_ || !reserve()) return nullptr;
  return &slots_[next_++ % std::size(slots_)];
}

void DeviceStage::begin() {
  for (Slot& s : slots_) s.free = nullptr;
}

}  // namespace tenc::rt::cuda
