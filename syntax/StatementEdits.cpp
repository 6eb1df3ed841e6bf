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
  if (!isBlank(text.substr(line, part.begin - line)) || !isBlank(text.substr(part.end, end - part.end)))
    return {part, ""};
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
