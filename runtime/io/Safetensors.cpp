// .safetensors: u64 length, a JSON header of that length, the elements (https://github.com/huggingface/safetensors).
// The header has one form only, so it is read by a cursor without recursion: nothing in it can nest.
#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/io/Container.h"

namespace tenc::rt::format {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr std::string_view kDtypes[] = {"F16", "BF16", "F32", "F64", "I8",  "I16", "I32",
                                        "I64", "U8",   "U16", "U32", "U64", "BOOL"};

/// A cursor over the header. A false or empty answer leaves `bad` set.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool bad = false;

  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) { bad = !take(c) || bad; }
  bool atEnd() {
    blanks();
    return at_ == text_.size();
  }
  std::string string() {
    std::string s;
    expect('"');
    while (!bad) {
      if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20) break;
      const char c = text_[at_++];
      if (c == '"') return s;
      if (c != '\\')
        s.push_back(c);
      else
        escape(s);
    }
    bad = true;
    return {};
  }
  uint64_t integer() {
    blanks();
    uint64_t v = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (v > uint64_t{1} << 59) bad = true;
      v = v * 10 + static_cast<uint64_t>(text_[at_] - '0');
    }
    bad = bad || at_ == start;
    return bad ? 0 : v;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr && text_[at_] != 0) ++at_;
  }
  void escape(std::string& s) {
    static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return;
    const char c = text_[at_++];
    if (const size_t i = kFrom.find(c); i != std::string_view::npos) return s.push_back(kTo[i]);
    uint32_t code = c == 'u' ? hex() : 0;
    if (code >= 0xd800 && code < 0xdc00) code = pairOf(code);
    if (c != 'u' || code == 0 || (code >= 0xd800 && code < 0xe000)) {
      bad = true;
    } else if (code < 0x80) {
      s.push_back(static_cast<char>(code));
    } else {
      if (code >= 0x10000) s.push_back(static_cast<char>(0xf0 | code >> 18));
      if (code >= 0x800) s.push_back(static_cast<char>(code >= 0x10000 ? 0x80 | (code >> 12 & 63) : 0xe0 | code >> 12));
      s.push_back(static_cast<char>(code >= 0x800 ? 0x80 | (code >> 6 & 63) : 0xc0 | code >> 6));
      s.push_back(static_cast<char>(0x80 | (code & 63)));
    }
  }
  /// A character beyond the basic plane is escaped as two (RFC 8259, 7); 0 for a half alone.
  uint32_t pairOf(uint32_t high) {
    if (text_.substr(at_, 2) != "\\u") return 0;
    at_ += 2;
    const uint32_t low = hex();
    return low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : 0;
  }
  uint32_t hex() {
    uint32_t v = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : 'x';
      const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (digit < 0) return bad = true, 0;
      v = v << 4 | static_cast<uint32_t>(digit);
    }
    return v;
  }
  std::string_view text_;
  size_t at_ = 0;
};

/// "__metadata__": strings by name, which say nothing about the tensors.
void skipMetadata(Reader& r) {
  r.expect('{');
  if (r.take('}')) return;
  do {
    r.string();
    r.expect(':');
    r.string();
  } while (!r.bad && r.take(','));
  r.expect('}');
}

void readTensor(Reader& r, Entry& e) {
  uint64_t end = 0;
  std::set<std::string> seen;
  r.expect('{');
  do {
    const std::string key = r.string();
    r.expect(':');
    r.bad = r.bad || !seen.insert(key).second;
    if (key == "dtype") {
      const std::string name = r.string();
      const auto* t = std::find(std::begin(kDtypes), std::end(kDtypes), name);
      if (t == std::end(kDtypes)) {
        e.foreign = foreignType(name);
      } else {
        e.header.dtype = static_cast<uint8_t>(t - std::begin(kDtypes));
      }
    } else if (key == "shape") {
      r.expect('[');
      while (!r.bad && !r.take(']')) {
        if (!e.header.shape.empty()) r.expect(',');
        e.header.shape.push_back(static_cast<int64_t>(r.integer()));
        r.bad = r.bad || e.header.shape.size() > 16;
      }
    } else if (key == "data_offsets") {
      r.expect('[');
      e.begin = r.integer();
      r.expect(',');
      end = r.integer();
      r.expect(']');
    } else {
      r.bad = true;
    }
  } while (!r.bad && r.take(','));
  r.expect('}');
  r.bad = r.bad || seen.size() != 3 || end < e.begin;
  e.size = end - e.begin;
}

}  // namespace

std::optional<std::vector<Entry>> safetensorsEntries(const FileBytes& file, std::string& error) {
  auto fail = [&](std::string_view why) {
    if (error.empty()) error = why;
    return std::nullopt;
  };
  uint64_t length = 0;
  if (file.size() < 8) return fail("is not a .safetensors file");
  if (!file.read(0, std::as_writable_bytes(std::span(&length, 1)))) return fail(kUnreadable);
  if (length > kMaxHeader) return fail("has a .safetensors header of more than 100 MB");
  if (length > file.size() - 8) return fail("has a .safetensors header that is cut off");
  const std::vector<std::byte> header = file.part(8, length);
  if (header.size() != length) return fail(kUnreadable);
  Reader r({reinterpret_cast<const char*>(header.data()), length});
  std::vector<Entry> all;
  std::set<std::string> names;
  r.expect('{');
  if (!r.take('}')) {
    do {
      std::string name = r.string();
      r.expect(':');
      if (!names.insert(name).second) return fail("names a tensor twice");
      if (name == "__metadata__") {
        skipMetadata(r);
        continue;
      }
      Entry e;
      e.name = std::move(name);
      readTensor(r, e);
      all.push_back(std::move(e));
    } while (!r.bad && r.take(','));
    r.expect('}');
  }
  if (r.bad || !r.atEnd()) return fail("has a .safetensors header that cannot be read");
  // In the order of their data they follow each other without overlaps or holes, to the end of the file.
  std::vector<Entry*> order;
  for (Entry& e : all) order.push_back(&e);
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->size < b->size;
  });
  uint64_t at = 0;
  for (Entry* e : order) {
    const auto n = elements(e->header.shape);
    // What is of a foreign type has elements of some other size.
    const bool fits = n && (!e->foreign.empty() ||
                            static_cast<uint64_t>(*n) * static_cast<uint64_t>(dtypeSize(e->header.dtype)) == e->size);
    if (!fits) return fail("has a tensor whose size does not fit its shape");
    if (e->begin != at) return fail(e->begin < at ? "has tensors that overlap" : "has a gap between tensors");
    at += e->size;
    e->begin += 8 + length;
    e->header.dataOffset = e->begin;
  }
  if (at != file.size() - 8 - length) return fail("is longer or shorter than its header says");
  return all;
}

bool safetensorsSave(std::FILE* f, std::span<const NamedTensor> tensors) {
  std::string header = "{";
  uint64_t at = 0;
  for (const NamedTensor& t : tensors) {
    const uint64_t size =
        static_cast<uint64_t>(*elements(t.view.shape)) * static_cast<uint64_t>(dtypeSize(t.view.dtype));
    header += std::string(header.size() > 1 ? "," : "") + "\"" + t.name + "\":{\"dtype\":\"" +
              std::string(kDtypes[t.view.dtype]) + "\",\"shape\":[";
    for (size_t d = 0; d < t.view.shape.size(); ++d) header += (d ? "," : "") + std::to_string(t.view.shape[d]);
    header += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + size) + "]}";
    at += size;
  }
  header += "}";
  while (header.size() % 8 != 0) header += ' ';
  const uint64_t length = header.size();
  bool good = std::fwrite(&length, 1, 8, f) == 8 && std::fwrite(header.data(), 1, length, f) == length;
  for (const NamedTensor& t : tensors) {
    const size_t size = static_cast<size_t>(*elements(t.view.shape)) * static_cast<size_t>(dtypeSize(t.view.dtype));
    good = good && writeAll(f, t.view.data, size);
  }
  return good;
}

}  // namespace tenc::rt::format
