// What the first cache of a multiprocessor holds while a launch runs. Only counters ask; data are always memory's.
#pragma once
#include <cstdint>
#include <vector>

namespace tenc::ptx {

class FirstLevelCache {
 public:
  /// Whether a sector of 32 bytes is there; it is from now on, in place of another one.
  bool has(uint64_t sector) {
    if (tags_.empty()) tags_.resize(kSectors);
    uint32_t& tag = tags_[sector % kSectors];
    const auto wanted = static_cast<uint32_t>(sector / kSectors + 1);
    const bool held = tag == wanted;
    tag = wanted;
    return held;
  }

 private:
  static constexpr uint64_t kSectors = 4096;  // 128 KiB
  std::vector<uint32_t> tags_;
};

/// Of the multiprocessors of an H100, to which blocks are dealt out in turn.
constexpr uint32_t kCaches = 132;

}  // namespace tenc::ptx
