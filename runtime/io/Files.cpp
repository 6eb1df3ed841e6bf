#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/io/Container.h"

namespace tenc::rt {
namespace format {

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

}  // namespace format

namespace {

std::string_view formatOf(const std::string& path, std::string_view format) {
  if (!format.empty()) return format;
  const size_t dot = path.rfind('.');
  const std::string_view ending =
      dot == std::string::npos ? std::string_view() : std::string_view(path).substr(dot + 1);
  for (std::string_view known : {"npy", "npz", "safetensors", "csv", "png", "ppm", "pgm"})
    if (ending == known) return known;
  return "bytes";
}

/// Where an open file or folder really is.
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

format::File openRead(const std::string& path, const FileAccess& access, std::string& error) {
  // Without O_NONBLOCK a pipe would be waited for.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    error = "`" + path + "`: " + std::strerror(errno);
    return nullptr;
  }
  if (!isWithin(descriptor, access)) {
    close(descriptor);
    error = outside(path, access);
    return nullptr;
  }
  format::File f(fdopen(descriptor, "rb"));
  if (!f || !format::fileSize(f.get())) {
    error = "`" + path + "` is not a regular file";
    f.reset();
  }
  return f;
}

/// An open file, its bytes where its format is parsed in memory, and the header of the tensor that is wanted.
struct Opened {
  format::File file;
  std::optional<format::Bytes> bytes;
  format::Entry entry;
};

/// The tensor of a name, or the only one.
bool choose(const std::vector<format::Entry>& all, const std::string& name, format::Entry& chosen,
            std::string& reason) {
  constexpr size_t kMostNamed = 8;
  for (const format::Entry& e : all) {
    if (name.empty() ? all.size() != 1 : e.name != name) continue;
    chosen = e;
    if (!e.foreign.empty()) reason = e.foreign + " in `" + e.name + "`";
    return e.foreign.empty();
  }
  std::string names;
  for (size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) names += (i ? ", `" : "`") + all[i].name + "`";
  if (all.size() > kMostNamed) names += " and " + std::to_string(all.size() - kMostNamed) + " more";
  reason = (name.empty() ? "holds " + std::to_string(all.size()) + " tensors, so a `name` is needed"
                         : "holds no tensor `" + name + "`") +
           (all.empty() ? "" : "; there are " + names);
  return false;
}

bool readBytes(Opened& o, std::string& reason) {
  o.bytes = format::Bytes::of(o.file.get());
  if (!o.bytes) reason = "cannot be read";
  return o.bytes.has_value();
}

bool findTensor(Opened& o, const FileSource& source, std::string_view kind, std::string& reason) {
  std::optional<FileHeader> header;
  if (kind == "csv") {
    header = format::csvHeader(o.file.get(), reason);
  } else if (kind == "bytes") {
    header = FileHeader{8, {static_cast<int64_t>(*format::fileSize(o.file.get()))}, 0, false, false};
  } else if (kind == "npy" || kind == "png" || holdsNames(kind)) {
    if (!readBytes(o, reason)) return false;
    const format::ByteSpan all = o.bytes->span();
    if (holdsNames(kind)) {
      const auto entries = kind == "npz" ? format::npzEntries(all, reason) : format::safetensorsEntries(all, reason);
      return entries && choose(*entries, source.name, o.entry, reason);
    }
    header = kind == "npy" ? format::npyHeader(all, all.size(), reason) : format::pngHeader(all, reason);
  } else {
    reason = "is in a format that cannot be read (" + std::string(kind) + ")";
  }
  if (header) o.entry.header = *header;
  return header.has_value();
}

/// bools are 0 or 1 whatever the file says.
void cleanBools(uint8_t dtype, void* out, uint64_t n) {
  auto* bytes = static_cast<unsigned char*>(out);
  for (uint64_t i = 0; dtype == 12 && i < n; ++i) bytes[i] = bytes[i] != 0;
}

bool loadElements(const Opened& o, std::string_view kind, uint8_t dtype, const std::vector<int64_t>& shape, void* out,
                  std::string& reason) {
  const FileHeader& h = o.entry.header;
  if (kind == "npy") return format::npyLoad(o.bytes->span(), h, out, reason);
  if (kind == "npz") return format::npzLoad(o.bytes->span(), o.entry, out, reason);
  if (kind == "png") return format::pngLoad(o.bytes->span(), h, out, reason);
  if (kind == "csv") return format::csvLoad(o.file.get(), dtype, shape, out, reason);
  if (kind == "safetensors") {
    if (o.entry.size > 0) std::memcpy(out, o.bytes->span().data() + o.entry.begin, o.entry.size);
    cleanBools(dtype, out, o.entry.size);
    return true;
  }
  const size_t n = static_cast<size_t>(shape[0]);
  if (std::fseek(o.file.get(), 0, SEEK_SET) == 0 && std::fread(out, 1, n, o.file.get()) == n) return true;
  reason = "cannot be read to its end";
  return false;
}

std::string typeText(uint8_t dtype, const std::vector<int64_t>& shape) {
  std::string s = std::string(dtypeName(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d) s += (d ? ", " : "") + std::to_string(shape[d]);
  return s + "]";
}

/// The path, and the tensor in it where that was asked for.
std::string quoted(const FileSource& source) {
  return "`" + source.path + "`" + (source.name.empty() ? "" : ", `" + source.name + "`");
}

}  // namespace

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

std::optional<FileHeader> readHeader(const FileSource& source, const FileAccess& access, std::string& error) {
  Opened o{openRead(source.path, access, error), {}, {}};
  if (!o.file) return std::nullopt;
  std::string reason;
  if (findTensor(o, source, formatOf(source.path, source.format), reason)) return o.entry.header;
  error = "`" + source.path + "` " + reason;
  return std::nullopt;
}

bool loadInto(const FileSource& source, const FileAccess& access, uint8_t dtype, const std::vector<int64_t>& shape,
              void* out, std::string& error) {
  Opened o{openRead(source.path, access, error), {}, {}};
  if (!o.file) return false;
  const std::string_view form = formatOf(source.path, source.format);
  std::string reason;
  bool good = findTensor(o, source, form, reason);
  const FileHeader& h = o.entry.header;
  if (good && (h.shape != shape || (form != "csv" && h.dtype != dtype))) {
    error = quoted(source) + " holds " + typeText(form == "csv" ? dtype : h.dtype, h.shape) + ", and " +
            typeText(dtype, shape) + " is declared";
    return false;
  }
  good = good && loadElements(o, form, dtype, shape, out, reason);
  if (!good) error = "`" + source.path + "` " + reason;
  return good;
}

std::optional<MappedTensor> MappedTensor::of(const FileSource& source, const FileAccess& access, uint8_t dtype,
                                             const std::vector<int64_t>& shape) {
  constexpr uint64_t kLarge = uint64_t{1} << 22, kAlignment = 64;
  const std::string_view form = formatOf(source.path, source.format);
  if ((form != "npy" && form != "safetensors") || dtype == 12) return std::nullopt;
  std::string ignored;
  Opened o{openRead(source.path, access, ignored), {}, {}};
  const uint64_t size = o.file ? *format::fileSize(o.file.get()) : 0;
  if (size < kLarge || !findTensor(o, source, form, ignored)) return std::nullopt;
  const FileHeader& h = o.entry.header;
  const bool plain = !h.swap && (!h.fortran || h.shape.size() < 2) && h.dataOffset % kAlignment == 0;
  if (!plain || h.dtype != dtype || h.shape != shape || size - h.dataOffset < kLarge) return std::nullopt;
  MappedTensor t;
  t.base_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(o.file.get()), 0);
  if (t.base_ == MAP_FAILED) {
    t.base_ = nullptr;
    return std::nullopt;
  }
  t.length_ = size;
  t.elements_ = static_cast<std::byte*>(t.base_) + h.dataOffset;
  return t;
}

MappedTensor::MappedTensor(MappedTensor&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), length_(other.length_), elements_(other.elements_) {}

MappedTensor::~MappedTensor() {
  if (base_) munmap(base_, length_);
}

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

/// A new file in the folder `folder` with a name that nothing had; -1 and errno otherwise.
int newFile(int folder, const std::string& base, std::string& name) {
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    name = base + "." + std::to_string(getpid()) + "." + std::to_string(attempt) + ".part";
    const int d = openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (d >= 0 || errno != EEXIST) return d;
  }
  return -1;
}

}  // namespace

bool saveTensors(const std::string& path, std::string_view kind, std::span<const NamedTensor> tensors,
                 const FileAccess& access, std::string& error) {
  const std::string_view form = formatOf(path, kind);
  for (const NamedTensor& t : tensors) {
    error = checkSave(form, t.view.dtype, t.view.shape);
    if (!error.empty()) return false;
  }
  // A temporary file in the same folder, so that the rename is atomic and a failure leaves the old file as it was. The
  // folder stays open: names are looked up in it alone, whatever happens to the path meanwhile.
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  auto failed = [&](const std::string& why) {
    error = "`" + path + "`: " + why;
    return false;
  };
  const int where = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (where < 0) return failed(std::strerror(errno));
  struct Close {
    int descriptor;
    ~Close() { close(descriptor); }
  } closing{where};
  if (!isWithin(where, access)) {
    error = outside(path, access);
    return false;
  }
  std::string temporary;
  const int descriptor = newFile(where, base, temporary);
  if (descriptor < 0) return failed(std::strerror(errno));
  format::File f(fdopen(descriptor, "wb"));
  std::string reason;
  bool good = writeTensors(f.get(), form, tensors, reason) && std::fflush(f.get()) == 0;
  int saved = errno;
  f.reset();
  if (good) {
    good = renameat(where, temporary.c_str(), where, base.c_str()) == 0;
    saved = errno;
  }
  if (good) return true;
  unlinkat(where, temporary.c_str(), 0);
  return failed(reason.empty() ? std::strerror(saved) : reason);
}

}  // namespace tenc::rt
