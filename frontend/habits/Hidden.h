// Names of a script that hide functions of TL or of a module that it imports, where those may be meant.
#pragma once
#include <optional>
#include <string>

#include "frontend/values/Values.h"
#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;

/// How the function is called that one of the script hides; empty where it hides none.
std::string hiddenBy(const FnDecl& decl);
/// A variable of the script that is called: the function that it hides, or the variable by another name.
std::optional<Help> calledVariable(Context& context, Span callee);

}  // namespace tenc::frontend
