#include "frontend/habits/PercentFormat.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "syntax/FormatCall.h"

namespace tenc::frontend {

namespace {

/// What stands behind a `%`: "5.2f".
struct Conversion {
  std::string_view text;
  char kind = ' ';
};

std::optional<Conversion> conversionAt(std::string_view s) {
  size_t n = 0;
  while (n < s.size() && (std::isdigit(static_cast<unsigned char>(s[n])) != 0 || s[n] == '.')) ++n;
  if (n == s.size()) return std::nullopt;
  return Conversion{s.substr(0, n + 1), s[n]};
}

/// The format of a hole that says the same; nullopt where there is none.
std::optional<std::string> holeFormat(const Conversion& c) {
  const std::string digits(c.text.substr(0, c.text.size() - 1));
  if (std::string_view("feg").find(c.kind) != std::string_view::npos)
    return digits.empty() ? ":.6" + std::string(1, c.kind) : ":" + std::string(c.text);
  if (std::string_view("dis").find(c.kind) == std::string_view::npos || digits.find('.') != std::string::npos)
    return std::nullopt;
  return digits.empty() ? "" : ":>" + digits;
}

/// A value of the format, as it is written.
struct Written {
  std::string_view text;
  bool whole = false;  ///< an integer
};

bool isWhole(const Val& v) {
  return v.is(Val::Kind::Int) || (v.is(Val::Kind::Tensor) && ir::isInt(v.tensor->type.dtype));
}

/// The values, if they are written beside the format and may stand in a hole.
std::optional<std::vector<Written>> writtenValues(const SourceManager& sources, const Val& values) {
  std::vector<Written> texts;
  const auto add = [&](const Val& v) {
    if (!v.span.valid() || v.span.file != values.span.file || v.span.begin < values.span.begin ||
        v.span.end > values.span.end)
      return false;
    const std::string_view text = sources.text(v.span);
    texts.push_back({text, isWhole(v)});
    return syntax::asHole(text, "").has_value();
  };
  if (!values.is(Val::Kind::Tuple)) return add(values) ? std::optional(texts) : std::nullopt;
  const bool all = std::all_of(values.elems.begin(), values.elems.end(), add);
  return all ? std::optional(texts) : std::nullopt;
}
}  // namespace

std::optional<std::string> withBraces(const SourceManager& sources, const Val& format, const Val& values) {
  if (!format.is(Val::Kind::String) || !format.span.valid() || format.span.file != values.span.file)
    return std::nullopt;
  const std::string_view text = sources.text(format.span);
  const auto given = writtenValues(sources, values);
  // Between the two stands the sign, and no parenthesis that one of them lies in.
  const std::string_view sign = sources.text({format.span.file, format.span.end, values.span.begin});
  if (!given || text.size() < 2 || text[0] != '"' || text.find_first_of("{}") != std::string_view::npos ||
      sign.find_first_not_of(" %") != std::string_view::npos)
    return std::nullopt;
  std::string made;
  size_t used = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      made += text[i];
      continue;
    }
    const std::string_view rest = text.substr(i + 1);
    if (rest.starts_with('%')) {
      made += '%';
      ++i;
      continue;
    }
    const auto conversion = conversionAt(rest);
    const auto hole = conversion ? holeFormat(*conversion) : std::nullopt;
    if (!hole || used == given->size()) return std::nullopt;
    const Written& of = (*given)[used++];
    // `%d` cuts off what is behind the point.
    const bool cuts = std::string_view("di").find(conversion->kind) != std::string_view::npos && !of.whole;
    const auto value = syntax::asHole(cuts ? "i64(" + std::string(of.text) + ")" : std::string(of.text), *hole);
    if (!value) return std::nullopt;
    made += *value;
    i += conversion->text.size();
  }
  return used == given->size() ? std::optional(made) : std::nullopt;
}

}  // namespace tenc::frontend
