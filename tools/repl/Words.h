// Small questions about the text of an entry.
#pragma once
#include <string_view>

namespace tenc::repl {

/// Without blanks and newlines around it.
std::string_view trimmed(std::string_view s);
/// Whether a text begins with that word, and not with a longer one.
bool startsWithWord(std::string_view text, std::string_view word);
/// Whether a line begins with what continues the one before: `|>`, `.name` or `else`.
bool continuesLine(std::string_view line);

}  // namespace tenc::repl
