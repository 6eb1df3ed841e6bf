#include "syntax/TableLexer.h"

#include <algorithm>

#include "grammar/LexerTable.h"

namespace tenc::syntax {

using antlr4::CommonToken;
using antlr4::Token;

std::unique_ptr<CommonToken> TableLexer::make(size_t type, size_t begin, size_t end, size_t channel) {
  // An empty token stops before it starts; at offset 0 that is ANTLR's own "no index", whose length is 0 too.
  return std::make_unique<CommonToken>(source_, type, channel, begin, end - 1);
}

std::unique_ptr<Token> TableLexer::nextToken() {
  for (size_t begin = stream_.index();; begin = stream_.index()) {
    if (begin >= stream_.end()) return make(Token::EOF, begin, begin);
    size_t type = 0, end = begin;
    size_t state = 1;
    for (size_t at = begin; at < stream_.end(); ++at) {
      state = grammar::kLexerNext[state * grammar::kLexerClasses + grammar::kLexerClass[stream_.symbol(at)]];
      if (state == 0) break;
      if (grammar::kLexerToken[state] == 0) continue;
      type = grammar::kLexerToken[state];
      end = at + 1;
      // Of a run of one character, such as the blanks of an indent, the rest is the same step again.
      if (end < stream_.end() && stream_.symbol(end) == stream_.symbol(at) &&
          grammar::kLexerNext[state * grammar::kLexerClasses + grammar::kLexerClass[stream_.symbol(at)]] == state) {
        end = stream_.text().find_first_not_of(stream_.text()[at], end);
        end = std::min(end, stream_.end());
        at = end - 1;
      }
    }
    stream_.seek(end);  // every character is a token at least
    const auto channel = grammar::kLexerChannel[type];
    if (channel >= 0) return make(type, begin, end, static_cast<size_t>(channel));
  }
}

std::vector<std::unique_ptr<Token>> TableLexer::allTokens() {
  std::vector<std::unique_ptr<Token>> tokens;
  for (auto t = nextToken(); t->getType() != Token::EOF; t = nextToken()) tokens.push_back(std::move(t));
  return tokens;
}

antlr4::TokenFactory<CommonToken>* TableLexer::getTokenFactory() { return antlr4::CommonTokenFactory::DEFAULT.get(); }

}  // namespace tenc::syntax
