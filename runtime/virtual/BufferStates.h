// Which buffers of a device hold something, by the plan of its memory: two that share a part of the arena never hold
// something at the same time. Kept in program order, on the host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/abi/Program.h"

namespace tenc::rt {

class BufferStates {
 public:
  /// `addresses` are those of the buffers, where they are on `device`.
  BufferStates(const abi::Program& p, uint32_t device, const std::vector<std::byte*>& addresses);

  /// The buffer that an address is in, or just behind; kNoBuffer for memory of another device.
  abi::BufferId at(const std::byte* address) const;
  uint64_t bytes(abi::BufferId b) const { return p_.buffers[b].bytes; }
  std::byte* address(abi::BufferId b) const { return addresses_[b]; }

  /// Whether something was put there, and nothing since into memory that the plan shares with it.
  bool holds(abi::BufferId b) const { return states_[b] != State::Nothing; }
  /// Something is put there. Returns the buffers that end with it.
  std::vector<abi::BufferId> take(abi::BufferId b);
  /// What is held now stays over `forget`.
  void keep();
  void forget();
  /// The highest byte of the planned arena that was taken since `forget`, or is kept.
  uint64_t highest() const { return highest_; }

 private:
  enum class State : uint8_t { Nothing, Held, Kept };
  uint64_t end(abi::BufferId b) const { return p_.buffers[b].offset + p_.buffers[b].bytes; }

  const abi::Program& p_;
  std::vector<std::byte*> addresses_;
  std::map<const std::byte*, abi::BufferId> byAddress_;
  std::vector<State> states_;
  std::map<uint64_t, abi::BufferId> taken_;  // buffers that hold something, by planned offset
  uint64_t highest_ = 0;
};

}  // namespace tenc::rt
