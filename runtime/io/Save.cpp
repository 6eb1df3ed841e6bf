// Saving: a new file beside the old one, which takes its place when all of it is written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "runtime/io/Container.h"
#include "runtime/io/MappedPages.h"
#include "runtime/io/PartFile.h"
#include "runtime/io/Paths.h"

namespace tenc::rt {

std::string checkSave(std::string_view kind, uint8_t dtype, const std::vector<int64_t>& shape) {
  if (kind == "npy" || kind == "npz") return dtype == 1 ? "." + std::string(kind) + " has no bf16: save f32(x)" : "";
  if (kind == "safetensors") return "";
  if (kind == "csv") return !shape.empty() && shape.size() <= 2 ? "" : "a .csv file takes a tensor of rank 1 or 2";
  if (kind == "bytes") return dtype == 8 && shape.size() == 1 ? "" : "bytes are u8[N]";
  if (kind == "png" || kind == "ppm") {
    const bool fits = (shape.size() == 2 || (shape.size() == 3 && shape[2] == 3)) && shape[0] > 0 && shape[1] > 0 &&
                      shape[0] < 65536 && shape[1] < 65536;
    if (!fits) return "an image is [H, W] or [H, W, 3], with sides from 1 to 65,535";
    const bool isPixel = dtype <= 3 || dtype == 8 || dtype == 12;
    return isPixel ? ""
                   : "a pixel is a `u8`, a float from 0 to 1, or a bool: save `u8(x)`, or divide by the largest value";
  }
  if (kind == "pgm")
    return shape.size() == 2 ? checkSave("ppm", dtype, shape)
                             : "a .pgm image is [H, W]; save colour images as .ppm or .png";
  return "`" + std::string(kind) + "` is not a format that `save` supports";
}

namespace {

bool writeTensors(std::FILE* f, std::string_view form, std::span<const NamedTensor> tensors, std::string& reason) {
  if (form == "safetensors") return format::safetensorsSave(f, tensors);
  if (form == "npz") return format::npzSave(f, tensors, reason);
  const TensorView& t = tensors[0].view;
  if (form == "npy") return format::npySave(f, t);
  if (form == "csv") return format::csvSave(f, t);
  if (form == "ppm" || form == "pgm") return format::ppmSave(f, t);
  if (form == "png") return format::pngSave(f, t, reason);
  return format::writeAll(f, t.data, static_cast<size_t>(t.shape[0]));
}

/// An open folder.
class Folder {
 public:
  Folder() = default;
  ~Folder() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  /// A folder of this one, or of the working directory where none is open. False, with errno, when it cannot be opened.
  bool open(const std::string& path) {
    const int next =
        openat(descriptor_ >= 0 ? descriptor_ : AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (next < 0) return false;
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = next;
    return true;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// Where a path leads, through symbolic links, of which the last may lead to what is not there yet.
struct Destination {
  Folder folder;
  std::string name;            ///< in the folder
  std::optional<mode_t> mode;  ///< of the regular file that is there
  bool isOther = false;        ///< something else is there

  /// False, with errno, when there is no such folder.
  bool find(const std::string& path) {
    constexpr int kMostLinks = 40;  // as many as Linux follows
    std::string rest = path;
    for (int links = 0; links <= kMostLinks; ++links) {
      const size_t slash = rest.rfind('/');
      const std::string inside = slash == std::string::npos ? "." : slash == 0 ? "/" : rest.substr(0, slash);
      name = slash == std::string::npos ? rest : rest.substr(slash + 1);
      if (!folder.open(inside)) return false;
      struct stat s{};
      if (fstatat(folder.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
      if (!S_ISLNK(s.st_mode)) {
        isOther = !S_ISREG(s.st_mode);
        if (!isOther) mode = s.st_mode & 07777;
        return true;
      }
      char to[PATH_MAX];
      const ssize_t n = readlinkat(folder.get(), name.c_str(), to, sizeof to);
      if (n < 0) return false;
      rest.assign(to, static_cast<size_t>(n));
    }
    errno = ELOOP;
    return false;
  }
};

}  // namespace

bool saveTensors(const std::string& path, std::string_view kind, std::span<const NamedTensor> tensors,
                 const FileAccess& access, std::string& error) {
  const std::string_view form = formatOf(path, kind);
  if (tensors.size() != 1 && !holdsNames(form)) {
    error = "`" + path + "` holds one tensor, not " + std::to_string(tensors.size());
    return false;
  }
  for (const NamedTensor& t : tensors) {
    error = checkSave(form, t.view.dtype, t.view.shape);
    if (!error.empty()) return false;
  }
  auto failed = [&](const std::string& why) {
    error = "`" + path + "`: " + why;
    return false;
  };
  Destination to;
  if (!to.find(path)) return failed(std::strerror(errno));
  if (!isWithin(to.folder.get(), access)) {
    error = outside(path, access);
    return false;
  }
  if (to.isOther) {
    error = "`" + path + "` is not a regular file";
    return false;
  }
  // A temporary file in the same folder, so that the rename is atomic and a failure leaves the old file as it was. The
  // folder stays open: names are looked up in it alone, whatever happens to the path meanwhile.
  PartFile part(to.folder.get(), to.name);
  if (part.descriptor() < 0) return failed(std::strerror(errno));
  format::File f(fdopen(part.descriptor(), "wb"));
  std::string reason;
  const uint64_t lost = lostPagesSoFar();
  bool good = f && (!to.mode || fchmod(part.descriptor(), *to.mode) == 0) &&
              writeTensors(f.get(), form, tensors, reason) && std::fflush(f.get()) == 0;
  int saved = errno;
  f.reset();
  // The elements may lie in a file that was cut short, and what the system reads of that is an error.
  if (lostPagesSoFar() != lost || (!good && saved == EFAULT)) {
    good = false;
    reason = "what is saved was cut short while it was in use";
  }
  if (good && part.become(to.name)) return true;
  if (good) saved = errno;
  return failed(reason.empty() ? std::strerror(saved) : reason);
}

}  // namespace tenc::rt
