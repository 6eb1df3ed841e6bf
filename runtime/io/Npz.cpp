// .npz: a zip archive of .npy files, stored or deflated (APPNOTE 6.3, https://numpy.org/doc/stable/reference/generated/
// numpy.savez.html). What the central directory says decides; local headers only say where the data begins.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/io/Container.h"

namespace tenc::rt::format {
namespace {

constexpr size_t kMostEntries = 100'000;
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

/// The bytes of an entry from its beginning on, inflated where they are packed.
class EntryReader {
 public:
  EntryReader(Window& file, const Entry& entry)
      : file_(file), at_(entry.begin), end_(entry.begin + entry.size), deflated_(entry.deflated) {
    if (deflated_) ready_ = inflateInit2(&z_, -MAX_WBITS) == Z_OK;
  }
  ~EntryReader() {
    if (deflated_ && ready_) inflateEnd(&z_);
  }
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;

  /// The next bytes; false when there are fewer.
  bool read(std::span<std::byte> out) {
    if (!deflated_) {
      if (out.size() > end_ - at_ || !file_.read(at_, out)) return false;
      at_ += out.size();
    } else if (!inflateInto(out)) {
      return false;
    }
    for (size_t done = 0; done < out.size(); done += kPiece)
      crc_ = crc32(crc_, reinterpret_cast<const Bytef*>(out.data() + done),
                   static_cast<uInt>(std::min(kPiece, out.size() - done)));
    return true;
  }
  /// Whether nothing follows. Stops at one byte more.
  bool isAtEnd() {
    if (!deflated_) return at_ == end_;
    std::byte more{};
    return status_ == Z_STREAM_END || (!inflateInto({&more, 1}) && status_ == Z_STREAM_END);
  }
  uLong checksum() const { return crc_; }

 private:
  static constexpr size_t kPiece = size_t{1} << 30;

  bool inflateInto(std::span<std::byte> out) {
    while (ready_ && !out.empty() && status_ == Z_OK) {
      const ByteSpan in = file_.some(at_, end_ - at_);
      const size_t room = std::min(kPiece, out.size());
      z_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
      z_.avail_in = static_cast<uInt>(in.size());
      z_.next_out = reinterpret_cast<Bytef*>(out.data());
      z_.avail_out = static_cast<uInt>(room);
      status_ = inflate(&z_, Z_NO_FLUSH);
      at_ += in.size() - z_.avail_in;
      if (in.empty() && z_.avail_out == room && status_ == Z_OK) status_ = Z_BUF_ERROR;
      out = out.subspan(room - z_.avail_out);
    }
    return out.empty();
  }

  Window& file_;
  uint64_t at_;
  const uint64_t end_;
  const bool deflated_;
  bool ready_ = true;
  int status_ = Z_OK;
  z_stream z_{};
  uLong crc_ = 0;
};

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
bool findDirectory(const FileBytes& file, uint64_t& at, uint64_t& count) {
  constexpr uint64_t kRecord = 22, kMostComment = 65535, kLocatorBytes = 20, kEnd64Bytes = 56;
  if (file.size() < kRecord) return false;
  const std::vector<std::byte> tail =
      file.part(file.size() - std::min(file.size(), kLocatorBytes + kRecord + kMostComment),
                std::min(file.size(), kLocatorBytes + kRecord + kMostComment));
  if (tail.empty()) return false;
  const ByteSpan end = tail;
  const uint64_t lowest = end.size() - kRecord - std::min(end.size() - kRecord, kMostComment);
  for (uint64_t p = end.size() - kRecord;; --p) {
    if (get<uint32_t>(end, p) == kEnd && p + kRecord + get<uint16_t>(end, p + 20) == end.size()) {
      count = get<uint16_t>(end, p + 10);
      at = get<uint32_t>(end, p + 16);
      if ((count == 0xffff || at == 0xffffffffu) && p >= kLocatorBytes &&
          get<uint32_t>(end, p - kLocatorBytes) == kLocator64) {
        const std::vector<std::byte> end64 = file.part(get<uint64_t>(end, p - 12), kEnd64Bytes);
        count = get<uint64_t>(end64, 32);
        at = get<uint64_t>(end64, 48);
      }
      return at < file.size() || count == 0;
    }
    if (p == lowest) return false;
  }
}

/// Reads one record of the central directory; false when it is not sound.
bool readRecord(Window& directory, Window& locals, uint64_t& at, Entry& e, std::string& error) {
  constexpr uint64_t kRecord = 46, kLocalRecord = 30;
  const uint64_t fileSize = directory.fileSize();
  std::array<std::byte, kRecord> fixed{};
  if (!directory.read(at, fixed) || get<uint32_t>(fixed, 0) != kCentral) return false;
  const auto flags = get<uint16_t>(fixed, 8), method = get<uint16_t>(fixed, 10);
  const uint64_t nameLength = get<uint16_t>(fixed, 28), extraLength = get<uint16_t>(fixed, 30);
  const uint64_t commentLength = get<uint16_t>(fixed, 32);
  e.crc = get<uint32_t>(fixed, 16);
  uint64_t local = get<uint32_t>(fixed, 42);
  e.size = get<uint32_t>(fixed, 20);
  e.inflatedSize = get<uint32_t>(fixed, 24);
  const uint64_t next = at + kRecord + nameLength + extraLength + commentLength;
  if (next > fileSize) return false;
  e.name.resize(nameLength);
  std::vector<std::byte> extra(extraLength);
  if (!directory.read(at + kRecord, std::as_writable_bytes(std::span(e.name))) ||
      !directory.read(at + kRecord + nameLength, extra))
    return false;
  readZip64(extra, e.inflatedSize, e.size, local);
  at = next;
  if ((flags & 1) != 0 || (method != 0 && method != 8)) {
    error = "has entries that are encrypted or not compressed by deflate";
    return false;
  }
  e.deflated = method == 8;
  std::array<std::byte, kLocalRecord> lead{};
  if (!locals.read(local, lead) || get<uint32_t>(lead, 0) != kLocal) return false;
  e.begin = local + kLocalRecord + get<uint16_t>(lead, 26) + get<uint16_t>(lead, 28);
  return e.begin <= fileSize && e.size <= fileSize - e.begin && (e.deflated || e.size == e.inflatedSize) &&
         e.inflatedSize / kMostRatio <= e.size + 1;
}

}  // namespace

std::optional<std::vector<Entry>> npzEntries(const FileBytes& file, std::string& error) {
  auto fail = [&](const char* why) {
    if (error.empty()) error = why;
    return std::nullopt;
  };
  uint64_t at = 0, count = 0;
  if (!findDirectory(file, at, count)) return fail("is not an .npz file, or is cut off");
  if (count > kMostEntries) return fail("has more than 100,000 entries");
  std::vector<Entry> all;
  std::set<std::string> names;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  Window directory(file), contents(file);
  for (uint64_t i = 0; i < count; ++i) {
    Entry e;
    if (!readRecord(directory, contents, at, e, error)) return fail("has a zip directory that cannot be read");
    const bool isNamed = e.name.ends_with(".npy");
    if (isNamed) e.name.resize(e.name.size() - 4);
    ranges.emplace_back(e.begin, e.begin + e.size);
    if (!names.insert(e.name).second) return fail("names a tensor twice");
    std::vector<std::byte> head(std::min<uint64_t>(kMostNpyHead, e.inflatedSize));
    if (!EntryReader(contents, e).read(head)) return fail("has an entry that cannot be decompressed");
    // What else somebody packed with the arrays, such as a text, is none of them.
    if (!isNamed && !std::string_view(reinterpret_cast<const char*>(head.data()), head.size()).starts_with(kNpyMagic))
      continue;
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
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) return fail("has entries that overlap");
  return all;
}

/// What is inflated goes where it is wanted, and what the header does not leave room for is not inflated.
bool npzLoad(const FileBytes& file, const Entry& e, void* out, std::string& error) {
  Window window(file);
  EntryReader entry(window, e);
  std::vector<std::byte> head(e.header.dataOffset);
  const bool isRead =
      entry.read(head) && npyLoad(e.header, out, [&](std::span<std::byte> to) { return entry.read(to); });
  if (!isRead || !entry.isAtEnd()) {
    error = e.deflated ? std::string("has an entry whose decompressed size is wrong") : std::string(kUnreadable);
    return false;
  }
  if (entry.checksum() == e.crc) return true;
  error = "is damaged: the checksum of `" + e.name + "` is another";
  return false;
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
        std::fwrite(header.data(), 1, header.size(), f) != header.size() || !writeAll(f, t.view.data, data))
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
