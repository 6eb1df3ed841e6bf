#include "syntax/ForeignClassParts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "syntax/ForeignFunctions.h"

namespace tenc::syntax {

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

namespace {
/// Where a line has what is wanted outside of brackets; npos for nowhere.
template <class Wanted>
size_t outside(std::string_view s, Wanted wanted) {
  int depth = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (depth == 0 && wanted(i)) return i;
    depth += std::string_view("([{").find(s[i]) != s.npos ? 1 : std::string_view(")]}").find(s[i]) != s.npos ? -1 : 0;
  }
  return s.npos;
}
/// Whether each part of an index is a number or a slice, which names no element twice.
bool namesEachOnce(std::string_view index) {
  return std::ranges::all_of(listed(index), [](std::string_view part) {
    const bool slice = outside(part, [&](size_t i) { return part[i] == ':'; }) != part.npos;
    return slice || part == "..." || part.find_first_not_of("-0123456789") == part.npos;
  });
}
}  // namespace

std::string_view statementOf(std::string_view line) {
  constexpr std::string_view kHeads[] = {"if", "elif", "else", "for", "while", "with", "try", "except", "finally"};
  if (std::ranges::find(kHeads, wordAt(line)) == std::end(kHeads)) return line;
  const size_t colon = outside(line, [&](size_t i) { return line[i] == ':'; });
  return colon == line.npos ? std::string_view() : trimmed(line.substr(colon + 1));
}

size_t assignmentIn(std::string_view line) {
  return outside(line, [&](size_t i) {
    const bool first = line[i] == '=' && (i == 0 || std::string_view("=<>!").find(line[i - 1]) == line.npos ||
                                          (i > 1 && line[i - 1] == line[i - 2]));  // `<<=`
    return first && (i + 1 == line.size() || line[i + 1] != '=');
  });
}

int openBrackets(std::string_view text) {
  int open = 0;
  for (const char c : text) {
    open += std::string_view("([{").find(c) != std::string_view::npos ? 1 : 0;
    open -= std::string_view(")]}").find(c) != std::string_view::npos ? 1 : 0;
  }
  return open;
}

bool isOfLibrary(std::string_view path) {
  constexpr auto kRoots = std::to_array<std::string_view>({"torch", "np", "numpy", "jnp", "F"});
  return std::ranges::find(kRoots, wordAt(path)) != kRoots.end();
}

bool isNumeral(std::string_view s) {
  if (s.starts_with('-')) s.remove_prefix(1);
  const auto isDigit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  if (s.empty() || (!isDigit(s[0]) && s[0] != '.')) return false;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool sign = (s[i] == '-' || s[i] == '+') && (s[i - 1] == 'e' || s[i - 1] == 'E');
    if (!isDigit(s[i]) && s[i] != '.' && s[i] != '_' && s[i] != 'e' && s[i] != 'E' && !sign) return false;
  }
  return true;
}

bool setsField(std::string_view line) {
  line = statementOf(line);
  const size_t equals = assignmentIn(line);
  if (equals == line.npos) return false;
  return std::ranges::any_of(listed(line.substr(0, equals)),
                             [](std::string_view target) { return trimmed(target).starts_with("self."); });
}

namespace {
/// The name of the function in whose brackets a place stands, without its path; empty for none.
std::string_view functionAround(std::string_view line, size_t at) {
  int depth = 0;
  while (at > 0) {
    const char c = line[--at];
    depth += c == ')' || c == ']' || c == '}' ? 1 : 0;
    if (c != '(' && c != '[' && c != '{') continue;
    if (depth-- > 0) continue;
    size_t begin = at;
    while (c == '(' && begin > 0 && isWordPart(line[begin - 1])) --begin;
    if (begin < at || c == '(') return line.substr(begin, at - begin);
    depth = 0;  // brackets of a list: what is given the list decides
  }
  return "";
}
}  // namespace

int holdersIn(std::string_view line, std::string_view name) {
  const auto isOperator = [](char c) { return std::string_view("+-*/%<>@").find(c) != std::string_view::npos; };
  int holders = 0;
  for (size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at > 0 && (isWordPart(line[at - 1]) || line[at - 1] == '.')) || (end < line.size() && isWordPart(line[end])))
      continue;
    const std::string_view before = trimmed(line.substr(0, at)), behind = trimmed(line.substr(end));
    const bool isTarget = before.empty() && behind.starts_with('=') && !behind.starts_with("==");
    const bool isOperand =
        (!before.empty() && isOperator(before.back())) || (!behind.empty() && isOperator(behind.front()));
    const bool given = givesOwnArray(functionAround(line, at));
    // `np.sin(t)`, but neither `np.sum([t[0]])` nor `np.array(t, copy=False)` for certain: those count.
    const bool copied = given && !before.ends_with('=') && line.find("copy") == line.npos &&
                        (behind.starts_with(',') || behind.starts_with(')'));
    holders += isTarget || isOperand || copied ? 0 : 1;
  }
  return holders;
}

std::optional<std::string> withLastUpdate(std::string_view line) {
  const std::string_view statement = statementOf(line);
  const size_t equals = assignmentIn(statement);
  const std::string_view left = trimmed(statement.substr(0, equals == statement.npos ? 0 : equals));
  const size_t close = left.rfind(']');
  if (close == left.npos || close + 1 == left.size() || !left.starts_with("self.")) return std::string(line);
  const std::string_view target = left.substr(0, close + 1), op = trimmed(left.substr(close + 1));
  if (op.find_first_not_of("+-*/%@&|^<>") != op.npos) return std::string(line);
  const std::string_view value = trimmed(statement.substr(equals + 1));
  const auto count = [&](std::string_view brackets) {
    return std::ranges::count_if(value, [&](char c) { return brackets.find(c) != brackets.npos; });
  };
  size_t open = close;
  for (int depth = 0; open > 0; --open) {
    depth += target[open] == ']' ? 1 : target[open] == '[' ? -1 : 0;
    if (depth == 0) break;
  }
  if (namesEachOnce(target.substr(open + 1, close - open - 1))) return std::string(line);
  // What the target calls would be called twice; a value may go on in the next line.
  const bool known = target.find('(') == target.npos && value.find(';') == value.npos && !value.ends_with('\\') &&
                     count("([{") == count(")]}") && !value.empty();
  if (!known) return std::nullopt;
  const bool word = std::ranges::all_of(value, [](char c) { return isWordPart(c) || c == '.'; });
  const std::string operand = word ? std::string(value) : "(" + std::string(value) + ")";
  return std::string(line.substr(0, line.size() - statement.size())) + std::string(target) + " = " +
         std::string(target) + " " + std::string(op) + " " + operand;
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
