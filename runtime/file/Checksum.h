// The checksum of programs in files.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tenc::rt {

/// FNV-1a over words of eight bytes, mixed so that every bit counts.
inline uint64_t checksum(std::string_view bytes) {
  constexpr uint64_t kPrime = 0x100000001b3, kOffset = 0xcbf29ce484222325;
  uint64_t sum = kOffset ^ bytes.size();
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(8, bytes.size()))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min<size_t>(8, bytes.size()));
    sum = (sum ^ word) * kPrime;
    sum ^= sum >> 29;
  }
  return sum;
}

}  // namespace tenc::rt
