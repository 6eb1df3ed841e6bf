// Formats of single values: `[[fill]align][sign][#][0][width][,][.precision][type]`, the part of Python's format
// specification that numbers, bools and strings need; see https://docs.python.org/3/library/string.html#formatspec.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/Io.h"
#include "runtime/io/Scalars.h"

namespace tenc::rt {
namespace {
using scalar::Float;
using scalar::floatAt;
using scalar::isFloat;
using scalar::kBool;

constexpr int kMost = 1000;  // of width and precision
constexpr char kChoice = '?';

struct Spec {
  std::string fill = " ";
  char align = 0;  ///< one of < > ^ =, 0 for that of the value's kind
  char sign = '-';
  bool prefix = false;  ///< `#`: 0x, 0o or 0b before the digits
  bool zero = false;
  int width = 0;
  char separator = 0;  ///< between groups of digits: `,` or `_`
  int precision = -1;
  char type = 0;  ///< one of d x X o b f F e E g G % s, 0 for the shortest form
};

bool isAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

/// Bytes of the UTF-8 character at the start of `s`.
size_t characterBytes(std::string_view s) {
  size_t n = 1;
  while (n < s.size() && (static_cast<unsigned char>(s[n]) & 0xC0) == 0x80) ++n;
  return n;
}

/// How many characters a terminal shows, as long as none is wide or combines with another.
size_t characters(std::string_view s) {
  return static_cast<size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : rest_(text) {}

  std::optional<Spec> parse() {
    Spec s;
    bool filled = false;
    const size_t fill = rest_.empty() ? 0 : characterBytes(rest_);
    if (fill > 0 && fill < rest_.size() && isAlign(rest_[fill])) {
      s.fill = rest_.substr(0, fill);
      rest_.remove_prefix(fill);
      filled = true;
    }
    if (!rest_.empty() && isAlign(rest_[0])) s.align = take();
    if (next("+- ")) s.sign = take();
    if (next("#")) s.prefix = take() != 0;
    if (next("0")) s.zero = take() != 0;
    if (s.zero && s.align && !filled) s.fill = "0";
    s.zero = s.zero && !filled;  // a fill that is written stays
    if (!number(s.width, false)) return std::nullopt;
    if (next(",_")) s.separator = take();
    if (next(".")) {
      take();
      if (!number(s.precision, true)) return std::nullopt;
    }
    if (next("dxXobfFeEgG%s")) s.type = take();
    return rest_.empty() ? std::optional(s) : std::nullopt;
  }

 private:
  bool next(std::string_view of) const { return !rest_.empty() && of.find(rest_[0]) != std::string_view::npos; }
  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  bool number(int& out, bool needed) {
    const char *begin = rest_.data(), *end = begin + rest_.size();
    if (begin == end || *begin < '0' || *begin > '9') return !needed;
    const auto [stop, error] = std::from_chars(begin, end, out);
    rest_.remove_prefix(static_cast<size_t>(stop - begin));
    return error == std::errc() && out <= kMost;
  }

  std::string_view rest_;
};

/// The base that a type writes integers in; 0 for those that are no such type.
int baseOf(char type) { return type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 0; }

bool isReal(char type) { return type != 0 && std::string_view("fFeEgG%").find(type) != std::string_view::npos; }

/// Whether the parts of a format go together; "" or why not.
std::string checkSpec(const Spec& s, bool isFloat) {
  if (s.precision >= 0 && !isReal(s.type) && (s.type != 0 || !isFloat))
    return "a precision of an integer needs one of the types `f`, `e`, `g` and `%`";
  if (s.prefix && baseOf(s.type) == 0) return "`#` needs one of the types `x`, `X`, `o` and `b`";
  if (s.separator == ',' && baseOf(s.type) != 0) return "`" + std::string(1, s.type) + "` takes `_` as a separator";
  return "";
}

std::string padded(std::string text, const Spec& s, char align) {
  const size_t shown = characters(text), width = static_cast<size_t>(s.width);
  if (shown >= width) return text;
  const size_t missing = width - shown;
  const size_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
  std::string out;
  for (size_t i = 0; i < left; ++i) out += s.fill;
  out += text;
  for (size_t i = left; i < missing; ++i) out += s.fill;
  return out;
}

/// Digits with a separator between groups of the whole part, and as many zeros before it as make `width` characters of
/// all; never a separator first, so that it may be one more. Infinities and NaN have no groups.
std::string grouped(const std::string& digits, char separator, char type, size_t width) {
  const size_t group = baseOf(type) != 0 ? 4 : 3;
  const char* const accepted = baseOf(type) != 0 ? "0123456789abcdefABCDEF" : "0123456789";
  const bool finite = !digits.empty() && digits[0] != 'i' && digits[0] != 'n' && digits[0] != 'I' && digits[0] != 'N';
  if (!finite) return digits;
  const size_t whole = std::min(digits.find_first_not_of(accepted), digits.size());
  const size_t rest = digits.size() - whole;
  std::string out;  // from the last character on
  size_t count = 0;
  while (count < whole || out.size() + rest < width) {
    if (count > 0 && count % group == 0) out += separator;
    out += count < whole ? digits[whole - 1 - count] : '0';
    ++count;
  }
  std::reverse(out.begin(), out.end());
  return out + digits.substr(whole);
}

/// Digits without a sign, and whether there is one.
struct Magnitude {
  std::string digits;
  bool negative = false;
};

Magnitude split(std::string text) {
  const bool negative = !text.empty() && text[0] == '-';
  return {negative ? text.substr(1) : std::move(text), negative};
}

Magnitude integerDigits(uint8_t dtype, const void* element, char type) {
  Magnitude m = split(scalar::intText(dtype, element));
  const int base = baseOf(type);
  if (base == 0) return m;
  uint64_t v = 0;
  std::from_chars(m.digits.data(), m.digits.data() + m.digits.size(), v);
  char buffer[64];
  m.digits.assign(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, base).ptr);
  for (char& c : m.digits)
    if (type == 'X' && c >= 'a') c = static_cast<char>(c - 'a' + 'A');
  return m;
}

/// As `g`, but for a place behind the point, and one digit less before there is an exponent.
std::string generalDigits(double v, int precision) {
  const int places = std::max(precision, 1);
  char text[kMost + 32];
  std::snprintf(text, sizeof text, "%.*e", places - 1, v);
  std::string digits(text);
  const size_t e = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + e + 1);
  const auto withoutZeros = [](std::string s) {
    if (s.find('.') == std::string::npos) return s;
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
    return s;
  };
  if (exponent < -4 || exponent + 1 > places - 1) return withoutZeros(digits.substr(0, e)) + digits.substr(e);
  std::snprintf(text, sizeof text, "%.*f", places - 1 - exponent, v);
  digits = withoutZeros(text);
  return digits.find('.') == std::string::npos ? digits + ".0" : digits;
}

Magnitude realDigits(double v, const Spec& s) {
  if (!std::isfinite(v)) {
    const bool large = s.type == 'F' || s.type == 'E' || s.type == 'G';
    const std::string text = std::isnan(v) ? (large ? "NAN" : "nan") : large ? "INF" : "inf";
    return {text + (s.type == '%' ? "%" : ""), !std::isnan(v) && v < 0};
  }
  if (s.type == 0) return split(generalDigits(v, s.precision));
  const bool percent = s.type == '%';
  const char pattern[] = {'%', '.', '*', percent ? 'f' : s.type, 0};
  const int precision = s.precision < 0 ? 6 : s.precision;
  if (percent) v *= 100;
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, pattern, precision, v)) + 1, 0);
  std::snprintf(text.data(), text.size(), pattern, precision, v);
  text.pop_back();
  if (percent) text += '%';
  return split(std::move(text));
}

std::string bareFloat(Float f) {
  if (std::isnan(f.value)) return "nan";
  const std::string sign = std::signbit(f.value) ? "-" : "";
  if (std::isinf(f.value)) return sign + "inf";
  const double magnitude = std::fabs(f.value);
  const scalar::Digits d = scalar::shortest(f);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "e%c%02d", d.exponent < 0 ? '-' : '+', std::abs(d.exponent));
    return sign + d.digits.substr(0, 1) + (d.digits.size() > 1 ? "." + d.digits.substr(1) : "") + buffer;
  }
  std::string s = scalar::withPoint(d);
  if (s.back() == '.') s += '0';
  return sign + s;
}

/// The options of a choice; nullopt where `format` is none.
std::optional<std::vector<std::string_view>> options(std::string_view format) {
  if (format.empty() || format[0] != kChoice) return std::nullopt;
  format.remove_prefix(1);
  std::vector<std::string_view> out;
  while (!format.empty()) {
    size_t bytes = 0;
    const auto [stop, error] = std::from_chars(format.data(), format.data() + format.size(), bytes);
    const auto digits = static_cast<size_t>(stop - format.data());
    if (error != std::errc() || digits >= format.size() || format[digits] != ':') return std::nullopt;
    format.remove_prefix(digits + 1);
    if (bytes > format.size()) return std::nullopt;
    out.push_back(format.substr(0, bytes));
    format.remove_prefix(bytes);
  }
  return out;
}

constexpr uint8_t kI64 = 7;
}  // namespace

std::string choiceFormat(const std::vector<std::string>& texts) {
  std::string format(1, kChoice);
  for (const std::string& t : texts) format += std::to_string(t.size()) + ":" + t;
  return format;
}

std::vector<std::string> choiceTexts(std::string_view format) {
  const auto texts = options(format);
  return texts ? std::vector<std::string>(texts->begin(), texts->end()) : std::vector<std::string>();
}

bool isChoiceFormat(uint8_t dtype, bool rank0, std::string_view format) {
  const auto texts = options(format);
  return dtype == kI64 && rank0 && texts && !texts->empty();
}

std::string checkFormat(uint8_t dtype, std::string_view format) {
  if (format.empty()) return "";
  const auto s = SpecParser(format).parse();
  const std::string name = "`" + std::string(format) + "`";
  if (!s || s->type == 's') return name + " is not a format of numbers";
  if (std::string why = checkSpec(*s, isFloat(dtype)); !why.empty()) return why;
  if ((s->type == 'd' || baseOf(s->type) != 0) && isFloat(dtype))
    return "`" + std::string(1, s->type) + "` is for integers, and this is " + std::string(dtypeName(dtype));
  if (dtype == kBool && (s->type || s->sign != '-' || s->separator || s->zero || s->prefix || s->align == '='))
    return "a bool takes a width and an alignment only";
  return "";
}

std::string checkTextFormat(std::string_view format) {
  const auto s = SpecParser(format).parse();
  if (s && (!s->type || s->type == 's') && s->sign == '-' && !s->zero && !s->prefix && !s->separator && s->align != '=')
    return "";
  return "a string takes a width, an alignment and a precision only";
}

std::string formatString(std::string_view text, std::string_view format) {
  const auto s = SpecParser(format).parse();
  if (!s) return std::string(text);
  if (s->precision >= 0) {
    size_t end = 0;
    for (int i = 0; i < s->precision && end < text.size(); ++i) end += characterBytes(text.substr(end));
    text = text.substr(0, end);
  }
  return padded(std::string(text), *s, s->align ? s->align : '<');
}

std::string formatScalar(uint8_t dtype, const void* element, std::string_view format) {
  if (const auto texts = options(format)) {
    const auto which = static_cast<uint64_t>(scalar::read<int64_t>(element));
    return which < texts->size() ? std::string((*texts)[which]) : "";
  }
  const Spec s = SpecParser(format).parse().value_or(Spec{});
  if (dtype == kBool) return padded(scalar::read<uint8_t>(element) ? "true" : "false", s, s.align ? s.align : '>');
  const bool real = isReal(s.type);
  Magnitude m;
  if (isFloat(dtype)) {
    const Float f = floatAt(dtype, element);
    m = real || s.precision >= 0 ? realDigits(f.value, s) : split(bareFloat(f));
  } else if (real) {
    const double v = dtype == 11 ? static_cast<double>(scalar::read<uint64_t>(element))
                                 : std::strtod(scalar::intText(dtype, element).c_str(), nullptr);
    m = realDigits(v, s);
  } else {
    m = integerDigits(dtype, element, s.type);
  }
  std::string sign = m.negative ? "-" : s.sign == '-' ? "" : std::string(1, s.sign);
  if (s.prefix) sign += std::string("0") + s.type;
  const size_t width = static_cast<size_t>(s.width);
  const bool zeros = s.zero ? !s.align || s.align == '=' : s.align == '=' && s.fill == "0";
  const size_t filled = zeros && width > sign.size() ? width - sign.size() : 0;
  if (s.separator) m.digits = grouped(m.digits, s.separator, s.type, filled);
  if (m.digits.size() < filled) m.digits.insert(0, filled - m.digits.size(), '0');
  for (size_t shown = sign.size() + m.digits.size(); s.align == '=' && shown < width; ++shown) sign += s.fill;
  return padded(sign + m.digits, s, s.align ? s.align : '>');
}

}  // namespace tenc::rt
