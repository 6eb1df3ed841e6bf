#include "syntax/StatementEdits.h"

#include <algorithm>

namespace tenc::syntax {

namespace {
bool isBlank(std::string_view s) { return s.find_first_not_of(" \t\r") == std::string_view::npos; }
}  // namespace

Edit removed(const SourceManager& sources, Span part) {
  const std::string_view text = sources.file(part.file).text();
  const size_t line = part.begin == 0 ? 0 : text.rfind('\n', part.begin - 1) + 1;
  const size_t end = std::min(text.find('\n', part.end), text.size());
  if (!isBlank(text.substr(line, part.begin - line)) || !isBlank(text.substr(part.end, end - part.end))) {
    // One of several in a line goes with the sign between them.
    const size_t behind = std::min(text.find_first_not_of(' ', part.end), end);
    const size_t before = part.begin == line ? std::string_view::npos : text.find_last_not_of(' ', part.begin - 1);
    const auto at = [&](size_t begin, size_t to) {
      return Edit{{part.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(to)}, ""};
    };
    if (behind < end && text[behind] == ';')
      return at(part.begin, std::min(text.find_first_not_of(' ', behind + 1), text.size()));
    if (before != std::string_view::npos && text[before] == ';' && behind == end) return at(before, part.end);
    return {part, ""};
  }
  return {{part.file, static_cast<uint32_t>(line), static_cast<uint32_t>(std::min(end + 1, text.size()))}, ""};
}

bool endsLine(const SourceManager& sources, Span part) {
  const std::string_view text = sources.file(part.file).text();
  return isBlank(text.substr(part.end, std::min(text.find('\n', part.end), text.size()) - part.end));
}

Edit lineBefore(const SourceManager& sources, Span part, const std::string& line) {
  const std::string_view text = sources.file(part.file).text();
  const size_t begin = part.begin == 0 ? 0 : text.rfind('\n', part.begin - 1) + 1;
  const std::string_view margin = text.substr(begin, part.begin - begin);
  if (!isBlank(margin)) return {{part.file, part.begin, part.begin}, line + "; "};
  const auto at = static_cast<uint32_t>(begin);
  return {{part.file, at, at}, std::string(margin) + line + "\n"};
}

Edit withoutResult(const SourceManager& sources, Span function, Span type) {
  const std::string_view text = sources.file(type.file).text();
  size_t arrow = text.rfind("->", type.begin);
  if (arrow == std::string_view::npos || arrow < function.begin) return {type, ""};
  while (arrow > 0 && text[arrow - 1] == ' ') --arrow;
  return {{type.file, static_cast<uint32_t>(arrow), type.end}, ""};
}

}  // namespace tenc::syntax
