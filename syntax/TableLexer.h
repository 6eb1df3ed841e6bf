// The lexer of grammar/TL.g4, run from the table that the build makes of it.
#pragma once
#include <antlr4-runtime.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "syntax/ByteStream.h"

namespace tenc::syntax {

/// What ANTLR's lexer hands out, token for token; lines and columns are not kept (spans are bytes). The tokens point
/// here, so it lives as long as they do.
class TableLexer final : public antlr4::TokenSource {
 public:
  explicit TableLexer(ByteStream& stream) : stream_(stream), source_(this, &stream) {}

  /// The next token that is not skipped; EOF at the end of the stream's window, again and again.
  std::unique_ptr<antlr4::Token> nextToken() override;
  /// All up to the end of the window, without EOF.
  std::vector<std::unique_ptr<antlr4::Token>> allTokens();
  /// A token of one's own, for [begin, end).
  std::unique_ptr<antlr4::CommonToken> make(size_t type, size_t begin, size_t end, size_t channel = 0);

  size_t getLine() const override { return 0; }
  size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream* getInputStream() override { return &stream_; }
  std::string getSourceName() override { return stream_.getSourceName(); }
  antlr4::TokenFactory<antlr4::CommonToken>* getTokenFactory() override;

 private:
  ByteStream& stream_;
  std::pair<antlr4::TokenSource*, antlr4::CharStream*> source_;
};

}  // namespace tenc::syntax
