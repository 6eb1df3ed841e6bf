// Between lexer and parser: one pass over the tokens of a file, for what is easy here and would cost the grammar its
// LL(1) form: which newlines end statements, balanced brackets, nesting depth, contextual keywords, strings with holes.
// What it hands on is always balanced, so the parser never meets a bracket error.
#pragma once
#include <antlr4-runtime.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/TLParser.h"
#include "syntax/ByteStream.h"
#include "syntax/ForeignOperators.h"
#include "syntax/SyntaxErrors.h"
#include "syntax/TableLexer.h"

namespace tenc::syntax {

/// Nesting of brackets, and of what nests without brackets (lambda in lambda, `if` in a condition).
constexpr size_t kMaxNesting = 256;
constexpr size_t kMaxTokens = 1'000'000;

/// Keep the filter alive while the parser runs: error recovery asks tokens for their source, the lexer in here.
class TokenFilter {
 public:
  using TokenPtr = std::unique_ptr<antlr4::Token>;

  TokenFilter(ByteStream& stream, SyntaxReporter& reporter);

  /// All tokens, ending with EOF; empty when brackets nest too deeply (reported), and then nothing can be parsed.
  /// Closing brackets that are missing are reported and supplied with zero width.
  std::vector<TokenPtr> run();

  /// `##` comment text by the offset of the token below it.
  std::unordered_map<size_t, std::string> takeDocs() { return std::move(docs_); }

 private:
  using T = TLParser;  // has the virtual token types too
  static constexpr std::string_view kOneLine = "a string ends on the line it starts on; write a line break as `\\n`";
  struct Open {
    size_t type;
    Span span;
    bool call = false;           ///< arguments of a call stand in it
    std::vector<Span> equals{};  ///< the `=` behind names of arguments
    size_t unnamedBehind = 0;    ///< arguments without a name that come after the first of these
  };

  bool readTokens();
  bool takeForeignText(const antlr4::Token& t);
  bool takeTripleQuotes(size_t begin);
  bool takeSingleQuotes(size_t begin);
  bool takeLongString(size_t begin, size_t end);
  bool takeCommentBlock(size_t begin);
  void readOnFrom(size_t offset) { stream_.window(offset, stream_.text().size()); }
  bool takeFormatCall(const antlr4::Token& string);
  void take(TokenPtr t);
  void takeDoc(const antlr4::Token& t);
  void endStatement(const antlr4::Token& next);
  void open(antlr4::Token& t);
  bool close(const antlr4::Token& t);
  void closeMissing(const antlr4::Token* before);
  bool namesArgument(const antlr4::Token& equals) const;
  void reportEquals(const Open& call);
  void recoverAtLineStart(const antlr4::Token& t);
  void promote(std::string_view word, size_t type);
  bool endsAnnotation(size_t back) const;
  void splitPlaces(const antlr4::Token& t);
  void splitString(const antlr4::Token& t);
  void takeHole(size_t begin, size_t end);

  bool inLines() const { return open_.empty() || open_.back().type == T::LBRACE; }
  bool afterPlaceName(const antlr4::Token& t) const;
  bool blank(size_t begin, size_t end) const;
  bool mayStartStatement(const antlr4::Token& minus, bool apart) const;
  bool endsNumber(const antlr4::Token& dot) const;
  bool takeExponent(const antlr4::Token& dot);
  bool takeForeignMark(const antlr4::Token& at);
  bool afterNumberDot() const;
  size_t typeBefore(size_t n) const { return out_.size() >= n ? out_[out_.size() - n]->getType() : T::NL; }
  TokenPtr make(size_t type, size_t begin, size_t end);
  void push(TokenPtr t);
  void pushMade(size_t type, size_t begin, size_t end) { push(make(type, begin, end)); }

  ByteStream& stream_;
  SyntaxReporter& reporter_;
  TableLexer lexer_;
  std::vector<TokenPtr> out_;
  std::vector<TokenPtr> tokens_;              ///< as the lexer gives them; those that were handed on are gone
  size_t next_ = 0;                           ///< of these, the one to take
  static constexpr size_t kMostMended = 200;  ///< characters and texts without meaning that edits are looked for
  size_t foreignCharacters_ = 0;
  bool noTripleQuotes_ = false, noCommentEnd_ = false;  ///< there are none in the rest of the text
  std::optional<ForeignOperators> operators_;           ///< of a text with characters that have no meaning
  std::vector<Open> open_;
  std::unordered_map<size_t, std::string> docs_;
  std::string doc_;              ///< lines of `##` seen since the last token
  size_t last_ = T::NL;          ///< type of the last token handed on or dropped
  uint32_t quotedHoleLine_ = 0;  ///< its braces are those of expressions that quotes have cut
  uint32_t badStringLine_ = 0;   ///< an unclosed string swallowed the closing brackets of this line
  bool missingBrace_ = false;    ///< the file has more `{` than `}`
  bool tooDeep_ = false;
  bool declares_ = false;  ///< the next `(` holds the parameters of a function
  bool newline_ = true;    ///< seen since the last token
  bool semicolon_ = false;
  bool emptyLine_ = false;
  size_t lineStart_ = 0;
};

}  // namespace tenc::syntax
