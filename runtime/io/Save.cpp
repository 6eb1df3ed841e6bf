// Saving: a new file beside the old one, which takes its place when all of it is written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "runtime/io/Container.h"
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
    return fits ? "" : "an image is [H, W] or [H, W, 3], with sides from 1 to 65,535";
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
  const auto n = static_cast<size_t>(t.shape[0]);
  return std::fwrite(t.data, 1, n, f) == n;
}

/// A file that is being written, for signal handlers: who gets a slot fills it and says so last.
struct PartFile {
  std::atomic<bool> taken{false}, named{false};
  int folder = -1;
  char name[NAME_MAX + 1] = "";
};
constinit std::array<PartFile, 32> partFiles;

/// Holds a slot while it lives. Where none is free nobody removes the file at the end of the process.
class PartSlot {
 public:
  PartSlot() {
    for (PartFile& p : partFiles) {
      if (p.taken.exchange(true)) continue;
      slot_ = &p;
      return;
    }
  }
  ~PartSlot() {
    if (!slot_) return;
    slot_->named = false;
    slot_->taken = false;
  }
  PartSlot(const PartSlot&) = delete;
  PartSlot& operator=(const PartSlot&) = delete;
  void set(int folder, const std::string& name) {
    if (!slot_ || name.size() > NAME_MAX) return;
    slot_->named = false;
    slot_->folder = folder;
    std::memcpy(slot_->name, name.c_str(), name.size() + 1);
    slot_->named = true;
  }

 private:
  PartFile* slot_ = nullptr;
};

/// A new file in the folder `folder` with a name that nothing had; -1 and errno otherwise.
int newFile(int folder, const std::string& base, PartSlot& slot, std::string& name) {
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    name = base + "." + std::to_string(getpid()) + "." + std::to_string(attempt) + ".part";
    slot.set(folder, name);  // before it is there: names with our own number are ours
    const int d = openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (d >= 0 || errno != EEXIST) return d;
  }
  return -1;
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

void removePartFiles() noexcept {
  for (const PartFile& p : partFiles)
    if (p.named) unlinkat(p.folder, p.name, 0);
}

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
  std::string temporary;
  PartSlot slot;
  const int descriptor = newFile(to.folder.get(), to.name, slot, temporary);
  if (descriptor < 0) return failed(std::strerror(errno));
  format::File f(fdopen(descriptor, "wb"));
  std::string reason;
  bool good = f && (!to.mode || fchmod(descriptor, *to.mode) == 0) && writeTensors(f.get(), form, tensors, reason) &&
              std::fflush(f.get()) == 0;
  int saved = errno;
  f.reset();
  if (good) {
    good = renameat(to.folder.get(), temporary.c_str(), to.folder.get(), to.name.c_str()) == 0;
    saved = errno;
  }
  if (good) return true;
  unlinkat(to.folder.get(), temporary.c_str(), 0);
  return failed(reason.empty() ? std::strerror(saved) : reason);
}

}  // namespace tenc::rt
