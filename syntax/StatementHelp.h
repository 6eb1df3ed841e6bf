// Whole statements and expressions of other languages, where the parser stops in them, written as TL writes them.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Familiar.h"
#include "syntax/StatementEdits.h"
#include "syntax/SyntaxHelp.h"

namespace tenc::syntax {

/// The help with its edit; nothing where the statement is none that is known.
std::optional<Help> statementHelp(const SyntaxPlace& place);
/// What the statement becomes that a word of another language, such as `raise`, stands in.
std::vector<Edit> wordEdits(const Familiar& word, const antlr4::Token& at, const SyntaxPlace& place);
/// The same of an import with `from` or `as`, which is the word.
std::vector<Edit> importEdits(bool from, const antlr4::Token& word, const SyntaxPlace& place);

}  // namespace tenc::syntax
