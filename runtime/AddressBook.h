// Who owns which memory, so that the handler of a memory fault can say what was touched.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>

namespace tenc::rt {

class AddressOwner {
 public:
  virtual ~AddressOwner() = default;
  /// For signal handlers: what lies at `address`, in words after "touched "; false when it is in none of its memory.
  virtual bool describe(const void* address, char* text, size_t size) const = 0;
};

/// Entries are added and removed on any thread, and looked up in signal handlers. What does not fit is not described.
class AddressBook {
 public:
  void add(const AddressOwner* owner) {
    for (auto& slot : owners_) {
      const AddressOwner* none = nullptr;
      if (slot.compare_exchange_strong(none, owner)) return;
    }
  }
  void remove(const AddressOwner* owner) {
    for (auto& slot : owners_) {
      const AddressOwner* same = owner;
      if (slot.compare_exchange_strong(same, nullptr)) return;
    }
  }
  bool describe(const void* address, char* text, size_t size) const {
    for (const auto& slot : owners_)
      if (const AddressOwner* owner = slot.load(); owner && owner->describe(address, text, size)) return true;
    return false;
  }

 private:
  std::array<std::atomic<const AddressOwner*>, 256> owners_{};
};

/// What the calling thread works on, for the report of a fault.
struct CurrentWork {
  const char* kernel = nullptr;
  const char* device = nullptr;
};
CurrentWork& currentWork();

}  // namespace tenc::rt
