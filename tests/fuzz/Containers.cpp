#include "tests/fuzz/Containers.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

namespace tenc::fuzz {
namespace {

constexpr size_t kMostInflated = 1 << 20;

uint64_t get(const std::string& s, size_t at, size_t bytes) {
  uint64_t v = 0;
  for (size_t i = 0; i < bytes; ++i) v |= uint64_t{static_cast<unsigned char>(s[at + i])} << (8 * i);
  return v;
}

void put(std::string& s, size_t at, size_t bytes, uint64_t v) {
  for (size_t i = 0; i < bytes; ++i) s[at + i] = static_cast<char>(v >> (8 * i) & 255u);
}

uint32_t checksum(std::string_view s) {
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(s.data()), static_cast<uInt>(s.size())));
}

/// The start of a raw deflate stream, inflated.
std::string inflated(std::string_view from) {
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return {};
  std::string out(kMostInflated, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
  z.avail_in = static_cast<uInt>(from.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  inflate(&z, Z_FINISH);
  out.resize(z.total_out);
  inflateEnd(&z);
  return out;
}

/// Chunks: a length (the greatest byte first), a type, that many bytes, and a CRC of the type and the bytes.
void mendPng(std::string& file, Mutator& choose) {
  for (size_t at = 8; at + 12 <= file.size();) {
    uint64_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(file[at + i]);
    if (length > file.size() - at - 12) return;
    const uint32_t crc = checksum(std::string_view(file).substr(at + 4, 4 + length));
    if (!choose.chance(0.1))
      for (size_t i = 0; i < 4; ++i) file[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i) & 255u);
    at += 12 + length;
  }
}

std::vector<size_t> placesOf(std::string_view mark, const std::string& file) {
  std::vector<size_t> places;
  for (size_t at = 0; (at = file.find(mark, at)) != std::string::npos; at += mark.size()) places.push_back(at);
  return places;
}

/// Entries behind local headers, the directory's records, the end record (APPNOTE 4.3).
void mendZip(std::string& file, Mutator& choose) {
  const std::vector<size_t> locals = placesOf("PK\3\4", file), records = placesOf("PK\1\2", file);
  const size_t end = file.rfind("PK\5\6");
  if (records.empty() || end == std::string::npos || end + 22 > file.size() || records.back() + 46 > file.size())
    return;
  const auto set = [&](size_t at, size_t bytes, uint64_t v) {
    if (!choose.chance(0.1)) put(file, at, bytes, v);
  };
  for (size_t i = 0; i < std::min(locals.size(), records.size()); ++i) {
    if (locals[i] + 30 > records[0]) return;
    const size_t begin = locals[i] + 30 + get(file, locals[i] + 26, 2) + get(file, locals[i] + 28, 2);
    const size_t next = i + 1 < locals.size() ? locals[i + 1] : records[0];
    if (begin > next || next > file.size()) return;
    const std::string_view stored = std::string_view(file).substr(begin, next - begin);
    const bool deflated = get(file, records[i] + 10, 2) == 8;
    const std::string whole = deflated ? inflated(stored) : std::string(stored);
    set(records[i] + 16, 4, checksum(whole));
    set(records[i] + 20, 4, stored.size());
    set(records[i] + 24, 4, whole.size());
    set(records[i] + 42, 4, locals[i]);
  }
  set(end + 8, 2, records.size());
  set(end + 10, 2, records.size());
  set(end + 16, 4, records[0]);
  set(end + 20, 2, file.size() - end - 22);
}

/// A header of JSON behind its length.
void mendSafetensors(std::string& file, Mutator& choose) {
  int depth = 0;
  bool quoted = false;
  for (size_t at = 8; at < file.size(); ++at) {
    const char c = file[at];
    if (c == '"' && file[at - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      size_t length = at - 7;
      while (8 + length < file.size() && file[8 + length] == ' ') ++length;
      if (!choose.chance(0.1)) put(file, 0, 8, length);
      return;
    }
  }
}

}  // namespace

void mend(std::string_view kind, std::string& file, Mutator& choose) {
  if (kind == "png") mendPng(file, choose);
  if (kind == "npz") mendZip(file, choose);
  if (kind == "safetensors" && file.size() > 8) mendSafetensors(file, choose);
}

}  // namespace tenc::fuzz
