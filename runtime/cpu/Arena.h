// Memory of the host for one call at a time, taken from the system once and reused: 2 MB pages where the system gives
// them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenc::rt {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// At least `bytes`, contents undefined; false when the system has no more.
  bool reserve(uint64_t bytes);
  std::byte* base() const { return base_; }
  uint64_t size() const { return size_; }
  /// Makes the memory inaccessible, or accessible again: how checked devices catch a missing transfer.
  void protect(bool accessible);
  /// Fills all of it with a pattern, so that `touched` can tell.
  void fill();
  /// Bytes up to the last that is not as `fill` left it.
  uint64_t touched() const;

 private:
  std::byte* base_ = nullptr;
  void* mapping_ = nullptr;
  uint64_t mapped_ = 0, size_ = 0;
  bool accessible_ = true;
};

}  // namespace tenc::rt
