// Reserved words that a program uses as names.
#pragma once

#include <vector>

#include "syntax/SyntaxHelp.h"

namespace tenc::syntax {

/// Whether programs in other languages call values by the word.
bool isNameElsewhere(const antlr4::Token& word);

/// Another name for the value that the word names, wherever it does; empty where it is not certain that it names one,
/// or where that name is taken.
std::vector<Edit> renamedReserved(const SyntaxPlace& place, const antlr4::Token& word);

}  // namespace tenc::syntax
