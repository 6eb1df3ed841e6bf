#include "tools/repl/Words.h"

#include <cctype>

namespace tenc::repl {

namespace {
bool isWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
}  // namespace

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '\n')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\n' || s.back() == '\r'))
    s.remove_suffix(1);
  return s;
}

bool startsWithWord(std::string_view text, std::string_view word) {
  return text.starts_with(word) && (text.size() == word.size() || !isWordByte(text[word.size()]));
}

bool continuesLine(std::string_view line) {
  const std::string_view text = trimmed(line);
  const bool member = text.size() > 1 && text[0] == '.' && isWordByte(text[1]);
  return member || text.starts_with("|>") || startsWithWord(text, "else");
}

}  // namespace tenc::repl
