// What a script computes with lists and tuples of Python as wholes.
#pragma once
#include "frontend/habits/PythonFlow.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// Whether the script assigns to names that nothing declares, as Python binds them.
bool bindsWithoutLet(const ast::File& file);
/// The file as Python would carry it out. Where all its names are declared, these hold values of TL. Made once.
const PythonFlow& pythonFlow(Context& context, const ast::File& file);
/// The first operation of the file that Python does with a list or a tuple as a whole, as the text tells: it repeats,
/// joins or compares it, or takes the greatest of its rows. Invalid for none.
Span wholeListOperation(Context& context, const ast::File& file);

}  // namespace tenc::frontend
