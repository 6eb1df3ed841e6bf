#include "syntax/Outline.h"

#include <algorithm>

namespace tenc::syntax {

namespace {

bool startsWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool inWord(char c) { return startsWord(c) || (c >= '0' && c <= '9'); }

/// The word at or behind `at`, which is moved behind it; empty at the end of the text.
std::string_view nextWord(std::string_view text, size_t& at) {
  while (at < text.size() && !startsWord(text[at])) {
    // The letters of a number are no word.
    if (!inWord(text[at])) {
      ++at;
      continue;
    }
    while (at < text.size() && inWord(text[at])) ++at;
  }
  const size_t begin = at;
  while (at < text.size() && inWord(text[at])) ++at;
  return text.substr(begin, at - begin);
}

size_t lineEnd(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

bool isComment(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '#';
}

/// Where the parameters of a function begin: behind the first `(` that is in no `[...]`.
size_t parametersOf(std::string_view text) {
  int brackets = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++brackets;
    if (text[i] == ']') --brackets;
    if (text[i] == '(' && brackets == 0) return i + 1;
  }
  return text.size();
}

}  // namespace

void addWords(std::string_view text, Words& words) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = lineEnd(text, at);
    const std::string_view line = text.substr(at, end - at);
    at = end;
    if (isComment(line)) continue;
    for (size_t i = 0; i < line.size();) {
      const std::string_view word = nextWord(line, i);
      if (!word.empty() && !words.contains(word)) words.emplace(word);
    }
  }
}

Outline::Outline(std::string_view text) : text_(text) {
  bool continues = false;  // comments and annotations belong to what follows them
  for (size_t at = 0; at < text.size();) {
    const size_t end = lineEnd(text, at);
    const char first = text[at];
    if (startsWord(first) || first == '#' || first == '@') {
      if (!continues) declarations_.emplace_back().begin = at;
      continues = first == '#' || first == '@';
    } else if (first == '\n') {
      continues = false;
    }
    if (!declarations_.empty()) declarations_.back().end = end;
    at = end;
  }
  for (size_t i = 0; i < declarations_.size(); ++i) read(declarations_[i]);
  for (size_t i = 0; i < declarations_.size(); ++i) {
    if (declarations_[i].isType) types_.emplace(declarations_[i].name, i);
  }
}

void Outline::read(Declaration& d) const {
  size_t at = d.begin;
  while (at < d.end && !startsWord(text_[at])) at = lineEnd(text_, at);
  const std::string_view own = text_.substr(at, d.end - at);
  size_t i = 0;
  const std::string_view keyword = nextWord(own, i);
  if (keyword == "import") {
    const size_t colon = own.find(':');
    for (size_t k = colon; k < own.size();) {
      const std::string_view name = nextWord(own, k);
      if (!name.empty()) d.names.push_back(name);
    }
  }
  if (keyword != "fn" && keyword != "struct" && keyword != "const" && keyword != "type") return;
  d.name = nextWord(own, i);
  d.isType = keyword == "struct" || keyword == "type";
  if (keyword != "fn") return;
  i = parametersOf(own);
  nextWord(own, i);  // its name
  if (i < own.size() && own[i] == ':') d.receiver = nextWord(own, i);
}

bool Outline::wanted(const Declaration& d, const Words& words) const {
  if (d.name.empty()) return true;
  if (!words.contains(d.name)) return false;
  const auto type = types_.find(d.receiver);
  return type == types_.end() || declarations_[type->second].taken;
}

std::set<std::string_view> Outline::described() const {
  std::set<std::string_view> names;
  bool described = false;  // by the comment of those that it stands among
  for (const Declaration& d : declarations_) {
    const std::string_view own = text_.substr(d.begin);
    if (own.starts_with("#") || text_.substr(0, d.begin).ends_with("\n\n")) described = own.starts_with("##");
    if (described && !d.isType && !d.name.empty()) names.insert(d.name);
  }
  return names;
}

std::string Outline::take(Words& words) {
  std::string part;
  for (bool more = true; more;) {
    more = false;
    for (Declaration& d : declarations_) {
      if (d.taken || !d.names.empty() || !wanted(d, words)) continue;
      d.taken = more = true;
      copy(d.begin, d.end, part);
      addWords(text_.substr(d.begin, d.end - d.begin), words);
    }
  }
  for (Declaration& d : declarations_) takeNames(d, words, part);
  return part;
}

void Outline::copy(size_t begin, size_t end, std::string& part) const {
  if (part.empty()) {
    part.assign(text_.size(), ' ');
    // Lines stay lines: a blank region of many is one break.
    for (const Declaration& other : declarations_) part[other.end - 1] = '\n';
  }
  std::copy(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.begin() + static_cast<std::ptrdiff_t>(end),
            part.begin() + static_cast<std::ptrdiff_t>(begin));
}

void Outline::takeNames(Declaration& d, const Words& words, std::string& part) const {
  if (d.names.empty()) return;
  const auto isWanted = [&](std::string_view name) { return words.contains(name); };
  const auto rest = std::stable_partition(d.names.begin(), d.names.end(), isWanted);
  size_t end = d.begin;  // of what is copied
  for (auto name = d.names.begin(); name != rest; ++name) {
    const auto begin = static_cast<size_t>(name->data() - text_.data());
    if (end == d.begin) {
      copy(d.begin, text_.find(':', d.begin) + 1, part);
    } else {
      const size_t comma = text_.rfind(',', begin);
      copy(comma, comma + 1, part);
    }
    end = begin + name->size();
    copy(begin, end, part);
  }
  d.names.erase(d.names.begin(), rest);
  d.taken = d.names.empty();
}

}  // namespace tenc::syntax
