// A line of TL with the colours of a terminal, while it is typed.
#pragma once
#include <string>
#include <string_view>

namespace tenc::repl {

/// The same text with its tokens coloured. `before`: the lines of the entry above it. The bracket at the cursor, a
/// place in bytes, or the one left of it, and the one that belongs to it are marked; npos: none is.
std::string highlighted(std::string_view before, std::string_view line, size_t cursor);

}  // namespace tenc::repl
