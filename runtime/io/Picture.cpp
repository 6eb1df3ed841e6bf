// Pictures: binary PPM/PGM (netpbm) out, PNG both ways through libpng.
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstring>

#include "runtime/io/Formats.h"

namespace tenc::rt::format {
namespace {

double elementAsDouble(uint8_t dtype, const std::byte* p) {
  auto get = [&]<typename T>(T) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (dtype) {
    case 0: return halfToFloat(get(uint16_t{}));
    case 1: return bfloatToFloat(get(uint16_t{}));
    case 2: return get(float{});
    case 3: return get(double{});
    default: return get(uint8_t{});
  }
}

/// The samples of one row of a picture, which `checkSave` lets pass: u8 as they are; floats, and bools, from 0 to 1.
class Rows {
 public:
  explicit Rows(const TensorView& t)
      : t_(t), samples_(static_cast<size_t>(t.shape[1]) * (t.shape.size() == 3 ? 3 : 1)), row_(samples_) {}
  size_t count() const { return static_cast<size_t>(t_.shape[0]); }
  size_t samples() const { return samples_; }
  /// Until the next call.
  const uint8_t* row(size_t y) {
    const auto size = static_cast<size_t>(dtypeSize(t_.dtype));
    const std::byte* p = static_cast<const std::byte*>(t_.data) + y * samples_ * size;
    if (t_.dtype == 8) {
      std::memcpy(row_.data(), p, samples_);
      return row_.data();
    }
    for (size_t i = 0; i < samples_; ++i) {
      const double v = elementAsDouble(t_.dtype, p + i * size);
      row_[i] = std::isnan(v) ? 0 : static_cast<uint8_t>(std::lround(std::clamp(v, 0.0, 1.0) * 255.0));
    }
    return row_.data();
  }

 private:
  const TensorView& t_;
  const size_t samples_;
  std::vector<uint8_t> row_;
};

}  // namespace

bool ppmSave(std::FILE* f, const TensorView& t) {
  Rows rows(t);
  if (std::fprintf(f, "P%c\n%lld %lld\n255\n", t.shape.size() == 3 ? '6' : '5', static_cast<long long>(t.shape[1]),
                   static_cast<long long>(t.shape[0])) <= 0)
    return false;
  for (size_t y = 0; y < rows.count(); ++y) {
    if (std::fwrite(rows.row(y), 1, rows.samples(), f) != rows.samples()) return false;
  }
  return true;
}

namespace {

constexpr uint64_t kMostRatio = 1'032;  // of deflate

/// Reads one picture from memory. Pixels are as the file has them, whatever it says of their gamma and colours.
/// libpng leaves its functions by longjmp on an error: no function that calls one has an object with a destructor.
class PngReader {
 public:
  explicit PngReader(ByteSpan file) : rest_(file), fileSize_(file.size()) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, onError, [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  uint32_t width() const { return png_get_image_width(png_, info_); }
  uint32_t height() const { return png_get_image_height(png_, info_); }
  /// One for grey, three for colours, one more with alpha.
  int channels() const {
    const int type = png_get_color_type(png_, info_);
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    return ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + (alpha ? 1 : 0);
  }
  const char* message() const { return message_; }

  /// Reads what the picture is. False where it is none, or claims more pixels than the file can hold.
  bool begin() {
    if (!info_) return false;
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, onRead);
    // What is no part of the pixels is passed over, above all what is packed. None of these is asked for.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_user_limits(png_, kMostSide, kMostSide);
    png_read_info(png_, info_);
    const uint64_t size = uint64_t{width()} * height();
    if (size / (8 * kMostRatio) > fileSize_) png_error(png_, "it claims more pixels than it can hold");
    return true;
  }

  /// Reads height() rows of width() * channels() bytes.
  bool pixels(png_bytep out) {
    const size_t row = size_t{width()} * static_cast<size_t>(channels());
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    png_set_scale_16(png_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != row) png_error(png_, "it has rows of another size");
    for (int pass = 0; pass < passes; ++pass)
      for (uint32_t y = 0; y < height(); ++y) png_read_row(png_, out + y * row, nullptr);
    return true;
  }

 private:
  static constexpr uint32_t kMostSide = 65535;

  [[noreturn]] static void onError(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message_, text, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }
  static void onRead(png_structp png, png_bytep to, size_t size) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (size > self->rest_.size()) png_error(png, "it is cut off");
    std::memcpy(to, self->rest_.data(), size);
    self->rest_ = self->rest_.subspan(size);
  }

  ByteSpan rest_;
  const size_t fileSize_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[96] = "libpng has no memory";
};

}  // namespace

std::optional<FileHeader> pngHeader(ByteSpan file, std::string& error) {
  PngReader png(file);
  if (!png.begin()) {
    error = std::string("is not a .png file that can be read (") + png.message() + ")";
    return std::nullopt;
  }
  FileHeader h{8, {png.height(), png.width()}, 0, false, false};
  if (png.channels() > 1) h.shape.push_back(png.channels());
  return h;
}

bool pngLoad(ByteSpan file, const FileHeader& header, void* out, std::string& error) {
  PngReader png(file);
  if (!png.begin()) {
    error = std::string("is not a .png file that can be read (") + png.message() + ")";
    return false;
  }
  // The size is that of `out`, whatever the bytes say now.
  const int channels = header.shape.size() > 2 ? static_cast<int>(header.shape[2]) : 1;
  if (png.height() != header.shape[0] || png.width() != header.shape[1] || png.channels() != channels) {
    error = "changed while it was read";
    return false;
  }
  if (png.pixels(static_cast<png_bytep>(out))) return true;
  error = std::string("is a damaged .png file (") + png.message() + ")";
  return false;
}

namespace {

/// Writes one picture row by row. As in `PngReader`, no function that calls libpng has an object with a destructor.
class PngWriter {
 public:
  explicit PngWriter(std::FILE* f) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, onError, [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (info_) png_init_io(png_, f);
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  const char* message() const { return message_; }

  bool write(Rows& rows, uint32_t width, bool isColour) {
    if (!info_) return false;
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_IHDR(png_, info_, width, static_cast<png_uint_32>(rows.count()), 8,
                 isColour ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (size_t y = 0; y < rows.count(); ++y) png_write_row(png_, rows.row(y));
    png_write_end(png_, nullptr);
    return true;
  }

 private:
  [[noreturn]] static void onError(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngWriter*>(png_get_error_ptr(png));
    std::strncpy(self->message_, text, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[96] = "libpng has no memory";
};

}  // namespace

bool pngSave(std::FILE* f, const TensorView& t, std::string& error) {
  Rows rows(t);
  PngWriter png(f);
  if (png.write(rows, static_cast<uint32_t>(t.shape[1]), t.shape.size() == 3)) return true;
  if (std::ferror(f) == 0) error = png.message();  // else errno says more than libpng's "Write Error"
  return false;
}

}  // namespace tenc::rt::format
