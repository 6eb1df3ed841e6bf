// What all formats share.
#include <sys/stat.h>

#include "runtime/io/Formats.h"

namespace tenc::rt::format {

std::optional<int64_t> elements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  bool empty = false;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0)
      empty = true;
    else if (__builtin_mul_overflow(n, d, &n) || n > (int64_t{1} << 48))
      return std::nullopt;
  }
  return empty ? 0 : n;
}

std::optional<uint64_t> fileSize(std::FILE* f) {
  struct stat s;
  if (fstat(fileno(f), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(s.st_size);
}

}  // namespace tenc::rt::format
