// Tensors as pictures, and pictures as terminals show them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/Type.h"

namespace tenc::repl {

using Pixel = std::array<uint8_t, 3>;

struct Picture {
  size_t height = 0, width = 0;
  std::vector<Pixel> pixels;
  double least = 0, most = 1;  ///< what black and white stand for

  const Pixel& at(size_t y, size_t x) const { return pixels[y * width + x]; }
};

/// Of [H, W], [H, W, 3] or [3, H, W]. Floats from 0 to 1 and u8 are shown as they are; all else from the least finite
/// value to the largest. Nothing, with the reason, for what is no picture.
std::optional<Picture> pictureOf(ir::DType dtype, const ir::Dims& shape, const std::byte* data, std::string& error);

/// The same picture with other sides; smaller, by the mean of what falls into a pixel; larger, by repeating.
Picture resized(const Picture& p, size_t height, size_t width);

/// How a terminal shows pictures, best first.
enum class Graphics : uint8_t { Kitty, Sixel, TrueColour, Colours256, Text };

/// What writes the picture, with a newline, for a window of so many columns.
std::string encoded(const Picture& p, Graphics graphics, size_t columns);

}  // namespace tenc::repl
