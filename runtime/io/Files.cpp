#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/io/Formats.h"

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
  for (std::string_view known : {"npy", "csv", "png", "ppm"})
    if (ending == known) return known;
  return ending == "pgm" ? std::string_view("ppm") : std::string_view("bytes");
}

format::File openRead(const std::string& path, std::string& error) {
  // Opening a pipe that nobody writes to would wait.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  format::File f(descriptor < 0 ? nullptr : fdopen(descriptor, "rb"));
  if (!f)
    error = "`" + path + "`: " + std::strerror(errno);
  else if (!format::fileSize(f.get())) {
    error = "`" + path + "` is not a regular file";
    f.reset();
  }
  return f;
}

std::optional<FileHeader> headerOf(std::FILE* f, std::string_view kind, std::string& reason) {
  if (kind == "npy") return format::npyHeader(f, reason);
  if (kind == "csv") return format::csvHeader(f, reason);
  if (kind == "bytes") return FileHeader{8, {static_cast<int64_t>(*format::fileSize(f))}, 0, false, false};
  reason = "is in a format that cannot be read (" + std::string(kind) + ")";
  return std::nullopt;
}

std::string typeText(uint8_t dtype, const std::vector<int64_t>& shape) {
  std::string s = std::string(dtypeName(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d) s += (d ? ", " : "") + std::to_string(shape[d]);
  return s + "]";
}

}  // namespace

std::optional<FileHeader> readHeader(const std::string& path, std::string_view kind, std::string& error) {
  auto f = openRead(path, error);
  if (!f) return std::nullopt;
  std::string reason;
  auto h = headerOf(f.get(), formatOf(path, kind), reason);
  if (!h) error = "`" + path + "` " + reason;
  return h;
}

bool loadInto(const std::string& path, std::string_view kind, uint8_t dtype, const std::vector<int64_t>& shape,
              void* out, std::string& error) {
  auto f = openRead(path, error);
  if (!f) return false;
  const std::string_view form = formatOf(path, kind);
  std::string reason;
  const auto h = headerOf(f.get(), form, reason);
  bool good = h.has_value();
  if (good && (h->shape != shape || (form != "csv" && h->dtype != dtype))) {
    reason = "holds " + typeText(form == "csv" ? dtype : h->dtype, h->shape) + ", and " + typeText(dtype, shape) +
             " is declared";
    good = false;
  }
  if (good) {
    if (form == "npy")
      good = format::npyLoad(f.get(), *h, out, reason);
    else if (form == "csv")
      good = format::csvLoad(f.get(), dtype, shape, out, reason);
    else {
      const size_t n = static_cast<size_t>(shape[0]);
      good = std::fseek(f.get(), 0, SEEK_SET) == 0 && std::fread(out, 1, n, f.get()) == n;
      if (!good) reason = "cannot be read to its end";
    }
  }
  if (!good) error = "`" + path + "` " + reason;
  return good;
}

std::string checkSave(std::string_view kind, uint8_t dtype, const std::vector<int64_t>& shape) {
  if (kind == "npy") return dtype == 1 ? ".npy has no bf16: save f32(x)" : "";
  if (kind == "csv") return shape.size() >= 1 && shape.size() <= 2 ? "" : "a .csv file takes a tensor of rank 1 or 2";
  if (kind == "bytes") return dtype == 8 && shape.size() == 1 ? "" : "bytes are u8[N]";
  if (kind == "png" || kind == "ppm") {
    const bool fits = (shape.size() == 2 || (shape.size() == 3 && shape[2] == 3)) && shape[0] > 0 && shape[1] > 0 &&
                      shape[0] < 65536 && shape[1] < 65536;
    return fits ? "" : "a picture is [H, W] or [H, W, 3], with sides from 1 to 65,535";
  }
  return "`" + std::string(kind) + "` is no format that save knows";
}

bool saveTensor(const std::string& path, std::string_view kind, const TensorView& t, std::string& error) {
  const std::string_view form = formatOf(path, kind);
  error = checkSave(form, t.dtype, t.shape);
  if (!error.empty()) return false;
  // A temporary file in the same folder, so that the rename is atomic and a failure leaves the old file as it was.
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) {
    error = "`" + path + "`: " + std::strerror(errno);
    return false;
  }
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  format::File f(fdopen(descriptor, "wb"));
  bool good = false;
  std::string reason;
  if (form == "npy")
    good = format::npySave(f.get(), t);
  else if (form == "csv")
    good = format::csvSave(f.get(), t);
  else if (form == "ppm")
    good = format::ppmSave(f.get(), t);
  else if (form == "png")
    good = format::pngSave(f.get(), t, reason);
  else
    good = std::fwrite(t.data, 1, static_cast<size_t>(t.shape[0]), f.get()) == static_cast<size_t>(t.shape[0]);
  good = good && std::fflush(f.get()) == 0;
  const int saved = errno;
  f.reset();
  if (good && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
  if (good)
    reason = std::strerror(errno);
  else if (reason.empty())
    reason = std::strerror(saved);
  unlink(temporary.c_str());
  error = "`" + path + "`: " + reason;
  return false;
}

}  // namespace tenc::rt
