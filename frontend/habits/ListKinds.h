// Which expressions of a script in Python's way give lists, tuples and whole numbers, and what is computed with them.
#pragma once
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// The first operation of the file that Python does with a list or a tuple as a whole, as the text tells: it repeats,
/// joins or compares it, or takes the greatest of its rows. Names that `let` and `var` bind hold values of TL. Invalid
/// for none. Looked for once.
Span wholeListOperation(Context& context, const ast::File& file);
/// Whether the name is first bound to a list of Python, of which statements that could not be read may be the use.
bool bindsUnreadList(const ast::File& file, const ast::Name& name);

}  // namespace tenc::frontend
