#include "syntax/FormatCall.h"

#include <algorithm>
#include <cctype>

namespace tenc::syntax {

namespace {

/// The end of a hole, given the place behind its brace; npos for none.
size_t holeEnd(std::string_view s, size_t at) {
  const size_t end = s.find_first_of("{}", at);
  return end != std::string_view::npos && s[end] == '}' ? end : std::string_view::npos;
}

/// Python's format as TL has it: texts need no letter, and stand to the left.
std::string formatOf(std::string_view format) {
  std::string f(format);
  if (!f.empty() && f.back() == 's') {
    f.pop_back();
    if (f.size() > 1 && std::isdigit(static_cast<unsigned char>(f[1])) != 0) f.insert(1, "<");
  }
  return f == ":" ? "" : f;
}

bool hasColonOutside(std::string_view s) {
  int depth = 0;
  for (const char c : s) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ':' && depth == 0) return true;
  }
  return false;
}

}  // namespace

bool hasEmptyHole(std::string_view s) {
  for (size_t i = 0; i + 1 < s.size(); ++i) {
    if (s[i] != '{') continue;
    if (s[i + 1] == '{') {
      ++i;
      continue;
    }
    if ((s[i + 1] == '}' || s[i + 1] == ':') && holeEnd(s, i + 1) != std::string_view::npos) return true;
  }
  return false;
}

std::optional<std::string> asHole(std::string_view value, std::string_view format) {
  const bool text = value.size() > 1 && value.front() == '"' && value.find('"', 1) == value.size() - 1;
  if (text && format.empty()) return std::string(value.substr(1, value.size() - 2));
  if (value.empty() || value.find_first_of("\"{}\n#") != std::string_view::npos) return std::nullopt;
  const bool apart = hasColonOutside(value);
  return "{" + (apart ? "(" + std::string(value) + ")" : std::string(value)) + std::string(format) + "}";
}

std::optional<std::string> formatted(std::string_view s, std::span<const FormatArgument> arguments) {
  std::string out;
  size_t next = 0, used = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool doubled = i + 1 < s.size() && s[i + 1] == s[i];
    if ((s[i] == '{' || s[i] == '}') && doubled) {
      out += s.substr(i++, 2);
      continue;
    }
    if (s[i] == '\\' && i + 1 < s.size()) {
      out += s.substr(i++, 2);
      continue;
    }
    if (s[i] != '{') {
      out += s[i];
      continue;
    }
    const size_t end = holeEnd(s, i + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view hole = s.substr(i + 1, end - i - 1);
    const size_t colon = std::min(hole.find(':'), hole.size());
    const std::string_view key = hole.substr(0, std::min(hole.find('!'), colon));
    const FormatArgument* given = nullptr;
    const bool number = !key.empty() && std::all_of(key.begin(), key.end(),
                                                    [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
    if (number && key.size() > 3) return std::nullopt;
    const size_t place = key.empty() ? next++ : number ? std::stoul(std::string(key)) : arguments.size();
    if (place < arguments.size() && arguments[place].name.empty()) given = &arguments[place];
    if (!key.empty() && !number) {
      const auto a = std::find_if(arguments.begin(), arguments.end(), [&](auto& x) { return x.name == key; });
      given = a == arguments.end() ? nullptr : &*a;
    }
    const auto value = given ? asHole(given->text, formatOf(hole.substr(colon))) : std::nullopt;
    if (!value) return std::nullopt;
    ++used;
    out += *value;
    i = end;
  }
  return used == 0 ? std::nullopt : std::optional(out);
}

}  // namespace tenc::syntax
