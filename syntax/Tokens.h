// The tokens of a text, for tools that show or change it: colours, matching brackets, names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tenc::syntax {

struct TextToken {
  enum class Kind : uint8_t { Keyword, Name, Number, String, Comment, Open, Close, Operator, Wrong } kind;
  size_t begin, end;  ///< bytes of the text
};

/// Whether a character may stand in a name.
bool isWordPart(char c);
/// Whether the word stands in the text, comments and strings included.
bool hasWord(std::string_view text, std::string_view word);

/// In order, without blanks and newlines. A string with holes is in pieces, its braces Open and Close, the holes tokens
/// as elsewhere.
std::vector<TextToken> tokens(std::string_view text);

/// The words of the grammar, those that are keywords only at the start of a declaration too.
std::vector<std::string_view> keywords();

}  // namespace tenc::syntax
