#include "tools/repl/Highlight.h"

#include <algorithm>
#include <vector>

#include "syntax/Tokens.h"
#include "tools/repl/Words.h"

namespace tenc::repl {
namespace {

using syntax::TextToken;
using Kind = TextToken::Kind;

// Colours of the terminal's own palette, so that they suit its background.
constexpr std::string_view kKeyword = "\x1b[35m", kString = "\x1b[32m", kNumber = "\x1b[36m", kComment = "\x1b[90m",
                           kWrong = "\x1b[31m", kMark = "\x1b[1;7m", kCommand = "\x1b[1m", kPlain = "\x1b[0m";

std::string_view colourOf(Kind kind) {
  switch (kind) {
    case Kind::Keyword: return kKeyword;
    case Kind::String: return kString;
    case Kind::Number: return kNumber;
    case Kind::Comment: return kComment;
    case Kind::Wrong: return kWrong;
    default: return {};
  }
}

constexpr size_t kNone = static_cast<size_t>(-1);

/// For each token the bracket that belongs to it; kNone for what is none, or has none.
std::vector<size_t> partners(const std::vector<TextToken>& tokens, std::string_view text) {
  std::vector<size_t> partner(tokens.size(), kNone), open;
  const auto closes = [&](const TextToken& a, const TextToken& b) {
    const std::string_view pair[] = {"()", "[]", "{}"};
    return std::ranges::any_of(pair,
                               [&](std::string_view p) { return text[a.begin] == p[0] && text[b.begin] == p[1]; });
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == Kind::Open) open.push_back(i);
    if (tokens[i].kind != Kind::Close || open.empty() || !closes(tokens[open.back()], tokens[i])) continue;
    partner[i] = open.back();
    partner[open.back()] = i;
    open.pop_back();
  }
  return partner;
}

/// Which tokens stand in a hole of a string, where the end of a format (`.2f`) is no token of the language.
std::vector<bool> holes(const std::vector<TextToken>& tokens, std::string_view text) {
  std::vector<bool> inHole(tokens.size());
  std::vector<bool> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == Kind::Close && !open.empty()) open.pop_back();
    inHole[i] = !open.empty() && open.back();
    if (tokens[i].kind != Kind::Open) continue;
    const bool behindString = i > 0 && tokens[i - 1].kind == Kind::String && tokens[i - 1].end == tokens[i].begin;
    open.push_back((behindString && text[tokens[i].begin] == '{') || inHole[i]);
  }
  return inHole;
}

}  // namespace

std::string highlighted(std::string_view before, std::string_view line, size_t cursor) {
  const bool isCommand = before.empty() && line.starts_with(":");
  const size_t command = isCommand ? std::min(line.find_first_of(" \t"), line.size()) : 0;
  std::string text(before);
  if (!before.empty()) text += '\n';
  const size_t start = text.size();
  text += std::string(command, ' ');
  text += line.substr(command);
  const std::vector<TextToken> tokens = syntax::tokens(text);
  const std::vector<size_t> partner = partners(tokens, text);
  size_t marked = kNone;
  for (size_t i = 0; i < tokens.size() && cursor != std::string_view::npos; ++i) {
    const bool bracket = tokens[i].kind == Kind::Open || tokens[i].kind == Kind::Close;
    if (!bracket || partner[i] == kNone) continue;
    if (tokens[i].begin == start + cursor || (tokens[i].end == start + cursor && marked == kNone)) marked = i;
  }
  const std::vector<bool> inHole = holes(tokens, text);
  std::string out;
  if (command > 0) out += std::string(kCommand) + std::string(line.substr(0, command)) + std::string(kPlain);
  size_t at = start + command;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t begin = std::max(tokens[i].begin, start), end = tokens[i].end;
    if (end <= start) continue;
    out.append(text, at, begin - at);
    const bool stray = tokens[i].kind == Kind::Close && partner[i] == kNone;
    const bool isMarked = marked != kNone && (i == marked || i == partner[marked]);
    const bool isFormat = inHole[i] && tokens[i].kind == Kind::Wrong;
    const std::string_view colour = isMarked ? kMark : stray ? kWrong : isFormat ? "" : colourOf(tokens[i].kind);
    out += colour;
    out.append(text, begin, end - begin);
    if (!colour.empty()) out += kPlain;
    at = end;
  }
  out.append(text, at);
  return out;
}

}  // namespace tenc::repl
