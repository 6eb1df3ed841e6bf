// A file that is written beside another one, to take its place.
#pragma once
#include <string>

namespace tenc::rt {

class PartFile {
 public:
  /// A new file in the open folder `folder`, named after `base`, with a name that nothing had.
  PartFile(int folder, const std::string& base);
  /// Removes the file where it did not become another one.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  /// -1, with errno, where there is none. Whoever writes to it closes it.
  int descriptor() const { return descriptor_; }
  /// It takes the place of `name` in the folder. False, with errno, where that fails.
  bool become(const std::string& name);

 private:
  struct Slot;
  friend void removePartFiles() noexcept;
  static Slot* freeSlot();

  const int folder_;
  std::string name_;
  int descriptor_ = -1;
  bool isThere_ = false;
  Slot* const slot_;  ///< null where none is free: nobody removes the file when a signal ends the process
};

/// For signal handlers that end the process: removes all that are there.
void removePartFiles() noexcept;

}  // namespace tenc::rt
