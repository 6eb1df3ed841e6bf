// Scratch memory for each thread that runs kernels, and for all together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/abi/Kernels.h"

namespace tenc::rt {

class Scratch {
 public:
  Scratch(int threads, uint64_t bytes, uint64_t sharedBytes)
      : each_((bytes + abi::kScratchAlignment - 1) / abi::kScratchAlignment * abi::kScratchAlignment),
        all_(static_cast<uint64_t>(threads) * each_),
        memory_(std::make_unique_for_overwrite<std::byte[]>(all_ + sharedBytes + abi::kScratchAlignment)) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.get());
    first_ = memory_.get() + (abi::kScratchAlignment - address % abi::kScratchAlignment) % abi::kScratchAlignment;
  }
  void* of(int thread) const { return first_ + static_cast<uint64_t>(thread) * each_; }
  void* shared() const { return first_ + all_; }

 private:
  uint64_t each_, all_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* first_;
};

}  // namespace tenc::rt
