#include "runtime/io/Version.h"

namespace tenc::rt {

FileVersion::FileVersion(const struct stat& s)
    : device_(s.st_dev), inode_(s.st_ino), size_(s.st_size), modified_(s.st_mtim), changed_(s.st_ctim) {
  clock_gettime(CLOCK_REALTIME, &seen_);
}

std::optional<FileVersion> FileVersion::of(const std::string& path) {
  struct stat s{};
  return stat(path.c_str(), &s) == 0 ? std::optional(FileVersion(s)) : std::nullopt;
}

std::optional<FileVersion> FileVersion::ofOpen(int descriptor) {
  struct stat s{};
  return fstat(descriptor, &s) == 0 ? std::optional(FileVersion(s)) : std::nullopt;
}

bool FileVersion::operator==(const FileVersion& other) const {
  const auto same = [](const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; };
  return device_ == other.device_ && inode_ == other.inode_ && size_ == other.size_ &&
         same(modified_, other.modified_) && same(changed_, other.changed_);
}

bool FileVersion::isSettled() const {
  constexpr double kTick = 0.02;
  const double age = static_cast<double>(seen_.tv_sec - changed_.tv_sec) +
                     1e-9 * static_cast<double>(seen_.tv_nsec - changed_.tv_nsec);
  return age > kTick;
}

}  // namespace tenc::rt
