#include "tools/tenc/WholeFile.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace tenc::tool {
namespace {

/// Where `path` leads through symbolic links.
struct Target {
  std::string path;         ///< of a file that need not be there
  bool isOpenFile = false;  ///< a link of the kernel to what a process has open, as behind /dev/stdout
};

Target targetOf(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  Target to{path};
  char next[PATH_MAX];
  for (int links = 0; links < kMostLinks; ++links) {
    const ssize_t n = readlink(to.path.c_str(), next, sizeof next);
    if (n < 0) break;
    const size_t slash = to.path.rfind('/');
    const std::string folder = slash == std::string::npos ? "./" : to.path.substr(0, slash + 1);
    struct statfs system{};
    to.isOpenFile = statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    if (to.isOpenFile) break;
    const std::string link(next, static_cast<size_t>(n));
    to.path = link.starts_with('/') ? link : folder + link;
  }
  return to;
}

/// Closes the descriptor as well. False, with errno, when not all was written.
bool writeTo(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int why = errno;
      close(descriptor);
      errno = why;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return close(descriptor) == 0;
}

/// False with errno.
bool replace(const std::string& path, std::string_view bytes, const struct stat* old) {
  const std::string beside = path + "." + std::to_string(getpid()) + ".part";
  const int descriptor = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return false;
  if (old) (void)fchmod(descriptor, old->st_mode & 07777);  // of another owner's file it stays ours
  if (writeTo(descriptor, bytes) && std::rename(beside.c_str(), path.c_str()) == 0) return true;
  const int why = errno;
  std::remove(beside.c_str());
  errno = why;
  return false;
}

}  // namespace

bool writeWhole(const std::string& path, std::string_view bytes, std::string& error) {
  const Target to = targetOf(path);
  struct stat old{};
  const bool isThere = stat(to.path.c_str(), &old) == 0;
  bool good = false;
  if (to.isOpenFile || (isThere && !S_ISREG(old.st_mode))) {
    const int descriptor = open(to.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    good = descriptor >= 0 && writeTo(descriptor, bytes);
  } else {
    good = replace(to.path, bytes, isThere ? &old : nullptr);
  }
  if (!good) error = std::strerror(errno);
  return good;
}

}  // namespace tenc::tool
