// Elements as text: what arrays and single values share. Private to runtime/io.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

namespace tenc::rt::scalar {

inline constexpr uint8_t kBool = 12;
inline bool isFloat(uint8_t dtype) { return dtype <= 3; }

/// A float element with the dtype whose shortest digits are wanted.
struct Float {
  double value;
  uint8_t dtype;
};
Float floatAt(uint8_t dtype, const void* p);

template <typename T>
T read(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// An integer element in decimal.
std::string intText(uint8_t dtype, const void* p);

/// Significant decimal digits (no point) and the exponent of the first, of the shortest text that reads back.
struct Digits {
  std::string digits;
  int exponent = 0;
};
Digits shortest(Float f);
/// The digits with their point, all of them: "12.5", "3.", "0.001".
std::string withPoint(const Digits& d);

}  // namespace tenc::rt::scalar
