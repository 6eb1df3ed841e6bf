// The tokens around the place where the parser stopped, as helps look at them.
#pragma once
#include <string>

#include "syntax/SyntaxHelp.h"

namespace tenc::syntax {

class SyntaxView {
 public:
  using Token = antlr4::Token;
  using T = TLParser;
  explicit SyntaxView(const SyntaxPlace& place)
      : p_(place), expected_(place.parser.getExpectedTokens()), at_(place.at.getType()) {}

  bool may(size_t type) const { return expected_.contains(static_cast<ssize_t>(type)); }
  bool prior(size_t type) const { return p_.before && p_.before->getType() == type; }
  bool starts(size_t type) const { return p_.first && p_.first->getType() == type; }
  /// The `n`th token from the error on, which is the first; null behind the last. 0 is the token before.
  const Token* ahead(ssize_t n) const {
    if (n < 1) return back(static_cast<size_t>(1 - n));
    // By its index, which no hidden token is counted in: LT would walk there from the error.
    antlr4::TokenStream& tokens = *p_.parser.getTokenStream();
    const size_t i = p_.at.getTokenIndex() + static_cast<size_t>(n - 1);
    const Token* t = at_ == Token::EOF || i >= tokens.size() ? nullptr : tokens.get(i);
    return t != nullptr && t->getType() != Token::EOF ? t : nullptr;
  }
  const Token* next() const { return at_ == Token::EOF ? nullptr : p_.parser.getTokenStream()->LT(2); }
  bool next(size_t type) const { return next() && next()->getType() == type; }
  /// The token `n` before the error; null where there is none.
  const Token* back(size_t n) const {
    const size_t i = p_.at.getTokenIndex();
    return i < n ? nullptr : p_.parser.getTokenStream()->get(i - n);
  }
  bool back(size_t n, size_t type) const { return back(n) && back(n)->getType() == type; }
  Span span() const { return p_.reporter.span(p_.at); }
  Span span(const Token& t) const { return p_.reporter.span(t); }
  static Span before(Span s) { return {s.file, s.begin, s.begin}; }
  static Span behind(Span s) { return {s.file, s.end, s.end}; }

  Span position(size_t offset) const { return p_.reporter.span(offset, offset); }
  Span position(size_t begin, size_t end) const { return p_.reporter.span(begin, end); }
  LineColumn place(const Token& t) const { return p_.reporter.position(t.getStartIndex()); }

  /// Whether no token but the end of the statement stands behind the token on its line.
  bool endsLine() const {
    ssize_t n = 2;
    while (ahead(n) && ahead(n)->getType() == T::NL) ++n;
    return !ahead(n) || place(*ahead(n)).line > place(p_.at).line;
  }

  static bool opens(size_t type) {
    return type == T::LPAREN || type == T::LBRACK || type == T::AT_LBRACK || type == T::LBRACE;
  }
  static bool opens(const Token& t) { return opens(t.getType()); }
  static bool closes(const Token& t) {
    return t.getType() == T::RPAREN || t.getType() == T::RBRACK || t.getType() == T::RBRACE;
  }

  /// The first token of the header that the error stands in, which may go over several lines.
  const Token* headerBegin() const {
    const Token* first = &p_.at;
    int depth = 0;
    for (size_t n = 1; const Token* t = back(n); ++n) {
      const size_t type = t->getType();
      const bool ends = type == T::NL || type == T::SEMI || type == T::LBRACE || type == T::RBRACE;
      if (depth == 0 && ends && place(*t).line != place(*first).line) break;
      if (type == T::NL) {
        if (depth == 0) break;
        continue;
      }
      depth += closes(*t) ? 1 : opens(*t) && depth > 0 ? -1 : 0;
      first = t;
    }
    return first;
  }

  /// The column in which the line of a token begins: other statements may stand before it.
  uint32_t indentation(const Token& t) const {
    const std::string_view text = p_.reporter.text();
    const size_t at = span(t).begin, line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const size_t first = text.find_first_not_of(" \t", line);
    return p_.reporter.position(std::min(first, at)).column;
  }

  /// Where the last token ends of those on the line of the error, or, with `block`, of the lines below that stand
  /// further right than the header as well: a block of Python.
  size_t lastEnd(bool block) const {
    uint32_t line = place(p_.at).line;
    const uint32_t own = indentation(*headerBegin());
    size_t end = span().end;
    int depth = 0;
    for (ssize_t n = 2; const Token* t = ahead(n); ++n) {
      if (t->getType() == T::NL) continue;
      const LineColumn at = place(*t);
      // What stands in brackets may begin anywhere.
      if (depth <= 0 && at.line > line && (!block || at.column <= own)) break;
      depth += opens(*t) ? 1 : closes(*t) ? -1 : 0;
      line = at.line;
      end = span(*t).end;
    }
    return end;
  }

  /// What is written from the end of one token to the beginning of another, without the blanks around it.
  std::string between(size_t begin, size_t end) const {
    const std::string_view text = p_.reporter.text(p_.reporter.span(begin, end));
    const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
    return first == std::string_view::npos ? "" : std::string(text.substr(first, last + 1 - first));
  }

  /// The first token from the `n`th on, outside of brackets that open behind it, for which `ends` holds, or which
  /// closes the bracket around it or ends the line.
  template <class Ends>
  const Token* outside(ssize_t n, const Ends& ends) const {
    for (int depth = 0; const Token* t = ahead(n); ++n) {
      const size_t type = t->getType();
      const bool closes = type == T::RPAREN || type == T::RBRACK || type == T::RBRACE || type == T::HOLE_CLOSE;
      if (depth == 0 && (closes || type == T::NL || ends(type))) return t;
      depth += opens(type) ? 1 : closes ? -1 : 0;
    }
    return nullptr;
  }

  /// Where the expression before the error begins: behind what binds looser than any operator.
  size_t operandBegin() const {
    int depth = 0;
    for (size_t n = 1; const Token* t = back(n); ++n) {
      const size_t type = t->getType();
      const bool closes = type == T::RPAREN || type == T::RBRACK || type == T::RBRACE;
      const bool ends = opens(type) || type == T::NL || type == T::COMMA || type == T::ASSIGN || type == T::COLON ||
                        type == T::RETURN || type == T::BAR || type == T::ADD_EQ || type == T::SUB_EQ ||
                        type == T::MUL_EQ || type == T::DIV_EQ || type == T::HOLE_OPEN;
      if (depth == 0 && ends) return span(*t).end;
      depth += closes ? 1 : opens(type) ? -1 : 0;
    }
    return 0;
  }

 protected:
  const SyntaxPlace& p_;
  const antlr4::misc::IntervalSet expected_;
  const size_t at_;
};

}  // namespace tenc::syntax
