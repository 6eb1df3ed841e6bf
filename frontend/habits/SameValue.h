// Whether a name still means what it did, where an edit makes it be read at another place.
#pragma once
#include <string>

#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Whether a name that is read at `first` has the same value when it is read at `then`, as the text tells: false in
/// doubt. A function may still not see it.
bool isSameAt(const SourceManager& sources, const ast::File& file, const std::string& name, Span first, Span then);
/// Whether that holds for all names in an expression.
bool isSameAt(const SourceManager& sources, const ast::File& file, const ast::Expr& read, Span then);

}  // namespace tenc::frontend
