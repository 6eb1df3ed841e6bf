// Arguments that a function may be called without: `mask=None`.
#pragma once
#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// `None` as the default of a parameter: an empty tuple, whose size is asked for where the function compares with
/// `None`. Without edits where a type is written, or the comparisons are none that a function can be compiled for.
Help optionalArgument(Context& context, const ast::File& file, const ast::FnParam& p);

}  // namespace tenc::frontend
