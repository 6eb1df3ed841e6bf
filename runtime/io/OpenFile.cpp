#include "runtime/io/OpenFile.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tenc::rt {

OpenFile::OpenFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

std::shared_ptr<const OpenFile> OpenFile::of(int descriptor, std::string path) {
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return own < 0 ? nullptr : std::shared_ptr<const OpenFile>(new OpenFile(own, std::move(path)));
}

OpenFile::~OpenFile() { close(descriptor_); }

bool OpenFile::read(uint64_t offset, uint64_t bytes, void* out, std::string& error) const {
  auto* to = static_cast<char*>(out);
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n =
        pread(descriptor_, to + done, std::min<uint64_t>(bytes - done, kMostAtOnce), static_cast<off_t>(offset + done));
    if (n > 0) {
      done += static_cast<uint64_t>(n);
    } else if (n == 0 || errno != EINTR) {
      error = "`" + path_ + "`" +
              (n == 0 ? " was cut short while it was in use" : std::string(": ") + std::strerror(errno));
      return false;
    }
  }
  return true;
}

bool OpenFile::readCached(uint64_t offset, uint64_t bytes, void* out) const {
  const iovec to{out, bytes};
  return preadv2(descriptor_, &to, 1, static_cast<off_t>(offset), RWF_NOWAIT) == static_cast<ssize_t>(bytes);
}

void OpenFile::expect(uint64_t offset, uint64_t bytes) const {
  posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void OpenFile::expectScattered() const { posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM); }

}  // namespace tenc::rt
