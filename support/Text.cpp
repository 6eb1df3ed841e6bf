#include "support/Text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "support/ClassIndex.h"
#include "support/TextOrder.h"

namespace tenc {
namespace {

uint32_t columnsOf(uint32_t c) {
  if ((c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F)) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
                    (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

constexpr CodePoint kInvalid{0xFFFD, 1, 1, false};

}  // namespace

CodePoint decodeUtf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(at);
  if (first < 0x80) return {first, 1, 1, true};
  uint32_t length, value, least;
  if ((first & 0xE0) == 0xC0) {
    length = 2, value = first & 0x1F, least = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    length = 3, value = first & 0x0F, least = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    length = 4, value = first & 0x07, least = 0x10000;
  } else {
    return kInvalid;
  }
  if (at + length > text.size()) return kInvalid;
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return kInvalid;
    value = value << 6 | (byte(at + i) & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < least || value > 0x10FFFF || surrogate) return kInvalid;
  return {value, length, columnsOf(value), true};
}

size_t findInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    uint64_t eight = 0;  // mostly ASCII
    if (i + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const CodePoint c = decodeUtf8(text, i);
    if (!c.valid) return i;
    i += c.bytes;
  }
  return std::string_view::npos;
}

bool isHiddenInTerminal(const CodePoint& c) {
  return !c.valid || c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0) || reordersText(c.value);
}

std::string forTerminal(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decodeUtf8(text, i);
    const bool keeps = c.value == '\n' || c.value == '\t' || !isHiddenInTerminal(c);
    out += keeps ? text.substr(i, c.bytes) : kReplacement;
    i += c.bytes;
  }
  return out;
}

std::string jsonQuote(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decodeUtf8(text, i);
    if (!c.valid) {
      out += "\\ufffd";
    } else if (c.value == '"' || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c.value);
      out += escape;
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  out += '"';
  return out;
}

std::string outOfRange(int64_t index, int64_t count, int64_t axis, int64_t size) {
  if (axis == kClassAxis && index >= kNoClass) {
    const int64_t place = (index - kNoClass) / kClassPlace, number = (index - kNoClass) % kClassPlace + kLeastClass;
    const std::string beyond = number == kMostClass ? " or more" : number == kLeastClass ? " or less" : "";
    return "class " + std::to_string(number) + beyond + " (element " + std::to_string(place) +
           " of the class numbers, row by row) is none of the " + std::to_string(size) + " classes from 0 on";
  }
  // What u64 holds and i64 does not is the largest i64 to an index.
  const std::string at = std::to_string(index) + (index == std::numeric_limits<int64_t>::max() ? " or more" : "");
  const std::string what =
      count == 1 ? "index " + at + " is" : std::to_string(count) + " elements from index " + at + " on are";
  return what + " out of range for axis " + std::to_string(axis) + " of size " + std::to_string(size);
}

size_t editDistance(std::string_view a, std::string_view b) {
  const size_t n = a.size(), m = b.size();
  std::vector<size_t> beforeLast(m + 1), last(m + 1), row(m + 1);
  for (size_t j = 0; j <= m; ++j) last[j] = j;
  for (size_t i = 1; i <= n; ++i) {
    row[0] = i;
    for (size_t j = 1; j <= m; ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast.swap(last);
    last.swap(row);
  }
  return last[m];
}

void NearestName::consider(std::string_view candidate) {
  constexpr size_t kLongest = 64;
  if (word_.size() > kLongest || candidate.size() > kLongest || candidate.empty()) return;
  const size_t distance = editDistance(word_, candidate);
  if (distance > std::max<size_t>(1, word_.size() / 3) || distance >= distance_) return;
  distance_ = distance;
  best_ = candidate;
}

std::string formatBytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  int unit = -1;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && value != static_cast<uint64_t>(value) ? "%.1f %s" : "%.0f %s", value,
                kUnits[unit]);
  return text;
}

}  // namespace tenc
