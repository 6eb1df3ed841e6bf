// Strings with holes, cut into tokens of their own.
#include "syntax/TokenFilter.h"

namespace tenc::syntax {

using antlr4::Token;

/// "a {x:.2f} b" becomes STR_OPEN STR_TEXT HOLE_OPEN x HOLE_FORMAT HOLE_CLOSE STR_TEXT STR_CLOSE.
void TokenFilter::splitString(const Token& t) {
  const std::string_view s = stream_.text();
  const size_t end = t.getStopIndex();  // of the closing quote
  size_t i = t.getStartIndex() + 1;
  size_t text = i;
  pushMade(T::STR_OPEN, i - 1, i);
  auto flush = [&](size_t to) {
    if (to > text) pushMade(T::STR_TEXT, text, to);
  };
  while (i < end) {
    if (s[i] == '\\') {
      i += 2;
      continue;
    }
    if (s[i] != '{' && s[i] != '}') {
      ++i;
      continue;
    }
    if (s[i + 1] == s[i]) {
      i += 2;
      continue;
    }
    const Span brace = reporter_.span(i, i + 1);
    const bool isCut = reporter_.line(i) == quotedHoleLine_;
    if (s[i] == '}' && !isCut) {
      reporter_.report(Code::E0104, brace, "unmatched `}` in a string")
          .help("double a literal brace in a string", {{brace, "}}"}});
      ++i;
      continue;
    }
    if (isCut) {
      ++i;
      continue;
    }
    size_t close = i + 1;
    for (size_t depth = 1; close < end; ++close) {
      if (s[close] == '{') ++depth;
      if (s[close] == '}' && --depth == 0) break;
    }
    if (close >= end) {
      auto d = reporter_.report(Code::E0104, brace, "`{` in a string is not closed");
      d.label("it is opened here");
      // Another quote on the line: the string was to go on.
      const std::string_view rest = s.substr(end + 1, s.substr(end + 1).find('\n'));
      if (rest.find('"') == std::string_view::npos) {
        d.help("double a literal brace in a string", {{brace, "{{"}});
      } else {
        d.help(std::string(kNoQuotesInBraces));
        quotedHoleLine_ = reporter_.line(i);
      }
      break;
    }
    flush(i);
    if (s.substr(i + 1, close - i - 1).find_first_not_of(" \t") == std::string_view::npos) {
      reporter_.report(Code::E0101, reporter_.span(i, close + 1), "there is nothing between these braces")
          .help("braces hold an expression, `{x}`; double a literal brace");
    } else {
      pushMade(T::HOLE_OPEN, i, i + 1);
      takeHole(i + 1, close);
      if (tooDeep_) return;
      pushMade(T::HOLE_CLOSE, close, close + 1);
    }
    i = text = close + 1;
  }
  flush(end);
  pushMade(T::STR_CLOSE, end, end + 1);
}

/// Lexes the text of a hole in place. Its format starts at the first `:` outside brackets.
void TokenFilter::takeHole(size_t begin, size_t end) {
  if (out_.size() > kMaxTokens + kMaxTokens / 2) {
    reporter_.report(Code::E0105, reporter_.span(begin, end), "the source has more than 1,000,000 tokens");
    tooDeep_ = true;
    return;
  }
  const size_t holes = open_.size();
  open_.push_back({T::HOLE_OPEN, reporter_.span(begin - 1, begin)});
  stream_.window(begin, end);
  auto tokens = lexer_.allTokens();
  stream_.window(stream_.text().size(), stream_.text().size());
  size_t format = end;
  for (auto& t : tokens) {
    const size_t type = t->getType();
    if ((type == T::COLON || type == T::COLON_PLUS) && open_.size() == holes + 1) {
      format = t->getStartIndex();
      break;
    }
    if (type == T::ASSIGN && open_.size() == holes + 1) {  // as Python prints a name with its value
      std::string name(stream_.text().substr(begin, t->getStartIndex() - begin));
      while (name.ends_with(' ')) name.pop_back();
      reporter_.reportMended(Code::E0101, reporter_.span(*t), "braces hold an expression, and perhaps its format")
          .help("the name stands before them",
                {{reporter_.span(begin - 1, t->getStopIndex() + 1), name + "={" + name}});
      continue;
    }
    take(std::move(t));
    if (tooDeep_) return;
  }
  while (open_.size() > holes + 1) closeMissing(nullptr);
  open_.pop_back();
  if (format < end) pushMade(T::HOLE_FORMAT, format, end);
}

}  // namespace tenc::syntax
