// W0102: comments and strings that are shown in another order than they have.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "syntax/SyntaxErrors.h"

namespace tenc::syntax {

/// Says so of the first such character of each line. Where it is in code an error was reported before.
void warnOfTextOrder(std::string_view text, SyntaxReporter& reporter);

/// "U+202E"
std::string codePointText(uint32_t codePoint);

}  // namespace tenc::syntax
