#include "runtime/io/Paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace tenc::rt {

std::string_view formatOf(const std::string& path, std::string_view format) {
  if (!format.empty()) return format;
  const size_t dot = path.rfind('.');
  const std::string_view ending =
      dot == std::string::npos ? std::string_view() : std::string_view(path).substr(dot + 1);
  for (std::string_view known : {"npy", "npz", "safetensors", "csv", "png", "ppm", "pgm"})
    if (ending == known) return known;
  return "bytes";
}

bool isWithin(int descriptor, const FileAccess& access) {
  if (access.root.empty()) return true;
  char where[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t n = readlink(link.c_str(), where, sizeof where);
  if (n <= 0 || static_cast<size_t>(n) >= sizeof where) return false;
  const std::string_view at(where, static_cast<size_t>(n));
  const std::string_view root = access.root == "/" ? std::string_view() : std::string_view(access.root);
  return at == access.root || (at.starts_with(root) && at.substr(root.size()).starts_with("/"));
}

std::string outside(const std::string& path, const FileAccess& access) {
  return "`" + path + "` is not in " + access.root + ", to which --sandbox-dir confines files";
}

std::optional<FileAccess> FileAccess::within(const std::string& folder) {
  struct stat s;
  char* real = realpath(folder.c_str(), nullptr);
  if (real == nullptr) return std::nullopt;
  FileAccess access{real};
  std::free(real);
  if (stat(access.root.c_str(), &s) != 0 || !S_ISDIR(s.st_mode)) return std::nullopt;
  return access;
}

bool holdsNames(std::string_view format) { return format == "npz" || format == "safetensors"; }

}  // namespace tenc::rt
