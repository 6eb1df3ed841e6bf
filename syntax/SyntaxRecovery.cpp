#include "syntax/SyntaxRecovery.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "grammar/Children.h"
#include "grammar/TLParser.h"

namespace tenc::syntax {

using antlr4::Parser;
using antlr4::Token;
using T = TLParser;

namespace {

int bracket(size_t type) {
  switch (type) {
    case T::LPAREN:
    case T::LBRACK:
    case T::AT_LBRACK:
    case T::LBRACE:
    case T::STR_OPEN:
    case T::HOLE_OPEN: return 1;
    case T::RPAREN:
    case T::RBRACK:
    case T::RBRACE:
    case T::STR_CLOSE:
    case T::HOLE_CLOSE: return -1;
    default: return 0;
  }
}

/// Whether the braces of a statement that starts like this hold statements, not fields.
bool hasBlock(const Token& first) {
  switch (first.getType()) {
    case T::FN:
    case T::IF:
    case T::FOR:
    case T::WHILE:
    case T::TEST:
    case T::BENCH: return true;
    case T::NAME: {
      constexpr std::array<std::string_view, 7> kWords = {"def", "func", "function", "fun", "elif", "elsif", "foreach"};
      return std::find(kWords.begin(), kWords.end(), first.getText()) != kWords.end();
    }
    default: return false;
  }
}

}  // namespace

void SyntaxRecovery::reportError(Parser* p, const antlr4::RecognitionException& e) {
  if (!quick) DefaultErrorStrategy::reportError(p, e);
}

/// Nothing is skipped here. The caller fails in turn, silently, until a list of statements takes over; no loop of the
/// grammar goes round without consuming a token.
void SyntaxRecovery::recover(Parser*, std::exception_ptr) {
  if (quick) throw antlr4::ParseCancellationException();
}

Token* SyntaxRecovery::recoverInline(Parser* p) {
  if (quick) throw antlr4::ParseCancellationException();
  throw antlr4::InputMismatchException(p);
}

void SyntaxRecovery::sync(Parser* p) {
  if (quick) return;
  if (p->getContext()->getRuleIndex() == T::RuleStatements) return syncStatements(p);
  if (inErrorRecoveryMode(p)) return;
  // What ANTLR does, without deleting or skipping: a loop that can neither go on nor end says so with all it expects.
  const auto next = p->getATN().nextTokens(p->getATN().states[p->getState()]);
  if (next.contains(static_cast<size_t>(Token::EPSILON)) || next.contains(p->getTokenStream()->LA(1))) return;
  throw antlr4::InputMismatchException(p);
}

/// `def f(a, b=1):`, `class C:`, `f = lambda x: x`
void SyntaxRecovery::loseName(antlr4::TokenStream& tokens, size_t at) {
  const std::string text = tokens.get(at)->getText();
  lost.insert(text);
  const auto startsDeclaration = [&](size_t n) {
    const Token& t = *tokens.get(n);
    return t.getType() == T::FN || (t.getType() == T::NAME && (t.getText() == "def" || t.getText() == "class"));
  };
  const bool isLambda = at + 2 < tokens.size() && tokens.get(at + 1)->getType() == T::ASSIGN &&
                        (tokens.get(at + 2)->getText() == "lambda" || tokens.get(at + 2)->getType() == T::BAR);
  if (isLambda || (at > 0 && startsDeclaration(at - 1))) declared.insert(text);
  // A parameter that is called, with the head of its function before it.
  const auto calls = [&](size_t n) {
    const bool own = tokens.get(n)->getType() == T::NAME && tokens.get(n - 1)->getType() != T::DOT;
    return own && tokens.get(n + 1)->getType() == T::LPAREN && tokens.get(n)->getText() == text;
  };
  constexpr size_t kMostTokens = 256;
  int depth = 0;
  for (size_t n = at; n-- > at - std::min(at, kMostTokens);) {
    const Token& t = *tokens.get(n);
    if (t.getType() == T::NL || t.getType() == T::LBRACE) return;
    depth -= bracket(t.getType());
    if (depth >= 0) continue;
    if (n < 2 || !startsDeclaration(n - 2)) return;
    for (size_t i = at + 1; i + 1 < tokens.size(); ++i)
      if (calls(i)) declared.insert(text);
    return;
  }
}

void SyntaxRecovery::syncStatements(Parser* p) {
  antlr4::TokenStream* tokens = p->getTokenStream();
  auto ends = [](size_t type) { return type == T::NL || type == T::RBRACE || type == Token::EOF; };
  const size_t found = tokens->LA(1);
  const auto* context = p->getContext();
  // The statement that was just read, if one was, and the brackets that were open where it failed.
  const Token* first = tokens->LT(1);
  if (!context->children.empty()) {
    if (auto* rule = grammar::ruleAt(context->children.back())) first = rule->getStart();
  }
  long depth = 0;
  for (size_t i = first->getTokenIndex(); i < tokens->index(); ++i) depth += bracket(tokens->get(i)->getType());

  if (!inErrorRecoveryMode(p)) {
    const auto next = p->getATN().nextTokens(p->getATN().states[p->getState()]);
    if (ends(found) || next.contains(found)) return;
    reportUnwantedToken(p);
  }
  size_t from = first->getTokenIndex();
  auto lose = [&] {
    for (; from < tokens->index(); ++from) {
      const std::string text = tokens->get(from)->getText();
      if (tokens->get(from)->getType() == T::NAME) loseName(*tokens, from);
      if (tokens->get(from)->getType() == T::STRING) lost.insert(text.substr(1, text.size() - 2));  // import "nn"
    }
  };
  while (tokens->LA(1) != Token::EOF && !(depth == 0 && ends(tokens->LA(1)))) {
    if (depth == 0 && tokens->LA(1) == T::LBRACE && hasBlock(*first)) {
      lose();
      endErrorCondition(p);
      static_cast<TLParser*>(p)->block();  // the statement is lost, but errors in its body are reported too
      beginErrorCondition(p);
      from = tokens->index();
      continue;
    }
    depth += bracket(tokens->LA(1));
    p->consume();
  }
  lose();
}

}  // namespace tenc::syntax
