// The lexer that runs from a table against the one that ANTLR generates.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "grammar/TLLexer.h"
#include "syntax/TableLexer.h"

namespace tenc::syntax {
namespace {

using Tokens = std::vector<std::tuple<size_t, size_t, size_t, size_t, std::string>>;

template <typename Lexer>
Tokens tokensOf(Lexer& lexer) {
  Tokens out;
  for (auto t = lexer.nextToken(); t->getType() != antlr4::Token::EOF; t = lexer.nextToken())
    out.push_back({t->getType(), t->getChannel(), t->getStartIndex(), t->getStopIndex(), t->getText()});
  return out;
}

void expectSame(const std::string& text) {
  ByteStream stream(text), reference(text);
  TableLexer lexer(stream);
  TLLexer::init();
  TLLexer antlr(&reference);
  antlr.removeErrorListeners();
  EXPECT_EQ(tokensOf(lexer), tokensOf(antlr)) << text;
}

TEST(LexerTable, CutsAsAntlrDoes) {
  for (const char* text :
       {"", "\n", "let letter lets le", "cuda:12 cuda: cuda :1 cuda:x", "1.5e-3 1.e 1e 1_000 1__0 0x1F 0xg 1.5.3 2..3",
        "a...b ..c :+ -> |> || **= //= && & !", "\"a \\\" b\" \"open\n\"\\", "# note\n## doc\r\n x \t\f y",
        "\xEF\xBB\xBFlet", "x\xC3\xA9\x7F\x80z", "\r \r\n $ ` ~ ' @x[1]"})
    expectSame(text);
}

TEST(LexerTable, CutsRandomBytesAsAntlrDoes) {
  std::mt19937 random(7);
  const std::string likely = "letcuda:019xeE_+-.*/=<>|&\"\\#\n\r {}[]()@\x7F\xC3";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t n = random() % 60; n > 0; --n)
      text += random() % 8 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    expectSame(text);
  }
}

}  // namespace
}  // namespace tenc::syntax
