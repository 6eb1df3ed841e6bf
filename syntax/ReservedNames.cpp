#include "syntax/ReservedNames.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "syntax/SyntaxView.h"

namespace tenc::syntax {

namespace {

class ReservedName : private SyntaxView {
 public:
  ReservedName(const SyntaxPlace& place, const antlr4::Token& word) : SyntaxView(place), word_(word) {}

  std::vector<Edit> renamed() const {
    const std::string other = word_.getText() + "_";
    std::vector<Edit> edits;
    antlr4::TokenStream& tokens = *p_.parser.getTokenStream();
    bool bound = starts(T::FN);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& t = *tokens.get(i);
      if (t.getType() == T::NAME && t.getText() == other) return {};
      if (t.getType() != word_.getType()) continue;
      const Token* before = i > 0 ? tokens.get(i - 1) : nullptr;
      const Token* behind = i + 1 < tokens.size() ? tokens.get(i + 1) : nullptr;
      if (&t == &word_ || !isOwnUse(t, before, behind)) edits.push_back({span(t), other});
      const bool binds =
          before && (before->getType() == T::LET || before->getType() == T::VAR || before->getType() == T::FOR);
      bound = bound || binds || (startsStatement(before) && behind && behind->getType() == T::ASSIGN);
    }
    return bound ? edits : std::vector<Edit>{};
  }

 private:
  /// Whether the grammar has the word itself at this token, or a member of that name.
  static bool isOwnUse(const Token& t, const Token* before, const Token* behind) {
    if (t.getType() == T::FN && behind && behind->getType() == T::NAME) return true;  // a declaration
    if (!before || !behind || before->getType() == T::DOT) return before != nullptr && behind != nullptr;
    const bool opens = before->getType() == T::LBRACK || before->getType() == T::COMMA;
    const bool closes = behind->getType() == T::RBRACK || behind->getType() == T::COMMA;
    if (t.getType() == T::NEW && opens && closes) return true;
    if (t.getType() == T::FN && before->getType() == T::COLON) return true;  // the kind
    return behind->getType() == T::NAME || behind->getType() == T::STRING || behind->getType() == T::DEVICE_LIT;
  }

  const Token& word_;
};

}  // namespace

bool isNameElsewhere(const antlr4::Token& word) {
  static constexpr std::array<std::string_view, 12> kWords = {"state", "type",   "by",     "test", "bench", "param",
                                                              "const", "static", "device", "new",  "var",   "fn"};
  return std::find(kWords.begin(), kWords.end(), word.getText()) != kWords.end();
}

std::vector<Edit> renamedReserved(const SyntaxPlace& place, const antlr4::Token& word) {
  if (!isNameElsewhere(word) || word.getType() == TLParser::BY) return {};
  return ReservedName(place, word).renamed();
}

}  // namespace tenc::syntax
