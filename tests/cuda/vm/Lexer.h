// Tokens of PTX text. Dots and `::` belong to words, so that an opcode with its modifiers is one token.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::ptx {

/// PTX that cannot be read or decoded: the message has the line.
class PtxError : public std::runtime_error {
 public:
  PtxError(uint32_t line, const std::string& what)
      : std::runtime_error("ptx line " + std::to_string(line) + ": " + what) {}
};

struct Token {
  enum class Kind : uint8_t { Word, Number, String, Symbol, End };
  Kind kind = Kind::End;
  std::string_view text;  // of the source; of a string without its quotes
  uint32_t line = 0;
  uint32_t offset = 0;

  bool is(std::string_view t) const { return kind != Kind::String && text == t; }
};

/// The tokens of `source`, which outlives them, with an End behind them. Throws PtxError for a byte that starts none.
std::vector<Token> tokenize(std::string_view source);

}  // namespace tenc::ptx
