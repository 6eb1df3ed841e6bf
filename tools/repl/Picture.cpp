#include "tools/repl/Picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/io/Io.h"

namespace tenc::repl {
namespace {

using ir::DType;

double elementAt(DType dtype, const std::byte* data, size_t i) {
  const auto get = [&]<typename T>(T) {
    T v;
    std::memcpy(&v, data + i * sizeof v, sizeof v);
    return v;
  };
  switch (dtype) {
    case DType::F16: return rt::halfToFloat(get(uint16_t{}));
    case DType::BF16: return rt::bfloatToFloat(get(uint16_t{}));
    case DType::F32: return get(float{});
    case DType::F64: return get(double{});
    case DType::I8: return get(int8_t{});
    case DType::I16: return get(int16_t{});
    case DType::I32: return get(int32_t{});
    case DType::I64: return static_cast<double>(get(int64_t{}));
    case DType::U16: return get(uint16_t{});
    case DType::U32: return get(uint32_t{});
    case DType::U64: return static_cast<double>(get(uint64_t{}));
    default: return get(uint8_t{});
  }
}

/// What black and white stand for.
std::pair<double, double> rangeOf(DType dtype, const std::vector<double>& values) {
  if (dtype == DType::U8) return {0, 255};
  double least = INFINITY, most = -INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    least = std::min(least, v);
    most = std::max(most, v);
  }
  const bool asIs = dtype == DType::Bool || (ir::isFloat(dtype) && least >= 0 && most <= 1);
  if (asIs || least > most) return {0, 1};
  return {least, most > least ? most : least + 1};
}

// ---- kitty: https://sw.kovidgoyal.net/kitty/graphics-protocol/

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (k < n ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string kitty(const Picture& p) {
  std::string bytes;
  for (const Pixel& x : p.pixels) bytes.append(x.begin(), x.end());
  const std::string data = base64(bytes);
  constexpr size_t kPart = 4096;
  std::string out;
  for (size_t at = 0; at == 0 || at < data.size(); at += kPart) {
    const bool more = at + kPart < data.size();
    out += "\x1b_G";
    if (at == 0) out += "a=T,f=24,q=2,s=" + std::to_string(p.width) + ",v=" + std::to_string(p.height) + ",";
    out += std::string("m=") + (more ? "1" : "0") + ";" + data.substr(at, kPart) + "\x1b\\";
  }
  return out + "\n";
}

// ---- sixel: bands of six rows; a colour at a time

constexpr int kSteps = 6;  // of each of red, green and blue

int sixelColour(const Pixel& x) {
  const auto step = [](uint8_t v) { return (v * (kSteps - 1) + 127) / 255; };
  return (step(x[0]) * kSteps + step(x[1])) * kSteps + step(x[2]);
}

void appendRun(std::string& out, char c, size_t count) {
  if (count > 3)
    out += "!" + std::to_string(count) + c;
  else
    out.append(count, c);
}

/// The row of a band that one colour has.
std::string sixelRow(const Picture& p, const std::vector<int>& colours, size_t top, int colour) {
  std::string out;
  char last = 0;
  size_t run = 0;
  for (size_t x = 0; x < p.width; ++x) {
    int bits = 0;
    for (size_t k = 0; k < 6 && top + k < p.height; ++k)
      if (colours[(top + k) * p.width + x] == colour) bits |= 1 << k;
    const char c = static_cast<char>('?' + bits);
    if (c != last && run > 0) appendRun(out, last, run), run = 0;
    last = c;
    ++run;
  }
  appendRun(out, last, run);
  return out;
}

std::string sixel(const Picture& p) {
  std::vector<int> colours;
  std::vector<bool> used(kSteps * kSteps * kSteps);
  for (const Pixel& x : p.pixels) {
    colours.push_back(sixelColour(x));
    used[static_cast<size_t>(colours.back())] = true;
  }
  std::string out = "\x1bPq\"1;1;" + std::to_string(p.width) + ";" + std::to_string(p.height);
  for (int c = 0; c < kSteps * kSteps * kSteps; ++c) {
    if (!used[static_cast<size_t>(c)]) continue;
    const auto part = [](int v) { return std::to_string(v * 100 / (kSteps - 1)); };
    out += "#" + std::to_string(c) + ";2;" + part(c / kSteps / kSteps) + ";" + part(c / kSteps % kSteps) + ";" +
           part(c % kSteps);
  }
  for (size_t top = 0; top < p.height; top += 6) {
    std::vector<bool> here(used.size());
    for (size_t y = top; y < std::min(top + 6, p.height); ++y)
      for (size_t x = 0; x < p.width; ++x) here[static_cast<size_t>(colours[y * p.width + x])] = true;
    for (size_t c = 0; c < here.size(); ++c) {
      if (here[c]) out += "#" + std::to_string(c) + sixelRow(p, colours, top, static_cast<int>(c)) + "$";
    }
    out += "-";
  }
  return out + "\x1b\\\n";
}

// ---- characters

int nearest256(const Pixel& x) {
  const bool grey = std::max({x[0], x[1], x[2]}) - std::min({x[0], x[1], x[2]}) < 8;
  if (grey) {
    const int step = (x[1] - 3) / 10;  // 232 is 8, 233 is 18, ... 255 is 238
    return x[1] < 4 ? 16 : step > 23 ? 231 : 232 + std::clamp(step, 0, 23);
  }
  const auto level = [](int v) { return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40; };
  return 16 + 36 * level(x[0]) + 6 * level(x[1]) + level(x[2]);
}

std::string colourCode(const Pixel& x, bool front, bool full) {
  const std::string kind = front ? "38" : "48";
  if (!full) return kind + ";5;" + std::to_string(nearest256(x));
  return kind + ";2;" + std::to_string(x[0]) + ";" + std::to_string(x[1]) + ";" + std::to_string(x[2]);
}

/// Two rows of pixels a row of characters: the upper half in front of the lower one.
std::string halfBlocks(const Picture& p, bool full) {
  std::string out;
  for (size_t y = 0; y < p.height; y += 2) {
    std::string before;
    for (size_t x = 0; x < p.width; ++x) {
      std::string code = colourCode(p.at(y, x), true, full);
      code += ";" + (y + 1 < p.height ? colourCode(p.at(y + 1, x), false, full) : std::string("49"));
      if (code != before) out += "\x1b[" + code + "m";
      before = std::move(code);
      out += "\u2580";
    }
    out += "\x1b[0m\n";
  }
  return out;
}

/// A character for each pixel, darker ones for brighter pixels.
std::string characters(const Picture& p) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  std::string out;
  for (size_t y = 0; y < p.height; ++y) {
    for (size_t x = 0; x < p.width; ++x) {
      const Pixel& v = p.at(y, x);
      const int light = (299 * v[0] + 587 * v[1] + 114 * v[2]) / 1000;
      out += kShades[static_cast<size_t>(light) * (kShades.size() - 1) / 255];
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::optional<Picture> pictureOf(DType dtype, const ir::Dims& shape, const std::byte* data, std::string& error) {
  const bool grey = shape.size() == 2, last = shape.size() == 3 && shape[2] == 3,
             first = shape.size() == 3 && shape[0] == 3 && !last;
  if (!grey && !last && !first) {
    error = "a picture is [H, W], [H, W, 3] or [3, H, W]";
    return std::nullopt;
  }
  Picture p;
  p.height = static_cast<size_t>(shape[first ? 1 : 0]);
  p.width = static_cast<size_t>(shape[first ? 2 : 1]);
  if (p.height == 0 || p.width == 0) {
    error = "there are no pixels";
    return std::nullopt;
  }
  std::vector<double> values;
  for (size_t i = 0; i < p.height * p.width * (grey ? 1 : 3); ++i) values.push_back(elementAt(dtype, data, i));
  std::tie(p.least, p.most) = rangeOf(dtype, values);
  const auto shade = [&](size_t i) {
    const double v = (values[i] - p.least) / (p.most - p.least);
    return std::isnan(v) ? uint8_t{0} : static_cast<uint8_t>(std::lround(std::clamp(v, 0.0, 1.0) * 255));
  };
  const size_t count = p.height * p.width;
  for (size_t i = 0; i < count; ++i) {
    Pixel x{};
    for (size_t c = 0; c < 3; ++c) x[c] = shade(grey ? i : last ? i * 3 + c : c * count + i);
    p.pixels.push_back(x);
  }
  return p;
}

Picture resized(const Picture& p, size_t height, size_t width) {
  Picture made = p;
  made.height = height;
  made.width = width;
  made.pixels.clear();
  for (size_t y = 0; y < height; ++y) {
    const size_t top = y * p.height / height, bottom = std::max(top + 1, (y + 1) * p.height / height);
    for (size_t x = 0; x < width; ++x) {
      const size_t left = x * p.width / width, right = std::max(left + 1, (x + 1) * p.width / width);
      std::array<size_t, 3> sum{};
      for (size_t i = top; i < bottom; ++i)
        for (size_t k = left; k < right; ++k)
          for (size_t c = 0; c < 3; ++c) sum[c] += p.at(i, k)[c];
      const size_t count = (bottom - top) * (right - left);
      Pixel mean{};
      for (size_t c = 0; c < 3; ++c) mean[c] = static_cast<uint8_t>((sum[c] + count / 2) / count);
      made.pixels.push_back(mean);
    }
  }
  return made;
}

std::string encoded(const Picture& p, Graphics graphics, size_t columns) {
  const bool drawn = graphics == Graphics::Kitty || graphics == Graphics::Sixel;
  // A column is some 8 pixels wide. Small pictures grow by a whole factor, large ones shrink to the window.
  const size_t most = drawn ? columns * 8 : columns;
  const size_t good = drawn ? 256 : graphics == Graphics::Text ? 1 : 40;
  if (p.width > most) {
    const Picture small = resized(p, std::max<size_t>(1, p.height * most / p.width), most);
    return encoded(small, graphics, columns);
  }
  const size_t factor = std::min(std::max<size_t>(1, good / std::max(p.width, p.height)), most / p.width);
  const Picture shown = factor > 1 ? resized(p, p.height * factor, p.width * factor) : p;
  switch (graphics) {
    case Graphics::Kitty: return kitty(shown);
    case Graphics::Sixel: return sixel(shown);
    case Graphics::TrueColour: return halfBlocks(shown, true);
    case Graphics::Colours256: return halfBlocks(shown, false);
    case Graphics::Text: break;
  }
  // Characters are about twice as high as they are wide.
  if (shown.width * 2 <= columns) return characters(resized(shown, shown.height, shown.width * 2));
  return characters(resized(shown, std::max<size_t>(1, shown.height / 2), shown.width));
}

}  // namespace tenc::repl
