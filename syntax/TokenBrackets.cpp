// Brackets: opened, closed, supplied where they are missing; and the names of arguments in those of calls.
#include "syntax/Familiar.h"
#include "syntax/TokenFilter.h"

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

}  // namespace

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
  if (typeBefore(2) != T::LPAREN && typeBefore(2) != T::COMMA) return false;
  // `f(lambda a, n=2: a * n)`: a default.
  for (size_t i = out_.size(); i > 0 && out_[i - 1]->getType() != T::LPAREN && out_[i - 1]->getType() != T::COLON; --i)
    if (out_[i - 1]->getType() == T::NAME && out_[i - 1]->getText() == "lambda") return false;
  return true;
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

}  // namespace tenc::syntax
