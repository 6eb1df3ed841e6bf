// Decimal text to elements, rounded once. Private to runtime/io.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenc::rt::format {

/// A number as it is written: sign, digits, point, exponent; or `inf`, `nan`. Its value is 0.DIGITS * 10^exponent.
struct Decimal {
  enum class Kind : uint8_t { Finite, Infinite, Nan } kind = Kind::Finite;
  bool negative = false;
  std::string digits;  ///< without zeros at either end; empty: zero
  int64_t exponent = 0;

  /// nullopt where the text is no number.
  static std::optional<Decimal> of(std::string_view text);
};

enum class Parsed : uint8_t { Stored, NoNumber, NoValue };
/// Stores the value of a dtype that is nearest to the number in `text`; for `bool` whether it is not zero. Integers are
/// exact: what is no integer, or none of this dtype, is NoValue.
Parsed parseElement(std::string_view text, uint8_t dtype, void* out);

}  // namespace tenc::rt::format
