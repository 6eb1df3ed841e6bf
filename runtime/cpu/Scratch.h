// Scratch memory for each thread that runs kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/abi/Kernels.h"

namespace tenc::rt {

class Scratch {
 public:
  Scratch(int threads, uint64_t bytes)
      : each_((bytes + abi::kScratchAlignment - 1) / abi::kScratchAlignment * abi::kScratchAlignment),
        memory_(std::make_unique_for_overwrite<std::byte[]>(static_cast<uint64_t>(threads) * each_ +
                                                            abi::kScratchAlignment)) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.get());
    first_ = memory_.get() + (abi::kScratchAlignment - address % abi::kScratchAlignment) % abi::kScratchAlignment;
  }
  void* of(int thread) const { return first_ + static_cast<uint64_t>(thread) * each_; }

 private:
  uint64_t each_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* first_;
};

}  // namespace tenc::rt
