#include "syntax/SyntaxHelp.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "syntax/Familiar.h"

namespace tenc::syntax {

using antlr4::Token;
using T = TLParser;

bool isKeyword(const Token& t) {
  const std::string s = t.getText();
  return t.getType() != T::NAME && !s.empty() && s.front() >= 'a' && s.front() <= 'z' && t.getType() != T::DEVICE_LIT;
}

bool startsStatement(const Token* before) {
  return !before || before->getType() == T::NL || before->getType() == T::LBRACE;
}

namespace {

/// The helps for one place: each function tells whether it had something to say.
class Helper {
 public:
  Helper(Diagnostics::Builder& d, const SyntaxPlace& place)
      : d_(d), p_(place), expected_(place.parser.getExpectedTokens()), at_(place.at.getType()) {}

  void add() {
    if (strings() || blocks() || comments() || patterns() || ranges() || literals() || types() || structs()) return;
    tokens();
  }

 private:
  bool may(size_t type) const { return expected_.contains(static_cast<ssize_t>(type)); }
  bool prior(size_t type) const { return p_.before && p_.before->getType() == type; }
  bool starts(size_t type) const { return p_.first && p_.first->getType() == type; }
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
  std::string_view text() const { return p_.reporter.text(); }

  bool say(std::string help, std::vector<Edit> edits = {}) {
    d_.help(Help{std::move(help), std::move(edits)});
    return true;
  }

  size_t lineStart(size_t offset) const { return offset == 0 ? 0 : text().rfind('\n', offset - 1) + 1; }
  size_t lineEnd(size_t offset) const { return std::min(text().find('\n', offset), text().size()); }
  Span position(size_t offset) const { return p_.reporter.span(offset, offset); }

  /// Whether nothing but a comment stands behind the token on its line.
  bool endsLine() const {
    const size_t i = text().find_first_not_of(" \t\r", span().end);
    return i == std::string_view::npos || text()[i] == '\n' || text()[i] == '#';
  }

  size_t indent(size_t start) const {
    const size_t i = text().find_first_not_of(" \t", start);
    return i == std::string_view::npos ? 0 : i - start;
  }

  /// The end of the lines below that stand further right than the line of `offset`: a block of Python.
  size_t indentedEnd(size_t offset) const {
    const size_t own = indent(lineStart(offset));
    size_t end = lineEnd(offset);
    for (size_t line = end + 1; line < text().size(); line = lineEnd(line) + 1) {
      const size_t stop = lineEnd(line);
      if (text().substr(line, stop - line).find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (indent(line) <= own) break;
      end = stop;
    }
    return end;
  }

  bool strings() {
    const bool string = at_ == T::STRING || at_ == T::STR_OPEN;
    if (string && prior(T::NAME) && p_.before->getStopIndex() + 1 == p_.at.getStartIndex() &&
        p_.before->getText().size() <= 2) {
      return say("every string takes values in braces: it has no prefix", {{span(*p_.before), ""}});
    }
    return false;
  }

  bool blocks() {
    if (!may(T::LBRACE)) return false;
    if (at_ == T::NL && may(T::ARROW) && next(T::ARROW)) {
      p_.reporter.mark(span(*next()).begin);
      return say("a line goes on after `->`, not before it: put `->` at the end of this one");
    }
    const bool header = starts(T::IF) || starts(T::FOR) || starts(T::WHILE) || starts(T::FN) || prior(T::ELSE) ||
                        starts(T::TEST) || starts(T::BENCH) || starts(T::ELSE);
    if (!header) return false;
    if (at_ == T::NL && next(T::LBRACE)) return say("the `{` stands on the line that it belongs to");
    const std::string word = p_.at.getText();
    if (at_ == T::COLON && starts(T::FN) && may(T::ARROW) && !endsLine())
      return say("the type of the result stands behind `->`", {{span(), " ->"}});
    if (at_ == T::COLON && endsLine()) {
      p_.reporter.loseBlock();
      return say("a block stands in braces: `{ ... }`", {{span(), " {"}, {position(indentedEnd(span().begin)), " }"}});
    }
    if (at_ == T::COLON && may(T::ASSIGN)) return say("the value of a function stands behind `=`", {{span(), " ="}});
    if (at_ == T::COLON || word == "then")
      return say("a block stands in braces: `{ ... }`",
                 {{span(), at_ == T::COLON ? " {" : "{"}, {position(lineEnd(span().end)), " }"}});
    if (at_ == T::NAME && !starts(T::FN))
      return say("a block stands in braces: `{ ... }`",
                 {{before(span()), "{ "}, {position(lineEnd(span().end)), " }"}});
    return false;
  }

  bool comments() {
    const Token* t = p_.before;
    if (at_ == T::SLASHSLASH && startsStatement(p_.before)) return say("a comment starts with `#`", {{span(), "#"}});
    if (at_ == T::SLASH && (next(T::STAR) || next(T::STARSTAR)))
      return say("a comment starts with `#` and ends with the line");
    if (at_ == T::MINUS && next(T::MINUS) && startsStatement(p_.before))
      return say("a comment starts with `#`", {{{span().file, span().begin, span(*next()).end}, "#"}});
    if (!p_.complete || at_ != T::NAME) return false;
    for (size_t n = 1; t && t->getType() != T::NL && n < 64; t = back(++n)) {
      if (t->getType() == T::SLASHSLASH)
        return say("`//` divides and rounds down; a comment starts with `#`", {{span(*t), "#"}});
    }
    return false;
  }

  bool patterns() {
    const bool binds = starts(T::LET) || starts(T::VAR);
    if (at_ == T::COMMA && prior(T::NAME) && ((may(T::IN) && starts(T::FOR)) || (binds && may(T::ASSIGN)))) {
      const Token* last = p_.before;
      const Token* t = &p_.at;  // a, b, c
      for (ssize_t i = 2; t && (t->getType() == T::COMMA || t->getType() == T::NAME); ++i) {
        if (t->getType() == T::NAME) last = t;
        t = p_.parser.getTokenStream()->LT(i);
      }
      return say("several names stand in parentheses", {{before(span(*p_.before)), "("}, {behind(span(*last)), ")"}});
    }
    if (at_ == T::COMMA && p_.complete && p_.first == p_.before && prior(T::NAME))
      return say("several names are assigned in parentheses: `(a, b) = (b, a)`");
    if (at_ == T::LBRACK && (prior(T::LET) || prior(T::VAR)))
      return say("several names stand in parentheses: `let (a, b) = ...`");
    const bool changes = at_ == T::ADD_EQ || at_ == T::SUB_EQ || at_ == T::MUL_EQ || at_ == T::DIV_EQ;
    if (changes && binds && p_.first)
      return say("`let` binds a new name; a `var` is changed without it",
                 {{{span().file, span(*p_.first).begin, span(*p_.before).begin}, ""}});
    return false;
  }

  bool ranges() {
    if (at_ == T::ASSIGN && prior(T::DOTS)) return say("a range ends before its end: `0..n + 1`");
    if (at_ == T::DOTS && may(T::BY)) return say("a step is written `by`", {{span(), " by "}});
    if (at_ == T::ASSIGN && starts(T::FOR) && back(2, T::LPAREN) && back(3, T::FOR))
      return say("a loop counts over a range: `for i in 0..n { ... }`");
    if (at_ == T::DOTS && (prior(T::LBRACK) || may(T::RBRACK)))
      return say("a slice is written `x[a : b]`; `a..b` is the range of a `for`", {{span(), ":"}});
    return false;
  }

  bool literals() {
    if (at_ == T::FOR && (may(T::RBRACK) || may(T::RPAREN)))
      return say(
          "a list is made by a function, `list(3, |i| i * 2)`, a tensor by `tabulate([3], |i| i * 2)` or `map(f, x)`");
    if (at_ == T::COLON && prior(T::STRING) && p_.complete)
      return say("TL has no dictionaries: a `struct` has named fields, a tuple `(a, b)` has places");
    if (at_ == T::COMMA && p_.complete && back(2, T::LBRACE))
      return say("values are grouped by parentheses, `(a, b)`, or brackets, `[a, b]`");
    if (prior(T::DOT) && back(2, T::INT)) return say("a number ends with a digit: `1.0`");
    if (at_ == T::VAR && prior(T::DOT)) return say("the variance is `variance`", {{span(), "variance"}});
    if (at_ == T::NEW && !prior(T::LET) && !prior(T::VAR))
      return say("a struct is built with `Linear { w: value }`, or by the function that makes one");
    return false;
  }

  bool types() {
    const bool binds = starts(T::LET) || starts(T::VAR);
    if (at_ == T::LBRACK && prior(T::RBRACK) && binds && may(T::ASSIGN))
      return say("all dims stand in one bracket: `f32[2, 3]`",
                 {{{span().file, span(*p_.before).begin, span().end}, ", "}});
    if (at_ == T::LPAREN && prior(T::NAME) && binds && may(T::ASSIGN))
      return say("dims stand in brackets: `f32[2, 3]`");
    if (at_ == T::RBRACK && may(T::SEMI) && !may(T::NL))
      return say("the type of a list says how long it is: `[f32; 3]`");
    if (at_ == T::COLON && starts(T::FN) && (prior(T::LBRACK) || (prior(T::COMMA) && may(T::INT))))
      return say("a dim of any size has a name: `f32[N]`");
    if (at_ == T::GT && prior(T::ASSIGN) && starts(T::FN))
      return say("the value of a function stands behind `=`", {{span(), ""}});
    if (starts(T::FN) && (at_ == T::STAR || at_ == T::STARSTAR) && (prior(T::LPAREN) || prior(T::COMMA)))
      return say("a function names its parameters: a tuple takes several values, `...S` several dims");
    return false;
  }

  bool structs() {
    if (at_ == T::COLON && prior(T::NAME) && back(2, T::LBRACE) && back(3, T::NAME) &&
        std::isupper(static_cast<unsigned char>(back(3)->getText().front()))) {
      p_.reporter.mark(span(*back(3)).begin);  // the condition that is left is no error of its own
      return say("a struct that is built in a condition stands in parentheses: `if (P { x: 1.0 }).x > 0.0 { ... }`");
    }
    const bool declares = inStruct();
    if (declares && at_ == T::FN) return say("a method stands beside the struct: `fn call(m: Net, x: f32[N]) = ...`");
    if (at_ == T::ASSIGN && may(T::COLON) && !may(T::ASSIGN) && !may(T::RPAREN)) {
      if (declares) return say("a field is `name: type`; it gets its value where a struct is built");
      return say("a field is written `name: value`", {{span(), ":"}});
    }
    if (at_ == T::LPAREN && may(T::COLON) && prior(T::NAME) && !binds())
      return say("fields are named: `Linear { w: value }`");
    return false;
  }
  bool binds() const { return may(T::ASSIGN); }

  /// Whether the innermost open brace is that of a struct's declaration.
  bool inStruct() const {
    int depth = 0;
    for (size_t n = 1; const Token* t = back(n); ++n) {
      if (t->getType() == T::RBRACE) ++depth;
      if (t->getType() != T::LBRACE || depth-- > 0) continue;
      for (t = back(++n); t && t->getType() != T::NL; t = back(++n)) {
        if (t->getType() == T::STRUCT) return true;
      }
      return false;
    }
    return false;
  }

  /// What depends on the token alone.
  void tokens() {
    switch (at_) {
      case T::MINUS:
        if (startsStatement(p_.before)) {
          say("no statement starts with `-`: put the operator at the end of the line before, or write `(-x)`");
        }
        break;
      case T::PLUS:
        if (prior(T::PLUS)) {
          say("one is added with `x += 1`");
          break;
        }
        [[fallthrough]];
      case T::STAR:
      case T::SLASH:
      case T::PERCENT:
      case T::STARSTAR:
      case T::AND:
      case T::OR:
        if (startsStatement(p_.before)) {
          say("an operator at the start of a line does not continue it: put it at the end of the line before");
        }
        break;
      case T::LT:
      case T::GT:
        if (prior(at_) && p_.before->getStopIndex() + 1 == p_.at.getStartIndex())
          say(at_ == T::LT ? "bits are shifted by `bitwise_left_shift(a, b)`"
                           : "bits are shifted by `bitwise_right_shift(a, b)`");
        break;
      case T::COMMA:
        if (starts(T::RETURN)) say("several values are returned as a tuple, in parentheses: `return (a, b)`");
        break;
      case T::COLON:
        if (p_.before && isKeyword(*p_.before))
          say("`" + p_.before->getText() + "` is a reserved word");
        else if (endsLine())
          say("a block stands in braces: `{ ... }`");
        else if (next(T::ASSIGN))
          say("a name is bound with `let x = ...`");
        break;
      case T::ASSIGN:
        if (prior(T::NAME) && may(T::RPAREN)) {
          const Familiar* option = familiarOption(p_.before->getText());
          if (option && option->replacement.empty())
            say(std::string(option->help));
          else
            say("an argument is named with a colon", {{span(), ": "}});
        } else if (next(T::GT)) {
          say("a lambda is written `|x| x + 1`");
        } else if (prior(T::EQ) || prior(T::ASSIGN)) {
          say("equality is `==`");
        } else if (may(T::LBRACE)) {
          say("equality is `==`", {{span(), "=="}});
        }
        break;
      case T::EQ:
        if (may(T::ASSIGN)) say("a value is bound with `=`", {{span(), "="}});
        break;
      case T::BARBAR: say("TL has `or`", {{span(), "or"}}); break;
      case T::BAR:
        if (prior(T::PIPE)) say("a lambda after `|>` stands in parentheses: `x |> (|v| v * 2)`");
        if (startsStatement(p_.before)) say("a lambda that is a block's value stands in parentheses: `(|x| x * 2)`");
        break;
      case T::DOT:
        if (next(T::INT)) say("a number starts with a digit: `0.5`");
        break;
      case T::IF: say("a choice is written `if c { a } else { b }`"); break;
      case T::LBRACE:
        if (prior(T::RPAREN)) say("a struct literal in a condition needs parentheses");
        break;
      default:
        if (may(T::AT) && !may(T::NAME)) {
          say("an annotation stands before a statement or a block: `@gpu let y = x`, `let y = @gpu { x }`");
        }
        if (isKeyword(p_.at) && may(T::NAME) && !may(T::INT))
          say("`" + p_.at.getText() + "` is a reserved word: choose another name");
        if (prior(T::NAME) && p_.before->getText() == "print") say("`print` is called like a function: `print(x)`");
        break;
    }
  }

  Diagnostics::Builder& d_;
  const SyntaxPlace& p_;
  const antlr4::misc::IntervalSet expected_;
  const size_t at_;
};

}  // namespace

void addSyntaxHelp(Diagnostics::Builder& d, const SyntaxPlace& place) { Helper(d, place).add(); }

}  // namespace tenc::syntax
