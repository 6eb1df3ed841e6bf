// Text that other languages mean otherwise than the lexer reads it: strings of several lines, comments between two
// marks, strings whose values stand behind them, and marks of functions with arguments. It is reported whole, with what
// TL writes in its place.
#include <algorithm>
#include <cctype>

#include "syntax/Familiar.h"
#include "syntax/FormatCall.h"
#include "syntax/TokenFilter.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

namespace {

using T = TLParser;

constexpr size_t kMostLines = 40;  ///< of a string that is not closed on its line

/// Between quotes, on one line.
std::string oneLine(std::string_view content) {
  std::string text = "\"";
  for (size_t i = 0; i < content.size(); ++i) {
    const char c = content[i];
    if (c == '\\' && i + 1 < content.size() && content[i + 1] == '\n')
      ++i;
    else if (c == '\\' && i + 1 < content.size())
      text += content.substr(i++, 2);
    else if (c == '\n')
      text += "\\n";
    else if (c == '"')
      text += "\\\"";
    else if (c != '\r')
      text += c;
  }
  return text + "\"";
}

/// Every line behind a `#`, with the indent of the first.
std::string commented(std::string_view content, std::string_view indent) {
  std::string text;
  while (true) {
    const size_t end = content.find('\n');
    std::string_view line = content.substr(0, end);
    const size_t first = line.find_first_not_of(" \t\r*"), last = line.find_last_not_of(" \t\r*");
    line = first == std::string_view::npos ? "" : line.substr(first, last + 1 - first);
    if (!line.empty()) text += (text.empty() ? "# " : "\n" + std::string(indent) + "# ") + std::string(line);
    if (end == std::string_view::npos) return text;
    content = content.substr(end + 1);
  }
}

}  // namespace

/// Whether the token begins such a text, which is reported and read over, or handed on as one string.
bool TokenFilter::takeForeignText(const antlr4::Token& t) {
  const size_t begin = t.getStartIndex(), end = t.getStopIndex() + 1;
  const std::string_view next = stream_.text().substr(end, 1);
  if (t.getType() == T::STRING && end == begin + 2 && next == "\"") return takeTripleQuotes(begin);
  if (t.getType() == T::BAD_STRING) return takeLongString(begin, end);
  if (t.getType() == T::SLASH && next == "*") return takeCommentBlock(begin);
  if (t.getType() == T::BAD_CHAR && stream_.text()[begin] == '\'') return takeSingleQuotes(begin);
  return false;
}

bool TokenFilter::takeTripleQuotes(size_t begin) {
  if (foreignCharacters_++ >= kMostMended) return false;
  const std::string_view text = stream_.text();
  const size_t close = noTripleQuotes_ ? std::string_view::npos : text.find("\"\"\"", begin + 3);
  if (close == std::string_view::npos) {
    noTripleQuotes_ = true;
    return false;
  }
  const size_t end = close + 3;
  const size_t line = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1;
  const size_t lineEnd = std::min(text.find('\n', end), text.size());
  const std::string_view content = text.substr(begin + 3, close - begin - 3);
  auto d = reporter_.reportMended(Code::E0104, reporter_.span(begin, end), "a string stands in one pair of quotes");
  if (blank(line, begin) && blank(end, lineEnd)) {
    d.help("a comment starts with `#`",
           {{reporter_.span(begin, end), commented(content, text.substr(line, begin - line))}});
  } else {
    d.help(std::string(kOneLine), {{reporter_.span(begin, end), oneLine(content)}});
    tokens_.push_back(make(T::STRING, begin, end));
  }
  readOnFrom(end);
  return true;
}

/// `'text'`, and `f'text'` with it, which is read on as a string. A quote behind an operand is none of these.
bool TokenFilter::takeSingleQuotes(size_t begin) {
  if (foreignCharacters_++ >= kMostMended) return false;
  const std::string_view text = stream_.text();
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : '\n'; };
  const char before = begin > 0 ? text[begin - 1] : ' ';
  const bool prefixed = before == 'f' && (begin < 2 || !isWordPart(text[begin - 2])) && !tokens_.empty();
  if ((isWordPart(before) && !prefixed) || before == ')' || before == ']' || before == '\'') return false;
  size_t close = begin + 1;
  while (at(close) != '\'' && at(close) != '\n') close += at(close) == '\\' && at(close + 1) != '\n' ? 2 : 1;
  if (at(close) != '\'' || (close == begin + 1 && at(close + 1) == '\'')) return false;
  if (prefixed) tokens_.pop_back();
  const size_t first = prefixed ? begin - 1 : begin;
  std::vector<Edit> edits = {{reporter_.span(first, begin + 1), "\""}};
  int holes = 0;
  bool quoted = false;  // in an expression, which an edit would break
  for (size_t i = begin + 1; i < close; ++i) {
    holes += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (text[i] == '\\' && at(i + 1) == '\'')
      edits.push_back({reporter_.span(i, i + 1), ""});
    else if (text[i] == '"')
      edits.push_back({reporter_.span(i, i), "\\"});
    quoted = quoted || (text[i] == '"' && holes > 0);
    if (text[i] == '\\') ++i;
  }
  edits.push_back({reporter_.span(close, close + 1), "\""});
  auto d = reporter_.reportMended(Code::E0104, reporter_.span(begin, begin + 1), "`'` has no meaning in TL");
  if (quoted)
    d.help(std::string(kNoQuotesInBraces));
  else
    d.help(std::string(familiarCharacter("'")->help), std::move(edits));
  tokens_.push_back(make(T::STRING, begin, close + 1));
  readOnFrom(close + 1);
  return true;
}

/// A string that is closed on another line, as far as what stands around both ends tells.
bool TokenFilter::takeLongString(size_t begin, size_t end) {
  const std::string_view text = stream_.text();
  const size_t close = text.find('"', end);
  if (close == std::string_view::npos) return false;
  const std::string_view content = text.substr(begin + 1, close - begin - 1);
  const size_t lineEnd = std::min(text.find('\n', close), text.size());
  const std::string_view behind = text.substr(close + 1, lineEnd - close - 1);
  const bool closes = behind.empty() || std::string_view(" ),.;]}+%\r").find(behind.front()) != std::string_view::npos;
  const bool pairs = std::count(behind.begin(), behind.end(), '"') % 2 == 0;
  const bool few = std::count(content.begin(), content.end(), '\n') <= static_cast<std::ptrdiff_t>(kMostLines);
  if (!closes || !pairs || !few || content.find('\n') == std::string_view::npos) return false;
  reporter_.reportMended(Code::E0104, reporter_.span(begin, end), "string is not closed on its line")
      .label("starts here")
      .help(std::string(kOneLine), {{reporter_.span(begin, close + 1), oneLine(content)}});
  tokens_.push_back(make(T::STRING, begin, close + 1));
  readOnFrom(close + 1);
  return true;
}

bool TokenFilter::takeCommentBlock(size_t begin) {
  const std::string_view text = stream_.text();
  const size_t close = noCommentEnd_ ? std::string_view::npos : text.find("*/", begin + 2);
  if (close == std::string_view::npos) {
    noCommentEnd_ = true;
    return false;
  }
  const size_t end = close + 2;
  const size_t line = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1;
  const size_t lineEnd = std::min(text.find('\n', end), text.size());
  const std::string_view before = text.substr(line, begin - line);
  const bool last = blank(end, lineEnd);
  const std::string indent(before.substr(0, std::min(before.find_first_not_of(" \t"), before.size())));
  const std::string mended = last ? commented(text.substr(begin + 2, close - begin - 2), indent) : "";
  reporter_.reportMended(Code::E0104, reporter_.span(begin, begin + 2), "`/*` has no meaning in TL")
      .help(std::string(formHelp(Form::CommentBlock)), {{reporter_.span(begin, end), mended}});
  readOnFrom(end);
  return true;
}

/// `"{} {:.2f}".format(a, b)`, or `println("{}", a)`: the whole is one error.
bool TokenFilter::takeFormatCall(const antlr4::Token& string) {
  const std::string_view text = stream_.text();
  const size_t begin = string.getStartIndex(), end = string.getStopIndex() + 1;
  const std::string_view literal = text.substr(begin, end - begin);
  const auto type = [&](size_t i) { return next_ + i < tokens_.size() ? tokens_[next_ + i]->getType() : T::NL; };
  const auto isNamed = [&](const antlr4::Token& t, std::string_view name) {
    return t.getType() == T::NAME && text.substr(t.getStartIndex(), t.getStopIndex() + 1 - t.getStartIndex()) == name;
  };
  const bool method =
      type(0) == T::DOT && type(1) == T::NAME && type(2) == T::LPAREN && isNamed(*tokens_[next_ + 1], "format");
  const bool printed = type(0) == T::COMMA && last_ == T::LPAREN && out_.size() > 1 &&
                       (isNamed(*out_[out_.size() - 2], "println") || isNamed(*out_[out_.size() - 2], "eprintln"));
  if ((!method && !printed) || !hasEmptyHole(literal)) return false;
  std::vector<FormatArgument> arguments;
  size_t i = next_ + (method ? 3 : 1), from = i;
  for (int depth = 0; i < tokens_.size(); ++i) {
    const size_t t = tokens_[i]->getType();
    if (depth == 0 && (t == T::COMMA || t == T::RPAREN) && i > from) {
      const bool named =
          i > from + 2 && tokens_[from]->getType() == T::NAME && tokens_[from + 1]->getType() == T::ASSIGN;
      const size_t first = tokens_[named ? from + 2 : from]->getStartIndex(), stop = tokens_[i - 1]->getStopIndex() + 1;
      arguments.push_back({named ? tokens_[from]->getText() : "", std::string(text.substr(first, stop - first))});
      from = i + 1;
    }
    if (depth == 0 && t == T::RPAREN) break;
    depth += t == T::LPAREN || t == T::LBRACK || t == T::AT_LBRACK || t == T::LBRACE ? 1 : 0;
    depth -= t == T::RPAREN || t == T::RBRACK || t == T::RBRACE ? 1 : 0;
  }
  if (i >= tokens_.size()) return false;
  const auto mended = formatted(literal, arguments);
  if (!mended) return false;
  const size_t last = method ? tokens_[i]->getStopIndex() + 1 : tokens_[i - 1]->getStopIndex() + 1;
  reporter_
      .reportMended(Code::E0101, reporter_.span(begin, end), "there is no expression between braces of this string")
      .help("a string takes values in braces: `\"loss {x:.3f}\"`", {{reporter_.span(begin, last), *mended}});
  next_ = method ? i + 1 : i;
  pushMade(T::STRING, begin, end);
  return true;
}

/// A mark of Python with arguments before a function, `@njit(parallel=True)`: one error for all of it.
bool TokenFilter::takeForeignMark(const antlr4::Token& at) {
  if (!out_.empty() && last_ != T::NL && last_ != T::LBRACE) return false;
  size_t i = next_, names = 0;
  const auto typeAt = [&](size_t k) { return k < tokens_.size() ? tokens_[k]->getType() : size_t{T::NL}; };
  for (; typeAt(i) == T::NAME || (names > 0 && typeAt(i) == T::DOT); ++i) names += typeAt(i) == T::NAME ? 1 : 0;
  if (names == 0 || typeAt(i) != T::LPAREN || tokens_[i - 1]->getStopIndex() + 1 != tokens_[i]->getStartIndex() ||
      typeAt(i + 1) == T::RPAREN)
    return false;
  // `@partial(jax.jit, static_argnums=0)`
  size_t inner = i + 1;
  while (typeAt(inner) == T::NAME || typeAt(inner) == T::DOT) ++inner;
  const bool compiles = tokens_[i - 1]->getText() == "partial" && inner > i + 1 && typeAt(inner) == T::COMMA &&
                        tokens_[inner - 1]->getText() == "jit";
  const Familiar* known = familiarName(compiles ? "jit" : tokens_[next_]->getText());
  if (compiles) names = 1;
  if (!known || (names > 1 ? !known->prefix : known->help.empty())) return false;
  const size_t opens = tokens_[i]->getStartIndex();
  int depth = 0;
  do {
    depth += typeAt(i) == T::LPAREN ? 1 : typeAt(i) == T::RPAREN ? -1 : 0;
    ++i;
  } while (depth > 0 && i < tokens_.size());
  const size_t end = i;
  while (typeAt(i) == T::NL && i < tokens_.size()) ++i;
  if (depth > 0 || i == end || i == tokens_.size()) return false;
  const bool before = typeAt(i) == T::FN || typeAt(i) == T::AT || tokens_[i]->getText() == "def";
  if (!before) return false;
  reporter_
      .report(Code::E0101, reporter_.span(at.getStartIndex(), tokens_[end - 1]->getStopIndex() + 1),
              "`" + std::string(stream_.text().substr(at.getStartIndex(), opens - at.getStartIndex())) +
                  "(...)` is not TL: only `@autocast` takes arguments")
      .help(names > 1 ? std::string(familiarName("njit")->help) : std::string(known->help),
            {{reporter_.span(at.getStartIndex(), tokens_[i]->getStartIndex()), ""}});
  next_ = i;
  return true;
}

}  // namespace tenc::syntax
