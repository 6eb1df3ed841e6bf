// Pieces shared by the printer and the parser of the textual form: quoting, and elements of constants. Internal to ir/.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/Module.h"

namespace tenc::ir {

/// With quotes; what is not printable ASCII or UTF-8 as \xNN.
std::string quoted(std::string_view s);

/// A double that reads back as itself and never looks like an integer.
std::string floatText(double x);

/// One element so that it reads back bit by bit: shortest decimal, `inf`, `nan`, `true`; other NaNs and bools as 0x
/// bits.
std::string elementText(DType t, uint64_t bits);
std::optional<uint64_t> elementBits(DType t, std::string_view text);

/// Constants with more elements are printed as one string of hexadecimal bytes.
inline constexpr int64_t kMostPrintedElements = 32;

/// Characters of value names, function names and device names that need no quotes.
bool isNameChar(char c);

}  // namespace tenc::ir
