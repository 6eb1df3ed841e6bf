// NumPy's .npy format, versions 1 to 3: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
// The header is Python text; only the three keys that NumPy writes are read, and nothing is evaluated.
#include <algorithm>
#include <cstring>

#include "runtime/io/Formats.h"

namespace tenc::rt::format {
namespace {

constexpr uint32_t kMaxHeader = 10000;

/// A cursor over the header's text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view w) {
    blanks();
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }
  std::optional<std::string> quoted() {
    blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string s(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return s;
  }
  std::optional<int64_t> integer() {
    blanks();
    int64_t v = 0;
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (v > (int64_t{1} << 52)) return std::nullopt;
      v = v * 10 + (text_[at_++] - '0');
    }
    if (at_ == start) return std::nullopt;
    return v;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

std::optional<uint8_t> dtypeOf(std::string_view descr, bool& swap) {
  if (descr.size() < 3) return std::nullopt;
  const char order = descr[0];
  if (order != '<' && order != '>' && order != '|' && order != '=') return std::nullopt;
  const std::string_view kind = descr.substr(1);
  static constexpr std::pair<std::string_view, uint8_t> kKinds[] = {{"f2", 0}, {"f4", 2},  {"f8", 3},  {"i1", 4},
                                                                    {"i2", 5}, {"i4", 6},  {"i8", 7},  {"u1", 8},
                                                                    {"u2", 9}, {"u4", 10}, {"u8", 11}, {"b1", 12}};
  for (const auto& [name, dtype] : kKinds) {
    if (name != kind) continue;
    swap = order == '>' && dtypeSize(dtype) > 1;
    return dtype;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileHeader> npyHeader(ByteSpan head, uint64_t size, std::string& error) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(head[i]); };
  if (head.size() < 10 || std::memcmp(head.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    error = "is not an .npy file";
    return std::nullopt;
  }
  uint32_t length = byte(8) | byte(9) << 8u;
  uint32_t prefix = 10;
  if (byte(6) != 1) {
    if (byte(6) > 3 || byte(6) == 0 || head.size() < 12) {
      error = "has an unknown .npy version";
      return std::nullopt;
    }
    length |= byte(10) << 16u | byte(11) << 24u;
    prefix = 12;
  }
  if (length > kMaxHeader || prefix + length > size || prefix + length > head.size()) {
    error = "has an .npy header that is too long or cut off";
    return std::nullopt;
  }
  const std::string_view text(reinterpret_cast<const char*>(head.data()) + prefix, length);
  FileHeader h;
  h.dataOffset = prefix + length;
  Reader r(text);
  bool sawDescr = false, sawOrder = false, sawShape = false, good = r.take('{');
  while (good && !r.take('}')) {
    const auto key = r.quoted();
    if (!key || !r.take(':'))
      good = false;
    else if (*key == "descr" && !sawDescr) {
      const auto descr = r.quoted();
      const auto dtype = descr ? dtypeOf(*descr, h.swap) : std::nullopt;
      if (!dtype) {
        error = foreignType(descr.value_or(""));
        return std::nullopt;
      }
      h.dtype = *dtype;
      sawDescr = true;
    } else if (*key == "fortran_order" && !sawOrder) {
      h.fortran = r.word("True");
      good = h.fortran || r.word("False");
      sawOrder = true;
    } else if (*key == "shape" && !sawShape) {
      good = r.take('(');
      while (good && !r.take(')')) {
        const auto dim = r.integer();
        good = dim.has_value() && h.shape.size() < 16;
        if (good) h.shape.push_back(*dim);
        if (good && !r.take(',')) {
          good = r.take(')');
          break;
        }
      }
      sawShape = true;
    } else {
      good = false;
    }
    if (good && !r.take(',')) {
      good = r.take('}');
      break;
    }
  }
  if (!good || !sawDescr || !sawOrder || !sawShape) {
    error = "has a .npy header that cannot be read";
    return std::nullopt;
  }
  const auto n = elements(h.shape);
  if (!n || static_cast<uint64_t>(*n) * static_cast<uint64_t>(dtypeSize(h.dtype)) > size - h.dataOffset) {
    error = "is shorter than its header says";
    return std::nullopt;
  }
  return h;
}

namespace {

void swapBytes(unsigned char* elements, int64_t n, int size) {
  for (int64_t i = 0; i < n; ++i) std::reverse(elements + i * size, elements + (i + 1) * size);
}

/// Reads column-major elements, a block after the other, and puts each in its place of a row-major tensor.
bool loadColumnMajor(const FileHeader& h, unsigned char* out, const ReadElements& read) {
  constexpr int64_t kBlock = int64_t{1} << 16;  // elements
  const int size = dtypeSize(h.dtype);
  const int64_t n = *elements(h.shape);
  std::vector<unsigned char> block(static_cast<size_t>(std::min(n, kBlock) * size));
  std::vector<int64_t> index(h.shape.size(), 0), strides(h.shape.size());
  int64_t stride = size;
  for (size_t d = strides.size(); d-- > 0;) strides[d] = stride, stride *= h.shape[d];
  int64_t to = 0;
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    if (!read({reinterpret_cast<std::byte*>(block.data()), static_cast<size_t>(count * size)})) return false;
    if (h.swap) swapBytes(block.data(), count, size);
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(out + to, block.data() + i * size, static_cast<size_t>(size));
      for (size_t d = 0; d < index.size(); ++d) {
        to += strides[d];
        if (++index[d] < h.shape[d]) break;
        to -= index[d] * strides[d];
        index[d] = 0;
      }
    }
  }
  return true;
}

}  // namespace

bool npyLoad(const FileHeader& h, void* out, const ReadElements& read) {
  const int size = dtypeSize(h.dtype);
  const int64_t n = *elements(h.shape);
  auto* bytes = static_cast<unsigned char*>(out);
  if (h.fortran && h.shape.size() > 1) {
    if (!loadColumnMajor(h, bytes, read)) return false;
  } else {
    if (!read({reinterpret_cast<std::byte*>(bytes), static_cast<size_t>(n * size)})) return false;
    if (h.swap) swapBytes(bytes, n, size);
  }
  if (h.dtype == 12)
    for (int64_t i = 0; i < n; ++i) bytes[i] = bytes[i] != 0;
  return true;
}

std::string npyHeaderText(const TensorView& t) {
  static constexpr const char* kDescr[] = {"<f2", "",    "<f4", "<f8", "|i1", "<i2", "<i4",
                                           "<i8", "|u1", "<u2", "<u4", "<u8", "|b1"};
  std::string header = "{'descr': '" + std::string(kDescr[t.dtype]) + "', 'fortran_order': False, 'shape': (";
  for (size_t d = 0; d < t.shape.size(); ++d)
    header += std::to_string(t.shape[d]) + (d + 1 < t.shape.size() ? ", " : t.shape.size() == 1 ? "," : "");
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text = "\x93NUMPY";
  for (size_t byte : {size_t{1}, size_t{0}, header.size() & 255u, header.size() >> 8u}) text += static_cast<char>(byte);
  return text + header;
}

bool npySave(std::FILE* f, const TensorView& t) {
  const std::string header = npyHeaderText(t);
  const size_t n = static_cast<size_t>(*elements(t.shape));
  return writeAll(f, header.data(), header.size()) && writeAll(f, t.data, static_cast<size_t>(dtypeSize(t.dtype)) * n);
}

}  // namespace tenc::rt::format
