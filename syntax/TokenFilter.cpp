#include "syntax/TokenFilter.h"

#include <utility>

#include "syntax/Familiar.h"

namespace tenc::syntax {

using antlr4::CommonToken;
using antlr4::Token;

namespace {

using T = TLParser;

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
      reporter_.noteUnread(reporter_.span(*t));
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
