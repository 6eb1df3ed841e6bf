#include "syntax/TokenFilter.h"

#include <utility>

#include "syntax/Familiar.h"

namespace tenc::syntax {

using antlr4::CommonToken;
using antlr4::Token;

namespace {

using T = TLParser;

size_t closer(size_t type) {
  switch (type) {
    case T::LPAREN: return T::RPAREN;
    case T::LBRACK: return T::RBRACK;
    case T::LBRACE: return T::RBRACE;
    default: return T::HOLE_CLOSE;
  }
}

const char* spelling(size_t bracket) {
  switch (bracket) {
    case T::LPAREN: return "`(`";
    case T::LBRACK: return "`[`";
    case T::LBRACE: return "`{`";
    case T::RPAREN: return "`)`";
    case T::RBRACK: return "`]`";
    default: return "`}`";
  }
}

/// Whether a line that ends with this token goes on in the next one.
bool continuesAfter(size_t type) {
  switch (type) {
    case T::COMMA:
    case T::COLON:
    case T::COLON_PLUS:
    case T::DOT:
    case T::DOTS:
    case T::ARROW:
    case T::PIPE:
    case T::BAR:
    case T::BARBAR:
    case T::AT:
    case T::STARSTAR:
    case T::STAR:
    case T::SLASH:
    case T::SLASHSLASH:
    case T::PERCENT:
    case T::PLUS:
    case T::MINUS:
    case T::EQ:
    case T::NE:
    case T::LE:
    case T::GE:
    case T::LT:
    case T::GT:
    case T::ASSIGN:
    case T::ADD_EQ:
    case T::SUB_EQ:
    case T::MUL_EQ:
    case T::DIV_EQ:
    case T::FLOOR_EQ:
    case T::MOD_EQ:
    case T::AT_EQ:
    case T::POW_EQ:
    case T::AND:
    case T::OR:
    case T::NOT:
    case T::IN:
    case T::BY: return true;
    default: return false;
  }
}

/// Whether a line that starts with this token belongs to the one before.
bool continuesBefore(size_t type) { return type == T::PIPE || type == T::DOT || type == T::ELSE; }

}  // namespace

TokenFilter::TokenFilter(ByteStream& stream, SyntaxReporter& reporter)
    : stream_(stream), reporter_(reporter), lexer_(stream) {}

std::vector<TokenFilter::TokenPtr> TokenFilter::run() {
  if (!readTokens()) return {};
  long braces = 0;
  bool foreign = false;
  for (const auto& t : tokens_) {
    braces += t->getType() == T::LBRACE ? 1 : t->getType() == T::RBRACE ? -1 : 0;
    foreign |= t->getType() == T::BAD_CHAR;
  }
  missingBrace_ = braces > 0;
  if (foreign) {
    std::vector<Piece> pieces;
    for (const auto& t : tokens_) pieces.push_back({t->getType(), t->getStartIndex(), t->getStopIndex() + 1});
    operators_.emplace(pieces, stream_.text());
  }
  out_.reserve(tokens_.size() + tokens_.size() / 4 + 1);
  while (next_ < tokens_.size()) {
    take(std::move(tokens_[next_++]));
    if (tooDeep_) return {};
  }
  while (!open_.empty()) closeMissing(nullptr);
  const size_t size = stream_.text().size();
  pushMade(Token::EOF, size, size);  // ListTokenSource needs one: it throws on an empty list
  return std::move(out_);
}

/// False when there are too many.
bool TokenFilter::readTokens() {
  for (TokenPtr t = lexer_.nextToken(); t->getType() != Token::EOF; t = lexer_.nextToken()) {
    if (tokens_.size() == kMaxTokens) {
      reporter_.report(Code::E0105, reporter_.span(*t), "the source has more than 1,000,000 tokens")
          .help("large tables are kept in files and read with `load`");
      return false;
    }
    if (!takeForeignText(*t)) tokens_.push_back(std::move(t));
  }
  return true;
}

void TokenFilter::take(TokenPtr t) {
  const size_t type = t->getType();
  if (type == T::DOC) return takeDoc(*t);
  if (type == T::NL) {
    if (newline_ && blank(lineStart_, t->getStartIndex())) {
      emptyLine_ = true;
      doc_.clear();  // it is of the file, or of a part of it
    }
    newline_ = true;
    lineStart_ = t->getStopIndex() + 1;
    return;
  }
  if (type == T::SEMI && inLines()) {
    semicolon_ = true;
    return;
  }
  if (newline_) recoverAtLineStart(*t);
  const bool apart = semicolon_ || std::exchange(emptyLine_, false);
  endStatement(*t);
  if (!doc_.empty()) docs_[t->getStartIndex()] = std::exchange(doc_, {});

  if (last_ == T::COMMA && type != T::RPAREN && !open_.empty() && !open_.back().equals.empty())
    ++open_.back().unnamedBehind;
  switch (type) {
    case T::LPAREN:
    case T::LBRACK:
    case T::LBRACE: open(*t); break;
    case T::RPAREN:
    case T::RBRACK:
    case T::RBRACE:
      if (!close(*t)) return;
      break;
    case T::COMMA:
      if (last_ != T::COMMA) break;
      reporter_.report(Code::E0101, reporter_.span(*t), "there is nothing between two commas");
      return;
    case T::FN: declares_ = last_ != T::DOT; break;
    case T::VAR:  // `x.var()` of NumPy
      if (last_ == T::DOT) static_cast<CommonToken&>(*t).setType(T::NAME);
      break;
    case T::ASSIGN:
      if (!namesArgument(*t)) break;
      if (!open_.back().equals.empty()) --open_.back().unnamedBehind;  // it has one
      open_.back().equals.push_back(reporter_.span(*t));
      static_cast<CommonToken&>(*t).setType(T::COLON);
      break;
    case T::COLON:
      if (namesArgument(*t) && !open_.back().equals.empty()) --open_.back().unnamedBehind;
      break;
    case T::NAME:
      if (const Familiar* word = familiarWord(t->getText())) declares_ |= word->replacement == "fn";
      promote("param", T::PARAM);
      promote("device", T::DEVICE);
      break;
    case T::FLOAT:
      if (last_ == T::DOT) return splitPlaces(*t);
      break;
    case T::DOT:
      if (endsNumber(*t)) {
        const size_t begin = out_.back()->getStartIndex();
        out_.pop_back();
        return pushMade(T::FLOAT, begin, t->getStopIndex() + 1);
      }
      if (takeExponent(*t)) return;
      break;
    case T::AT:
      if (takeForeignMark(*t)) return;
      break;
    case T::MINUS:
      if (mayStartStatement(*t, apart)) static_cast<CommonToken&>(*t).setType(T::LEADING_MINUS);
      break;
    case T::INT:
      if (afterNumberDot()) {
        reporter_.report(Code::E0104, reporter_.span(*t), "a number has one decimal point").label("second point");
      }
      break;
    case T::STRING:
      promote("test", T::TEST);
      promote("bench", T::BENCH);
      if (takeFormatCall(*t)) return;
      if (last_ != T::TEST && last_ != T::BENCH && t->getText().find_first_of("{}") != std::string::npos) {
        return splitString(*t);
      }
      break;
    case T::BAD_STRING: {
      const Span s = reporter_.span(*t);
      reporter_.report(Code::E0104, s, "string is not closed").label("starts here").help(std::string(kOneLine));
      badStringLine_ = reporter_.line(s.begin);
      t = make(T::STRING, s.begin, s.end);
      break;
    }
    case T::BAD_NUMBER: {
      const Span s = reporter_.span(*t);
      reporter_.report(Code::E0104, s, "`" + t->getText() + "` is not a number");
      t = make(T::INT, s.begin, s.end);
      break;
    }
    case T::BAD_CHAR:
      reportBadCharacter(reporter_, reporter_.span(*t),
                         operators_ && foreignCharacters_++ < kMostMended ? &*operators_ : nullptr);
      return;
    default: break;
  }
  push(std::move(t));
}

void TokenFilter::takeDoc(const Token& t) {
  if (!newline_) return;  // after code on its line: an ordinary comment
  std::string text = t.getText();
  text.erase(text.find_last_not_of(" \t\r") + 1);
  size_t from = text.find_first_not_of('#');
  if (from == std::string::npos) from = text.size();
  if (from < text.size() && text[from] == ' ') ++from;
  doc_ += (doc_.empty() ? "" : "\n") + text.substr(from);
}

void TokenFilter::endStatement(const Token& next) {
  const bool ends = semicolon_ || (newline_ && !continuesAfter(last_) && !continuesBefore(next.getType()));
  newline_ = semicolon_ = false;
  if (!ends || !inLines() || out_.empty() || next.getType() == T::RBRACE) return;
  if (last_ == T::NL || last_ == T::LBRACE) return;
  const size_t at = out_.back()->getStopIndex() + 1;
  pushMade(T::NL, at, at);
}

void TokenFilter::open(Token& t) {
  if (open_.size() >= kMaxNesting) {
    reporter_.report(Code::E0105, reporter_.span(t), "nested deeper than " + std::to_string(kMaxNesting) + " brackets");
    tooDeep_ = true;
    return;
  }
  const bool behind = last_ == T::NAME || last_ == T::RPAREN || last_ == T::RBRACK;
  const bool call = t.getType() == T::LPAREN && behind && !declares_;
  if (t.getType() == T::LPAREN) declares_ = false;
  open_.push_back({t.getType(), reporter_.span(t), call});
  if (t.getType() == T::LBRACK && afterPlaceName(t)) static_cast<CommonToken&>(t).setType(T::AT_LBRACK);
}

/// False when the bracket closes nothing and is dropped.
bool TokenFilter::close(const Token& t) {
  bool opened = false;
  for (size_t i = open_.size(); i > 0 && open_[i - 1].type != T::HOLE_OPEN && !opened; --i) {
    opened = closer(open_[i - 1].type) == t.getType();
  }
  if (!opened) {
    reporter_.report(Code::E0101, reporter_.span(t), "`" + t.getText() + "` has no opening bracket")
        .label("no bracket is open");
    return false;
  }
  while (closer(open_.back().type) != t.getType()) closeMissing(&t);
  reportEquals(open_.back());
  open_.pop_back();
  return true;
}

/// `f(x, axis=0)`: a `=` behind a name that begins an argument.
bool TokenFilter::namesArgument(const Token& equals) const {
  const std::string_view text = stream_.text();
  const size_t next = equals.getStopIndex() + 1;
  if (open_.empty() || !open_.back().call || last_ != T::NAME || (next < text.size() && text[next] == '>'))
    return false;
  return typeBefore(2) == T::LPAREN || typeBefore(2) == T::COMMA;
}

/// One error for all of a call; they are read as colons, so that the call is checked as it is meant.
void TokenFilter::reportEquals(const Open& call) {
  if (call.equals.empty()) return;
  // Arguments with names come last everywhere: behind this one there is one without.
  if (call.unnamedBehind > 0) {
    reporter_.report(Code::E0101, call.equals[0], "expected `==`, found `=`")
        .help(std::string(formHelp(Form::Equality)), {{call.equals[0], "=="}});
    return;
  }
  std::vector<Edit> edits;
  for (const Span s : call.equals) {
    size_t end = s.end;
    while (end < stream_.text().size() && stream_.text()[end] == ' ') ++end;
    edits.push_back({reporter_.span(s.begin, end), ": "});
  }
  reporter_.reportMended(Code::E0101, call.equals[0], "expected `:` after the name of an argument, found `=`")
      .help(Help{std::string(formHelp(Form::ArgumentEquals)), std::move(edits)});
}

void TokenFilter::closeMissing(const Token* before) {
  const Open o = open_.back();
  open_.pop_back();
  reportEquals(o);
  if (reporter_.line(o.span.begin) != badStringLine_) {
    auto d = reporter_.report(Code::E0101, o.span, std::string(spelling(o.type)) + " is never closed");
    d.label("opened here");
    if (before) d.label(reporter_.span(*before), std::string("expected ") + spelling(closer(o.type)) + " before this");
  }
  reporter_.mark(o.span.begin);
  const size_t at = out_.empty() ? o.span.end : out_.back()->getStopIndex() + 1;
  if (o.type != T::LBRACE) reporter_.leftOpen(reporter_.span(o.span.begin, at));
  pushMade(closer(o.type), at, at);
}

/// A line that starts with a statement keyword cannot stand inside ( or [: those were left open. A declaration in the
/// first column ends every open brace, but only in a file that lacks a closing brace.
void TokenFilter::recoverAtLineStart(const Token& t) {
  switch (t.getType()) {
    case T::FN:
    case T::STRUCT:
    case T::TYPE:
    case T::IMPORT: {
      const size_t at = t.getStartIndex();
      if (missingBrace_ && (at == 0 || stream_.text()[at - 1] == '\n')) {
        while (!open_.empty()) closeMissing(&t);
      }
      [[fallthrough]];
    }
    case T::LET:
    case T::VAR:
    case T::FOR:
    case T::WHILE:
    case T::RETURN:
    case T::BREAK:
    case T::CONTINUE:
    case T::ASSERT:
    case T::CONST:
      while (!inLines()) closeMissing(&t);
      semicolon_ = !out_.empty();  // nor does it continue `let x =` or `a +`
      break;
    default: break;
  }
}

/// `@cuda[i]`: the bracket stands directly after `@ NAME`. In `x @ w[i]` it does too; there the parser takes either.
bool TokenFilter::afterPlaceName(const Token& t) const {
  return last_ == T::NAME && typeBefore(1) == T::NAME && typeBefore(2) == T::AT &&
         out_.back()->getStopIndex() + 1 == t.getStartIndex();
}

bool TokenFilter::blank(size_t begin, size_t end) const {
  return stream_.text().substr(begin, end - begin).find_first_not_of(" \t\r\f") == std::string_view::npos;
}

/// A `-` starts a statement as the first of a block, and where `;` or an empty line stands `apart` from the one before.
/// Two of them are the decrement of other languages, which is reported.
bool TokenFilter::mayStartStatement(const Token& minus, bool apart) const {
  const std::string_view text = stream_.text();
  const size_t next = minus.getStopIndex() + 1;
  if (!inLines() || (next < text.size() && text[next] == '-')) return false;
  return out_.empty() || last_ == T::LBRACE || (last_ == T::NL && apart);
}

/// The point of `5.`: directly behind an integer that is no place in a tuple, and before neither a name nor a digit.
bool TokenFilter::endsNumber(const Token& dot) const {
  if (last_ != T::INT || typeBefore(2) == T::DOT || out_.back()->getStopIndex() + 1 != dot.getStartIndex())
    return false;
  const std::string_view text = stream_.text();
  if (text.substr(out_.back()->getStartIndex()).starts_with("0x")) return false;
  const size_t next = dot.getStopIndex() + 1;
  return next >= text.size() ||
         std::string_view(" \t\r\n#)]},;+-*/%@:=<>!|").find(text[next]) != std::string_view::npos;
}

/// Of `1.e3` and `2.e-1`: the lexer gives a point and a name, which is a member of a tuple's place alone.
bool TokenFilter::takeExponent(const Token& dot) {
  if (last_ != T::INT || typeBefore(2) == T::DOT || out_.back()->getStopIndex() + 1 != dot.getStartIndex())
    return false;
  const std::string_view text = stream_.text();
  const auto isDigit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const size_t begin = out_.back()->getStartIndex();
  size_t end = dot.getStopIndex() + 1;
  if (end >= text.size() || (text[end] != 'e' && text[end] != 'E') || text.substr(begin).starts_with("0x"))
    return false;
  ++end;
  if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
  if (!isDigit(end)) return false;
  while (isDigit(end)) ++end;
  size_t behind = next_;
  while (behind < tokens_.size() && tokens_[behind]->getStopIndex() < end) ++behind;
  if (behind < tokens_.size() && tokens_[behind]->getStartIndex() < end) return false;  // `1.e3x`
  next_ = behind;
  out_.pop_back();
  pushMade(T::FLOAT, begin, end);
  return true;
}

/// A mark of Python with arguments before a function, `@njit(parallel=True)`: one error for all of it.
bool TokenFilter::takeForeignMark(const Token& at) {
  if (!out_.empty() && last_ != T::NL && last_ != T::LBRACE) return false;
  size_t i = next_, names = 0;
  const auto typeAt = [&](size_t k) { return k < tokens_.size() ? tokens_[k]->getType() : size_t{T::NL}; };
  for (; typeAt(i) == T::NAME || (names > 0 && typeAt(i) == T::DOT); ++i) names += typeAt(i) == T::NAME ? 1 : 0;
  if (names == 0 || typeAt(i) != T::LPAREN || tokens_[i - 1]->getStopIndex() + 1 != tokens_[i]->getStartIndex() ||
      typeAt(i + 1) == T::RPAREN)
    return false;
  const Familiar* known = familiarName(tokens_[next_]->getText());
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

/// In `1.5.3` the 3 is not a tuple index.
bool TokenFilter::afterNumberDot() const {
  if (last_ != T::DOT) return false;
  return typeBefore(2) == T::FLOAT || (typeBefore(2) == T::INT && typeBefore(3) != T::DOT);
}

/// `t.0.1` is lexed as `t`, `.`, `0.1`.
void TokenFilter::splitPlaces(const Token& t) {
  const std::string s = t.getText();
  const size_t begin = t.getStartIndex();
  const size_t dot = s.find('.');
  if (dot == std::string::npos || s.find_first_of("eE_") != std::string::npos) {
    reporter_.report(Code::E0104, reporter_.span(t), "`" + s + "` is not a tuple index");
    pushMade(T::INT, begin, begin + s.size());
    return;
  }
  pushMade(T::INT, begin, begin + dot);
  pushMade(T::DOT, begin + dot, begin + dot + 1);
  pushMade(T::INT, begin + dot + 1, begin + s.size());
}

/// Whether the token `back` ones ago is the last of an annotation at the start of a statement: `@gpu`, `@cuda:0`,
/// `@gpus[0]`.
bool TokenFilter::endsAnnotation(size_t back) const {
  const auto starts = [&](size_t type) { return type == T::NL || type == T::LBRACE; };
  size_t depth = 0;
  bool named = false;  // the name behind the `@` was met
  for (; !starts(typeBefore(back)); ++back) {
    const size_t type = typeBefore(back);
    if (type == T::RBRACK || type == T::RPAREN) {
      if (named) return false;
      ++depth;
    } else if (depth > 0) {
      if (type == T::LBRACK || type == T::AT_LBRACK || type == T::LPAREN) --depth;
    } else if (type == T::AT) {
      if (!named) return false;
      if (starts(typeBefore(back + 1))) return true;
      named = false;  // there is another annotation before it
    } else if (type == T::NAME || type == T::DEVICE_LIT || type == T::AUTOCAST) {
      if (named && typeBefore(back - 1) != T::DOT) return false;
      named = true;
    } else if (type != T::DOT && type != T::COLON && type != T::INT) {
      return false;
    }
  }
  return false;
}

/// `param x`, `device d`, `test "..."` and `bench "..."` at the start of a statement are declarations; elsewhere the
/// words are names.
void TokenFilter::promote(std::string_view word, size_t type) {
  if (last_ != T::NAME || typeBefore(1) != T::NAME) return;
  const size_t before = typeBefore(2);
  if (before != T::NL && before != T::LBRACE && !endsAnnotation(2)) return;
  auto& token = static_cast<CommonToken&>(*out_.back());
  if (stream_.text().substr(token.getStartIndex(), token.getStopIndex() + 1 - token.getStartIndex()) != word) return;
  token.setType(type);
  last_ = type;
}

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

TokenFilter::TokenPtr TokenFilter::make(size_t type, size_t begin, size_t end) {
  auto t = lexer_.make(type, begin, end);
  if (begin == end) t->setText(type == Token::EOF ? "<EOF>" : "");
  return t;
}

void TokenFilter::push(TokenPtr t) {
  last_ = t->getType();
  out_.push_back(std::move(t));
}

}  // namespace tenc::syntax
