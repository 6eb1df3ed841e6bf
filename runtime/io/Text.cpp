// The text form of tensors. Arrays print as NumPy's array2string does with its default options; see
// https://numpy.org/doc/stable/reference/generated/numpy.set_printoptions.html for what they mean.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "runtime/io/Io.h"
#include "runtime/io/Scalars.h"

namespace tenc::rt {
namespace {
using scalar::Digits;
using scalar::Float;
using scalar::floatAt;
using scalar::intText;
using scalar::isFloat;
using scalar::kBool;
using scalar::read;
using scalar::shortest;
using scalar::withPoint;

constexpr int kPrecision = 8;
constexpr int64_t kThreshold = 1000;
constexpr int64_t kEdge = 3;
constexpr size_t kLineWidth = 75;

/// "12.5", "3." : shortest digits, at most kPrecision after the point; no sign.
std::string positional(Float f) {
  const Digits d = shortest(f);
  const int fraction = static_cast<int>(d.digits.size()) - 1 - d.exponent;
  if (fraction > kPrecision) {
    char buffer[400];
    std::snprintf(buffer, sizeof buffer, "%.*f", kPrecision, std::fabs(f.value));
    std::string s = buffer;
    while (s.back() == '0') s.pop_back();
    return s;
  }
  return withPoint(d);
}

struct Scientific {
  std::string whole, fraction, exponent;  ///< exponent with its sign, at least two digits
};

/// Shortest digits, at most kPrecision after the point; where these are fewer than `fraction`, exact ones follow.
Scientific scientific(Float f, size_t fraction = 0) {
  Digits d = shortest(f);
  const int digits = static_cast<int>(d.digits.size()) - 1, wanted = static_cast<int>(fraction);
  if (digits > kPrecision || digits < wanted) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*e", wanted > 0 ? wanted : kPrecision, std::fabs(f.value));
    const std::string s = buffer;
    const size_t e = s.find('e');
    d.digits = s.substr(0, 1) + (s[1] == '.' ? s.substr(2, e - 2) : "");
    d.exponent = std::atoi(s.c_str() + e + 1);
    while (d.digits.size() > fraction + 1 && d.digits.back() == '0') d.digits.pop_back();
  }
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%c%02d", d.exponent < 0 ? '-' : '+', std::abs(d.exponent));
  return {d.digits.substr(0, 1), d.digits.substr(1), buffer};
}

std::string padLeft(const std::string& s, size_t width) {
  return s.size() < width ? std::string(width - s.size(), ' ') + s : s;
}

/// Formats elements of one array to a common width, as NumPy does, or each by a format; made from the elements that
/// will be shown.
class ArrayFormat {
 public:
  ArrayFormat(uint8_t dtype, const std::vector<const void*>& shown, std::string_view given)
      : dtype_(dtype), given_(given) {
    if (isFloat(dtype) && given.empty()) {
      prepareFloats(shown);
      return;
    }
    width_ = dtype == kBool && given.empty() ? 5 : 0;  // NumPy's: room for false, also where every element is true
    for (const void* p : shown) width_ = std::max(width_, plain(p).size());
  }
  std::string operator()(const void* p) const {
    return isFloat(dtype_) && given_.empty() ? floatText(floatAt(dtype_, p)) : padLeft(plain(p), width_);
  }

 private:
  uint8_t dtype_;
  std::string_view given_;
  size_t width_ = 0;
  bool exponential_ = false;
  size_t left_ = 0, right_ = 0, fraction_ = 0, exponentDigits_ = 2;

  std::string plain(const void* p) const {
    if (!given_.empty()) return formatScalar(dtype_, p, given_);
    if (dtype_ == kBool) return read<uint8_t>(p) ? "true" : "false";
    return intText(dtype_, p);
  }

  /// `v` rounded to the dtype: NumPy compares and divides in the dtype of the array.
  double rounded(double v) const {
    if (dtype_ == 3) return v;
    return dtype_ == 0 ? halfToFloat(floatToHalf(static_cast<float>(v))) : static_cast<float>(v);
  }

  /// The choice of form of NumPy 2.4 for numbers from `least` to `largest`, neither of them 0.
  bool needsExponent(double largest, double least) const {
    const double most = dtype_ == 0 ? 1e3 : dtype_ == 3 ? 1e8 : 1e6;
    return largest >= most || least < rounded(1e-4) || rounded(largest / least) > 1000.0;
  }

  void prepareFloats(const std::vector<const void*>& shown) {
    double largest = 0, least = 0;
    bool any = false, odd = false, negativeInfinity = false;
    for (const void* p : shown) {
      const double v = floatAt(dtype_, p).value;
      if (!std::isfinite(v)) {
        odd = true;
        negativeInfinity |= v < 0;
        continue;
      }
      const double m = std::fabs(v);
      if (m == 0) continue;
      largest = any ? std::max(largest, m) : m;
      least = any ? std::min(least, m) : m;
      any = true;
    }
    exponential_ = any && needsExponent(largest, least);
    for (const void* p : shown) {
      const Float f = floatAt(dtype_, p);
      if (!std::isfinite(f.value)) continue;
      const size_t sign = std::signbit(f.value) ? 1 : 0;
      if (exponential_) {
        const Scientific s = scientific(f);
        left_ = std::max(left_, s.whole.size() + sign);
        fraction_ = std::max(fraction_, s.fraction.size());
        exponentDigits_ = std::max(exponentDigits_, s.exponent.size() - 1);
      } else {
        const std::string s = positional(f);
        const size_t point = s.find('.');
        left_ = std::max(left_, point + sign);
        right_ = std::max(right_, s.size() - point - 1);
      }
    }
    if (exponential_) right_ = exponentDigits_ + 2 + fraction_;
    if (odd) {
      const size_t offset = right_ + 1;
      const size_t need = negativeInfinity ? 4 : 3;
      if (need > offset) left_ = std::max(left_, need - offset);
    }
  }

  std::string floatText(Float f) const {
    if (!std::isfinite(f.value))
      return padLeft(std::isnan(f.value) ? "nan" : f.value < 0 ? "-inf" : "inf", left_ + right_ + 1);
    const std::string sign = std::signbit(f.value) ? "-" : "";
    if (!exponential_) {
      const std::string s = sign + positional(f);
      const size_t point = s.find('.');
      return std::string(left_ - point, ' ') + s + std::string(right_ - (s.size() - point - 1), ' ');
    }
    const Scientific s = scientific(f, fraction_);
    std::string exponent = s.exponent.substr(1);
    exponent.insert(0, exponentDigits_ - exponent.size(), '0');
    return padLeft(sign + s.whole, left_) + "." + s.fraction + "e" + s.exponent[0] + exponent;
  }
};

class ArrayPrinter {
 public:
  explicit ArrayPrinter(const TensorView& t) : t_(t), size_(dtypeSize(t.dtype)), strides_(t.shape.size()) {
    int64_t n = 1;
    for (size_t d = t.shape.size(); d-- > 0;) strides_[d] = n, n *= t.shape[d];
    summarise_ = n > kThreshold;
    collect(0, 0);
  }

  /// With NumPy's format, or that of each element.
  std::string text(std::string_view given) {
    const ArrayFormat format(t_.dtype, shown_, given);
    return nested(format, 0, 0, " ", kLineWidth);
  }

 private:
  const TensorView& t_;
  int size_;
  std::vector<int64_t> strides_;
  std::vector<const void*> shown_;
  bool summarise_ = false;

  bool cut(size_t axis) const { return summarise_ && 2 * kEdge < t_.shape[axis]; }
  const void* at(int64_t offset) const { return static_cast<const std::byte*>(t_.data) + offset * size_; }

  void collect(size_t axis, int64_t offset) {
    if (axis == t_.shape.size()) {
      shown_.push_back(at(offset));
      return;
    }
    for (int64_t i = 0; i < t_.shape[axis]; ++i) {
      if (cut(axis) && i == kEdge) i = t_.shape[axis] - kEdge;
      collect(axis + 1, offset + i * strides_[axis]);
    }
  }

  static void extend(std::string& s, std::string& line, const std::string& word, size_t width,
                     const std::string& indent) {
    if (line.size() + word.size() > width && line.size() > indent.size()) {
      while (!line.empty() && line.back() == ' ') line.pop_back();
      s += line + "\n";
      line = indent;
    }
    line += word;
  }

  std::string nested(const ArrayFormat& format, size_t axis, int64_t offset, const std::string& indent, size_t width) {
    if (axis == t_.shape.size()) return format(at(offset));
    const int64_t n = t_.shape[axis];
    std::string s;
    if (axis + 1 == t_.shape.size()) {
      std::string line = indent;
      for (int64_t i = 0; i < n; ++i) {
        if (cut(axis) && i == kEdge) {
          extend(s, line, "...", width - 1, indent);
          line += ' ';
          i = n - kEdge;
        }
        extend(s, line, format(at(offset + i * strides_[axis])), width - 1, indent);
        if (i + 1 < n) line += ' ';
      }
      s += line;
    } else {
      const std::string separator(t_.shape.size() - axis - 1, '\n');
      for (int64_t i = 0; i < n; ++i) {
        if (cut(axis) && i == kEdge) {
          s += indent + "..." + separator;
          i = n - kEdge;
        }
        s += indent + nested(format, axis + 1, offset + i * strides_[axis], indent + " ", width - 1);
        if (i + 1 < n) s += separator;
      }
    }
    return "[" + s.substr(std::min(s.size(), indent.size())) + "]";
  }
};

constexpr char kIndentMark = '\x02';
constexpr size_t kMostIndent = 4096;

/// The columns of an indentFormat; nullopt where `format` is none.
std::optional<size_t> indentOf(std::string_view format) {
  if (!format.starts_with(kIndentMark)) return std::nullopt;
  size_t columns = 0;
  const char* const end = format.data() + format.size();
  const auto [stop, error] = std::from_chars(format.data() + 1, end, columns);
  if (error != std::errc() || stop != end || columns > kMostIndent) return std::nullopt;
  return columns;
}

/// The elements behind the type of a tensor in a tree.
std::string inTree(const std::string& head, const std::string& elements, size_t columns) {
  constexpr size_t kFurther = 4;
  const bool oneLine = elements.find('\n') == std::string::npos;
  if (oneLine && columns + head.size() + 1 + elements.size() <= kLineWidth) return head + " " + elements;
  std::string out = head;
  for (size_t begin = 0; begin <= elements.size();) {
    const size_t end = std::min(elements.find('\n', begin), elements.size());
    out += "\n";
    if (end > begin) out += std::string(columns + kFurther, ' ') + elements.substr(begin, end - begin);
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::string indentFormat(size_t columns) { return kIndentMark + std::to_string(std::min(columns, kMostIndent)); }

bool isIndentFormat(bool rank0, std::string_view format) { return !rank0 && indentOf(format); }

std::string formatTensor(const TensorView& t, std::string_view device, std::string_view format) {
  if (t.shape.empty()) return formatScalar(t.dtype, t.data, "");
  std::string head = std::string(dtypeName(t.dtype)) + "[";
  int64_t n = 1;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    head += (d ? ", " : "") + std::to_string(t.shape[d]);
    n *= t.shape[d];
  }
  head += "]";
  if (!device.empty()) head += " @" + std::string(device);
  const auto columns = indentOf(format);
  const std::string_view ofElement = columns ? "" : format;
  std::string elements = n == 0 ? "[]" : ArrayPrinter(t).text(ofElement);
  if (!ofElement.empty()) return elements;
  return columns ? inTree(head, elements, *columns) : head + "\n" + elements;
}

}  // namespace tenc::rt
