#include "tests/fuzz/Mutator.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace tenc::fuzz {
namespace {

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

constexpr const char* kNumbers[] = {"0",
                                    "1",
                                    "2",
                                    "3",
                                    "-1",
                                    "7",
                                    "8",
                                    "16",
                                    "17",
                                    "255",
                                    "256",
                                    "65536",
                                    "1000000",
                                    "2147483647",
                                    "2147483648",
                                    "4294967296",
                                    "3037000500",
                                    "1099511627776",
                                    "4611686018427387904",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "340282366920938463463374607431768211456",
                                    "0xffffffffffffffff",
                                    "0x7fffffffffffffff",
                                    "0.0",
                                    "1.5",
                                    "-0.5",
                                    "1e308",
                                    "1e309",
                                    "1e-400",
                                    "1e999999999",
                                    "nan",
                                    "inf",
                                    "1_0",
                                    "true"};

struct Nest {
  const char* open;
  const char* close;
};
constexpr Nest kNests[] = {{"(", ")"},
                           {"[", "]"},
                           {"{", "}"},
                           {"-", ""},
                           {"not ", ""},
                           {"f(", ")"},
                           {"x[", "]"},
                           {"if true {", "}"},
                           {"if true { 1 } else ", ""},
                           {"for i in 0..2 {", "}"},
                           {"for i in static 0..2 {", "}"},
                           {"while false {", "}"},
                           {"@cpu {", "}"},
                           {"1 + (", ")"},
                           {"|x| ", ""},
                           {"\"{", "}\""},
                           {"(1, ", ")"},
                           {"1 ** ", ""},
                           {"", ".T"},
                           {"", "[0]"},
                           {"", "(0)"},
                           {"", ".0"},
                           {"", " |> f"},
                           {"", " + 1"},
                           {"", "[new]"},
                           {"", " and true"},
                           {"f32[", "]"},
                           {"fn f() { ", "}"},
                           {"test \"a\" {", "}"},
                           {"on {device = \"cpu\"} {", "}"},
                           {"%a = if %b : f32 {", "}"}};

constexpr const char* kBadText[] = {"\xff",
                                    "\xc0\x80",
                                    "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80",
                                    "\xe2\x82",
                                    "\0x",
                                    "\x1b[31m",
                                    "\r",
                                    "\xe2\x80\xae",
                                    "\xef\xbb\xbf",
                                    "\xcc\x81",
                                    "\xf0\x9f\x98\x80",
                                    "\t\t",
                                    "\x7f",
                                    "\\",
                                    "\"",
                                    "#",
                                    "##",
                                    ";",
                                    "\n\n",
                                    "\xe2\x80\xa8",
                                    "'",
                                    "`",
                                    "$",
                                    "//"};

}  // namespace

std::vector<std::string> tokensOf(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (isWord(text[i])) {
      while (end < text.size() && (isWord(text[end]) || (text[end] == '.' && end + 1 < text.size() &&
                                                         std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
                                                         std::isdigit(static_cast<unsigned char>(text[end + 1])) != 0)))
        ++end;
    } else if (text[i] == '"') {
      while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (text[i] == ' ') {
      while (end < text.size() && text[end] == ' ') ++end;
    } else if (end < text.size() && std::strchr("=.>*/|:", text[end]) != nullptr &&
               std::strchr("=.><!-*/|:+", text[i]) != nullptr) {
      ++end;
    }
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

void Corpus::add(std::string input, bool text) {
  if (text) {
    for (std::string& t : tokensOf(input))
      if (t[0] != ' ' && t[0] != '\n' && t.size() < 40) words.push_back(std::move(t));
  }
  inputs.push_back(std::move(input));
}

std::string Mutator::pick() { return corpus_.inputs[below(corpus_.inputs.size())]; }

std::string Mutator::number() {
  if (chance(0.3)) return std::to_string(below(40));
  return kNumbers[below(std::size(kNumbers))];
}

/// Some consecutive lines, most often from the left margin to the left margin, so that what stands in them is whole.
std::string Mutator::window(const std::string& input) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < input.size(); ++i) {
    const bool first = i == 0 || input[i - 1] == '\n';
    if (first && input[i] != ' ' && input[i] != '}' && input[i] != '\n') starts.push_back(i);
  }
  if (starts.size() < 4) return input;
  const size_t from = below(starts.size() - 1);
  const size_t to = from + 1 + below(std::min<size_t>(12, starts.size() - from));
  std::string out;
  // What a window uses is most often declared at the top.
  if (chance(0.6)) {
    for (size_t s = 0; s < from; ++s) {
      const std::string_view line = std::string_view(input).substr(starts[s]);
      for (const char* head : {"import", "const", "device", "fn", "struct", "param", "type"}) {
        if (line.starts_with(head)) out += input.substr(starts[s], starts[s + 1] - starts[s]);
      }
    }
  }
  return out + input.substr(starts[from], (to < starts.size() ? starts[to] : input.size()) - starts[from]);
}

void Mutator::nest(std::vector<std::string>& tokens) {
  static constexpr size_t kDepths[] = {2, 5, 30, 130, 255, 256, 257, 600, 3000, 30000};
  const Nest& n = kNests[below(std::size(kNests))];
  const size_t depth = kDepths[below(chance(0.8) ? 5 : std::size(kDepths))];
  std::string open, close;
  for (size_t i = 0; i < depth; ++i) open += n.open, close += n.close;
  const size_t at = below(tokens.size());
  const size_t to = std::min(at + below(chance(0.7) ? 2 : 12), tokens.size() - 1);
  tokens[at] = open + tokens[at];
  if (chance(0.8)) tokens[to] += close;
}

void Mutator::mutateTokens(std::vector<std::string>& tokens) {
  if (tokens.empty()) return;
  const size_t n = tokens.size();
  const size_t at = below(n);
  const auto isNumber = [](const std::string& t) { return std::isdigit(static_cast<unsigned char>(t[0])) != 0; };
  const auto isName = [](const std::string& t) {
    return isWord(t[0]) && std::isdigit(static_cast<unsigned char>(t[0])) == 0;
  };
  /// The first token from `at` on, around the end, for which `is` holds; `n` when there is none.
  const auto find = [&](size_t from, const auto& is) {
    for (size_t i = 0; i < n; ++i)
      if (is(tokens[(from + i) % n])) return (from + i) % n;
    return n;
  };
  switch (below(14)) {
    case 0: tokens[at].clear(); break;
    case 1: tokens.insert(tokens.begin() + static_cast<long>(at), tokens[at]); break;
    case 2: std::swap(tokens[at], tokens[below(n)]); break;
    case 3:
    case 4: tokens[at] = corpus_.words[below(corpus_.words.size())]; break;
    case 5: tokens.insert(tokens.begin() + static_cast<long>(at), corpus_.words[below(corpus_.words.size())]); break;
    case 6:
    case 7: {
      const size_t i = find(at, isNumber);
      if (i < n) tokens[i] = number();
      break;
    }
    case 8:
    case 9: {
      const size_t i = find(at, isName), j = find(below(n), isName);
      if (i < n && j < n) tokens[i] = tokens[j];
      break;
    }
    case 10: {
      const size_t i = find(at, isName);
      const std::string& word = corpus_.words[below(corpus_.words.size())];
      if (i < n && isWord(word[0])) tokens[i] = word;
      break;
    }
    case 11: {
      const std::vector<std::string> other = tokensOf(pick());
      const size_t from = below(other.size()), count = std::min(below(20), other.size() - from);
      tokens.insert(tokens.begin() + static_cast<long>(at), other.begin() + static_cast<long>(from),
                    other.begin() + static_cast<long>(from + count));
      break;
    }
    case 12: {
      const size_t to = std::min(n, at + 1 + below(8));
      tokens.erase(tokens.begin() + static_cast<long>(at), tokens.begin() + static_cast<long>(to));
      break;
    }
    default: nest(tokens);
  }
  std::erase_if(tokens, [](const std::string& t) { return t.empty(); });
}

void Mutator::mutateLines(std::string& text) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    lines.push_back(text.substr(i, end - i));
    i = end;
  }
  if (lines.empty()) return;
  const size_t at = below(lines.size());
  const std::string line = lines[at];
  switch (below(5)) {
    case 0: lines.erase(lines.begin() + static_cast<long>(at)); break;
    case 1: lines.insert(lines.begin() + static_cast<long>(below(lines.size())), line); break;
    case 2: std::swap(lines[at], lines[below(lines.size())]); break;
    case 3: {
      const size_t times = below(chance(0.9) ? 10 : 300);
      lines.insert(lines.begin() + static_cast<long>(at), times, line);
      break;
    }
    default: {
      const std::string other = window(pick());
      lines.insert(lines.begin() + static_cast<long>(at), other);
    }
  }
  text.clear();
  for (const std::string& l : lines) text += l;
}

void Mutator::mutateBytes(std::string& text) {
  if (text.empty()) return;
  const size_t at = below(text.size());
  switch (below(8)) {
    case 0: text[at] = static_cast<char>(text[at] ^ static_cast<char>(1u << below(8))); break;
    case 1: text[at] = static_cast<char>(below(256)); break;
    case 2: text.resize(at); break;
    case 3: text.erase(at, 1 + below(chance(0.7) ? 4 : 200)); break;
    case 4: text.insert(at, kBadText[below(std::size(kBadText))]); break;
    case 5: text.insert(at, text.substr(below(text.size()), below(64))); break;
    case 6: {
      const size_t count = std::min<size_t>(1 + below(8), text.size() - at);
      static constexpr unsigned char kFill[] = {0, 0xff, 0x7f, 0x80};
      std::memset(text.data() + at, kFill[below(4)], count);
      break;
    }
    default: text.insert(at, std::string(below(chance(0.9) ? 100 : 20000), text[at]));
  }
}

std::string Mutator::text() {
  std::string out = pick();
  if (chance(0.8)) out = window(out);
  const size_t times = 1 + below(chance(0.7) ? 2 : 8);
  for (size_t i = 0; i < times; ++i) {
    const size_t kind = below(20);
    if (kind < 15) {
      std::vector<std::string> tokens = tokensOf(out);
      mutateTokens(tokens);
      out.clear();
      for (const std::string& t : tokens) out += t;
    } else if (kind < 18) {
      mutateLines(out);
    } else {
      mutateBytes(out);
    }
  }
  return out;
}

std::string Mutator::bytes() {
  std::string out = pick();
  const size_t times = 1 + below(4);
  for (size_t i = 0; i < times; ++i) {
    // Headers are in text, and mostly at the front.
    if (chance(0.4)) {
      const size_t from = chance(0.7) ? 0 : below(out.size());
      std::string part = out.substr(from, 256);
      std::vector<std::string> tokens = tokensOf(part);
      mutateTokens(tokens);
      part.clear();
      for (const std::string& t : tokens) part += t;
      out.replace(from, 256, part);
    } else {
      mutateBytes(out);
    }
  }
  return out;
}

}  // namespace tenc::fuzz
