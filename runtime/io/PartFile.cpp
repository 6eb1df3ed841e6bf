#include "runtime/io/PartFile.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

namespace tenc::rt {

/// What a signal handler finds: who gets one fills it and says so last.
struct PartFile::Slot {
  std::atomic<bool> taken{false}, named{false};
  int folder = -1;
  char name[NAME_MAX + 1] = "";

  void set(int inFolder, const std::string& file) {
    named = false;
    if (file.size() > NAME_MAX) return;
    folder = inFolder;
    std::memcpy(name, file.c_str(), file.size() + 1);
    named = true;
  }

  static std::array<Slot, 32> all;
};

constinit std::array<PartFile::Slot, 32> PartFile::Slot::all;

PartFile::Slot* PartFile::freeSlot() {
  for (Slot& slot : Slot::all)
    if (!slot.taken.exchange(true)) return &slot;
  return nullptr;
}

PartFile::PartFile(int folder, const std::string& base) : folder_(folder), slot_(freeSlot()) {
  constexpr unsigned kMostAttempts = 1000;
  for (unsigned attempt = 0; attempt < kMostAttempts; ++attempt) {
    const std::string ending = "." + std::to_string(getpid()) + "." + std::to_string(attempt) + ".part";
    name_ = base.substr(0, NAME_MAX - ending.size()) + ending;
    if (slot_) slot_->set(folder, name_);  // before it is there: names with our own number are ours
    descriptor_ = openat(folder, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    isThere_ = descriptor_ >= 0;
    if (isThere_ || errno != EEXIST) return;
  }
}

PartFile::~PartFile() {
  const int why = errno;
  if (isThere_) unlinkat(folder_, name_.c_str(), 0);
  if (slot_) {
    slot_->named = false;
    slot_->taken = false;
  }
  errno = why;
}

bool PartFile::become(const std::string& name) {
  if (renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) return false;
  isThere_ = false;
  return true;
}

void removePartFiles() noexcept {
  for (const PartFile::Slot& slot : PartFile::Slot::all)
    if (slot.named) unlinkat(slot.folder, slot.name, 0);
}

}  // namespace tenc::rt
