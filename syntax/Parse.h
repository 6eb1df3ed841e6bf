// From source text to the syntax tree.
#pragma once
#include <memory>
#include <string_view>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::syntax {

/// Parses a whole file; reports every syntax error, recovering after each. Never throws; the tree is usable (with Error
/// nodes) whenever it is returned. Null only when nothing can be parsed (too large, too deep, not UTF-8).
std::unique_ptr<ast::File> parse(const SourceManager& sources, uint32_t file, Diagnostics& diags);
/// Parses a part of a file: `part` is its text with blanks for the rest, so that spans are those of the file.
std::unique_ptr<ast::File> parsePart(const SourceManager& sources, uint32_t file, std::string_view part,
                                     Diagnostics& diags);

/// Whether a REPL entry is complete: brackets balanced, strings closed, not ending in an operator.
bool isComplete(std::string_view text);

}  // namespace tenc::syntax
