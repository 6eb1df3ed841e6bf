#include "codegen/cache/ObjectCache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <vector>

namespace tenc::codegen {
namespace {

constexpr std::string_view kMagic = "tenc-object-1\n\n\n";  // 16 bytes
constexpr std::string_view kSuffix = ".tenc";
constexpr std::string_view kTemporary = ".tmp";
constexpr const char* kIndex = "kernels.index";
constexpr uint64_t kMostBytes = uint64_t{1} << 30, kMostIndexBytes = uint64_t{4} << 20;
constexpr time_t kAbandoned = 600;  ///< seconds after which a temporary file belongs to nobody

/// The fixed part in front of an entry's content.
struct Header {
  char magic[16];
  Digest key;
  Digest checksum;  ///< of the content
  uint64_t size;    ///< of the content
};

std::string hex(const Digest& d) {
  std::string text;
  for (uint8_t byte : d) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string fileName(const Digest& key) { return hex(key) + std::string(kSuffix); }

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// `some` reads or writes part of what is asked for, as ::read and ::write do.
template <typename Char, typename Some>
bool all(int fd, Char* at, size_t bytes, Some some) {
  while (bytes > 0) {
    const ssize_t n = some(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}
bool readAll(int fd, char* to, size_t bytes) { return all(fd, to, bytes, ::read); }
bool writeAll(int fd, const char* from, size_t bytes) { return all(fd, from, bytes, ::write); }

/// Makes the directory and those above it that are missing.
bool makeDirectories(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT) return false;
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return false;
  return makeDirectories(path.substr(0, slash)) && (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

}  // namespace

ObjectCache::~ObjectCache() {
  if (directory_ >= 0) ::close(directory_);
}

void ObjectCache::warn(const std::string& what) {
  if (!warned_ && options_.warn) options_.warn(what);
  warned_ = true;
}

bool ObjectCache::open() {
  if (tried_) return directory_ >= 0;
  tried_ = true;
  while (options_.directory.size() > 1 && options_.directory.back() == '/') options_.directory.pop_back();
  if (options_.directory.empty()) return false;
  const std::string name = "the cache folder " + options_.directory;
  int fd = -1;
  if (makeDirectories(options_.directory)) fd = ::open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status{};
  if (fd < 0 || ::fstat(fd, &status) != 0) {
    if (options_.chosen) warn(name + " cannot be used: " + std::strerror(errno));
    if (fd >= 0) ::close(fd);
    return false;
  }
  // Who can write there can make this process run anything.
  const char* why = status.st_uid != ::geteuid()             ? " belongs to another user"
                    : (status.st_mode & (S_IWGRP | S_IWOTH)) ? " can be written to by others"
                                                             : nullptr;
  if (why != nullptr) {
    warn(name + why + " and is not used");
    ::close(fd);
    return false;
  }
  directory_ = fd;
  return true;
}

std::optional<std::string> ObjectCache::load(const Digest& digest) {
  if (!open()) return std::nullopt;
  const std::string name = fileName(digest);
  File file(::openat(directory_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return std::nullopt;
  auto broken = [&]() -> std::optional<std::string> {
    ::unlinkat(directory_, name.c_str(), 0);
    return std::nullopt;
  };
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return broken();
  Header header{};
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes < sizeof header || bytes > kMostBytes) return broken();
  if (!readAll(file.fd(), reinterpret_cast<char*>(&header), sizeof header)) return broken();
  if (std::string_view(header.magic, sizeof header.magic) != kMagic || header.key != digest ||
      header.size != bytes - sizeof header)
    return broken();
  std::string content(header.size, '\0');
  if (!readAll(file.fd(), content.data(), content.size()) || digestOf(content) != header.checksum) return broken();
  ::futimens(file.fd(), nullptr);  // used now
  return content;
}

bool ObjectCache::store(const Digest& key, std::string_view content) {
  if (!open() || content.size() > options_.limit || content.size() > kMostBytes - sizeof(Header)) return false;
  Header header{};
  std::memcpy(header.magic, kMagic.data(), sizeof header.magic);
  header.key = key;
  header.checksum = digestOf(content);
  header.size = content.size();
  const std::string name = fileName(header.key);
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string temporary =
      name + "." + std::to_string(::getpid()) + "." + std::to_string(now) + std::string(kTemporary);
  bool done = false;
  int error = 0;
  {
    File file(::openat(directory_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file) {
      done = writeAll(file.fd(), reinterpret_cast<const char*>(&header), sizeof header) &&
             writeAll(file.fd(), content.data(), content.size());
    }
    error = errno;
    if (file && !done) ::unlinkat(directory_, temporary.c_str(), 0);
  }
  if (done && ::renameat(directory_, temporary.c_str(), directory_, name.c_str()) != 0) {
    error = errno;
    done = false;
    ::unlinkat(directory_, temporary.c_str(), 0);
  }
  if (!done && options_.chosen)
    warn("the cache folder " + options_.directory + " cannot be written to: " + std::strerror(error));
  // Looking through the folder takes a while: every 16th entry pays for it.
  if (done && header.key[0] % 16 == 0) evict();
  return done;
}

std::string ObjectCache::readIndex() {
  if (!open()) return {};
  File file(::openat(directory_, kIndex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return {};
  std::string text(std::min(static_cast<uint64_t>(status.st_size), 2 * kMostIndexBytes), '\0');
  return readAll(file.fd(), text.data(), text.size()) ? text : std::string();
}

void ObjectCache::appendIndex(std::string_view lines) {
  if (!open()) return;
  File file(::openat(directory_, kIndex, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat status{};
  if (!file || ::fstat(file.fd(), &status) != 0) return;
  if (static_cast<uint64_t>(status.st_size) > kMostIndexBytes) return dropIndex();
  // One write: what several processes add does not mix. Of a write that fails half way the rest is no loss.
  while (::write(file.fd(), lines.data(), lines.size()) < 0 && errno == EINTR) {}
}

void ObjectCache::dropIndex() {
  if (open()) ::unlinkat(directory_, kIndex, 0);
}

void ObjectCache::evict() {
  if (!open()) return;
  const int again = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = again >= 0 ? ::fdopendir(again) : nullptr;
  if (list == nullptr) {
    if (again >= 0) ::close(again);
    return;
  }
  struct Entry {
    std::string name;
    uint64_t bytes;
    struct timespec used;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  const time_t now = ::time(nullptr);
  while (const dirent* d = ::readdir(list)) {
    const std::string_view name = d->d_name;
    const bool temporary = name.ends_with(kTemporary), entry = name.ends_with(kSuffix);
    struct stat status{};
    if ((!temporary && !entry) || ::fstatat(directory_, d->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (temporary) {
      if (now - status.st_mtime > kAbandoned) ::unlinkat(directory_, d->d_name, 0);
      continue;
    }
    entries.push_back({std::string(name), static_cast<uint64_t>(status.st_size), status.st_mtim});
    total += entries.back().bytes;
  }
  ::closedir(list);
  if (total <= options_.limit) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry& e : entries) {
    if (total <= options_.limit / 4 * 3) break;
    ::unlinkat(directory_, e.name.c_str(), 0);
    total -= e.bytes;
  }
}

}  // namespace tenc::codegen
