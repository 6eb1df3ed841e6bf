// Comprehensions and generators of Python: `[e for x in xs]`, `sum(e for x in xs if c)`.
#pragma once
#include "support/Diagnostics.h"
#include "syntax/SyntaxHelp.h"

namespace tenc::syntax {

/// The help for a `for` in brackets, with its edit where what it makes has a form here.
Help comprehensionHelp(const SyntaxPlace& place);

}  // namespace tenc::syntax
