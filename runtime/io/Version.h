// What tells whether a file is still the one that was read.
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

namespace tenc::rt {

/// What tells a file from all others, and what it was from what it is.
class FileVersion {
 public:
  /// Nothing where there is no such file.
  static std::optional<FileVersion> of(const std::string& path);
  static std::optional<FileVersion> ofOpen(int descriptor);

  bool operator==(const FileVersion& other) const;
  /// Whether a change after this was made shows as another version. The system stamps files by a clock that stands
  /// still for up to 10 ms, so it does not right after another change.
  bool isSettled() const;

 private:
  explicit FileVersion(const struct stat& s);
  dev_t device_;
  ino_t inode_;
  off_t size_;
  timespec modified_, changed_, seen_{};
};

}  // namespace tenc::rt
