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

#include "runtime/io/PartFile.h"

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
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string inside = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int folder = open(inside.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  bool good = false;
  {
    rt::PartFile part(folder, name);
    if (old && part.descriptor() >= 0)
      (void)fchmod(part.descriptor(), old->st_mode & 07777);  // of another owner's file it stays ours
    good = part.descriptor() >= 0 && writeTo(part.descriptor(), bytes) && part.become(name);
  }
  const int why = errno;
  close(folder);
  errno = why;
  return good;
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
  } else if (isThere && (old.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) {
    errno = EACCES;  // a new file in its place could be written
  } else if (isThere && old.st_nlink > 1) {
    // Its other names go on to name it.
    const int descriptor = open(to.path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    good = descriptor >= 0 && writeTo(descriptor, bytes);
  } else {
    good = replace(to.path, bytes, isThere ? &old : nullptr);
  }
  if (!good) error = std::strerror(errno);
  return good;
}

}  // namespace tenc::tool
