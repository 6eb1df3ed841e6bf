#include "syntax/Tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "grammar/TLParser.h"
#include "syntax/ByteStream.h"
#include "syntax/TableLexer.h"

namespace tenc::syntax {

bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool hasWord(std::string_view text, std::string_view word) {
  const auto isPart = [&](size_t at) { return at < text.size() && isWordPart(text[at]); };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if ((at == 0 || !isPart(at - 1)) && !isPart(at + word.size())) return true;
  return false;
}

namespace {

using T = TLParser;
using Kind = TextToken::Kind;

constexpr std::array<std::string_view, 4> kOpeners = {"param", "device", "test", "bench"};  // TokenFilter::promote

bool isKeyword(size_t type) { return type >= T::LET && type <= T::STATE; }

Kind kindOf(size_t type) {
  if (isKeyword(type)) return Kind::Keyword;
  switch (type) {
    case T::NAME: return Kind::Name;
    case T::DEVICE_LIT:
    case T::INT:
    case T::FLOAT: return Kind::Number;
    case T::STRING: return Kind::String;
    case T::DOC:
    case T::COMMENT: return Kind::Comment;
    case T::LBRACE:
    case T::LPAREN:
    case T::LBRACK: return Kind::Open;
    case T::RBRACE:
    case T::RPAREN:
    case T::RBRACK: return Kind::Close;
    case T::BAD_NUMBER:
    case T::BAD_STRING:
    case T::BAD_CHAR: return Kind::Wrong;
    default: return Kind::Operator;
  }
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), stream_(text), lexer_(stream_) {}

  std::vector<TextToken> run() {
    scan(0, text_.size());
    return std::move(out_);
  }

 private:
  void scan(size_t begin, size_t end) {
    stream_.window(begin, end);
    const auto found = lexer_.allTokens();
    size_t at = begin;
    bool lineBegins = true;
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t first = found[i]->getStartIndex(), last = found[i]->getStopIndex() + 1;
      comment(at, first);
      at = last;
      const size_t type = found[i]->getType();
      if (type == T::STRING) {
        string(first, last);
      } else if (type != T::NL) {
        const bool opens = lineBegins && type == T::NAME && i + 1 < found.size() &&
                           (found[i + 1]->getType() == T::NAME || found[i + 1]->getType() == T::STRING) &&
                           std::ranges::find(kOpeners, text_.substr(first, last - first)) != kOpeners.end();
        out_.push_back({opens ? Kind::Keyword : kindOf(type), first, last});
      }
      lineBegins = type == T::NL || type == T::SEMI || type == T::LBRACE;
    }
    comment(at, end);
  }

  /// The lexer skips comments: they are in what is between two tokens.
  void comment(size_t begin, size_t end) {
    const size_t hash = text_.substr(0, end).find('#', begin);
    if (hash == std::string_view::npos) return;
    while (end > hash && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
    out_.push_back({Kind::Comment, hash, end});
  }

  void string(size_t begin, size_t end) {
    size_t piece = begin;
    for (size_t i = begin + 1; i + 1 < end; ++i) {
      if (text_[i] == '\\' || (text_[i] == '{' && text_[i + 1] == '{')) {
        ++i;
        continue;
      }
      const size_t close = text_[i] == '{' ? text_.substr(0, end).find('}', i) : std::string_view::npos;
      if (close == std::string_view::npos) continue;
      out_.push_back({Kind::String, piece, i});
      out_.push_back({Kind::Open, i, i + 1});
      scan(i + 1, close);
      out_.push_back({Kind::Close, close, close + 1});
      piece = close + 1;
      i = close;
    }
    out_.push_back({Kind::String, piece, end});
  }

  std::string_view text_;
  ByteStream stream_;
  TableLexer lexer_;
  std::vector<TextToken> out_;
};

}  // namespace

std::vector<TextToken> tokens(std::string_view text) { return Scanner(text).run(); }

std::vector<std::string_view> keywords() {
  // As the grammar spells them, in its order.
  constexpr std::array<std::string_view, 26> kWords = {
      "let",  "var",   "fn",    "struct", "const",    "import", "if",     "else", "for",
      "in",   "by",    "while", "break",  "continue", "return", "and",    "or",   "not",
      "true", "false", "new",   "assert", "autocast", "type",   "static", "state"};
  static_assert(kWords.size() == T::STATE - T::LET + 1);
  std::vector<std::string_view> all(kWords.begin(), kWords.end());
  all.insert(all.end(), kOpeners.begin(), kOpeners.end());
  return all;
}

}  // namespace tenc::syntax
