// `sum(m)` of Python, which adds the rows of a matrix, where TL's adds all elements.
#pragma once
#include <vector>

#include "support/Diagnostics.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// How many dims a value has at most, as the text tells; very many where it is not known.
int mostDims(const ast::File& file, const ast::Expr& value);
/// What makes calls of `sum` add rows, where they may have an operand of more than one dim, as the text tells: edits of
/// the first import of a library of Python, as long as there is one.
std::vector<Edit> sumsOfRows(const SourceManager& sources, const ast::File& file, const ast::Stmt& import);

}  // namespace tenc::frontend
