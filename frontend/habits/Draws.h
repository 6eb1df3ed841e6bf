// Random numbers of several generators. In Python each draws from a stream of its own, and two that start from one
// seed draw the same numbers; TL has one stream.
#pragma once
#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Whether numbers that are equal in Python, as their generators have one seed, would not be if all were drawn from one
/// stream; as the text tells, in doubt, and while statements that may draw are not read, they would not.
bool drawsApart(const ast::File& file, const SourceManager& sources);

}  // namespace tenc::frontend
