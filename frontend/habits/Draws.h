// Random numbers of several generators. In Python each draws from a stream of its own, and two that start from one
// seed draw the same numbers; TL has one stream.
#pragma once
#include "syntax/Ast.h"

namespace tenc::frontend {

/// Whether numbers that are equal in Python, as their generators have one seed, would not be if all were drawn from one
/// stream; as the text tells, in doubt they would not.
bool drawsApart(const ast::File& file);

}  // namespace tenc::frontend
