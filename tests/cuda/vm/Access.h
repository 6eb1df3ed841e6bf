// One access of a warp to memory: addresses found and checked, then what was read or written is entered into what is
// known about the memory.
#pragma once
#include <cstdint>

#include "tests/cuda/vm/Launch.h"

namespace tenc::ptx {

class Access {
 public:
  /// The addresses of all lanes.
  Access(Warp& w, Slot address, int64_t offset);

  /// Finds the memory of `lanes`, each of which accesses so many bytes, and counts what that costs. Throws Fault where
  /// a lane is out of range or not aligned. A second call takes other lanes.
  void resolve(Mask lanes, Space space, uint32_t bytes, AccessKind kind);
  /// Only so many bytes are wanted of each lane's, from there on: what `check` looks at.
  void narrow(uint32_t from, uint32_t bytes);
  /// Checks that what is read is initialised and that no other thread is at the same bytes; enters the access.
  /// `silent`: lanes that write what is there already.
  void check(Mask silent = 0);
  uint8_t* operator[](uint32_t lane) const { return host_[lane]; }
  uint64_t address(uint32_t lane) const { return address_[lane]; }
  /// In shared memory.
  uint32_t offset(uint32_t lane) const { return static_cast<uint32_t>(offset_[lane]); }
  Mask globalLanes() const { return global_; }
  /// Consecutive lanes at consecutive addresses of one piece of memory, and all of them.
  bool consecutive() const { return consecutive_; }

 private:
  [[noreturn]] void outOfRange(uint32_t lane, const std::string& where) const;
  std::string who(uint32_t lane) const;
  void classify(Mask lanes, Space space);
  void resolveShared();
  void resolveLocal();
  void resolveGlobal();
  void countSectors();
  bool inL1(uint64_t sector);
  void countBanks();
  void checkShared(Mask silent);
  void checkRange(Allocation& a, uint64_t offset, uint64_t bytes, uint32_t lane);
  void checkRaces(Allocation& a, uint64_t offset, uint64_t bytes, uint32_t lane, bool silent);
  void countDistinct(Allocation& a, uint64_t offset, uint64_t bytes);

  Warp& w_;
  Launch& launch_;
  uint32_t bytes_ = 0;
  AccessKind kind_ = AccessKind::Read;
  Mask shared_ = 0, global_ = 0, local_ = 0;
  bool consecutive_ = false;
  uint64_t address_[kLanes];
  uint8_t* host_[kLanes];
  uint64_t offset_[kLanes];
  Allocation* allocation_[kLanes];
};

}  // namespace tenc::ptx
