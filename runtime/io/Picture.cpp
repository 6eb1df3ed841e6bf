// Pictures: binary PPM/PGM (netpbm) out, PNG both ways through libpng.
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <limits>

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
    case 4: return get(int8_t{});
    case 5: return get(int16_t{});
    case 6: return get(int32_t{});
    case 7: return static_cast<double>(get(int64_t{}));
    case 9: return get(uint16_t{});
    case 10: return get(uint32_t{});
    case 11: return static_cast<double>(get(uint64_t{}));
    default: return get(uint8_t{});
  }
}

}  // namespace

std::vector<uint8_t> pixels(const TensorView& t) {
  const int64_t n = *elements(t.shape);
  std::vector<uint8_t> out(static_cast<size_t>(n));
  const auto* p = static_cast<const std::byte*>(t.data);
  if (t.dtype == 8) {
    std::memcpy(out.data(), p, out.size());
    return out;
  }
  const int size = dtypeSize(t.dtype);
  double lo = 0, hi = 1;
  if (t.dtype >= 4 && t.dtype != 12) {
    lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (int64_t i = 0; i < n; ++i) {
      const double v = elementAsDouble(t.dtype, p + i * size);
      lo = std::min(lo, v), hi = std::max(hi, v);
    }
    if (!(hi > lo)) hi = lo + 1;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double v = (elementAsDouble(t.dtype, p + i * size) - lo) / (hi - lo);
    out[static_cast<size_t>(i)] =
        std::isnan(v) ? 0 : static_cast<uint8_t>(std::lround(std::clamp(v, 0.0, 1.0) * 255.0));
  }
  return out;
}

bool ppmSave(std::FILE* f, const TensorView& t) {
  const std::vector<uint8_t> data = pixels(t);
  return std::fprintf(f, "P%c\n%lld %lld\n255\n", t.shape.size() == 3 ? '6' : '5', static_cast<long long>(t.shape[1]),
                      static_cast<long long>(t.shape[0])) > 0 &&
         std::fwrite(data.data(), 1, data.size(), f) == data.size();
}

namespace {

constexpr uint64_t kMostRatio = 1'032;  // of deflate

/// Reads what the picture is; the caller frees the image.
bool beginPng(png_image& image, ByteSpan file, std::string& error) {
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) {
    error = std::string("is not a .png file that can be read (") + image.message + ")";
    return false;
  }
  image.format &= PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA;
  const uint64_t size = uint64_t{image.width} * image.height;
  if (image.width < 65536 && image.height < 65536 && size / (8 * kMostRatio) <= file.size()) return true;
  error = "claims " + std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels";
  png_image_free(&image);
  return false;
}

}  // namespace

std::optional<FileHeader> pngHeader(ByteSpan file, std::string& error) {
  png_image image;
  if (!beginPng(image, file, error)) return std::nullopt;
  FileHeader h{8, {image.height, image.width}, 0, false, false};
  if (const int channels = PNG_IMAGE_SAMPLE_CHANNELS(image.format); channels > 1) h.shape.push_back(channels);
  png_image_free(&image);
  return h;
}

bool pngLoad(ByteSpan file, const FileHeader&, void* out, std::string& error) {
  png_image image;
  if (!beginPng(image, file, error)) return false;
  if (png_image_finish_read(&image, nullptr, out, 0, nullptr) != 0) return true;
  error = std::string("is a damaged .png file (") + image.message + ")";
  png_image_free(&image);
  return false;
}

bool pngSave(std::FILE* f, const TensorView& t, std::string& error) {
  std::vector<uint8_t> data = pixels(t);
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(t.shape[1]);
  image.height = static_cast<png_uint_32>(t.shape[0]);
  image.format = t.shape.size() == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  if (png_image_write_to_stdio(&image, f, 0, data.data(), 0, nullptr)) return true;
  error = image.message;
  return false;
}

}  // namespace tenc::rt::format
