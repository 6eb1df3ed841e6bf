// frontend::isComplete: whether a REPL entry can be run, or its next line is to be waited for.
#include <algorithm>
#include <array>
#include <string_view>

#include "syntax/Parse.h"

namespace tenc::syntax {

namespace {

bool isWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether the code ends in a number such as `5.`, and not in `t.0.`.
bool endsInNumberWithPoint(std::string_view code) {
  if (code.back() != '.') return false;
  code.remove_suffix(1);
  size_t start = code.size();
  while (start > 0 && isWordByte(code[start - 1])) --start;
  const std::string_view word = code.substr(start);
  return !word.empty() && word.find_first_not_of("0123456789_") == std::string_view::npos && word[0] != '_' &&
         (start == 0 || code[start - 1] != '.');
}

bool endsInOperator(std::string_view code) {
  while (!code.empty() && (code.back() == ' ' || code.back() == '\t' || code.back() == '\r' || code.back() == '\n')) {
    code.remove_suffix(1);
  }
  if (code.empty() || endsInNumberWithPoint(code)) return false;
  // What a statement may end with: a word, a closing bracket, a string, `;`, a wrong character. All others go on.
  constexpr std::string_view kGoOn = ",:.+-*/%@=<>|";
  if (kGoOn.find(code.back()) != std::string_view::npos) return true;
  size_t start = code.size();
  while (start > 0 && isWordByte(code[start - 1])) --start;
  const std::string_view word = code.substr(start);
  constexpr std::array<std::string_view, 6> kWords = {"and", "or", "not", "in", "by", "else"};
  for (const std::string_view w : kWords) {
    if (word == w) return true;
  }
  return false;
}

/// Whether the last line is of annotations alone, `@gpu` or `@autocast(bf16)`, which are of what follows.
bool endsInAnnotation(std::string_view code) {
  const size_t last = code.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return false;
  code = code.substr(0, last + 1);
  code.remove_prefix(code.find_last_of("\n;{") + 1);
  size_t at = code.find_first_not_of(" \t");
  while (at < code.size()) {
    if (code[at] != '@' || at + 1 == code.size() || !isWordByte(code[at + 1])) return false;
    ++at;
    while (at < code.size() && (isWordByte(code[at]) || code[at] == '.' || code[at] == ':')) ++at;
    if (at < code.size() && (code[at] == '(' || code[at] == '[')) {
      at = code.find_first_of(")]", at);
      if (at == std::string_view::npos) return false;
      ++at;
    }
    at = std::min(code.find_first_not_of(" \t", at), code.size());
  }
  return true;
}

}  // namespace

bool isComplete(std::string_view text) {
  std::string code;  // without comments; a string is one `"`
  long open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
      code += '\n';
      continue;
    }
    if (c == '"') {
      // A string ends on its line: one that is left open is wrong whatever follows, so it ends here too.
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
      }
      if (i >= text.size() || text[i] == '\n') return true;
      code += '"';
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++open;
    if (c == ')' || c == ']' || c == '}') --open;
    if (open < 0) return true;  // wrong: to be reported, not continued
    code += c;
  }
  return open == 0 && !endsInOperator(code) && !endsInAnnotation(code);
}

}  // namespace tenc::syntax
