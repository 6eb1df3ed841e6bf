// Elements as text; the shortest digits that read back.
#include "runtime/io/Scalars.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/io/Io.h"

namespace tenc::rt::scalar {

Float floatAt(uint8_t dtype, const void* p) {
  uint16_t narrow;
  float single;
  double wide;
  switch (dtype) {
    case 0: std::memcpy(&narrow, p, 2); return {halfToFloat(narrow), dtype};
    case 1: std::memcpy(&narrow, p, 2); return {bfloatToFloat(narrow), dtype};
    case 2: std::memcpy(&single, p, 4); return {single, dtype};
    default: std::memcpy(&wide, p, 8); return {wide, dtype};
  }
}

std::string intText(uint8_t dtype, const void* p) {
  switch (dtype) {
    case 4: return std::to_string(read<int8_t>(p));
    case 5: return std::to_string(read<int16_t>(p));
    case 6: return std::to_string(read<int32_t>(p));
    case 7: return std::to_string(read<int64_t>(p));
    case 8: return std::to_string(read<uint8_t>(p));
    case 9: return std::to_string(read<uint16_t>(p));
    case 10: return std::to_string(read<uint32_t>(p));
    default: return std::to_string(read<uint64_t>(p));
  }
}

Digits shortest(Float f) {
  char buffer[64];
  const double magnitude = std::fabs(f.value);
  if (f.dtype >= 2) {
    const auto end =
        f.dtype == 2 ? std::to_chars(buffer, buffer + 64, static_cast<float>(magnitude), std::chars_format::scientific)
                     : std::to_chars(buffer, buffer + 64, magnitude, std::chars_format::scientific);
    *end.ptr = 0;
  } else {
    for (int digits = 0; digits < 9; ++digits) {
      std::snprintf(buffer, sizeof buffer, "%.*e", digits, magnitude);
      const float back = std::strtof(buffer, nullptr);
      const bool same = f.dtype == 0 ? floatToHalf(back) == floatToHalf(static_cast<float>(magnitude))
                                     : floatToBfloat(back) == floatToBfloat(static_cast<float>(magnitude));
      if (same) break;
    }
  }
  Digits d;
  const char* e = std::strchr(buffer, 'e');
  for (const char* c = buffer; c != e; ++c)
    if (*c != '.') d.digits += *c;
  d.exponent = std::atoi(e + 1);
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  return d;
}

std::string withPoint(const Digits& d) {
  std::string s;
  for (int i = 0; i <= d.exponent; ++i)
    s += i < static_cast<int>(d.digits.size()) ? d.digits[static_cast<size_t>(i)] : '0';
  if (d.exponent < 0) s = "0";
  s += '.';
  for (int i = -1; i > d.exponent; --i) s += '0';
  for (int i = std::max(0, d.exponent + 1); i < static_cast<int>(d.digits.size()); ++i)
    s += d.digits[static_cast<size_t>(i)];
  return s;
}

}  // namespace tenc::rt::scalar
