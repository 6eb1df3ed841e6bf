#include "syntax/SyntaxErrors.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "grammar/TLParser.h"
#include "support/Text.h"
#include "support/TextOrder.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignClass.h"
#include "syntax/ForeignOperators.h"
#include "syntax/StatementHelp.h"
#include "syntax/SyntaxHelp.h"
#include "syntax/TextOrder.h"
#include "syntax/Tokens.h"

namespace tenc::syntax {

using antlr4::Token;
using T = TLParser;

Span SyntaxReporter::span(const Token& t) const {
  const size_t begin = std::min(t.getStartIndex(), text().size());
  const size_t end = t.getType() == Token::EOF ? begin : t.getStopIndex() + 1;
  return span(begin, std::max(begin, end));
}

Diagnostics::Builder SyntaxReporter::report(Code code, Span at, std::string message) {
  mark(at.begin);
  return diags_.report(code, at, std::move(message));
}

void SyntaxReporter::mark(size_t offset) {
  problems_.insert(std::lower_bound(problems_.begin(), problems_.end(), offset), offset);
}

bool SyntaxReporter::hasProblem(Span s) const {
  if (isMended(s.begin)) return true;
  const auto first = std::lower_bound(problems_.begin(), problems_.end(), s.begin);
  return first != problems_.end() && *first <= s.end;
}

bool SyntaxReporter::lineHasProblem(size_t offset, bool anywhere) const {
  const uint32_t own = line(offset);
  const auto first = std::lower_bound(problems_.begin(), problems_.end(), source_.lineStart(own));
  return first != problems_.end() && (anywhere ? line(*first) == own : *first <= offset);
}

namespace {

bool isEnd(const Token& t) { return t.getType() == T::NL || t.getType() == Token::EOF; }

std::string found(const Token& t) {
  if (t.getType() == Token::EOF) return "the end of the file";
  if (t.getType() == T::NL) return "the end of the line";
  if (t.getType() == T::STR_OPEN) return "a string";
  if (t.getStopIndex() + 1 == t.getStartIndex()) return "the end of the bracket";
  return (isKeyword(t) ? "the keyword `" : "`") + t.getText() + "`";
}

std::string wanted(T& parser, size_t type) {
  switch (type) {
    case T::NL: return "the end of the line";
    case Token::EOF: return "the end of the file";
    case T::NAME: return "a name";
    case T::INT: return "an integer";
    case T::FLOAT: return "a number";
    case T::STRING:
    case T::STR_OPEN: return "a string";
    case T::DEVICE_LIT: return "a device";
    case T::AT_LBRACK: return "`[`";
    case T::HOLE_CLOSE: return "`}`";
    case T::HOLE_FORMAT: return "a format";
    case T::STR_CLOSE:
    case T::STR_TEXT:
    case T::HOLE_OPEN: return "the end of the string";
    case T::PARAM: return "`param`";
    case T::DEVICE: return "`device`";
    case T::TEST: return "`test`";
    case T::BENCH: return "`bench`";
    default: break;
  }
  const std::string s = parser.getVocabulary().getLiteralName(type);
  return s.size() > 2 ? "`" + s.substr(1, s.size() - 2) + "`" : parser.getVocabulary().getSymbolicName(type);
}

/// Whether only a bracket, a comma or the end of the statement may follow: what stood before is complete.
bool onlyEnds(const antlr4::misc::IntervalSet& set) {
  for (const ssize_t type : set.toList()) {
    const size_t t = static_cast<size_t>(type);
    if (t != T::NL && t != Token::EOF && t != T::RBRACE) return false;
  }
  return true;
}

/// What may stand here, in words; empty when the list would help nobody.
std::string expectation(T& parser, const Token* before) {
  const antlr4::misc::IntervalSet set = parser.getExpectedTokens();
  auto may = [&](size_t type) { return set.contains(type); };
  if (before && before->getType() == T::RETURN && may(T::NL)) return "an expression or the end of the statement";
  if (onlyEnds(set)) return startsStatement(before) ? "a statement" : "an operator or the end of the statement";
  if (may(T::NAME) && may(T::INT) && may(T::FLOAT)) return may(T::LET) ? "a statement" : "an expression";
  if (may(T::PLUS) && may(T::STARSTAR)) {
    if (may(T::RPAREN)) return "`,`, `)` or an operator";
    if (may(T::RBRACK)) return "`,`, `]` or an operator";
    if (may(T::HOLE_CLOSE)) return "an operator or the end of the hole";
    if (may(T::LBRACE) && !may(T::NL)) return "`{` or an operator";
    return "an operator or the end of the statement";
  }
  if (may(T::NAME) && may(T::INT) && may(T::LPAREN)) return "a type or a dim";
  if (may(T::NAME) && may(T::FN) && may(T::BY)) return "the name of a member";
  if (may(T::AUTOCAST)) return "a device";
  if (may(T::AT) && may(T::LBRACE)) return "a block";
  std::vector<std::string> words;
  for (const ssize_t type : set.toList()) {
    std::string w = wanted(parser, static_cast<size_t>(type));
    if (std::find(words.begin(), words.end(), w) == words.end()) words.push_back(std::move(w));
  }
  if (words.empty() || words.size() > 5) return "";
  std::string s = words[0];
  for (size_t i = 1; i < words.size(); ++i) s += (i + 1 == words.size() ? " or " : ", ") + words[i];
  return s;
}

const Familiar* foreign(const Token& t) { return t.getType() == T::NAME ? familiarWord(t.getText()) : nullptr; }

bool starts(const Token* first, size_t type) { return first != nullptr && first->getType() == type; }

/// The word before the brace that the statement stands in: `loop { ... }` is read as the fields of a struct.
const Token* headOfBlock(T& parser, const Token* first) {
  if (!first || first->getTokenIndex() < 2) return nullptr;
  const Token* brace = parser.getTokenStream()->get(first->getTokenIndex() - 1);
  const Token* word = parser.getTokenStream()->get(first->getTokenIndex() - 2);
  return brace->getType() == T::LBRACE && word->getText() == "loop" ? word : nullptr;
}

}  // namespace

void SyntaxListener::syntaxError(antlr4::Recognizer* recognizer, Token* at, size_t, size_t, const std::string&,
                                 std::exception_ptr) {
  auto& parser = static_cast<T&>(*recognizer);
  Span span = reporter_.span(*at);
  const Token* before = at->getTokenIndex() == 0 ? nullptr : parser.getTokenStream()->get(at->getTokenIndex() - 1);
  if (at->getType() == Token::EOF && before) {  // at the end of the text, not of the blank lines behind it
    span.begin = span.end = reporter_.span(*before).end;
  }
  const bool consequence = reporter_.lineHasProblem(span.begin, isEnd(*at));
  // The error is marked at the token before too: there the broken expression ends.
  if (before) reporter_.mark(reporter_.span(*before).begin);
  if (consequence || reporter_.isMended(span.begin)) return reporter_.mark(span.begin);

  const Token* first = before;
  while (first && first->getTokenIndex() > 0) {
    const Token* t = parser.getTokenStream()->get(first->getTokenIndex() - 1);
    if (isEnd(*t) || t->getType() == T::LBRACE || t->getType() == T::RBRACE) break;
    first = t;
  }
  const SyntaxPlace place{parser, *at, before, first, reporter_, onlyEnds(parser.getExpectedTokens())};
  for (const Token* t : {before, static_cast<const Token*>(at), first, headOfBlock(parser, first)}) {
    const Familiar* f = t ? foreign(*t) : nullptr;
    if (!f) continue;
    auto d = reporter_.report(Code::E0101, reporter_.span(*t), "`" + std::string(f->name) + "` is not a TL keyword");
    reporter_.mark(span.begin);
    reporter_.noteForeign();
    if (f->replacement == "fn" || f->replacement == "struct") reporter_.loseBlock();
    std::vector<Edit> edits = wordEdits(*f, *t, place);
    const auto isBehind = [&](size_t n, size_t type) {
      const size_t i = t->getTokenIndex() + n;
      return i < parser.getTokenStream()->size() && parser.getTokenStream()->get(i)->getType() == type;
    };
    if (f->replacement == "struct" && (isBehind(2, T::LPAREN) || isBehind(2, T::COLON))) {  // of Python
      const size_t begin = reporter_.span(*t).begin;
      const ClassAsStruct known = classAsStruct(reporter_.text(), begin);
      std::vector<Edit> whole;
      if (known.stopEnd > known.stopBegin) {
        d.note(reporter_.span(known.stopBegin, known.stopEnd),
               "the class is not rewritten as a whole, since this line cannot be: " + std::string(known.why));
        // It stays as it is: once that line is another, the whole can be rewritten.
        reporter_.mendedWhole(reporter_.span(known.begin, known.end));
      }
      if (!known.text.empty()) {
        whole.push_back({reporter_.span(known.begin, known.end), known.text});
        for (const ClassAsStruct::Use& use : known.uses)
          whole.push_back({reporter_.span(use.begin, use.end), use.text});
        reporter_.mendedWhole(whole[0].span);
      }
      d.help(known.changes
                 ? "a class is a struct with functions beside it, and what changes an object gives the changed "
                   "one: `fn add(c: Counter, k: i64) = Counter { n: c.n + k }`, `c = c.add(3)`"
                 : "a class is a struct with functions beside it: `struct Net { w: f32[8, 2] }`, "
                   "`fn call(m: Net, x: f32[N, 8]) = x @ m.w`",
             std::move(whole));
      return;
    }
    if (edits.empty() && !f->replacement.empty()) edits = {{reporter_.span(*t), std::string(f->replacement)}};
    const bool imports = f->name == "as" && starts(first, T::IMPORT);
    // `import numpy as np`, of which nothing is left.
    const bool isNeedless = (imports || f->name == "from") && !edits.empty() &&
                            std::ranges::all_of(edits, [](const Edit& e) { return e.replacement.empty(); });
    const std::string said = isNeedless ? "operations have no prefix, and nothing is imported for them"
                             : imports  ? "an import keeps its name"
                                        : std::string(f->help);
    d.help(Help{said, std::move(edits)});
    return;
  }

  if (reporter_.isLeftOpen(span.begin)) return reporter_.mark(span.begin);
  const std::string expected = expectation(parser, before);
  auto d = reporter_.report(
      Code::E0101, span,
      expected.empty() ? "unexpected " + found(*at) : "expected " + expected + ", found " + found(*at));
  d.label(expected.empty() ? "not expected here" : "expected " + expected);
  addSyntaxHelp(d, place);
}

namespace {

/// Whether a text beyond ASCII begins with what may be a letter, and not with punctuation, an arrow, a mathematical
/// symbol or an emoji.
bool isLetter(std::string_view s) {
  const uint32_t c = decodeUtf8(s, 0).value;
  const auto isIn = [c](uint32_t first, uint32_t last) { return c >= first && c <= last; };
  if (c < 0xaa || c == 0xab || isIn(0xac, 0xb4) || isIn(0xb6, 0xb9) || isIn(0xbb, 0xbf)) return false;
  return c != 0xd7 && c != 0xf7 && !isIn(0x2000, 0x2bff) && !isIn(0x3000, 0x303f) && !isIn(0xe000, 0xf8ff) &&
         !isIn(0xfe00, 0xfe0f) && !isIn(0xfff0, 0x1d3ff) && !isIn(0x1f000, 0x1faff);
}

/// Whether the text, or what of it is near its end, gives a name a string: `name = "a"`, `name: str`.
bool isString(std::string_view text, std::string_view name) {
  constexpr size_t kNear = size_t{1} << 14;
  text.remove_prefix(text.size() - std::min(text.size(), kNear));
  for (size_t i = text.find(name); i != text.npos; i = text.find(name, i + 1)) {
    if (i > 0 && (isWordPart(text[i - 1]) || text[i - 1] == '.')) continue;
    std::string_view rest = text.substr(i + name.size());
    const auto skipBlanks = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
    skipBlanks();
    if (!rest.starts_with('=') && !rest.starts_with(':')) continue;
    const bool isType = rest[0] == ':';
    rest.remove_prefix(1);
    skipBlanks();
    const bool quotes =
        rest.starts_with('"') || rest.starts_with('\'') || rest.starts_with("f\"") || rest.starts_with("f'");
    if (isType ? rest.starts_with("str") && !(rest.size() > 3 && isWordPart(rest[3])) : quotes) return true;
  }
  return false;
}

/// Of a `!` behind a name, which negates nothing.
void helpBehindName(SyntaxReporter& reporter, Span at, Diagnostics::Builder& d) {
  const std::string_view text = reporter.text(), rest = text.substr(at.end);
  if (rest.starts_with("(")) return void(d.help("a call is a name and arguments, without `!`", {{at, ""}}));
  if (!rest.starts_with("r}") && !rest.starts_with("s}")) return;
  const Span conversion = reporter.span(at.begin, at.end + 1);
  size_t begin = at.begin;
  while (begin > 0 && isWordPart(text[begin - 1])) --begin;
  const bool isWhole = begin > 0 && text[begin - 1] == '{';
  // Python puts a string in quotes.
  if (rest.starts_with("r") && isWhole && isString(text.substr(0, begin), text.substr(begin, at.begin - begin)))
    d.help(
        "a string in braces has no quotes: they stand around the braces",
        {{reporter.span(begin - 1, begin - 1), "'"}, {conversion, ""}, {reporter.span(at.end + 2, at.end + 2), "'"}});
  else
    d.help("a value in braces is written as `print` does", {{conversion, ""}});
}

}  // namespace

void reportBadCharacter(SyntaxReporter& reporter, Span at, const ForeignOperators* operators) {
  const std::string s(reporter.text(at));
  if (s == "'" && reporter.lineHasProblem(at.begin, false)) return reporter.mark(at.begin);  // the other end of it
  const unsigned char c = static_cast<unsigned char>(s.front());
  const bool visible = c >= 0x80 || (c > ' ' && c < 0x7f);
  constexpr char kHex[] = "0123456789abcdef";
  const uint32_t codePoint = decodeUtf8(s, 0).value;
  const std::string shown = reordersText(codePoint) ? codePointText(codePoint)
                            : visible               ? "`" + s + "`"
                                                    : std::string("character 0x") + kHex[c >> 4] + kHex[c & 15];
  auto d = reporter.report(Code::E0104, at, shown + " has no meaning in TL");
  const Familiar* known = familiarCharacter(s);
  if (!known && isLetter(s)) d.help("names are made of the letters a to z and A to Z, digits and `_`");
  if (!known) return;
  if (s == "!" && at.begin > 0 && isWordPart(reporter.text()[at.begin - 1])) return helpBehindName(reporter, at, d);
  if (s.front() == '\'') {  // alone, or in a string
    const std::string_view before = reporter.text().substr(0, at.begin);
    const std::string_view line = before.substr(before.rfind('\n') + 1);
    d.help(std::count(line.begin(), line.end(), '"') % 2 == 1 ? std::string(kNoQuotesInBraces)
                                                              : std::string(known->help) + ": \"text\"");
    return;
  }
  if (!known->replacement.empty()) {
    d.help(std::string(known->help), {{at, std::string(known->replacement)}});
    return;
  }
  if (s == "\\") {  // the lines become one
    const size_t next = reporter.text().find_first_not_of(" \t\r\n", at.end);
    const bool ends = next != std::string_view::npos &&
                      reporter.text().substr(at.end, next - at.end).find('\n') != std::string_view::npos;
    d.help(Help{std::string(known->help),
                ends ? std::vector<Edit>{{reporter.span(at.begin, next), ""}} : std::vector<Edit>{}});
    return;
  }
  const size_t last = at.begin == 0 ? std::string_view::npos : reporter.text().find_last_not_of(' ', at.begin - 1);
  if (s == "?" && last != std::string_view::npos && (reporter.text()[last] == '[' || reporter.text()[last] == ',')) {
    d.help(std::string(formHelp(Form::DimByColon)));
    return;
  }
  const auto mended = !operators ? std::nullopt : s == "?" ? operators->choice(at.begin) : operators->bits(at.begin);
  d.help(Help{
      std::string(known->help),
      mended ? std::vector<Edit>{{reporter.span(mended->begin, mended->end), mended->text}} : std::vector<Edit>{}});
}

}  // namespace tenc::syntax
