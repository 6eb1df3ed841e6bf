// The layout of TL text: indentation and blanks. Line breaks, comments and everything that is not blank stay.
#pragma once
#include <string>
#include <string_view>

namespace tenc::syntax {

/// Lays a script out: four blanks for each open bracket's line, one for lines that go on, no blanks at ends, at most
/// one empty line, single blanks after commas, after the colon behind a name, inside of braces and around operators
/// that have two operands (but for `..`, and `@`, which also begins an annotation). Laying out again changes nothing.
std::string layOut(std::string_view text);

}  // namespace tenc::syntax
