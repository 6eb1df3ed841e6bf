// Python's `"a = " + str(a)` and `"-" * 40` made into the strings that TL writes.
#pragma once
#include <optional>
#include <string>

#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// The string for a sum with texts in it, or for a text times a literal number; nothing for what is neither, or may
/// stand in no string.
std::optional<std::string> joinedText(const SourceManager& sources, const ast::Expr& e);

}  // namespace tenc::frontend
