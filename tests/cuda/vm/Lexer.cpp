#include "tests/cuda/vm/Lexer.h"

#include <cctype>

namespace tenc::ptx {
namespace {

bool startsWord(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool inWord(char c) { return startsWord(c) || std::isdigit(static_cast<unsigned char>(c)); }

class Scanner {
 public:
  explicit Scanner(std::string_view s) : s_(s) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    do tokens.push_back(next());
    while (tokens.back().kind != Token::Kind::End);
    return tokens;
  }

 private:
  char at(size_t i) const { return i < s_.size() ? s_[i] : '\0'; }

  void skipBlank() {
    for (; at_ < s_.size(); ++at_) {
      if (s_[at_] == '\n') {
        ++line_;
      } else if (s_[at_] == '/' && at(at_ + 1) == '/') {
        while (at_ + 1 < s_.size() && s_[at_ + 1] != '\n') ++at_;
      } else if (s_[at_] == '/' && at(at_ + 1) == '*') {
        size_t end = s_.find("*/", at_ + 2);
        if (end == s_.npos) throw PtxError(line_, "a comment does not end");
        for (; at_ < end + 1; ++at_) line_ += s_[at_] == '\n';
      } else if (!std::isspace(static_cast<unsigned char>(s_[at_]))) {
        return;
      }
    }
  }

  Token token(Token::Kind kind, size_t begin, size_t end, size_t rest) {
    at_ = rest;
    return {kind, s_.substr(begin, end - begin), line_, static_cast<uint32_t>(begin)};
  }

  Token next() {
    skipBlank();
    size_t begin = at_, end = at_;
    if (begin >= s_.size()) return token(Token::Kind::End, s_.size(), s_.size(), s_.size());
    char c = s_[begin];
    if (startsWord(c)) {
      while (inWord(at(end)) || (at(end) == ':' && at(end + 1) == ':' && inWord(at(end + 2)))) {
        end += at(end) == ':' ? 2 : 1;
      }
      return token(Token::Kind::Word, begin, end, end);
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      while (std::isalnum(static_cast<unsigned char>(at(end))) || at(end) == '.') ++end;
      return token(Token::Kind::Number, begin, end, end);
    }
    if (c == '"') {
      end = s_.find('"', begin + 1);
      if (end == s_.npos) throw PtxError(line_, "a string does not end");
      return token(Token::Kind::String, begin + 1, end, end + 1);
    }
    if (std::string_view("{}[]()<>,;:@!|=+-*&").find(c) == std::string_view::npos) {
      throw PtxError(line_, std::string("unexpected '") + c + "'");
    }
    return token(Token::Kind::Symbol, begin, begin + 1, begin + 1);
  }

  std::string_view s_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Scanner(source).all(); }

}  // namespace tenc::ptx
