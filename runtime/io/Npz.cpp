// .npz: a zip archive of .npy files, stored or deflated (APPNOTE 6.3, https://numpy.org/doc/stable/reference/generated/
// numpy.savez.html). What the central directory says decides; local headers only say where the data begins.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/io/Container.h"

namespace tenc::rt::format {
namespace {

constexpr size_t kMostEntries = 100'000;
constexpr size_t kHeadBytes = 10'012;      // an .npy header and what stands before it
constexpr uint64_t kMostRatio = 1'032;     // deflate cannot do better: a larger claim is false
constexpr uint64_t kManyEntries = 0xffff;  // too many for 16 bits
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;

template <class T>
T get(ByteSpan s, uint64_t at) {
  T v{};
  if (at <= s.size() && sizeof v <= s.size() - at) std::memcpy(&v, s.data() + at, sizeof v);
  return v;
}

/// Inflates the first out.size() bytes; false when there are fewer, or, if `whole`, more.
bool inflateInto(ByteSpan from, std::span<std::byte> out, bool whole) {
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
  size_t in = 0, done = 0;
  int status = Z_OK;
  constexpr size_t kPiece = size_t{1} << 30;
  while (status == Z_OK && (done < out.size() || whole)) {
    std::byte spare{};  // one byte more than there may be shows that there is more
    const bool full = done == out.size();
    const size_t nIn = std::min(kPiece, from.size() - in), nOut = full ? 1 : std::min(kPiece, out.size() - done);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + in));
    z.avail_in = static_cast<uInt>(nIn);
    z.next_out = reinterpret_cast<Bytef*>(full ? &spare : out.data() + done);
    z.avail_out = static_cast<uInt>(nOut);
    status = inflate(&z, Z_NO_FLUSH);
    in += nIn - z.avail_in;
    if (full && z.avail_out == 0) status = Z_DATA_ERROR;
    if (!full) done += nOut - z.avail_out;
    if (nIn == z.avail_in && nOut == z.avail_out && status == Z_OK) status = Z_BUF_ERROR;
  }
  inflateEnd(&z);
  return done == out.size() && (!whole || status == Z_STREAM_END);
}

/// Sizes and place beyond 32 bits stand in the extra field 1, in this order, for those that are all ones.
void readZip64(ByteSpan extra, uint64_t& size, uint64_t& stored, uint64_t& local) {
  for (uint64_t at = 0; at + 4 <= extra.size();) {
    const auto id = get<uint16_t>(extra, at), length = get<uint16_t>(extra, at + 2);
    uint64_t next = at + 4;
    at = next + length;
    if (id != 1 || at > extra.size()) continue;
    for (uint64_t* v : {&size, &stored, &local}) {
      if (*v != 0xffffffffu || next + 8 > at) continue;
      *v = get<uint64_t>(extra, next);
      next += 8;
    }
  }
}

/// Where the central directory is: the last end record whose comment reaches the end of the file.
bool findDirectory(ByteSpan file, uint64_t& at, uint64_t& count) {
  if (file.size() < 22) return false;
  const uint64_t lowest = file.size() - 22 - std::min<uint64_t>(file.size() - 22, 65535);
  for (uint64_t p = file.size() - 22;; --p) {
    if (get<uint32_t>(file, p) == kEnd && p + 22 + get<uint16_t>(file, p + 20) == file.size()) {
      count = get<uint16_t>(file, p + 10);
      at = get<uint32_t>(file, p + 16);
      if ((count == 0xffff || at == 0xffffffffu) && p >= 20 && get<uint32_t>(file, p - 20) == kLocator64) {
        const auto end64 = get<uint64_t>(file, p - 12);
        count = get<uint64_t>(file, end64 + 32);
        at = get<uint64_t>(file, end64 + 48);
      }
      return at < file.size() || count == 0;
    }
    if (p == lowest) return false;
  }
}

/// Reads one record of the central directory; false when it is not sound.
bool readRecord(ByteSpan file, uint64_t& at, Entry& e, std::string& error) {
  if (at > file.size() || file.size() - at < 46 || get<uint32_t>(file, at) != kCentral) return false;
  const auto flags = get<uint16_t>(file, at + 8), method = get<uint16_t>(file, at + 10);
  const uint64_t nameLength = get<uint16_t>(file, at + 28), extraLength = get<uint16_t>(file, at + 30);
  const uint64_t commentLength = get<uint16_t>(file, at + 32);
  e.crc = get<uint32_t>(file, at + 16);
  uint64_t local = get<uint32_t>(file, at + 42);
  e.size = get<uint32_t>(file, at + 20);
  e.inflatedSize = get<uint32_t>(file, at + 24);
  const uint64_t next = at + 46 + nameLength + extraLength + commentLength;
  if (next > file.size()) return false;
  e.name.assign(reinterpret_cast<const char*>(file.data()) + at + 46, nameLength);
  readZip64(file.subspan(at + 46 + nameLength, extraLength), e.inflatedSize, e.size, local);
  at = next;
  if ((flags & 1) != 0 || (method != 0 && method != 8)) {
    error = "has entries that are encrypted or not compressed by deflate";
    return false;
  }
  e.deflated = method == 8;
  if (local > file.size() || file.size() - local < 30 || get<uint32_t>(file, local) != kLocal) return false;
  e.begin = local + 30 + get<uint16_t>(file, local + 26) + get<uint16_t>(file, local + 28);
  return e.begin <= file.size() && e.size <= file.size() - e.begin && (e.deflated || e.size == e.inflatedSize) &&
         e.inflatedSize / kMostRatio <= e.size + 1;
}

}  // namespace

std::optional<std::vector<Entry>> npzEntries(ByteSpan file, std::string& error) {
  auto fail = [&](const char* why) {
    if (error.empty()) error = why;
    return std::nullopt;
  };
  uint64_t at = 0, count = 0;
  if (!findDirectory(file, at, count)) return fail("is not an .npz file, or is cut off");
  if (count > kMostEntries) return fail("has more than 100,000 entries");
  std::vector<Entry> all;
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    Entry e;
    if (!readRecord(file, at, e, error)) return fail("has a zip directory that cannot be read");
    if (e.name.ends_with(".npy")) e.name.resize(e.name.size() - 4);
    if (!names.insert(e.name).second) return fail("names a tensor twice");
    std::vector<std::byte> head(std::min<uint64_t>(kHeadBytes, e.inflatedSize));
    const ByteSpan stored = file.subspan(e.begin, e.size);
    if (!e.deflated)
      std::copy_n(stored.begin(), head.size(), head.begin());
    else if (!inflateInto(stored, head, false))
      return fail("has an entry that cannot be decompressed");
    const auto header = npyHeader(head, e.inflatedSize, error);
    if (header) {
      e.header = *header;
      const auto elementBytes = static_cast<uint64_t>(dtypeSize(header->dtype));
      if (e.inflatedSize != header->dataOffset + static_cast<uint64_t>(*elements(header->shape)) * elementBytes)
        return fail("has an entry that is longer than its header says");
    } else if (error.starts_with(kForeign)) {
      e.foreign = std::exchange(error, {});
    } else {
      return fail("has an entry that is not an .npy file");
    }
    all.push_back(std::move(e));
  }
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const Entry& e : all) ranges.emplace_back(e.begin, e.begin + e.size);
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) return fail("has entries that overlap");
  return all;
}

bool npzLoad(ByteSpan file, const Entry& e, void* out, std::string& error) {
  const ByteSpan stored = file.subspan(e.begin, e.size);
  std::vector<std::byte> inflated(e.deflated ? e.inflatedSize : 0);
  if (e.deflated && !inflateInto(stored, inflated, true)) {
    error = "has an entry whose decompressed size is wrong";
    return false;
  }
  const ByteSpan whole = e.deflated ? ByteSpan(inflated) : stored;
  uLong crc = 0;
  for (size_t at = 0; at < whole.size();) {
    const size_t n = std::min<size_t>(whole.size() - at, size_t{1} << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(whole.data() + at), static_cast<uInt>(n));
    at += n;
  }
  if (crc != e.crc) {
    error = "is damaged: the checksum of `" + e.name + "` is another";
    return false;
  }
  return npyLoad(whole, e.header, out, error);
}

bool npzSave(std::FILE* f, std::span<const NamedTensor> tensors, std::string& error) {
  std::string directory;
  uint64_t at = 0;
  auto put = [](std::string& s, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) s.push_back(static_cast<char>(v >> (8 * i) & 255u));
  };
  for (const NamedTensor& t : tensors) {
    const std::string header = npyHeaderText(t.view), name = t.name + ".npy";
    const uint64_t data =
        static_cast<uint64_t>(*elements(t.view.shape)) * static_cast<uint64_t>(dtypeSize(t.view.dtype));
    const uint64_t size = header.size() + data;
    if (at + size + name.size() + 30 > 0xfffffffeu) {
      error = "would pass 4 GiB: save .safetensors";
      return false;
    }
    if (tensors.size() > kMostEntries || name.size() > 0xffff) {
      error = tensors.size() > kMostEntries ? "would have more than 100,000 entries: save .safetensors"
                                            : "would have a name of more than 65,535 bytes";
      return false;
    }
    uLong crc = crc32(0, reinterpret_cast<const Bytef*>(header.data()), static_cast<uInt>(header.size()));
    if (data > 0) crc = crc32(crc, static_cast<const Bytef*>(t.view.data), static_cast<uInt>(data));
    std::string common;  // version, flags, method, time and date (1980-01-01), checksum, sizes
    for (const auto& [v, n] : {std::pair<uint64_t, int>{20, 2},
                               {0, 2},
                               {0, 2},
                               {0, 2},
                               {33, 2},
                               {crc, 4},
                               {size, 4},
                               {size, 4},
                               {name.size(), 2},
                               {0, 2}})
      put(common, v, n);
    std::string local;
    put(local, kLocal, 4);
    local += common + name;
    put(directory, kCentral, 4);
    put(directory, 20, 2);
    directory += common;
    for (const auto& [v, n] : {std::pair<uint64_t, int>{0, 2}, {0, 2}, {0, 2}, {0, 4}, {at, 4}}) put(directory, v, n);
    directory += name;
    if (std::fwrite(local.data(), 1, local.size(), f) != local.size() ||
        std::fwrite(header.data(), 1, header.size(), f) != header.size() ||
        std::fwrite(t.view.data, 1, data, f) != data)
      return false;
    at += local.size() + size;
  }
  std::string end;
  if (tensors.size() >= kManyEntries) {  // counted in a record of its own, and in one that says where that is
    put(end, kEnd64, 4);
    for (const auto& [v, n] : {std::pair<uint64_t, int>{44, 8},
                               {45, 2},
                               {45, 2},
                               {0, 4},
                               {0, 4},
                               {tensors.size(), 8},
                               {tensors.size(), 8},
                               {directory.size(), 8},
                               {at, 8}})
      put(end, v, n);
    put(end, kLocator64, 4);
    for (const auto& [v, n] : {std::pair<uint64_t, int>{0, 4}, {at + directory.size(), 8}, {1, 4}}) put(end, v, n);
  }
  const uint64_t count = std::min<uint64_t>(tensors.size(), kManyEntries);
  put(end, kEnd, 4);
  for (const auto& [v, n] :
       {std::pair<uint64_t, int>{0, 2}, {0, 2}, {count, 2}, {count, 2}, {directory.size(), 4}, {at, 4}, {0, 2}})
    put(end, v, n);
  return std::fwrite(directory.data(), 1, directory.size(), f) == directory.size() &&
         std::fwrite(end.data(), 1, end.size(), f) == end.size();
}

}  // namespace tenc::rt::format
