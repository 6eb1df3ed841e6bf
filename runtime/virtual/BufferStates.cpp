#include "runtime/virtual/BufferStates.h"

#include <algorithm>

namespace tenc::rt {

BufferStates::BufferStates(const abi::Program& p, uint32_t device, const std::vector<std::byte*>& addresses)
    : p_(p), addresses_(addresses), states_(p.buffers.size(), State::Nothing) {
  for (abi::BufferId b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].device == device && p.buffers[b].bytes != 0) byAddress_[addresses[b]] = b;
}

abi::BufferId BufferStates::at(const std::byte* address) const {
  auto it = byAddress_.upper_bound(address);
  if (it == byAddress_.begin()) return abi::kNoBuffer;
  --it;
  return address <= it->first + bytes(it->second) ? it->second : abi::kNoBuffer;
}

std::vector<abi::BufferId> BufferStates::take(abi::BufferId b) {
  highest_ = std::max(highest_, end(b));
  std::vector<abi::BufferId> ended;
  if (holds(b)) return ended;
  // What holds something never overlaps, so at most one buffer before the offset reaches over it.
  const uint64_t offset = p_.buffers[b].offset;
  auto it = taken_.lower_bound(offset);
  if (it != taken_.begin() && end(std::prev(it)->second) > offset) --it;
  while (it != taken_.end() && it->first < end(b)) {
    states_[it->second] = State::Nothing;
    ended.push_back(it->second);
    it = taken_.erase(it);
  }
  taken_[offset] = b;
  states_[b] = State::Held;
  return ended;
}

void BufferStates::keep() {
  for (const auto& [offset, b] : taken_) states_[b] = State::Kept;
}

void BufferStates::forget() {
  highest_ = 0;
  std::erase_if(taken_, [&](const auto& entry) {
    const abi::BufferId b = entry.second;
    if (states_[b] != State::Kept) return states_[b] = State::Nothing, true;
    highest_ = std::max(highest_, end(b));
    return false;
  });
}

}  // namespace tenc::rt
