#include "syntax/ForeignClassParts.h"

#include <cctype>

namespace tenc::syntax {

bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

std::string_view wordAt(std::string_view s) {
  size_t n = 0;
  while (n < s.size() && isWordPart(s[n])) ++n;
  return s.substr(0, n);
}

bool mentions(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !isWordPart(text[at - 1])) && (end == text.size() || !isWordPart(text[end]))) return true;
  }
  return false;
}

std::vector<std::string_view> listed(std::string_view list) {
  std::vector<std::string_view> found;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      if (const auto part = trimmed(list.substr(begin, i - begin)); !part.empty()) found.push_back(part);
      begin = i + 1;
    } else {
      depth += std::string_view("([{").find(list[i]) != std::string_view::npos ? 1 : 0;
      depth -= std::string_view(")]}").find(list[i]) != std::string_view::npos ? 1 : 0;
    }
  }
  return found;
}

std::string_view withoutComment(std::string_view s) {
  char quote = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (quote != 0) {
      if (s[i] == quote) quote = 0;
    } else if (s[i] == '"' || s[i] == '\'') {
      quote = s[i];
    } else if (s[i] == '#' && !trimmed(s.substr(0, i)).empty()) {
      return trimmed(s.substr(0, i));
    }
  }
  return trimmed(s);
}

bool setsField(std::string_view line) {
  if (!line.starts_with("self.")) return false;
  line = line.substr(5);
  line = trimmed(line.substr(wordAt(line).size()));
  if (line.starts_with('[') && line.find(']') != line.npos) line = trimmed(line.substr(line.find(']') + 1));
  if (!line.empty() && std::string_view("+-*/").find(line[0]) != line.npos)
    line.remove_prefix(line.starts_with("//") ? 2 : 1);
  return line.starts_with('=') && !line.starts_with("==");
}

void replaceWord(std::string& text, const std::string& word, const std::string& by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    const size_t end = at + word.size();
    const bool whole = (at == 0 || !isWordPart(text[at - 1])) && (end == text.size() || !isWordPart(text[end]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : word.size();
  }
}

}  // namespace tenc::syntax
